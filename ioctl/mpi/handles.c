/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/file.h"

#define N_BUCKETS 64

/* Files by their handle. A handle that MPI has freed may be given out again at once, so a file leaves the table before
 * its handle is closed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file *bucket[N_BUCKETS]; /* lock */

static struct file **find(MPI_File handle)
{
    const union {
        MPI_File handle;
        uintptr_t number;
    } key = { .handle = handle };
    struct file **at = &bucket[(key.number >> 4 ^ key.number >> 12) % N_BUCKETS];

    while (*at != NULL && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

void mhandles_add(struct file *file)
{
    struct file **at;

    pthread_mutex_lock(&lock);
    at = find(file->handle);
    file->next = *at;
    *at = file;
    pthread_mutex_unlock(&lock);
}

void mhandles_remove(struct file *file)
{
    struct file **at;
    bool found;

    pthread_mutex_lock(&lock);
    at = find(file->handle);
    found = *at == file;
    if (found)
        *at = file->next;
    pthread_mutex_unlock(&lock);
    if (found)
        mfile_put(file);
}

struct file *mhandles_get(MPI_File handle)
{
    struct file *file;

    pthread_mutex_lock(&lock);
    file = *find(handle);
    if (file != NULL)
        __atomic_fetch_add(&file->refs, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return file;
}

void mfile_put(struct file *file)
{
    if (file == NULL || __atomic_sub_fetch(&file->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    pthread_mutex_destroy(&file->round);
    pthread_mutex_destroy(&file->lock);
    free(file->name);
    free(file);
}

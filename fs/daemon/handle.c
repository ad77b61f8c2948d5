/* SPDX-License-Identifier: MIT */
#include "fs/daemon/handle.h"

#include "fs/daemon/sections.h"

#include <fcntl.h>

struct slot {
    struct handle *handle;
    uint32_t generation;
    uint32_t next_free;
};

struct handles {
    pthread_rwlock_t lock;
    struct slot *slot; /* lock; slot 0 is not used */
    uint32_t n, free;  /* lock; free is 0 when there is none */
};

int handles_new(struct handles **ret_handles)
{
    struct handles *handles = calloc(1, sizeof *handles);

    if (handles == NULL)
        return -ENOMEM;
    pthread_rwlock_init(&handles->lock, NULL);
    *ret_handles = handles;
    return 0;
}

void handles_free(struct handles *handles)
{
    if (handles == NULL)
        return;
    for (uint32_t i = 0; i < handles->n; i++)
        if (handles->slot[i].handle != NULL)
            handle_put(handles->slot[i].handle);
    free(handles->slot);
    pthread_rwlock_destroy(&handles->lock);
    free(handles);
}

void handle_ref(struct handle *handle)
{
    atomic_fetch_add(&handle->refs, 1);
}

/* Such a file may be mapped so that writing to memory is writing to it. A mapped view is another matter. */
static bool reads_and_writes(const struct handle *handle)
{
    return handle->file != NULL && handle->file_view == NULL && (handle->flags & O_ACCMODE) == O_RDWR;
}

void handle_put(struct handle *handle)
{
    if (atomic_fetch_sub(&handle->refs, 1) > 1)
        return;
    sections_free(atomic_load(&handle->sections));
    if (reads_and_writes(handle))
        atomic_fetch_sub(&handle->inode->n_read_write, 1);
    if (handle->file != NULL)
        file_put(handle->fs, handle->file);
    file_view_put(handle->file_view);
    disk_close(fs_home(handle->fs), &handle->dir_fd);
    pthread_mutex_destroy(&handle->dir_lock);
    inode_unref(handle->fs->inodes, handle->inode);
    free(handle);
}

struct handle *handle_new(struct fs *fs, struct inode *inode, struct file *file, struct file_view *file_view, int flags)
{
    struct handle *handle = calloc(1, sizeof *handle);

    if (handle == NULL) {
        if (file != NULL)
            file_put(fs, file);
        return NULL;
    }
    handle->file = file;
    handle->file_view = file_view != NULL ? file_view_ref(file_view) : NULL;
    handle->seen_errors = file != NULL ? file_errors(file) : 0;
    handle->fs = fs;
    handle->inode = inode;
    handle->flags = flags;
    handle->dir_fd = -1;
    atomic_init(&handle->refs, 1);
    pthread_mutex_init(&handle->dir_lock, NULL);
    inode_ref(fs->inodes, inode);
    if (reads_and_writes(handle))
        atomic_fetch_add(&inode->n_read_write, 1);
    return handle;
}

static int grow(struct handles *handles)
{
    uint32_t n = MAX(2 * handles->n, 64);
    struct slot *slot = realloc(handles->slot, n * sizeof *slot);

    if (slot == NULL)
        return -ENOMEM;
    for (uint32_t i = handles->n; i < n; i++)
        slot[i] = (struct slot){ .next_free = i + 1 < n ? i + 1 : 0 };
    handles->free = MAX(handles->n, 1);
    handles->slot = slot;
    handles->n = n;
    return 0;
}

int handles_add(struct handles *handles, struct handle *handle, uint64_t *ret_number)
{
    int r = 0;

    pthread_rwlock_wrlock(&handles->lock);
    if (handles->free == 0)
        r = grow(handles);
    if (r == 0) {
        uint32_t i = handles->free;
        struct slot *slot = &handles->slot[i];

        handles->free = slot->next_free;
        slot->handle = handle;
        *ret_number = (uint64_t) slot->generation << 32 | i;
    }
    pthread_rwlock_unlock(&handles->lock);
    return r;
}

static struct slot *find(struct handles *handles, uint64_t number)
{
    uint32_t i = (uint32_t) number;

    if (i >= handles->n || handles->slot[i].generation != number >> 32)
        return NULL;
    return &handles->slot[i];
}

struct handle *handles_get(struct handles *handles, uint64_t number)
{
    struct slot *slot;
    struct handle *handle;

    pthread_rwlock_rdlock(&handles->lock);
    slot = find(handles, number);
    handle = slot != NULL ? slot->handle : NULL;
    if (handle != NULL)
        handle_ref(handle);
    pthread_rwlock_unlock(&handles->lock);
    return handle;
}

void handles_drop(struct handles *handles, uint64_t number)
{
    struct handle *handle = NULL;
    struct slot *slot;

    pthread_rwlock_wrlock(&handles->lock);
    slot = find(handles, number);
    if (slot != NULL && slot->handle != NULL) {
        handle = steal(slot->handle);
        slot->generation++;
        slot->next_free = handles->free;
        handles->free = (uint32_t) number;
    }
    pthread_rwlock_unlock(&handles->lock);
    if (handle != NULL)
        handle_put(handle);
}

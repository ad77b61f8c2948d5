/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/file.h"

#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_off, is_wanted;

static void look(void)
{
    const char *value = getenv("FALLSFS_MPI");

    is_off = value != NULL && strcmp(value, "off") == 0;
    is_wanted = value != NULL && strcmp(value, "info") == 0;
}

bool info_is_off(void)
{
    (void) pthread_once(&once, look);
    return is_off;
}

bool info_is_wanted(void)
{
    (void) pthread_once(&once, look);
    return is_wanted;
}

void mfile_add_info(struct file *file, MPI_Info info)
{
    char why[sizeof file->why];
    bool theirs;

    pthread_mutex_lock(&file->lock);
    theirs = file->theirs;
    memcpy(why, file->why, sizeof why);
    pthread_mutex_unlock(&file->lock);
    (void) PMPI_Info_set(info, "fallsfs", theirs ? "no" : "yes");
    (void) PMPI_Info_set(info, "fallsfs_why", why);
}

void mfile_count(struct file *file, enum way way, uint64_t bytes)
{
    __atomic_fetch_add(&file->by[way].calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&file->by[way].bytes, bytes, __ATOMIC_RELAXED);
}

static void say_ways(FILE *to, const struct file *file, const char *what, enum way first, enum way end)
{
    static const char *const reasons[] = {
        [WAY_INDEPENDENT] = "independent",      [WAY_ONE_RANK] = "one rank",
        [WAY_NONBLOCKING] = "nonblocking",      [WAY_HINT] = "by hint",
        [WAY_SHARED] = "at the shared pointer", [WAY_THEIRS] = "as the file is the MPI's",
    };
    struct counters all = { 0 };
    const char *before = " (";

    for (enum way way = first; way < end; way++) {
        all.calls += file->by[way].calls;
        all.bytes += file->by[way].bytes;
    }
    fprintf(to, "%" PRIu64 " %s, %" PRIu64 " bytes", all.calls, what, all.bytes);
    for (enum way way = first; way < end; way++)
        if (way != WAY_GROUP && file->by[way].calls > 0) {
            fprintf(to, "%s%" PRIu64 " %s", before, file->by[way].calls, reasons[way]);
            before = ", ";
        }
    fprintf(to, "%s", before[0] == ',' ? ")" : "");
}

/* At once, as other ranks and files say something, too. */
void info_say(const struct file *file)
{
    char *text = NULL;
    size_t len;
    FILE *to = open_memstream(&text, &len);

    if (to == NULL)
        return;
    fprintf(to, "fallsfs: %s: %s (%s); calls of rank 0: ", file->name, file->theirs ? "the MPI's" : "ours", file->why);
    say_ways(to, file, "by group", WAY_GROUP, WAY_INDEPENDENT);
    fprintf(to, "; ");
    say_ways(to, file, "alone", WAY_INDEPENDENT, WAY_SHARED);
    fprintf(to, "; ");
    say_ways(to, file, "by the MPI", WAY_SHARED, N_WAYS);
    fprintf(to, "\n");
    if (fclose(to) == 0)
        fputs(text, stderr);
    free(text);
}

/* SPDX-License-Identifier: MIT */
#include "fs/daemon/metrics/metrics_file.h"

#include "fs/core/disk/mutex.h"
#include "fs/daemon/metrics/exposition.h"
#include "fs/daemon/say/log.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct metrics_file {
    const char *path;
    char *new_path;
    int error; /* that was logged last; 0: the file was written */
    pthread_t thread;
    struct mutex lock;
    struct cond stop_now;
    bool stop; /* lock */
};

/* -- writing -- */

/* Writes the metrics to the new file, which is made anew: what lies in its place may be anybody's. */
static int write_new(const struct metrics_file *file)
{
    int fd, r;
    FILE *out;

    if (unlink(file->new_path) < 0 && errno != ENOENT)
        return -errno;
    fd = open(file->new_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    out = fdopen(fd, "w");
    if (out == NULL) {
        close(fd);
        return -ENOMEM;
    }
    r = exposition_print(out);
    if (r == 0 && (fflush(out) != 0 || ferror(out)))
        r = -errno;
    if (fclose(out) != 0 && r == 0)
        r = -errno;
    return r;
}

static void say(struct metrics_file *file, int r)
{
    if (r == file->error)
        return;
    if (r < 0)
        log_warning("cannot write the metrics to %s: %s; it is tried again every %d s", file->path, strerror(-r),
                    METRICS_FILE_PERIOD);
    else
        log_note("the metrics are written to %s again", file->path);
    file->error = r;
}

static void replace(struct metrics_file *file)
{
    int r = write_new(file);

    if (r == 0 && rename(file->new_path, file->path) < 0)
        r = -errno;
    if (r < 0)
        (void) unlink(file->new_path);
    say(file, r);
}

/* Writes until it is told to stop, and then once more. */
static void *keep(void *arg)
{
    struct metrics_file *file = arg;
    bool stop = false;

    while (!stop) {
        uint64_t next = clock_in_ms(METRICS_FILE_PERIOD * 1000);
        bool waits = true;

        replace(file);
        mutex_lock(&file->lock);
        while (!file->stop && waits)
            waits = cond_wait_until_ms(&file->stop_now, &file->lock, next);
        stop = file->stop;
        mutex_unlock(&file->lock);
    }
    replace(file);
    return NULL;
}

/* -- life -- */

/* Where a directory is, free of links; where there is none, its path as it is said, from the root. NULL without
 * memory. */
static char *directory_of(const char *path)
{
    cleanup(freep) char *copy = strdup(path);
    const char *name = copy != NULL ? dirname(copy) : NULL;
    cleanup(freep) char *here = NULL;
    char *directory = name != NULL ? realpath(name, NULL) : NULL;

    if (directory != NULL || name == NULL || name[0] == '/')
        return directory != NULL || name == NULL ? directory : strdup(name);
    here = realpath(".", NULL);
    return here == NULL || asprintf(&directory, "%s/%s", here, name) < 0 ? NULL : directory;
}

int metrics_file_resolve(char **path, const char *mountpoint, struct volume_error *error)
{
    cleanup(freep) char *copy = *path != NULL ? strdup(*path) : NULL;
    cleanup(freep) char *directory = NULL;
    size_t len = strlen(mountpoint);
    char *resolved;

    if (*path == NULL)
        return 0;
    directory = copy != NULL ? directory_of(copy) : NULL;
    if (directory == NULL ||
        asprintf(&resolved, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, basename(copy)) < 0)
        return volume_fail(error, -ENOMEM, "out of memory");
    if (strncmp(directory, mountpoint, len) == 0 && (directory[len] == 0 || directory[len] == '/')) {
        free(resolved);
        return volume_fail(error, -EINVAL, "metrics=%s: this lies in the mount itself, which would wait for itself",
                           *path);
    }
    free(*path);
    *path = resolved;
    return 0;
}

int metrics_file_start(const char *path, struct metrics_file **ret_file)
{
    struct metrics_file *file;
    int r;

    if (path == NULL)
        return 0;
    file = calloc(1, sizeof *file);
    if (file == NULL || asprintf(&file->new_path, "%s.new", path) < 0) {
        free(file);
        return -ENOMEM;
    }
    file->path = path;
    mutex_init(&file->lock);
    cond_init(&file->stop_now);
    r = -pthread_create(&file->thread, NULL, keep, file);
    if (r == 0) {
        *ret_file = file;
        return 0;
    }
    cond_done(&file->stop_now);
    mutex_done(&file->lock);
    free(file->new_path);
    free(file);
    return r;
}

void metrics_file_end(struct metrics_file *file)
{
    if (file == NULL)
        return;
    mutex_lock(&file->lock);
    file->stop = true;
    cond_signal(&file->stop_now);
    mutex_unlock(&file->lock);
    pthread_join(file->thread, NULL);
    cond_done(&file->stop_now);
    mutex_done(&file->lock);
    free(file->new_path);
    free(file);
}

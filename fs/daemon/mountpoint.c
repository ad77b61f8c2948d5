/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mountpoint.h"

#include <fcntl.h>
#include <libmount/libmount.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define FS_TYPE "fuse.fallsfs"

/* The device number of the mount of ours on top of path; false when there is none. Looking at the mount itself would
 * ask its daemon, which may be gone, or not serve yet. */
static bool find(const char *path, dev_t *ret_dev)
{
    struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
    struct libmnt_fs *fs = table != NULL ? mnt_table_find_target(table, path, MNT_ITER_BACKWARD) : NULL;
    const char *type = fs != NULL ? mnt_fs_get_fstype(fs) : NULL;
    bool is_ours = type != NULL && strcmp(type, FS_TYPE) == 0;

    if (is_ours)
        *ret_dev = mnt_fs_get_devno(fs);
    mnt_unref_table(table);
    return is_ours;
}

/* An ordinary user's mounts are fusermount3's to undo. */
static int run_fusermount(const char *path)
{
    int status;
    pid_t pid = fork();

    if (pid < 0)
        return -errno;
    if (pid == 0) {
        execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", path, (char *) NULL);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) < 0)
        return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

/* Asks who serves it; the kernel may remember an answer of the dead. */
static bool is_dead(const char *path)
{
    struct statx stx;

    return statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_TYPE, &stx) < 0 && errno == ENOTCONN;
}

/* Unmounts what a killed fallsfs left at path: a mount of ours that nobody serves. 0 also when there is none. */
static int clean(const char *path)
{
    dev_t dev;

    while (is_dead(path) && find(path, &dev)) {
        int r = geteuid() == 0 ? (umount2(path, MNT_DETACH) < 0 ? -errno : 0) : run_fusermount(path);

        if (r < 0)
            return -EPERM;
    }
    return 0;
}

/* realpath, for a place whose mount answers no more: only its parent is asked. */
static char *real_place(const char *path)
{
    cleanup(freep) char *copy = NULL;
    cleanup(freep) char *parent = NULL;
    char *real = realpath(path, NULL), *name;

    if (real != NULL || errno != ENOTCONN)
        return real;
    copy = strdup(path);
    if (copy == NULL)
        return NULL;
    for (size_t len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
        copy[len - 1] = 0;
    name = strrchr(copy, '/');
    if (name != NULL)
        *name++ = 0;
    parent = realpath(name == NULL ? "." : *copy == 0 ? "/" : copy, NULL);
    if (parent == NULL ||
        asprintf(&real, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name != NULL ? name : copy) < 0)
        return NULL;
    return real;
}

int mountpoint_resolve(char **path)
{
    cleanup(freep) char *real = real_place(*path);
    struct stat st;
    int r;

    if (real == NULL)
        return -errno;
    r = clean(real);
    if (r < 0)
        return r;
    if (stat(real, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    free(*path);
    *path = steal(real);
    return 0;
}

struct read_ahead {
    char *path;
    uint32_t bytes;
};

/* The kernel takes its own value when it hears the first answer, so ours comes after that. */
static void *set_read_ahead(void *arg)
{
    struct read_ahead *want = arg;
    struct stat st;
    char file[64];
    FILE *out = NULL;
    dev_t dev;

    if (stat(want->path, &st) == 0 && find(want->path, &dev)) {
        snprintf(file, sizeof file, "/sys/class/bdi/%u:%u/read_ahead_kb", major(dev), minor(dev));
        out = fopen(file, "we");
    }
    if (out != NULL) {
        fprintf(out, "%" PRIu32 "\n", want->bytes / 1024);
        fclose(out);
    }
    free(want->path);
    free(want);
    return NULL;
}

void mountpoint_set_read_ahead(const char *path, uint32_t bytes)
{
    struct read_ahead *want = calloc(1, sizeof *want);
    pthread_t thread;

    if (want == NULL)
        return;
    *want = (struct read_ahead){ .path = strdup(path), .bytes = bytes };
    if (want->path != NULL && pthread_create(&thread, NULL, set_read_ahead, want) == 0) {
        pthread_detach(thread);
        return;
    }
    free(want->path);
    free(want);
}

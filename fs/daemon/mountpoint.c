/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mountpoint.h"

#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define FS_TYPE "fuse.fallsfs"

/* Looking at the mount itself would ask its daemon, which may be gone, or not serve yet. */
bool mountpoint_device(const char *path, dev_t *ret_dev)
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

    while (is_dead(path) && mountpoint_device(path, &dev)) {
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

/* Who serves a mount must not ask it anything: killed while it waits for itself, it could not even end. */
void mountpoint_set_read_ahead(const char *path, uint32_t bytes)
{
    char file[64];
    FILE *out = NULL;
    dev_t dev;

    if (mountpoint_device(path, &dev)) {
        snprintf(file, sizeof file, "/sys/class/bdi/%u:%u/read_ahead_kb", major(dev), minor(dev));
        out = fopen(file, "we");
    }
    if (out != NULL) {
        fprintf(out, "%" PRIu32 "\n", bytes / 1024);
        fclose(out);
    }
}

/* By the kernel's list of connections, where that is mounted. */
static bool abort_by_number(dev_t dev)
{
    char file[64];
    bool done;
    int fd;

    snprintf(file, sizeof file, "/sys/fs/fuse/connections/%u/abort", minor(dev));
    fd = open(file, O_WRONLY | O_CLOEXEC);
    done = fd >= 0 && write(fd, "1", 1) == 1;
    if (fd >= 0)
        close(fd);
    return done;
}

/* Forced, an unmount aborts first; as long as we hold on to the mount, it is all it does: programs must not write into
 * the directory below. */
void mountpoint_abort(const char *path, dev_t dev)
{
    dev_t now;
    int fd;

    if (abort_by_number(dev))
        return;
    fd = open(path, O_PATH | O_CLOEXEC); /* asks the daemon for nothing */
    if (fd < 0)
        return;
    if (mountpoint_device(path, &now) && now == dev)
        (void) umount2(path, MNT_FORCE);
    close(fd);
}

/* SPDX-License-Identifier: MIT */
#include "fs/daemon/kernel/mountpoint.h"

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

/* Reads the kernel's table of mounts: a look at the mount itself would ask its daemon, which may be gone, or not serve
 * yet. */
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

/* Unmounts with fusermount3, since an ordinary user may not unmount by himself. */
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

/* Whether nobody serves a mount any more. Its daemon is asked anew, as the kernel may remember what a dead one
 * answered. */
static bool is_dead(const char *path)
{
    struct statx stx;

    return statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_TYPE, &stx) < 0 && errno == ENOTCONN;
}

/* Unmounts what a killed fallsfs left at path, a mount of ours that nobody serves; 0 also when there is none. */
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

/* Works as realpath(3), also for a place whose mount answers no more: then only its parent is asked. */
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

/* Sets the read-ahead of the mount's device, which is found without asking the mount: who serves a mount and asks it
 * anything waits for himself, and a kill could not even end him. */
int mountpoint_set_read_ahead(const char *path, uint32_t bytes)
{
    char file[64];
    FILE *out;
    dev_t dev;

    if (!mountpoint_device(path, &dev))
        return -ENOENT;
    snprintf(file, sizeof file, "/sys/class/bdi/%u:%u/read_ahead_kb", major(dev), minor(dev));
    out = fopen(file, "we");
    if (out == NULL)
        return -errno;
    fprintf(out, "%" PRIu32 "\n", bytes / 1024);
    return fclose(out) != 0 ? -errno : 0;
}

static int write_down(struct libmnt_update *update, struct libmnt_fs *entry, const char *path, const char *source)
{
    if (mnt_fs_set_target(entry, path) < 0 || mnt_fs_set_source(entry, source) < 0 ||
        mnt_fs_set_fstype(entry, FS_TYPE) < 0 || mnt_fs_set_options(entry, "uhelper=" FS_TYPE) < 0 ||
        mnt_update_set_fs(update, 0, NULL, entry) != 0)
        return -ENOMEM;
    return mnt_update_table(update, NULL);
}

void mountpoint_name_helper(const char *path)
{
    struct libmnt_table *table = mnt_new_table_from_file("/proc/self/mountinfo");
    struct libmnt_fs *fs = table != NULL ? mnt_table_find_target(table, path, MNT_ITER_BACKWARD) : NULL;
    struct libmnt_update *update = mnt_new_update();
    struct libmnt_fs *entry = mnt_new_fs();

    if (fs != NULL && update != NULL && entry != NULL)
        (void) write_down(update, entry, path, mnt_fs_get_source(fs));
    mnt_unref_fs(entry);
    mnt_free_update(update);
    mnt_unref_table(table);
}

int mountpoint_follow_no_links(const char *path)
{
    struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSYMFOLLOW };

    return mount_setattr(AT_FDCWD, path, 0, &attr, sizeof attr) < 0 ? -errno : 0;
}

/* Ends the connection through the kernel's list of connections; false where that list is not mounted, or may not be
 * written. */
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

/* Where the list of connections cannot be used, a forced unmount ends the connection before it unmounts. As fd keeps
 * the mount busy, the unmount itself fails: programs must not write into the directory below. */
void mountpoint_abort(const char *path, dev_t dev)
{
    dev_t now;
    int fd;

    if (abort_by_number(dev))
        return;
    fd = open(path, O_PATH | O_CLOEXEC); /* O_PATH: the daemon is not asked */
    if (fd < 0)
        return;
    if (mountpoint_device(path, &now) && now == dev)
        (void) umount2(path, MNT_FORCE);
    close(fd);
}

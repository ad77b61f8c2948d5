/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mountpoint.h"

#include <libmount/libmount.h>
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

int mountpoint_clean(const char *path)
{
    struct stat st;
    dev_t dev;

    while (stat(path, &st) < 0 && errno == ENOTCONN && find(path, &dev)) {
        int r = geteuid() == 0 ? (umount2(path, MNT_DETACH) < 0 ? -errno : 0) : run_fusermount(path);

        if (r < 0)
            return r;
    }
    return 0;
}

void mountpoint_set_read_ahead(const char *path, uint32_t bytes)
{
    char file[64];
    FILE *out;
    dev_t dev;

    if (!find(path, &dev))
        return;
    snprintf(file, sizeof file, "/sys/class/bdi/%u:%u/read_ahead_kb", major(dev), minor(dev));
    out = fopen(file, "we");
    if (out == NULL)
        return;
    fprintf(out, "%" PRIu32 "\n", bytes / 1024);
    fclose(out);
}

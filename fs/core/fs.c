/* SPDX-License-Identifier: MIT */
#include "fs/core/fs.h"

#include "fs/core/copier.h"
#include "fs/core/file.h"
#include "fs/core/reap.h"
#include "fs/core/space.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a crash left in tmp/ has no name and never had. */
static int empty_tmp(struct fs *fs)
{
    _Alignas(struct dirent64) char buf[8192];
    const struct disk *home = fs_home(fs);
    int fd = disk_call(home, open, fs->volume->tmp, ".", O_RDONLY | O_DIRECTORY, 0);
    ssize_t n = 0;

    while (fd >= 0 && (n = disk_call(home, read_dir, fd, buf, sizeof buf)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *) (buf + at);

            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                (void) disk_call(home, unlink, fs->volume->tmp, entry->d_name, 0);
        }
    disk_close(home, &fd);
    return fd < -1 ? fd : (int) MIN(n, 0);
}

static int set_default_layout(struct fs *fs, const char *text, struct volume_error *error)
{
    struct layout_error why;
    int r = layouts_add(fs->layouts, text, &fs->default_layout, &fs->default_rotates, &why);

    if (r == -EINVAL || r == -ERANGE || r == -E2BIG || r == -EOVERFLOW || r == -ENODEV)
        return volume_fail(error, r, "default layout '%s', column %zu: %s", text, why.column, why.why);
    return r < 0 ? volume_fail(error, r, "cannot store the default layout '%s': %s", text, strerror(-r)) : 0;
}

static int start(struct fs *fs, const struct fs_options *options, struct volume_error *error)
{
    int r = layouts_new(fs->volume, &fs->layouts);

    if (r == 0)
        r = workers_new(options->n_threads, &fs->workers);
    if (r == 0)
        r = inodes_new(fs->volume, options->max_fds, &fs->inodes);
    if (r == 0)
        r = reaper_new(fs, &fs->reaper);
    if (r == 0)
        r = copier_new(fs, &fs->copier);
    if (r < 0)
        return volume_fail(error, r, "cannot start: %s", strerror(-r));
    r = set_default_layout(fs, options->layout, error);
    if (r == 0)
        space_note(fs);
    if (r < 0 || fs->read_only)
        return r;
    r = empty_tmp(fs);
    if (r == 0)
        r = reaper_take_all(fs->reaper);
    return r < 0 ? volume_fail(error, r, "cannot finish what the last mount left: %s", strerror(-r)) : 0;
}

static void free_all(struct fs *fs)
{
    workers_free(fs->workers);
    reaper_free(fs->reaper);
    copier_free(fs->copier);
    inodes_free(fs->inodes);
    layouts_free(fs->layouts);
    volume_free(fs->volume);
    free(fs);
}

int fs_new(struct volume *volume, const struct fs_options *options, struct fs **ret_fs, struct volume_error *ret_error)
{
    struct fs *fs = calloc(1, sizeof *fs);
    int r;

    if (fs == NULL) {
        volume_free(volume);
        return volume_fail(ret_error, -ENOMEM, "out of memory");
    }
    fs->volume = volume;
    fs->read_only = (volume->flags & VOLUME_READ_ONLY) != 0;
    fs->privileged = geteuid() == 0;
    r = start(fs, options, ret_error);
    if (r < 0) {
        free_all(fs);
        return r;
    }
    *ret_fs = fs;
    return 0;
}

struct ending {
    struct fs *fs;
    int error; /* the first */
};

/* The kernel forgets handles in its own time; at the end nobody is left who would close them. */
static void end_one(void *arg, struct inode *inode)
{
    struct ending *ending = arg;
    int r = file_end(ending->fs, inode);

    if (ending->error == 0)
        ending->error = r;
}

int fs_free(struct fs *fs)
{
    struct ending ending = { .fs = fs };
    int r;

    workers_drain(fs->workers);
    inodes_visit(fs->inodes, end_one, &ending);
    workers_drain(fs->workers);
    r = ending.error;
    if (r == 0 && !fs->read_only)
        r = volume_sync(fs->volume);
    if (r == 0)
        r = volume_end_epoch(fs->volume); /* else the next mount looks at what this one did */
    free_all(fs);
    return r;
}

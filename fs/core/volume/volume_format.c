/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/random.h"
#include "fs/core/disk/walk.h"
#include "fs/core/volume/record.h"
#include "fs/core/volume/volume_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* -- is it free -- */

static int check_entry(const struct member *member, const char *name, struct volume_error *error)
{
    if (strcmp(name, "lost+found") == 0)
        return 0;
    if (strcmp(name, STAMP_DIR) == 0)
        return volume_fail(
            error, -EEXIST,
            "%s already has a .fallsfs: it belongs to a volume, or a format did not finish. If nothing there is "
            "needed, rm -r %s/.fallsfs first",
            member->path, member->path);
    return volume_fail(error, -ENOTEMPTY, "%s is not empty (it has '%s'): format takes empty directories only",
                       member->path, name);
}

int member_check_empty(const struct member *member, struct volume_error *error)
{
    const struct disk disk = { .ops = member->ops, .ctx = member->ctx };
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(&disk, member->dir, &walk);

    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        walk_skip(walk);
        r = entry.leaving ? entry.error : check_entry(member, entry.name, error);
    }
    if (r < 0 && error->why[0] == 0)
        return volume_fail(error, r, "cannot read %s: %s", member->path, strerror(-r));
    return r;
}

/* -- making -- */

static int make_dir(const struct disk *disk, const char *path, mode_t mode)
{
    return disk_call(disk, mkdir, disk->root, path, mode);
}

static int make_lock(const struct disk *disk)
{
    int fd = disk_call(disk, open, disk->root, "lock", O_RDWR | O_CREAT | O_EXCL, 0600);
    int r = fd < 0 ? fd : 0;

    disk_close(disk, &fd);
    return r;
}

static int make_objects(const struct disk *disk, uint32_t fanout)
{
    char path[16];
    int r = make_dir(disk, "obj", 0700);

    for (uint32_t i = 0; r == 0 && i < fanout; i++) {
        snprintf(path, sizeof path, "obj/%02x", i);
        r = make_dir(disk, path, 0700);
    }
    return r;
}

static int make_home(const struct member *member, const struct disk *disk, struct volume_error *error)
{
    static const char probe[] = "fallsfs";
    int r = make_dir(disk, "ns", 0755);

    if (r == 0)
        r = make_dir(disk, "tmp", 0700);
    if (r == 0)
        r = make_dir(disk, "todo", 0700);
    if (r < 0)
        return r;
    r = disk_call(disk, set_xattr, disk->root, "tmp", RECORD_XATTR, probe, sizeof probe, 0);
    if (r == -EOPNOTSUPP)
        return volume_fail(
            error, r,
            "%s cannot be the home disk: its file system has no user extended attributes, which hold the files' "
            "records. Local file systems and NFS 4.2 have them; NFS 3, 4.0 and 4.1 do not. Name another disk "
            "with --home",
            member->path);
    return r < 0 ? r : disk_call(disk, remove_xattr, disk->root, "tmp", RECORD_XATTR);
}

int member_prepare(const struct member *member, struct disk *disk, bool is_home, uint32_t fanout,
                   struct volume_error *error)
{
    int r = disk_call(disk, mkdir, member->dir, STAMP_DIR, 0700);

    if (r == 0)
        disk->root = r = disk_call(disk, open, member->dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (r >= 0)
        r = make_lock(disk);
    if (r == 0)
        r = make_dir(disk, "layout", 0700);
    if (r == 0)
        r = make_objects(disk, fanout);
    if (r == 0 && is_home)
        r = make_home(member, disk, error);
    if (r == 0)
        r = disk_call(disk, sync, disk->root, SYNC_DISK);
    if (r == 0)
        r = disk_call(disk, sync, member->dir, SYNC_ALL);
    if (r < 0 && error->why[0] == 0)
        volume_fail(error, r, "cannot make %s/.fallsfs: %s", member->path, strerror(-r));
    return r;
}

/* Errors are left aside: not everything was made that is removed here. */
void member_undo(const struct member *member, struct disk *disk, uint32_t fanout)
{
    static const char *const file[] = { STAMP_NAME, STAMP_NAME ".new", STAMP_SPARE, "lock" };
    static const char *const dir[] = { "ns", "tmp", "todo", "layout", "obj" };
    char path[16];

    if (disk->root < 0)
        return;
    for (uint32_t i = 0; i < fanout; i++) {
        snprintf(path, sizeof path, "obj/%02x", i);
        (void) disk_call(disk, unlink, disk->root, path, AT_REMOVEDIR);
    }
    for (size_t i = 0; i < ARRAY_SIZE(file); i++)
        (void) disk_call(disk, unlink, disk->root, file[i], 0);
    for (size_t i = 0; i < ARRAY_SIZE(dir); i++)
        (void) disk_call(disk, unlink, disk->root, dir[i], AT_REMOVEDIR);
    (void) disk_call(disk, unlink, member->dir, STAMP_DIR, AT_REMOVEDIR);
}

static int write_stamps(const struct member member[], const struct disk disk[], struct stamp *stamp,
                        struct volume_error *error)
{
    for (uint32_t i = 0; i < stamp->n_disks; i++) {
        int r;

        stamp->index = i;
        r = stamp_write(&disk[i], stamp);
        if (r < 0)
            return volume_fail(error, r, "cannot write %s/.fallsfs/volume: %s", member[i].path, strerror(-r));
    }
    return 0;
}

static int new_stamp(const struct member member[], uint32_t n, uint32_t home, uint32_t fanout, struct stamp *stamp)
{
    int r;

    *stamp =
        (struct stamp){ .format = STAMP_USUAL, .home = home, .fanout = fanout, .disk = calloc(n, sizeof *stamp->disk) };
    if (stamp->disk == NULL)
        return -ENOMEM;
    stamp->n_disks = n;
    r = random_bytes(stamp->volume, sizeof stamp->volume);
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct stamp_disk *disk = &stamp->disk[i];

        r = random_bytes(disk->uuid, sizeof disk->uuid);
        disk->path = strdup(member[i].path);
        snprintf(disk->pool, sizeof disk->pool, "%s", member[i].pool != NULL ? member[i].pool : "");
        if (disk->path == NULL)
            return -ENOMEM;
    }
    return r;
}

static int check_members(const struct member member[], uint32_t n, struct volume_error *error)
{
    cleanup(freep) struct stat *st = calloc(n, sizeof *st);
    int r = st == NULL ? volume_fail(error, -ENOMEM, "out of memory") : 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        const struct disk disk = { .ops = member[i].ops, .ctx = member[i].ctx };

        r = disk_call(&disk, stat, member[i].dir, "", &st[i]);
        if (r < 0)
            return volume_fail(error, r, "cannot look at %s: %s", member[i].path, strerror(-r));
        for (uint32_t j = 0; j < i; j++)
            if (st[j].st_dev == st[i].st_dev && st[j].st_ino == st[i].st_ino)
                return volume_fail(error, -EINVAL, "%s and %s are the same directory", member[j].path, member[i].path);
        r = member_check_empty(&member[i], error);
    }
    return r;
}

int volume_format(const struct member member[], uint32_t n, uint32_t home, uint32_t fanout,
                  struct volume_error *ret_error)
{
    cleanup(stamp_done) struct stamp stamp = { 0 };
    struct disk *disk;
    int r;

    ret_error->why[0] = 0;
    if (n == 0 || n > STAMP_MAX_DISKS)
        return volume_fail(ret_error, -EINVAL, "a volume has 1 to %d disks", STAMP_MAX_DISKS);
    r = check_members(member, n, ret_error);
    if (r < 0)
        return r;
    disk = calloc(n, sizeof *disk);
    if (disk == NULL || new_stamp(member, n, home, fanout, &stamp) < 0) {
        free(disk);
        return volume_fail(ret_error, -ENOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < n; i++)
        disk[i] = (struct disk){ .ops = member[i].ops, .ctx = member[i].ctx, .root = -1, .lock = -1, .index = i };
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = member_prepare(&member[i], &disk[i], i == home, fanout, ret_error);
    if (r == 0)
        r = write_stamps(member, disk, &stamp, ret_error);
    for (uint32_t i = 0; i < n; i++) {
        if (r < 0)
            member_undo(&member[i], &disk[i], fanout);
        disk_close_root(&disk[i]);
    }
    free(disk);
    return r;
}

/* Whether a .fallsfs has nothing but what member_prepare makes: its making was begun, and there is no stamp yet. */
static bool is_begun_only(const struct disk *disk)
{
    static const char *const made[] = { STAMP_NAME ".new", STAMP_SPARE, "lock" };
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(disk, disk->root, &walk);

    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        bool is_made = S_ISDIR(entry.st.st_mode);

        for (size_t i = 0; i < ARRAY_SIZE(made); i++)
            is_made |= strcmp(entry.path, made[i]) == 0;
        r = entry.error < 0 || is_made ? entry.error : -EEXIST;
    }
    return r == 0;
}

/* Removes what an attempt has left that was interrupted. */
static void clear_begun(const struct member *member, uint32_t fanout)
{
    struct disk disk = { .ops = member->ops, .ctx = member->ctx, .root = -1, .lock = -1 };

    disk.root = disk_call(&disk, open, member->dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (disk.root >= 0 && is_begun_only(&disk))
        member_undo(member, &disk, fanout);
    disk_close_root(&disk);
}

int volume_replace_home(const struct member *member, const struct stamp *stamp, struct volume_error *ret_error)
{
    struct disk disk = { .ops = member->ops, .ctx = member->ctx, .root = -1, .lock = -1, .index = stamp->home };
    struct stamp own = *stamp;
    int r;

    ret_error->why[0] = 0;
    own.index = stamp->home;
    clear_begun(member, stamp->fanout);
    r = member_check_empty(member, ret_error);
    if (r < 0)
        return r;
    r = member_prepare(member, &disk, true, stamp->fanout, ret_error);
    if (r == 0) {
        r = stamp_write(&disk, &own);
        if (r < 0)
            volume_fail(ret_error, r, "cannot write %s/.fallsfs/volume: %s", member->path, strerror(-r));
    }
    if (r < 0)
        member_undo(member, &disk, stamp->fanout);
    disk_close_root(&disk);
    return r;
}

/* SPDX-License-Identifier: MIT */
/* Disks join a volume in use, and leave it. The list of disks is in every stamp; a new list counts once it is written
 * to the home disk. The other disks get it then, or at the next mount:
 *
 *     join      .fallsfs made ──> stamp of the new disk ──> of the home disk ──> of the others ──> in use
 *     leave     "leaving" in all stamps ──> files move away ──> "gone" in all others' stamps ──> .fallsfs removed */
#include "fs/core/disk/random.h"
#include "fs/core/disk/walk.h"
#include "fs/core/volume/volume_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* -- the list -- */

static int stamp_disk_write(struct stamp *stamp, const struct disk *disk)
{
    stamp->index = disk->index;
    return stamp_write(disk, stamp);
}

/* Writes the list as it was before to the home disk, as the newest change: the write of the changed list has failed,
 * but may have reached the disk. */
static void write_back(struct volume *volume, uint64_t changes) REQUIRES(volume->changing)
{
    volume->stamp.changes = changes;
    (void) stamp_disk_write(&volume->stamp, volume_home(volume));
}

/* Writes the changed list to all disks and makes it the volume's, which takes it over. A disk that joins, unless NULL,
 * gets it first; from the home disk on it counts. */
static int write_list(struct volume *volume, struct stamp *changed, const struct disk *joining)
    REQUIRES(volume->changing)
{
    int r = joining != NULL ? stamp_disk_write(changed, joining) : 0;

    if (r < 0)
        return r;
    r = stamp_disk_write(changed, volume_home(volume));
    if (r < 0) {
        write_back(volume, changed->changes + 1);
        return r;
    }
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (i != volume->home && disk_is_present(&volume->disk[i]))
            (void) stamp_disk_write(changed, &volume->disk[i]); /* else at the end of the epoch, or at a mount */
    stamp_done(&volume->stamp);
    volume->stamp = *changed;
    *changed = (struct stamp){ 0 };
    return 0;
}

static int begin_change(const struct volume *volume, struct stamp *ret_changed, struct volume_error *error)
    REQUIRES(volume->changing)
{
    if ((volume->flags & VOLUME_READ_ONLY) != 0)
        return volume_fail(error, -EROFS, "the volume is mounted read-only");
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (disk_is_present(&volume->disk[i]) && disk_is_read_only(&volume->disk[i]))
            return volume_fail(error, -EROFS,
                               "d%" PRIu32
                               " (%s) is read-only, and is to note which disks there are: 'fallsctl status' "
                               "says what to do; 'fallsctl migrate --restripe' moves files from it meanwhile",
                               i, volume->disk[i].path);
    if (stamp_copy(&volume->stamp, ret_changed) < 0)
        return volume_fail(error, -ENOMEM, "out of memory");
    ret_changed->changes++;
    return 0;
}

/* -- what is on a disk -- */

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len >= n && strcmp(name + len - n, end) == 0;
}

/* Whether an entry below .fallsfs is a subfile, of a file or of a replica. Copies of records and maps of replicas are
 * not, nor is what was never finished: they are of no use on a disk that leaves. */
static bool is_subfile(const struct walk_entry *entry)
{
    static const char *const other[] = { ".m", ".r", ".new" };
    bool is = strncmp(entry->path, "obj/", 4) == 0 && !S_ISDIR(entry->st.st_mode);

    for (size_t i = 0; is && i < ARRAY_SIZE(other); i++)
        is = !ends_with(entry->name, other[i]);
    return is;
}

static int count_subfiles(const struct disk *disk, uint64_t *ret_n)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(disk, disk->root, &walk);

    *ret_n = 0;
    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        r = walk_lost_it(&entry) ? 0 : entry.error;
        if (!entry.leaving && entry.error == 0)
            *ret_n += is_subfile(&entry);
    }
    return r;
}

/* Whether an entry below .fallsfs is the stamp or the lock: by these a disk that has left is known. */
static bool is_mark(const struct walk_entry *entry)
{
    return entry->depth == 0 && (strcmp(entry->name, STAMP_NAME) == 0 || strcmp(entry->name, "lock") == 0);
}

static int remove_contents(const struct disk *disk)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(disk, disk->root, &walk);

    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        bool is_dir = S_ISDIR(entry.st.st_mode);

        r = entry.error;
        if (r == 0 && (!is_dir || entry.leaving) && !is_mark(&entry))
            r = disk_call(disk, unlink, entry.dir, entry.name, is_dir ? AT_REMOVEDIR : 0);
    }
    return r;
}

/* Removes the .fallsfs of a disk that nobody uses, with all that is in it. The stamp goes last: whatever a crash leaves
 * can be told from a disk that somebody needs. */
static int remove_all(const struct member *member, struct disk *disk)
{
    static const char *const mark[] = { "lock", STAMP_NAME };
    int r = remove_contents(disk);

    if (r == 0)
        r = disk_call(disk, sync, disk->root, SYNC_ALL);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(mark); i++) {
        r = disk_call(disk, unlink, disk->root, mark[i], 0);
        if (r == -ENOENT)
            r = 0;
    }
    return r < 0 ? r : disk_call(disk, unlink, member->dir, STAMP_DIR, AT_REMOVEDIR);
}

/* -- joining -- */

/* The place in the list of the disk that has this stamp; -1: the disk was never taken into the volume. */
static int64_t find_in(const struct stamp *list, const struct stamp *stamp)
{
    const uint8_t *uuid = stamp->disk[stamp->index].uuid;

    for (uint32_t i = 0; i < list->n_disks; i++)
        if (memcmp(list->disk[i].uuid, uuid, DISK_UUID_SIZE) == 0)
            return i;
    return -1;
}

/* Checks that a .fallsfs is nothing but what an earlier attempt to add this disk, or to drop it, has left. -EEXIST,
 * -ENOTEMPTY, -EPROTONOSUPPORT: somebody may need it. */
static int check_left_over(const struct volume *volume, const struct member *member, const struct disk *disk,
                           struct volume_error *error)
{
    cleanup(stamp_done) struct stamp stamp = { 0 };
    struct stat st;
    uint64_t n = 0;
    int r = stamp_read(disk, &stamp);

    if (r == 0 && memcmp(stamp.volume, volume->uuid, DISK_UUID_SIZE) == 0) {
        int64_t index = find_in(&volume->stamp, &stamp);

        if (index >= 0 && volume->stamp.disk[index].standing == DISK_GONE)
            return 0; /* nothing was on it when it left; a crash may have brought back what had been removed */
        if (index >= 0)
            return volume_fail(error, -EEXIST, "%s is a disk of this volume already: d%" PRId64, member->path, index);
        r = count_subfiles(disk, &n);
        if (r == 0 && n > 0)
            return volume_fail(error, -ENOTEMPTY,
                               "%s seems to belong to a copy of this volume, and has %" PRIu64
                               " subfiles: if nothing there is needed, "
                               "rm -r %s/.fallsfs first",
                               member->path, n, member->path);
        return r < 0 ? volume_fail(error, r, "cannot look at %s/.fallsfs: %s", member->path, strerror(-r)) : 0;
    }
    if (r == -EPROTONOSUPPORT)
        return volume_fail(error, r,
                           "%s already has a .fallsfs, made by a newer fallsfs: it belongs to a volume. If nothing "
                           "there is needed, rm -r %s/.fallsfs first",
                           member->path, member->path);
    /* A .fallsfs without stamp, subfiles and names is one whose making ended early. */
    if (r == -ENOENT && disk_call(disk, stat, disk->root, "ns", &st) == -ENOENT && count_subfiles(disk, &n) == 0 &&
        n == 0)
        return 0;
    return volume_fail(
        error, -EEXIST,
        "%s already has a .fallsfs: it belongs to another volume, or a format did not finish. If nothing "
        "there is needed, rm -r %s/.fallsfs first",
        member->path, member->path);
}

static int clear_left_over(const struct volume *volume, const struct member *member, struct volume_error *error)
{
    struct disk disk = { .ops = member->ops, .ctx = member->ctx, .root = -1, .lock = -1 };
    int r;

    disk.root = disk_call(&disk, open, member->dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (disk.root == -ENOENT)
        return 0;
    if (disk.root < 0)
        return volume_fail(error, disk.root, "cannot open %s/.fallsfs: %s", member->path, strerror(-disk.root));
    r = check_left_over(volume, member, &disk, error);
    if (r == 0) {
        r = remove_all(member, &disk);
        if (r < 0)
            volume_fail(error, r, "cannot remove what is left of %s/.fallsfs: %s", member->path, strerror(-r));
    }
    disk_close_root(&disk);
    return r;
}

/* Makes a new disk the last one of the changed list. */
static int list_new(struct stamp *changed, const struct member *member, struct disk *disk)
{
    struct stamp_disk *listed = &changed->disk[changed->n_disks];
    int r = random_bytes(disk->uuid, sizeof disk->uuid);

    memcpy(listed->uuid, disk->uuid, DISK_UUID_SIZE);
    snprintf(listed->pool, sizeof listed->pool, "%s", member->pool != NULL ? member->pool : "");
    listed->path = strdup(member->path);
    if (r == 0 && listed->path != NULL)
        changed->n_disks++;
    else
        free(listed->path);
    return r < 0 ? r : listed->path == NULL ? -ENOMEM : 0;
}

/* Makes a member a disk, which is whole but in no list yet, and fills in what the volume is to know of it. */
static int make_disk(struct volume *volume, const struct member *member, struct disk *disk, struct volume_error *error)
{
    struct stat st = { 0 };
    int r = member_check_empty(member, error);

    if (r == 0)
        r = member_prepare(member, disk, false, volume->fanout, error);
    if (r == 0)
        r = member_lock(member->path, disk, volume->flags, error);
    if (r < 0)
        return r;
    r = disk_call(disk, stat, disk->root, "", &st);
    if (r == 0 && volume->disk[volume->home].watch != NULL)
        r = volume_watch_disk(volume, disk);
    disk->dev = st.st_dev;
    disk->path = strdup(member->path);
    disk->pool = strdup(member->pool != NULL ? member->pool : "");
    if (r == 0 && (disk->path == NULL || disk->pool == NULL))
        r = -ENOMEM;
    return r < 0 ? volume_fail(error, r, "cannot use %s: %s", member->path, strerror(-r)) : 0;
}

static void give_up(const struct member *member, struct disk *disk, uint32_t fanout)
{
    member_undo(member, disk, fanout);
    disk_close_root(disk);
    disk_close(disk, &disk->lock);
    watch_free(disk->watch);
    free(disk->path);
    free(disk->pool);
    *disk = (struct disk){ .root = -1, .lock = -1 };
}

static int add_locked(struct volume *volume, const struct member *member, struct stamp *changed,
                      struct volume_error *error) REQUIRES(volume->changing)
{
    uint32_t index = volume->n_disks;
    struct disk *disk = &volume->disk[index];
    int r;

    if (index == STAMP_MAX_DISKS)
        return volume_fail(error, -E2BIG, "a volume has %d disks at most, those that have left counted",
                           STAMP_MAX_DISKS);
    r = clear_left_over(volume, member, error);
    if (r < 0)
        return r;
    *disk = (struct disk){ .ops = member->ops, .ctx = member->ctx, .index = index, .root = -1, .lock = -1 };
    r = make_disk(volume, member, disk, error);
    if (r == 0) {
        r = list_new(changed, member, disk);
        if (r == 0)
            r = write_list(volume, changed, disk);
        if (r < 0)
            volume_fail(error, r, "cannot write the stamps: %s", strerror(-r));
    }
    if (r < 0)
        give_up(member, disk, volume->fanout);
    else
        volume->n_disks = index + 1;
    return r;
}

int volume_add_disk(struct volume *volume, const struct member *member, uint32_t *ret_index,
                    struct volume_error *ret_error)
{
    cleanup(stamp_done) struct stamp changed = { 0 };
    int r;

    ret_error->why[0] = 0;
    mutex_lock(&volume->changing);
    r = begin_change(volume, &changed, ret_error);
    if (r == 0)
        r = add_locked(volume, member, &changed, ret_error);
    if (r == 0)
        *ret_index = volume->n_disks - 1;
    mutex_unlock(&volume->changing);
    return r;
}

/* -- replicas -- */

int volume_begin_replicas(struct volume *volume, struct volume_error *ret_error)
{
    cleanup(stamp_done) struct stamp changed = { 0 };
    int r = 0;

    ret_error->why[0] = 0;
    mutex_lock(&volume->changing);
    if (volume->stamp.format < STAMP_FORMAT) {
        r = begin_change(volume, &changed, ret_error);
        changed.format = STAMP_FORMAT;
        if (r == 0 && (r = write_list(volume, &changed, NULL)) < 0)
            volume_fail(ret_error, r, "cannot write the stamps: %s", strerror(-r));
    }
    mutex_unlock(&volume->changing);
    return r;
}

bool volume_has_replicas(struct volume *volume)
{
    bool has;

    mutex_lock(&volume->changing);
    has = volume->stamp.format >= STAMP_FORMAT;
    mutex_unlock(&volume->changing);
    return has;
}

/* -- leaving -- */

static int check_may_leave(const struct volume *volume, uint32_t index, struct volume_error *error)
    REQUIRES(volume->changing)
{
    uint32_t n_in = 0;

    if (index >= volume->n_disks || volume->disk[index].standing == DISK_GONE)
        return volume_fail(error, -ENODEV, "the volume has no disk d%" PRIu32, index);
    if (index == volume->home)
        return volume_fail(error, -EPERM,
                           "d%" PRIu32
                           " is the home disk, which has all names: it cannot leave. To have names elsewhere, "
                           "copy the files into a new volume",
                           index);
    for (uint32_t i = 0; i < volume->n_disks; i++)
        n_in += i != index && volume->disk[i].standing == DISK_IN;
    return n_in > 0 ? 0 : volume_fail(error, -EPERM, "no disk would be left to write to");
}

static int set_standing(struct volume *volume, uint32_t index, enum disk_standing standing, struct volume_error *error)
    REQUIRES(volume->changing)
{
    cleanup(stamp_done) struct stamp changed = { 0 };
    int r = begin_change(volume, &changed, error);

    if (r < 0)
        return r;
    changed.disk[index].standing = standing;
    r = write_list(volume, &changed, NULL);
    return r < 0 ? volume_fail(error, r, "cannot write the stamps: %s", strerror(-r)) : 0;
}

int volume_set_leaving(struct volume *volume, uint32_t index, bool leaves, struct volume_error *ret_error)
{
    enum disk_standing standing = leaves ? DISK_LEAVING : DISK_IN;
    int r;

    mutex_lock(&volume->changing);
    r = check_may_leave(volume, index, ret_error);
    if (r == 0 && volume->disk[index].standing != (int) standing) {
        r = set_standing(volume, index, standing, ret_error);
        if (r == 0)
            volume->disk[index].standing = (int) standing;
    }
    mutex_unlock(&volume->changing);
    return r;
}

/* Waits until the calls have ended that began before the disk was made absent; false: they have not in time. */
static bool is_left_alone(struct disk *disk)
{
    const struct timespec pause = { .tv_nsec = 10000000 };

    for (uint64_t until = clock_ms() + WATCH_STALL; disk->watch != NULL && !watch_is_idle(disk->watch);) {
        if (clock_ms() >= until)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Takes a disk out of the list, unless subfiles are on it. To others it is absent already; alone is the same disk, as
 * the caller alone still reaches it. */
static int leave(struct volume *volume, struct disk *disk, const struct disk *alone, uint64_t *ret_left,
                 struct volume_error *error) REQUIRES(volume->changing)
{
    int r = 0;

    if (!is_left_alone(disk))
        return volume_fail(error, -EBUSY, "d%" PRIu32 " does not answer", disk->index);
    r = count_subfiles(alone, ret_left);
    if (r < 0)
        return volume_fail(error, r, "cannot look at %s: %s", disk->path, strerror(-r));
    if (*ret_left > 0)
        return volume_fail(error, -EBUSY, "%" PRIu64 " subfiles are still on d%" PRIu32, *ret_left, disk->index);
    return set_standing(volume, disk->index, DISK_GONE, error);
}

static int drop_locked(struct volume *volume, uint32_t index, const struct member *member, uint64_t *ret_left,
                       struct volume_error *error) REQUIRES(volume->changing)
{
    struct disk *disk = &volume->disk[index];
    /* The disk as this function alone still reaches it, once it is absent to others. */
    struct disk alone = { .ops = disk->ops,
                          .ctx = disk->ctx,
                          .watch = disk->watch,
                          .path = disk->path,
                          .pool = disk->pool,
                          .index = index,
                          .dev = disk->dev };
    int r = check_may_leave(volume, index, error);

    if (r < 0)
        return r;
    if (disk->standing != DISK_LEAVING)
        return volume_fail(error, -EINVAL, "d%" PRIu32 " is not to leave", index);
    if (!disk_is_present(disk))
        return volume_fail(error, -ENXIO, "d%" PRIu32 " is not there", index);
    if (disk_is_read_only(disk))
        return volume_fail(error, -EROFS,
                           "d%" PRIu32
                           " is read-only: what was moved is safe, but nothing can be removed there. Make it "
                           "writable, as 'fallsctl status' says, then go on with the same command",
                           index);
    r = count_subfiles(disk, ret_left); /* while it is present: files that are still on it have no trouble */
    if (r < 0)
        return volume_fail(error, r, "cannot look at %s: %s", disk->path, strerror(-r));
    if (*ret_left > 0)
        return volume_fail(error, -EBUSY, "%" PRIu64 " subfiles are still on d%" PRIu32, *ret_left, index);
    alone.root = disk->root;
    alone.lock = disk->lock;
    disk->root = -1;
    r = leave(volume, disk, &alone, ret_left, error);
    if (r < 0) {
        disk->root = alone.root;
        return r;
    }
    disk->standing = DISK_GONE;
    disk->lock = -1;
    r = remove_all(member, &alone);
    disk_close_root(&alone);
    disk_close(&alone, &alone.lock);
    if (r < 0)
        volume_fail(error, 0,
                    "d%" PRIu32 " has left the volume; %s/.fallsfs could not be removed whole (%s): do so by hand",
                    index, disk->path, strerror(-r));
    return 0;
}

int volume_drop_disk(struct volume *volume, uint32_t index, const struct member *member, uint64_t *ret_left,
                     struct volume_error *ret_error)
{
    int r;

    *ret_left = 0;
    ret_error->why[0] = 0;
    mutex_lock(&volume->changing);
    r = drop_locked(volume, index, member, ret_left, ret_error);
    mutex_unlock(&volume->changing);
    return r;
}

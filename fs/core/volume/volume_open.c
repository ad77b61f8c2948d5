/* SPDX-License-Identifier: MIT */
/* Opening a volume: what the members' stamps tell is checked to be one volume, all there and none of it stale. */
#include "fs/core/volume/volume_parts.h"

#include "fs/core/volume/record.h"

#include <fcntl.h>
#include <string.h>

/* -- one disk -- */

/* A member whose .fallsfs was opened, and what it told. */
struct found {
    struct disk disk;
    struct stamp stamp;
    const char *path;
};

static void found_done(struct found *found)
{
    if (found->disk.ops != NULL) {
        disk_close(&found->disk, &found->disk.lock);
        disk_close_root(&found->disk);
    }
    stamp_done(&found->stamp);
}

static int look_at(const struct member *member, enum volume_flags flags, struct found *found,
                   struct volume_error *error)
{
    int r;

    found->path = member->path;
    r = member_open_root(member, flags, &found->disk, error);
    if (r == 0)
        r = member_lock(member->path, &found->disk, flags, error);
    if (r == 0)
        r = member_read_stamp(member, &found->disk, &found->stamp, error);
    if (r < 0)
        return r;
    found->disk.index = found->stamp.index;
    memcpy(found->disk.uuid, found->stamp.disk[found->stamp.index].uuid, DISK_UUID_SIZE);
    return 0;
}

/* -- do they belong together -- */

struct hex {
    char s[2 * DISK_UUID_SIZE + 1];
};

static const char *hex_of(struct hex *hex, const uint8_t id[DISK_UUID_SIZE])
{
    hex_print(id, DISK_UUID_SIZE, hex->s);
    return hex->s;
}

static int check_same_volume(const struct found *first, const struct found *other, struct volume_error *error)
{
    struct hex a, b;

    if (memcmp(first->stamp.volume, other->stamp.volume, DISK_UUID_SIZE) != 0)
        return volume_fail(error, -ENODEV, "%s belongs to volume %s, %s to volume %s: name the disks of one volume",
                           first->path, hex_of(&a, first->stamp.volume), other->path, hex_of(&b, other->stamp.volume));
    if (other->stamp.n_disks != first->stamp.n_disks && other->stamp.changes == first->stamp.changes)
        return volume_fail(error, -ENODEV,
                           "%s and %s do not agree how many disks their volume has (%" PRIu32 " and %" PRIu32
                           "): one of them is an old copy",
                           first->path, other->path, first->stamp.n_disks, other->stamp.n_disks);
    return 0;
}

/* Finds the disk whose stamp has the list that counts. A crash may have kept the last list from some disks. */
static struct found *find_lead(struct found found[], uint32_t n)
{
    struct found *lead = &found[0];

    for (uint32_t i = 1; i < n; i++)
        if (found[i].stamp.changes > lead->stamp.changes)
            lead = &found[i];
    return lead;
}

static int fail_gone(const char *path, uint32_t index, struct volume_error *error)
{
    return volume_fail(error, -ENODEV,
                       "%s, once d%" PRIu32 ", has left the volume: leave it out; nothing there is needed", path,
                       index);
}

/* Checks that a disk is in the list: it may have been taken into the volume only halfway, or have left it. */
static int check_listed(const struct found *found, const struct stamp *stamp, struct volume_error *error)
{
    uint32_t index = found->disk.index;

    if (index >= stamp->n_disks || memcmp(found->disk.uuid, stamp->disk[index].uuid, DISK_UUID_SIZE) != 0)
        return volume_fail(error, -ENODEV,
                           "%s was never taken into the volume to the end: leave it out, and add it again when the "
                           "volume is mounted",
                           found->path);
    return stamp->disk[index].standing == DISK_GONE ? fail_gone(found->path, index, error) : 0;
}

static int check_places(const struct found found[], uint32_t n, const struct stamp *stamp, enum volume_flags flags,
                        struct volume_error *error)
{
    cleanup(freep) const struct found **at = calloc(stamp->n_disks, sizeof(struct found *));

    if (at == NULL)
        return volume_fail(error, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index = found[i].disk.index;
        int r = check_listed(&found[i], stamp, error);

        if (r < 0)
            return r;
        if (at[index] != NULL)
            return volume_fail(error, -ENODEV, "%s and %s are the same disk, or copies of it: name each disk once",
                               at[index]->path, found[i].path);
        at[index] = &found[i];
    }
    for (uint32_t i = 0; i < stamp->n_disks; i++) {
        if (at[i] != NULL || stamp->disk[i].standing == DISK_GONE)
            continue;
        if ((flags & VOLUME_DEGRADED) == 0)
            return volume_fail(error, -ENODEV,
                               "disk d%" PRIu32 " of the volume is missing; it was %s when last seen. Name all %" PRIu32
                               " disks, or read what is there with fallsfs -o ro,degraded",
                               i, stamp->disk[i].path, stamp_n_members(stamp));
        if (i == stamp->home)
            return volume_fail(error, -ENODEV,
                               "the home disk d%" PRIu32 " (%s when last seen) is missing, and with it all names: "
                               "fsck.fallsfs can make them anew from the other disks",
                               i, stamp->disk[i].path);
    }
    return 0;
}

/* Finds a disk that has entered the newest epoch, and checks that each of the others has entered it or was about to. */
static int check_epochs(const struct found found[], uint32_t n, const struct found **ret_newest,
                        struct volume_error *error)
{
    const struct found *newest = &found[0];

    for (uint32_t i = 1; i < n; i++)
        if (found[i].stamp.epoch > newest->stamp.epoch)
            newest = &found[i];
    for (uint32_t i = 0; i < n; i++)
        if (found[i].stamp.epoch != newest->stamp.epoch && found[i].stamp.next != newest->stamp.epoch)
            return volume_fail(error, -ENODEV,
                               "%s is an old copy: it last saw the volume in epoch %" PRIu64 ", %s in epoch %" PRIu64
                               ". Use the disk that was in the volume since",
                               found[i].path, found[i].stamp.epoch, newest->path, newest->stamp.epoch);
    *ret_newest = newest;
    return 0;
}

/* -- opening -- */

static int open_home_dirs(struct volume *volume, struct volume_error *error)
{
    static const char *const name[] = { "ns", "tmp", "todo" };
    int *const fd[] = { &volume->ns, &volume->tmp, &volume->todo };
    const struct disk *home = volume_home(volume);
    int probe;

    for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
        *fd[i] = disk_call(home, open, home->root, name[i], O_RDONLY | O_DIRECTORY, 0);
        if (*fd[i] < 0)
            return volume_fail(error, *fd[i], "cannot open %s/.fallsfs/%s on the home disk: %s", home->path, name[i],
                               strerror(-*fd[i]));
    }
    probe = disk_call(home, open, volume->tmp, ".", O_TMPFILE | O_RDWR, 0600);
    volume->disk[volume->home].nameless = probe >= 0;
    disk_close(home, &probe);
    return 0;
}

static struct volume *volume_new(uint32_t n_disks)
{
    struct volume *volume = calloc(1, sizeof *volume); /* most of it is never touched */

    if (volume == NULL)
        return NULL;
    mutex_init(&volume->changing);
    volume->n_disks = n_disks;
    volume->ns = volume->tmp = volume->todo = -1;
    for (uint32_t i = 0; i < n_disks; i++)
        volume->disk[i] = (struct disk){ .index = i, .root = -1, .lock = -1 };
    return volume;
}

static int enter_epoch(struct volume *volume, struct volume_error *error)
{
    struct epochs unclean;
    int r = epochs_copy(&volume->unclean, &unclean);

    if (r < 0)
        return volume_fail(error, r, "out of memory");
    epochs_done(&volume->stamp.unclean);
    volume->stamp.unclean = unclean;
    volume->stamp.format = MAX(volume->stamp.format, STAMP_USUAL); /* format 1 cannot tell of single epochs */
    volume->stamp.next = volume->epoch;
    r = volume_stamp_all(volume);
    if (r == 0) {
        volume->stamp.epoch = volume->epoch;
        r = volume_stamp_all(volume);
    }
    if (r < 0)
        return volume_fail(error, r,
                           "cannot write the stamps: %s. To read a volume on disks that cannot be written, mount it "
                           "with -o ro",
                           strerror(-r));
    return 0;
}

/* Moves the disks that were found to their places in the volume, and notes in its stamp where they are now. */
static int adopt(struct volume *volume, struct found found[], uint32_t n, struct volume_error *error)
{
    for (uint32_t i = 0; i < n; i++) {
        struct disk *disk = &volume->disk[found[i].disk.index];
        char **path = &volume->stamp.disk[found[i].disk.index].path;

        *disk = found[i].disk;
        found[i].disk.ops = NULL;
        free(*path);
        *path = strdup(found[i].path);
        if (*path == NULL)
            return volume_fail(error, -ENOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct stamp_disk *told = &volume->stamp.disk[i];
        struct disk *disk = &volume->disk[i];

        disk->standing = (int) told->standing;
        disk->path = strdup(told->path);
        disk->pool = strdup(told->pool);
        if (disk->path == NULL || disk->pool == NULL)
            return volume_fail(error, -ENOMEM, "out of memory");
    }
    return 0;
}

/* Whether somebody who only looks finds the volume in use: then its epoch is under way, and has not ended badly. */
static bool is_in_use(const struct found found[], uint32_t n, enum volume_flags flags)
{
    bool in_use = false;

    for (uint32_t i = 0; (flags & VOLUME_PEEK) != 0 && !in_use && i < n; i++)
        in_use = member_is_locked(&found[i].disk);
    return in_use;
}

static int assemble(struct found found[], uint32_t n, enum volume_flags flags, struct volume **ret_volume,
                    struct volume_error *error)
{
    cleanup(volume_freep) struct volume *volume = NULL;
    const struct found *newest = NULL;
    struct found *lead = find_lead(found, n);
    uint64_t epoch, clean = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = check_same_volume(lead, &found[i], error);
    if (r == 0)
        r = check_places(found, n, &lead->stamp, flags, error);
    if (r == 0)
        r = check_epochs(found, n, &newest, error);
    if (r < 0)
        return r;
    epoch = newest->stamp.epoch;
    for (uint32_t i = 0; i < n; i++)
        clean = MAX(clean, found[i].stamp.clean);
    volume = volume_new(lead->stamp.n_disks);
    if (volume == NULL || epochs_copy(&newest->stamp.unclean, &volume->unclean) < 0 ||
        (clean != epoch && !is_in_use(found, n, flags) && epochs_add(&volume->unclean, epoch) < 0))
        return volume_fail(error, -ENOMEM, "out of memory");
    memcpy(volume->uuid, lead->stamp.volume, DISK_UUID_SIZE);
    volume->home = lead->stamp.home;
    volume->fanout = lead->stamp.fanout;
    volume->flags = flags;
    volume->epoch = (flags & VOLUME_READ_ONLY) != 0 ? epoch : epoch + 1;
    volume->stamp = lead->stamp;
    lead->stamp = (struct stamp){ 0 };
    volume->stamp.epoch = epoch;
    volume->stamp.clean = clean;
    r = adopt(volume, found, n, error);
    if (r == 0)
        r = open_home_dirs(volume, error);
    if (r == 0 && (flags & VOLUME_READ_ONLY) == 0)
        r = enter_epoch(volume, error);
    if (r == 0)
        *ret_volume = steal(volume);
    return r;
}

/* Finds which of the disks that have left a member was that cannot be opened: the stamp it still has says so, or, if it
 * has neither stamp nor objects, the path where it lies. -1: none of them. */
static int64_t find_gone(struct found *one, const struct stamp *list)
{
    const uint8_t *uuid;
    struct stat st;

    if (one->disk.root >= 0)
        (void) stamp_read(&one->disk, &one->stamp);
    if (one->stamp.n_disks == 0) {
        bool has_objects = one->disk.root >= 0 && disk_call(&one->disk, stat, one->disk.root, "obj", &st) != -ENOENT;

        return has_objects ? -1 : stamp_find_gone(list, one->path);
    }
    uuid = one->stamp.disk[one->stamp.index].uuid;
    for (uint32_t i = 0; i < list->n_disks; i++)
        if (list->disk[i].standing == DISK_GONE && memcmp(list->disk[i].uuid, uuid, DISK_UUID_SIZE) == 0)
            return i;
    return -1;
}

/* Puts an error with one of the members into better words if the member is what a crash has kept of a disk that has
 * left. The stamps of the other members tell which disks have left, so those are looked at as well. */
static int explain(const struct member member[], struct found found[], uint32_t n, uint32_t bad, int r,
                   struct volume_error *error)
{
    const struct stamp *list = NULL;
    struct volume_error ignored;
    int64_t index;

    if ((r != -ENODEV && r != -ENOENT) || found[bad].stamp.n_disks > 0)
        return r;
    for (uint32_t i = 0; i < n; i++) {
        if (i > bad)
            (void) look_at(&member[i], VOLUME_PEEK | VOLUME_READ_ONLY, &found[i], &ignored);
        if (i != bad && found[i].stamp.n_disks > 0 && (list == NULL || found[i].stamp.changes > list->changes))
            list = &found[i].stamp;
    }
    index = list != NULL ? find_gone(&found[bad], list) : -1;
    return index >= 0 ? fail_gone(member[bad].path, (uint32_t) index, error) : r;
}

int volume_open(const struct member member[], uint32_t n, enum volume_flags flags, struct volume **ret_volume,
                struct volume_error *ret_error)
{
    struct found *found = calloc(n, sizeof *found);
    int r = 0;

    if (found == NULL)
        return volume_fail(ret_error, -ENOMEM, "out of memory");
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = look_at(&member[i], flags, &found[i], ret_error);
        if (r < 0)
            r = explain(member, found, n, i, r, ret_error);
    }
    if (r == 0)
        r = assemble(found, n, flags, ret_volume, ret_error);
    for (uint32_t i = 0; i < n; i++)
        found_done(&found[i]);
    free(found);
    return r;
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/volume_parts.h"

#include "fs/core/record.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int volume_fail(struct volume_error *error, int r, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(error->why, sizeof error->why, fmt, list);
    va_end(list);
    return r;
}

int member_open(const char *path, struct member *ret_member)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        return -errno;
    *ret_member = (struct member){ .ops = &disk_local_ops, .dir = dir, .path = path };
    return 0;
}

void member_close(struct member *member)
{
    if (member->ops == &disk_local_ops && member->dir >= 0)
        close(member->dir);
    member->dir = -1;
}

/* -- one disk -- */

/* What a member's .fallsfs told. */
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

static int open_root(const struct member *member, struct disk *disk, struct volume_error *error)
{
    struct stat st;
    int r;

    *disk = (struct disk){ .ops = member->ops, .ctx = member->ctx, .root = -1, .lock = -1 };
    disk->root = disk_call(disk, open, member->dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    if (disk->root == -ENOENT)
        return volume_fail(error, -ENODEV,
                           "%s is not a disk of a fallsfs volume: it has no .fallsfs. Is something not mounted there? "
                           "'fallsctl format' makes a new volume of empty directories",
                           member->path);
    if (disk->root == -EACCES)
        return volume_fail(error, -EACCES,
                           "%s/.fallsfs may not be opened: a volume is mounted by the user who formatted it",
                           member->path);
    if (disk->root < 0)
        return volume_fail(error, disk->root, "cannot open %s/.fallsfs: %s", member->path, strerror(-disk->root));
    r = disk_call(disk, stat, disk->root, "", &st);
    if (r < 0)
        return volume_fail(error, r, "cannot look at %s/.fallsfs: %s", member->path, strerror(-r));
    if ((st.st_mode & 077) != 0)
        return volume_fail(
            error, -EPERM,
            "%s/.fallsfs is open to other users (mode %03o), who could read all files: chmod 700 it, and check "
            "who had access",
            member->path, (unsigned) st.st_mode & 0777);
    if (member->ops == &disk_local_ops && st.st_uid != geteuid())
        return volume_fail(
            error, -EPERM,
            "%s/.fallsfs belongs to user %u, who could read and change all files: mount as that user, or "
            "chown it after checking who had access",
            member->path, (unsigned) st.st_uid);
    disk->dev = st.st_dev;
    return 0;
}

/* The length of the lock file: who holds it has unmounted, and is writing what is left. */
#define LOCK_ENDING 1

int member_lock(const char *path, struct disk *disk, enum volume_flags flags, struct volume_error *error)
{
    struct stat st;
    int r;

    if ((flags & VOLUME_PEEK) != 0)
        return 0;
    disk->lock = disk_call(disk, open, disk->root, "lock", O_RDWR | O_NONBLOCK, 0);
    if (disk->lock == -EROFS && (flags & VOLUME_READ_ONLY) != 0)
        return 0; /* nobody else can write there either */
    if (disk->lock < 0)
        return volume_fail(error, disk->lock, "cannot open %s/.fallsfs/lock: %s", path, strerror(-disk->lock));
    r = disk_call(disk, stat, disk->lock, "", &st);
    if (r == 0 && !S_ISREG(st.st_mode))
        return volume_fail(error, -EUCLEAN, "%s/.fallsfs/lock is no regular file: somebody put it there", path);
    if (r == 0)
        r = disk_call(disk, lock, disk->lock);
    if (r == -EAGAIN && st.st_size == LOCK_ENDING)
        return volume_fail(error, -EINPROGRESS,
                           "the fallsfs that was unmounted is still writing to %s: try again when it has ended", path);
    if (r == -EAGAIN)
        return volume_fail(
            error, -EBUSY,
            "%s is in use by another fallsfs or fsck.fallsfs, on this machine or another: unmount the volume "
            "there first",
            path);
    if (r < 0)
        return volume_fail(
            error, r,
            "cannot lock %s/.fallsfs/lock: %s. On NFS, mount without 'nolock' and 'local_lock', so that a "
            "second daemon can be kept away",
            path, strerror(-r));
    if (st.st_size != 0 && (flags & VOLUME_READ_ONLY) == 0)
        (void) disk_call(disk, truncate, disk->lock, 0);
    return 0;
}

bool volume_is_free_soon(int error, uint32_t waited_ms)
{
    return error == -EBUSY ? waited_ms < 3000 : error == -EINPROGRESS && waited_ms < 60000;
}

/* For others to see, as far as that can be done. */
static void set_lock_len(struct volume *volume, uint64_t len)
{
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];

        if (disk->lock >= 0)
            (void) disk_call(disk, truncate, disk->lock, len);
    }
}

void volume_note_ending(struct volume *volume)
{
    volume->ending = (volume->flags & VOLUME_READ_ONLY) == 0;
    if (volume->ending)
        set_lock_len(volume, LOCK_ENDING);
}

static int look_at(const struct member *member, enum volume_flags flags, struct found *found,
                   struct volume_error *error)
{
    int r = open_root(member, &found->disk, error);

    found->path = member->path;
    if (r == 0)
        r = member_lock(member->path, &found->disk, flags, error);
    if (r < 0)
        return r;
    r = stamp_read(&found->disk, &found->stamp);
    if (r == -ENOENT)
        return volume_fail(
            error, -ENODEV,
            "%s was never formatted to the end: it has .fallsfs but no stamp. If nothing there is needed, rm -r "
            "%s/.fallsfs and format again",
            member->path, member->path);
    if (r == -EUCLEAN)
        return volume_fail(error, r,
                           "the stamp %s/.fallsfs/volume is damaged: fsck.fallsfs can write it anew from the others",
                           member->path);
    if (r < 0)
        return volume_fail(error, r, "cannot read %s/.fallsfs/volume: %s", member->path, strerror(-r));
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

/* The list of disks that counts. A crash may have kept the last one from some of them. */
static struct found *find_lead(struct found found[], uint32_t n)
{
    struct found *lead = &found[0];

    for (uint32_t i = 1; i < n; i++)
        if (found[i].stamp.changes > lead->stamp.changes)
            lead = &found[i];
    return lead;
}

/* Somebody may have begun to take it into the volume, or have taken it out. */
static int check_listed(const struct found *found, const struct stamp *stamp, struct volume_error *error)
{
    uint32_t index = found->disk.index;

    if (index >= stamp->n_disks || memcmp(found->disk.uuid, stamp->disk[index].uuid, DISK_UUID_SIZE) != 0)
        return volume_fail(error, -ENODEV,
                           "%s was never taken into the volume to the end: leave it out, and add it again when the "
                           "volume is mounted",
                           found->path);
    if (stamp->disk[index].standing == DISK_GONE)
        return volume_fail(error, -ENODEV,
                           "%s, once d%" PRIu32 ", has left the volume: leave it out; nothing there is needed",
                           found->path, index);
    return 0;
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

/* The newest epoch that somebody has entered, checked to be everybody's. */
static int check_epochs(const struct found found[], uint32_t n, uint64_t *ret_epoch, struct volume_error *error)
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
    *ret_epoch = newest->stamp.epoch;
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
    volume_home(volume)->nameless = probe >= 0;
    disk_close(home, &probe);
    return 0;
}

static struct volume *volume_new(uint32_t n_disks)
{
    struct volume *volume = calloc(1, sizeof *volume); /* most of it is never touched */

    if (volume == NULL)
        return NULL;
    pthread_mutex_init(&volume->changing, NULL);
    volume->n_disks = n_disks;
    volume->ns = volume->tmp = volume->todo = -1;
    for (uint32_t i = 0; i < n_disks; i++)
        volume->disk[i] = (struct disk){ .index = i, .root = -1, .lock = -1 };
    return volume;
}

void volume_free(struct volume *volume)
{
    if (volume == NULL)
        return;
    if (disk_is_present(volume_home(volume))) {
        disk_close(volume_home(volume), &volume->ns);
        disk_close(volume_home(volume), &volume->tmp);
        disk_close(volume_home(volume), &volume->todo);
    }
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        struct disk *disk = &volume->disk[i];

        if (disk->ops != NULL) {
            disk_close_root(disk);
            disk_close(disk, &disk->lock); /* last: now somebody else may come */
        }
        free(disk->path);
        free(disk->pool);
        watch_free(disk->watch);
    }
    stamp_done(&volume->stamp);
    pthread_mutex_destroy(&volume->changing);
    free(volume);
}

int volume_watch(struct volume *volume, uint32_t patience)
{
    volume->patience = patience;
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        int r = watch_new((uint64_t) patience * 1000, &volume->disk[i].watch);

        if (r < 0)
            return r;
    }
    return 0;
}

void volume_freep(struct volume **volume)
{
    volume_free(*volume);
}

/* Stamps all disks; the others are written even when one fails. */
static int stamp_all(struct volume *volume)
{
    int first = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++) {
        struct disk *disk = &volume->disk[i];
        int r;

        if (!disk_is_present(disk))
            continue;
        volume->stamp.index = i;
        r = stamp_write(disk, &volume->stamp);
        if (first == 0)
            first = r;
    }
    return first;
}

static int enter_epoch(struct volume *volume, struct volume_error *error)
{
    int r;

    volume->stamp.next = volume->epoch;
    r = stamp_all(volume);
    if (r == 0) {
        volume->stamp.epoch = volume->epoch;
        volume->stamp.unclean = volume->unclean;
        if ((volume->flags & VOLUME_REPAIR) != 0)
            volume->stamp.clean = volume->epoch;
        r = stamp_all(volume);
    }
    if (r < 0)
        return volume_fail(error, r,
                           "cannot write the stamps: %s. To read a volume on disks that cannot be written, mount it "
                           "with -o ro",
                           strerror(-r));
    return 0;
}

/* Moves what was found into place. */
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

static int assemble(struct found found[], uint32_t n, enum volume_flags flags, struct volume **ret_volume,
                    struct volume_error *error)
{
    cleanup(volume_freep) struct volume *volume = NULL;
    uint64_t epoch = 0, clean = 0, unclean = 0;
    struct found *lead = find_lead(found, n);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = check_same_volume(lead, &found[i], error);
    if (r == 0)
        r = check_places(found, n, &lead->stamp, flags, error);
    if (r == 0)
        r = check_epochs(found, n, &epoch, error);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < n; i++) {
        clean = MAX(clean, found[i].stamp.clean);
        unclean = MAX(unclean, found[i].stamp.unclean);
    }
    volume = volume_new(lead->stamp.n_disks);
    if (volume == NULL)
        return volume_fail(error, -ENOMEM, "out of memory");
    memcpy(volume->uuid, lead->stamp.volume, DISK_UUID_SIZE);
    volume->home = lead->stamp.home;
    volume->fanout = lead->stamp.fanout;
    volume->flags = flags;
    volume->epoch = (flags & VOLUME_READ_ONLY) != 0 ? epoch : epoch + 1;
    volume->unclean = clean == epoch ? unclean : epoch;
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

int volume_open(const struct member member[], uint32_t n, enum volume_flags flags, struct volume **ret_volume,
                struct volume_error *ret_error)
{
    struct found *found = calloc(n, sizeof *found);
    int r = 0;

    if (found == NULL)
        return volume_fail(ret_error, -ENOMEM, "out of memory");
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = look_at(&member[i], flags, &found[i], ret_error);
    if (r == 0)
        r = assemble(found, n, flags, ret_volume, ret_error);
    for (uint32_t i = 0; i < n; i++)
        found_done(&found[i]);
    free(found);
    return r;
}

int volume_sync(struct volume *volume)
{
    int first = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        int r = disk_is_present(disk) ? disk_call(disk, sync, disk->root, SYNC_DISK) : 0;

        if (first == 0)
            first = r;
    }
    return first;
}

int volume_end_epoch(struct volume *volume)
{
    int r;

    if ((volume->flags & VOLUME_READ_ONLY) != 0)
        return 0;
    pthread_mutex_lock(&volume->changing);
    volume->stamp.clean = volume->epoch;
    r = stamp_all(volume);
    pthread_mutex_unlock(&volume->changing);
    if (volume->ending)
        set_lock_len(volume, 0);
    return r;
}

/* SPDX-License-Identifier: MIT */
#include "fs/fsck/rebuild.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/disk/walk.h"
#include "fs/core/stub/replica_files.h"
#include "fs/core/stub/stub.h"
#include "fs/fsck/copies.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define MARK       "rebuilding" /* in .fallsfs of a home disk whose names are not complete */
#define LOST_FOUND "lost+found"

/* -- the disk -- */

static int open_member(const struct member *member, struct disk *disk)
{
    *disk = (struct disk){ .ops = member->ops, .ctx = member->ctx, .root = -1, .lock = -1 };
    disk->root = disk_call(disk, open, member->dir, STAMP_DIR, O_RDONLY | O_DIRECTORY, 0);
    return MIN(disk->root, 0);
}

static bool is_empty(const struct disk *disk, const char *path)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    int fd = disk_call(disk, open, disk->root, path, O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : walk_new(disk, fd, &walk);
    struct walk_entry entry;

    disk_close(disk, &fd);
    return r == 0 && walk_next(walk, &entry) == 0;
}

/* Refuses a home disk that is not lost: it has names, and they are not still being made. */
static int check_mark(const struct disk *disk, const struct member *member, struct volume_error *error)
{
    struct stat st;

    if (disk_call(disk, stat, disk->root, MARK, &st) == 0 || is_empty(disk, "ns"))
        return 0;
    return volume_fail(error, -EINVAL,
                       "%s is the volume's home disk, and not lost: --home-lost is for an empty directory that takes "
                       "its place",
                       member->path);
}

bool rebuild_is_unfinished(struct volume *volume)
{
    const struct disk *home = volume_home(volume);
    struct stat st;

    return disk_call(home, stat, home->root, MARK, &st) != -ENOENT;
}

/* What the members tell: the newest stamp, and which member has none. */
struct survey {
    struct stamp stamp;
    const struct member *fresh;
    bool has_stamp, has_home;
};

static void survey_done(struct survey *survey)
{
    if (survey->has_stamp)
        stamp_done(&survey->stamp);
}

static int survey_one(struct survey *survey, const struct member *member, struct volume_error *error)
{
    cleanup(stamp_done) struct stamp stamp = { 0 };
    struct disk disk;
    int r = open_member(member, &disk);

    if (r == 0)
        r = member_read_stamp(member, &disk, &stamp, error);
    else if (r != -ENOENT)
        volume_fail(error, r, "cannot open %s/.fallsfs: %s", member->path, strerror(-r));
    if (r == -ENODEV) { /* an earlier attempt may have begun to make it the home disk */
        disk_close_root(&disk);
        r = -ENOENT;
    }
    if (r == -ENOENT && survey->fresh != NULL)
        return volume_fail(error, -EINVAL, "neither %s nor %s is a disk of a volume: name one empty directory",
                           survey->fresh->path, member->path);
    if (r == -ENOENT) {
        survey->fresh = member;
        return 0;
    }
    if (r == 0 && stamp.index == stamp.home) {
        survey->has_home = true;
        r = check_mark(&disk, member, error);
    }
    if (r == 0 && (!survey->has_stamp || stamp_is_newer(&stamp, &survey->stamp))) {
        survey_done(survey);
        survey->stamp = stamp;
        survey->has_stamp = true;
        stamp = (struct stamp){ 0 };
    }
    disk_close_root(&disk);
    return r;
}

static int mark(const struct member *member, struct volume_error *error)
{
    struct disk disk;
    int r = open_member(member, &disk);

    if (r == 0)
        r = disk_call(&disk, mkdir, disk.root, MARK, 0700);
    if (r == 0)
        r = file_text_sync_dir(&disk, ".");
    disk_close_root(&disk);
    return r < 0 ? volume_fail(error, r, "cannot write to %s: %s", member->path, strerror(-r)) : 0;
}

int rebuild_home(const struct member member[], uint32_t n, struct volume_error *ret_error)
{
    cleanup(survey_done) struct survey survey = { 0 };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = survey_one(&survey, &member[i], ret_error);
    if (r < 0)
        return r;
    if (!survey.has_stamp)
        return volume_fail(ret_error, -ENODEV, "none of these is a disk of a volume");
    if (survey.has_home)
        return survey.fresh == NULL
                   ? 0
                   : volume_fail(ret_error, -EINVAL, "the home disk is there: %s is one too many", survey.fresh->path);
    if (survey.fresh == NULL)
        return volume_fail(ret_error, -EINVAL, "name an empty directory, too: it becomes the home disk");
    if (stamp_n_members(&survey.stamp) != n)
        return volume_fail(ret_error, -ENODEV,
                           "the volume has %" PRIu32 " disks: name all that are left and the empty directory",
                           stamp_n_members(&survey.stamp));
    r = volume_replace_home(survey.fresh, &survey.stamp, ret_error);
    return r < 0 ? r : mark(survey.fresh, ret_error);
}

/* -- names -- */

struct rebuilding {
    struct check *check;
    struct volume *volume;
    const struct disk *home;
    struct layouts *layouts;
    bool lacks_maps; /* some file has no name yet, since its map could not be brought back */
};

/* Finds the places of the map of the file that a copy is of; false: there is no second one. */
static bool find_places(struct rebuilding *rebuilding, const struct copy *copy, struct replica_places *ret_places)
{
    struct file_layout *layout;

    if (layouts_get(rebuilding->layouts, copy->record.layout, &layout) < 0)
        return false;
    *ret_places = replica_places(rebuilding->volume, &(struct placed_layout){ layout, copy->record.rotate });
    layouts_put(rebuilding->layouts, layout);
    return ret_places->second != NULL;
}

/* Writes the map of a file's replicas to the new home disk, too. That comes before the name: as long as nobody can
 * write to the file, the second map alone tells the truth. */
static int bring_map(struct rebuilding *rebuilding, const struct copy *copy)
{
    struct replica_map map = { 0 };
    struct replica_places places;
    int r;

    if (!find_places(rebuilding, copy, &places))
        return 0;
    r = replica_map_read_one(rebuilding->volume, places.first, copy->record.id, &map);
    if (r == -ENOENT) {
        r = replica_map_read_one(rebuilding->volume, places.second, copy->record.id, &map);
        replica_map_doubt(&map); /* the lost map may have been told later what is right no more */
        if (r == 0)
            r = replica_map_replace(rebuilding->volume, &places, &map);
    }
    replica_map_done(&map);
    if (r == -ENOENT || r == -EUCLEAN)
        return 0;
    rebuilding->lacks_maps |= r < 0;
    return r;
}

/* Makes the stub in tmp/, with all it will have but its name. */
static int make_stub(struct rebuilding *rebuilding, const struct copy *copy, const char *name)
{
    const struct disk *home = rebuilding->home;
    const struct timespec times[2] = { copy->atime, copy->mtime };
    struct record record;
    int tmp = rebuilding->volume->tmp, fd, r = bring_map(rebuilding, copy);

    if (r < 0)
        return r;
    record = copies_record(rebuilding->volume, copy);
    (void) disk_call(home, unlink, tmp, name, 0);
    fd = disk_call(home, open, tmp, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    r = stub_write_record(rebuilding->volume, fd, "", &record, XATTR_CREATE);
    if (r == 0) /* a chown that is refused is told */
        r = disk_call(home, chown, fd, "", copy->uid, copy->gid);
    if (r == 0)
        r = disk_call(home, chmod, fd, "", copy->mode & 07777);
    if (r == 0)
        r = disk_call(home, set_times, fd, "", times);
    disk_close(home, &fd);
    return r;
}

/* Whether the file that has the name already is the one that the copy is of. */
static int is_same(struct rebuilding *rebuilding, int dir, const char *name, const struct copy *copy)
{
    struct record record;
    int r = stub_read_record(rebuilding->volume, dir, name, &record);

    return r == 0 && memcmp(record.id, copy->record.id, ID_SIZE) == 0;
}

static int link_stub(struct rebuilding *rebuilding, const struct copy *copy, int dir, const char *name)
{
    const struct disk *home = rebuilding->home;
    char temporary[2 * ID_SIZE + 1];
    struct stat st;
    int r = disk_call(home, stat, dir, name, &st);

    if (r == 0)
        return is_same(rebuilding, dir, name, copy) ? 0 : -EEXIST;
    hex_print(copy->record.id, ID_SIZE, temporary);
    r = make_stub(rebuilding, copy, temporary);
    if (r == 0)
        r = disk_call(home, rename, rebuilding->volume->tmp, temporary, dir, name, 0);
    return r;
}

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= NAME_MAX && !(len == 1 && name[0] == '.') &&
           !(len == 2 && name[0] == '.' && name[1] == '.');
}

/* Opens the directory that the last name of a path lies in; directories on the way are made as needed. */
static int open_parent(struct rebuilding *rebuilding, const char *path, const char **ret_name, int *ret_dir)
{
    const struct disk *home = rebuilding->home;
    int dir = disk_call(home, open, rebuilding->volume->ns, ".", O_RDONLY | O_DIRECTORY, 0), r = MIN(dir, 0);

    for (;;) {
        size_t len = strcspn(path, "/");
        char name[NAME_MAX + 1];
        int next;

        if (r == 0 && !is_name(path, len))
            r = -EINVAL;
        if (r < 0 || path[len] == 0)
            break;
        memcpy(name, path, len);
        name[len] = 0;
        r = disk_call(home, mkdir, dir, name, 0755);
        if (r == -EEXIST)
            r = 0;
        next = r < 0 ? r : disk_call(home, open, dir, name, O_RDONLY | O_DIRECTORY, 0);
        r = MIN(next, 0);
        disk_close(home, &dir);
        dir = next;
        path += len + 1;
    }
    if (r < 0)
        disk_close(home, &dir);
    *ret_name = path;
    *ret_dir = dir;
    return r;
}

static int place_at(struct rebuilding *rebuilding, const struct copy *copy, const char *path)
{
    const char *name;
    int dir, r = open_parent(rebuilding, path, &name, &dir);

    if (r == 0) {
        r = link_stub(rebuilding, copy, dir, name);
        disk_close(rebuilding->home, &dir);
    }
    return r;
}

static bool is_there(struct rebuilding *rebuilding, const struct record *record, uint64_t gen,
                     const struct placed_layout *laying)
{
    for (uint32_t slot = 0; slot < file_layout_slots(laying->layout); slot++) {
        const struct disk *disk = file_layout_on(laying->layout, rebuilding->volume, laying->rotate, slot);
        char object[OBJECT_PATH];
        struct stat st;

        object_path(rebuilding->volume, record->id, gen, slot, laying->layout, object);
        if (disk_call(disk, stat, disk->root, object, &st) == 0)
            return true;
    }
    return false;
}

/* Whether there is a subfile of the second copy of a file with this record. */
static bool has_second(struct rebuilding *rebuilding, const struct record *record, const struct file_layout *layout)
{
    const struct placed_layout laying = { layout, record->rotate };
    const struct replica_places places = replica_places(rebuilding->volume, &laying);
    struct replica_map map = { 0 };
    bool found = false;

    if (places.second != NULL && replica_map_read_one(rebuilding->volume, places.second, record->id, &map) == 0)
        for (uint32_t i = 0; !found && i < map.n; i++)
            found = (map.replica[i].flags & REPLICA_COPY) != 0 &&
                    memcmp(map.replica[i].layout, layout->hash, HASH_SIZE) == 0 &&
                    is_there(rebuilding, record, REPLICA_GEN | map.replica[i].number,
                             &(struct placed_layout){ layout, map.replica[i].rotate });
    replica_map_done(&map);
    return found;
}

/* Whether there is a subfile of the file that a copy is of. Else it was removed, or nothing of it is left anyway. */
static bool has_bytes(struct rebuilding *rebuilding, const struct record *record)
{
    struct file_layout *layout;
    bool found;

    if (layouts_get(rebuilding->layouts, record->layout, &layout) < 0)
        return true; /* whoever puts the layout back wants the name */
    found = is_there(rebuilding, record, record->gen, &(struct placed_layout){ layout, record->rotate }) ||
            has_second(rebuilding, record, layout);
    layouts_put(rebuilding->layouts, layout);
    return found;
}

static void tell(struct rebuilding *rebuilding, const char *path, uint32_t disk, int r)
{
    struct check *check = rebuilding->check;
    char what[256];
    struct finding finding = { .kind = "name", .path = path, .disk = disk, .what = what };

    finding.fate = r < 0 ? FINDING_LEFT : FINDING_FIXED;
    finding.done = r == 0;
    check->n_fixed += r == 0;
    check->n_left += r < 0;
    if (r < 0)
        snprintf(what, sizeof what, "its name cannot be made anew: %s", volume_strerror(-r));
    else
        snprintf(what, sizeof what, "its name was lost with the home disk: is made anew from the copy");
    check->tell(check->arg, &finding);
}

/* Tells that some copies could not be read. The mark stays, so that the rest of the names can be made when they can. */
static void tell_unread(struct rebuilding *rebuilding, const struct copies *copies)
{
    struct check *check = rebuilding->check;
    char what[256];
    const struct finding finding = {
        .kind = "unreadable", .object = "obj", .disk = copies->error_disk, .fate = FINDING_LEFT, .what = what
    };

    snprintf(what, sizeof what,
             "not all copies can be read, names may be missing: run fsck.fallsfs --home-lost again when they can (%s)",
             volume_strerror(-copies->error));
    check->n_left++;
    check->tell(check->arg, &finding);
}

/* Makes a file's name anew; in lost+found where its path is taken, or leads through what is no directory. */
static void place(struct rebuilding *rebuilding, const struct found_copy *found)
{
    char other[sizeof LOST_FOUND + 2 * ID_SIZE + 1];
    const char *path = found->copy.path;
    int r = place_at(rebuilding, &found->copy, path);

    if (r == -EEXIST || r == -ENOTDIR || r == -ELOOP || r == -EINVAL || r == -EISDIR) {
        memcpy(other, LOST_FOUND "/", sizeof LOST_FOUND);
        hex_print(found->copy.record.id, ID_SIZE, other + sizeof LOST_FOUND);
        path = other;
        r = place_at(rebuilding, &found->copy, path);
    }
    tell(rebuilding, path, found->disk, r);
}

static int newest_first(const void *a, const void *b)
{
    const struct found_copy *x = a, *y = b;

    return copies_newer(&x->copy, &y->copy) ? -1 : copies_newer(&y->copy, &x->copy);
}

int rebuild_names(struct check *check, struct volume *volume)
{
    cleanup(copies_done) struct copies copies = { 0 };
    struct rebuilding rebuilding = { .check = check, .volume = volume, .home = volume_home(volume) };
    int r = copies_find(volume, &copies);

    if (r < 0)
        return r;
    r = layouts_new(volume, &rebuilding.layouts);
    if (r < 0)
        return r;
    if (copies.n > 0)
        qsort(copies.found, copies.n, sizeof copies.found[0], newest_first);
    for (size_t i = 0; i < copies.n; i++)
        if (has_bytes(&rebuilding, &copies.found[i].copy.record))
            place(&rebuilding, &copies.found[i]);
    layouts_free(rebuilding.layouts);
    r = disk_call(rebuilding.home, sync, rebuilding.home->root, SYNC_DISK);
    if (copies.error < 0)
        tell_unread(&rebuilding, &copies);
    else if (r == 0 && !rebuilding.lacks_maps)
        r = disk_call(rebuilding.home, unlink, rebuilding.home->root, MARK, AT_REMOVEDIR);
    return r == -ENOENT ? 0 : r;
}

/* SPDX-License-Identifier: MIT */
#include "fs/fsck/copies.h"

#include "fs/core/stub/census.h"
#include "fs/core/stub/replica_files.h"
#include "fs/core/volume/promise.h"

#include <string.h>

void copies_done(struct copies *copies)
{
    for (size_t i = 0; i < copies->n; i++)
        copy_done(&copies->found[i].copy);
    free(copies->found);
    *copies = (struct copies){ 0 };
}

bool copies_newer(const struct copy *a, const struct copy *b)
{
    if (a->record.gen != b->record.gen)
        return a->record.gen > b->record.gen;
    if (a->record.epoch != b->record.epoch)
        return a->record.epoch > b->record.epoch;
    if (a->mtime.tv_sec != b->mtime.tv_sec)
        return a->mtime.tv_sec > b->mtime.tv_sec;
    return a->mtime.tv_nsec > b->mtime.tv_nsec;
}

/* Whether the home disk has a map of the file's replicas, which may be younger than the copy. */
static bool has_map(const struct volume *volume, const uint8_t id[ID_SIZE])
{
    const struct disk *home = volume_home(volume);
    char object[OBJECT_PATH];
    struct stat st;

    replica_map_path(volume, id, object);
    return disk_call(home, stat, home->root, object, &st) == 0;
}

struct record copies_record(const struct volume *volume, const struct copy *copy)
{
    const struct promise promise = record_promise(volume, &copy->record);
    struct record record = copy->record;

    record_keep_promise(&record, &promise);
    record.epoch = 0;
    record.has_map |= has_map(volume, record.id);
    record.migrated = 0; /* there was more to it than a copy tells */
    return record;
}

struct finding_on {
    struct copies *copies;
    uint32_t disk;
};

static int take(void *arg, struct copy *copy)
{
    const struct finding_on *on = arg;
    struct copies *copies = on->copies;

    if (!array_grow(copies->found, copies->n))
        return -ENOMEM;
    copies->found[copies->n++] = (struct found_copy){ *copy, on->disk };
    *copy = (struct copy){ 0 };
    return 0;
}

static int find_on(const struct disk *disk, struct copies *copies)
{
    struct finding_on on = { copies, disk->index };
    int r = census_copies(disk, take, &on);

    if (r == 0 || r == -ENOMEM)
        return r;
    copies->error = r;
    copies->error_disk = disk->index;
    copies->has_newer |= r == -EPROTONOSUPPORT;
    return 0;
}

static int by_id(const void *a, const void *b)
{
    const struct found_copy *x = a, *y = b;
    int order = memcmp(x->copy.record.id, y->copy.record.id, ID_SIZE);

    return order != 0 ? order : copies_newer(&x->copy, &y->copy) ? -1 : copies_newer(&y->copy, &x->copy);
}

/* Drops all copies of a file but the first, which is the newest. */
static void drop_older(struct copies *copies)
{
    size_t kept = 0;

    for (size_t i = 0; i < copies->n; i++) {
        struct found_copy *found = &copies->found[i];

        if (kept > 0 && memcmp(copies->found[kept - 1].copy.record.id, found->copy.record.id, ID_SIZE) == 0)
            copy_done(&found->copy);
        else
            copies->found[kept++] = *found;
    }
    copies->n = kept;
}

bool copies_are_newer(const struct volume *volume, const uint8_t id[ID_SIZE])
{
    char object[OBJECT_PATH];
    bool newer = false;

    copy_path(volume, id, object);
    for (uint32_t i = 0; !newer && i < volume->n_disks; i++) {
        cleanup(copy_done) struct copy copy = { 0 };

        newer = disk_is_present(&volume->disk[i]) && copy_read(&volume->disk[i], object, &copy) == -EPROTONOSUPPORT;
    }
    return newer;
}

int copies_find(struct volume *volume, struct copies *ret_copies)
{
    struct copies copies = { 0 };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < volume->n_disks; i++)
        if (disk_is_present(&volume->disk[i]))
            r = find_on(&volume->disk[i], &copies);
    if (r < 0) {
        copies_done(&copies);
        return r;
    }
    if (copies.n > 0)
        qsort(copies.found, copies.n, sizeof copies.found[0], by_id);
    drop_older(&copies);
    *ret_copies = copies;
    return 0;
}

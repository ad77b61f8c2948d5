/* SPDX-License-Identifier: MIT */
#include "fs/fsck/copies.h"

#include "fs/core/walk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
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

struct record copies_record(const struct volume *volume, const struct copy *copy)
{
    struct record record = copy->record;

    if (record.epoch > volume->unclean && record.padded) {
        record.durable_size = record.size;
        record.durable = record.bits;
    }
    record.epoch = 0;
    record.migrated = 0; /* there was more to it than a copy tells */
    return record;
}

/* ID.m, as written by copy_path. */
static bool is_copy(const char *name, uint8_t ret_id[ID_SIZE])
{
    return strlen(name) == 2 * ID_SIZE + 2 && strcmp(name + 2 * ID_SIZE, ".m") == 0 &&
           hex_parse(name, ID_SIZE, ret_id) == 0;
}

static int add(struct copies *copies, const struct copy *copy, uint32_t disk)
{
    if (copies->n == copies->room) {
        size_t room = 2 * copies->room + 64;
        struct found_copy *found = realloc(copies->found, room * sizeof *found);

        if (found == NULL)
            return -ENOMEM;
        copies->found = found;
        copies->room = room;
    }
    copies->found[copies->n++] = (struct found_copy){ *copy, disk };
    return 0;
}

static int take(struct copies *copies, const struct disk *disk, const char *path, const uint8_t id[ID_SIZE])
{
    char object[NAME_MAX + 8];
    struct copy copy;
    int r;

    snprintf(object, sizeof object, "obj/%s", path);
    r = copy_read(disk, object, &copy);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    r = memcmp(copy.record.id, id, ID_SIZE) == 0 ? add(copies, &copy, disk->index) : 1;
    if (r != 0)
        copy_done(&copy);
    return MIN(r, 0);
}

static void note_error(struct copies *copies, const struct disk *disk, int error)
{
    copies->error = error;
    copies->error_disk = disk->index;
}

static int find_on(const struct disk *disk, struct copies *copies)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    int fd = disk_call(disk, open, disk->root, "obj", O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : walk_new(disk, fd, &walk);
    struct walk_entry entry;

    disk_close(disk, &fd);
    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        uint8_t id[ID_SIZE];

        r = 0;
        if (entry.error < 0)
            note_error(copies, disk, entry.error);
        else if (entry.depth > 0 && S_ISDIR(entry.st.st_mode) && !entry.leaving)
            walk_skip(walk);
        else if (S_ISREG(entry.st.st_mode) && is_copy(entry.name, id))
            r = take(copies, disk, entry.path, id);
    }
    if (r < 0 && r != -ENOMEM)
        note_error(copies, disk, r);
    return r == -ENOMEM ? r : 0;
}

static int by_id(const void *a, const void *b)
{
    const struct found_copy *x = a, *y = b;
    int order = memcmp(x->copy.record.id, y->copy.record.id, ID_SIZE);

    return order != 0 ? order : copies_newer(&x->copy, &y->copy) ? -1 : copies_newer(&y->copy, &x->copy);
}

/* Of several for a file the first stays. */
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

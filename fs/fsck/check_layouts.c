/* SPDX-License-Identifier: MIT */
/* layout/: every disk must have every text that somebody needs, and each must be what its name, a hash, says. */
#include "fs/core/disk/file_text.h"
#include "fs/core/stub/census.h"
#include "fs/core/stub/replica_files.h"
#include "fs/core/volume/layout_texts.h"
#include "fs/fsck/checking.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Tells of something in layout/ whose name is not that of a text. */
static void tell_stranger(struct checking *checking, const struct disk *disk, const char *name)
{
    char object[NAME_MAX + 8];
    const struct spot spot = { .object = object, .disk = disk->index };

    snprintf(object, sizeof object, "layout/%s", name);
    checking_tell_aside(checking, "stranger", &spot, "no layout has such a name");
}

/* Removes a text that was never finished. Whoever wrote it died meanwhile: no record names it, and the next mount would
 * remove it, too. */
static void remove_unfinished(struct checking *checking, const struct disk *disk, const struct walk_entry *entry)
{
    const struct spot spot = { .object = "layout", .disk = disk->index };
    int r = checking->check->repair ? disk_call(disk, unlink, entry->dir, entry->name, 0) : 0;

    if (r < 0)
        checking_tell_fix(checking, "unused", &spot, r, "a layout's text was never finished");
}

static int list_names(struct checking *checking, const struct disk *disk, struct hashes *names)
{
    const struct spot spot = { .object = "layout", .disk = disk->index };
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int fd = disk_call(disk, open, disk->root, "layout", O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : walk_new(disk, fd, &walk), more = 0;

    disk_close(disk, &fd);
    if (r == -ENOENT) {
        r = checking->check->repair ? disk_call(disk, mkdir, disk->root, "layout", 0700) : 0;
        checking_tell_fix(checking, "directory", &spot, r, "a directory is missing: is made anew");
        return 0;
    }
    while (r == 0 && (more = checking_next(checking, walk, &spot, &entry)) > 0) {
        uint8_t hash[HASH_SIZE];

        if (strncmp(entry.name, ".nfs", 4) == 0)
            continue;
        if (S_ISREG(entry.st.st_mode) && layout_text_is_unfinished(entry.name))
            remove_unfinished(checking, disk, &entry);
        else if (strlen(entry.name) == 2 * HASH_SIZE && hex_parse(entry.name, HASH_SIZE, hash) == 0)
            r = hashes_add(names, hash);
        else
            tell_stranger(checking, disk, entry.name);
    }
    return r < 0 ? r : more;
}

/* Checks one text on all disks; where it is missing or damaged it is written anew. */
static int check_text(struct checking *checking, const uint8_t hash[HASH_SIZE])
{
    cleanup(freep) char *good = NULL;
    char path[LAYOUT_PATH];
    size_t len = 0;
    int r = layouts_read_text(checking->layouts, hash, &good, &len);

    layouts_text_path(hash, path);
    if (r == -EIO || r == -EUCLEAN) {
        const struct spot spot = { .object = path, .disk = NO_DISK };

        checking_tell_left(checking, "layout", &spot,
                           "no disk has this layout's text whole: files with it cannot be read until it is put back");
        return 0;
    }
    for (uint32_t i = 0; r == 0 && i < checking->volume->n_disks; i++) {
        const struct disk *disk = &checking->volume->disk[i];
        const struct spot spot = { .object = path, .disk = i };
        cleanup(freep) char *text = NULL;
        size_t text_len;
        int was, fixed = 0;

        if (!disk_is_present(disk))
            continue;
        was = file_text_read(disk, path, len, &text, &text_len);
        if (was == 0 && text_len == len && memcmp(text, good, len) == 0)
            continue;
        if (checking->check->repair && was != 0 && was != -ENOENT)
            fixed = checking_put_aside(disk, path);
        if (checking->check->repair && fixed == 0)
            fixed = file_text_replace(disk, path, good, len);
        checking_tell_fix(checking, "layout", &spot, fixed, "the layout's text is %s here: is written anew",
                          was == -ENOENT ? "missing" : "damaged");
    }
    return r;
}

/* -- texts that nobody needs -- */

struct used {
    struct checking *checking;
    struct hashes hashes;
};

static int note_record(void *arg, const struct record *record)
{
    struct used *used = arg;
    int r = hashes_add_record(&used->hashes, record);

    return r < 0 ? r : replicas_add_layouts(used->checking->volume, used->checking->layouts, record, &used->hashes);
}

static int note_copy(void *arg, const struct copy *copy)
{
    return note_record(arg, &copy->record);
}

/* Whether there is a finding already that says why not everything is known: a disk or a directory is missing, a record
 * is damaged, or of a newer fallsfs. */
static bool is_told_elsewhere(int r)
{
    return r == -ENODEV || r == -ENOENT || r == -EUCLEAN || r == -EPROTONOSUPPORT;
}

/* Finds the texts that records, copies and maps of replicas name. On failure, as when something is damaged or missing,
 * nobody knows which texts are needed, and all stay. */
static int find_used(struct used *used)
{
    struct checking *checking = used->checking;
    const struct spot spot = { .object = "layout", .disk = NO_DISK };
    const struct census census = { note_record, note_copy, used };
    struct volume_error error;
    int r = census_take(checking->volume, &census, &error);

    if (r < 0 && r != -ENOMEM && !is_told_elsewhere(r))
        checking_tell_left(checking, "unreadable", &spot, "nobody knows which texts are needed: %s", error.why);
    return r;
}

/* Removes the texts that nobody needs. Without repair nothing is said of them, whole or not: nobody misses what is
 * wrong with one. */
static void remove_unused(struct checking *checking, const struct hashes *names, const struct hashes *used)
{
    const struct spot spot = { .object = "layout", .disk = NO_DISK };
    const uint8_t *hash;
    size_t at = 0, n = 0;

    while (checking->check->repair && (hash = hashes_next(names, &at)) != NULL)
        n += !hashes_has(used, hash) && layout_text_remove(checking->volume, hash) == 0;
    if (n > 0)
        checking_tell_note(checking, "unused", &spot, "%zu layouts are no file's any more: their texts are removed", n);
}

int check_layouts(struct checking *checking)
{
    struct used used = { .checking = checking };
    struct hashes names = { 0 };
    const uint8_t *hash;
    int r = 0, known;
    size_t at = 0;

    for (uint32_t i = 0; r == 0 && i < checking->volume->n_disks; i++)
        if (disk_is_present(&checking->volume->disk[i]))
            r = list_names(checking, &checking->volume->disk[i], &names);
    known = r < 0 ? r : find_used(&used);
    if (known == 0)
        remove_unused(checking, &names, &used.hashes);
    if (known == -ENOMEM)
        r = known;
    for (size_t i = 0; r == 0 && i < checking->ids.n_slots; i++)
        if (checking->ids.slot[i] != NULL && checking->ids.slot[i]->layout != NULL)
            r = hashes_add(&names, checking->ids.slot[i]->layout->hash);
    while (r == 0 && (hash = hashes_next(&names, &at)) != NULL)
        if (known < 0 || hashes_has(&used.hashes, hash))
            r = check_text(checking, hash);
    hashes_done(&names);
    hashes_done(&used.hashes);
    return r;
}

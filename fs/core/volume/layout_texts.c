/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/layout_texts.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/disk/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define MAX_TEXT (65536 + 64 * 1024)

void layout_text_hash(const char *text, size_t len, uint8_t ret_hash[HASH_SIZE])
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(text, len));
    memcpy(ret_hash, canonical.digest, HASH_SIZE);
}

void layouts_text_path(const uint8_t hash[HASH_SIZE], char ret_path[static LAYOUT_PATH])
{
    char hex[2 * HASH_SIZE + 1];

    hex_print(hash, HASH_SIZE, hex);
    snprintf(ret_path, LAYOUT_PATH, "layout/%s", hex);
}

int layout_text_read(const struct volume *volume, const uint8_t hash[HASH_SIZE], char **ret_text, size_t *ret_len)
{
    char path[LAYOUT_PATH];
    bool is_late = false;
    int r = -EIO;

    layouts_text_path(hash, path);
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[(volume->home + i) % volume->n_disks];
        cleanup(freep) char *text = NULL;
        uint8_t real[HASH_SIZE];
        size_t len;
        int error;

        if (!disk_is_present(disk))
            continue;
        error = file_text_read(disk, path, MAX_TEXT, &text, &len);
        if (error == -ENOMEM)
            return error;
        is_late |= error == -ETIMEDOUT;
        if (error < 0)
            continue;
        layout_text_hash(text, len, real);
        if (memcmp(real, hash, HASH_SIZE) == 0) {
            *ret_text = steal(text);
            *ret_len = len;
            return 0;
        }
        r = -EUCLEAN;
    }
    return is_late ? -ETIMEDOUT : r; /* a disk that has not answered yet may have the text */
}

/* Writes the text of a layout to a disk that has not got it. ret_was_there: the disk had something under that name, or
 * does not say. -EEXIST: the disk has another text with the same hash, which stays. */
static int write_on(const struct disk *disk, const struct file_layout *layout, bool *ret_was_there)
{
    cleanup(freep) char *old = NULL, *text = layouts_stored_text(layout);
    size_t len, old_len = 0;
    char path[LAYOUT_PATH];
    int r;

    if (text == NULL)
        return -ENOMEM;
    len = strlen(text);
    layouts_text_path(layout->hash, path);
    r = file_text_read(disk, path, MAX_TEXT, &old, &old_len);
    if (r == -ENOMEM || r == -ETIMEDOUT)
        return r;
    *ret_was_there = r != -ENOENT;
    if (old != NULL && old_len == len && memcmp(old, text, len) == 0)
        return 0;
    if (old != NULL && old_len > 0) {
        uint8_t real[HASH_SIZE];

        layout_text_hash(old, old_len, real);
        if (memcmp(real, layout->hash, HASH_SIZE) == 0)
            return -EEXIST;
    }
    return file_text_replace(disk, path, text, len);
}

bool layout_text_is_new(const struct volume *volume, const uint8_t hash[HASH_SIZE], struct record_bits *unasked)
{
    char path[LAYOUT_PATH];
    bool is_new = true;

    layouts_text_path(hash, path);
    for (uint32_t i = 0; is_new && i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        struct stat st;

        if (disk->standing == DISK_GONE)
            continue;
        if (i < RECORD_BITS && disk_is_present(disk) && !disk_is_read_only(disk) && !watch_is_prompt(disk->watch))
            bits_mark(unasked, i);
        else
            is_new = disk_is_present(disk) && watch_is_prompt(disk->watch) &&
                     disk_call(disk, stat, disk->root, path, &st) == -ENOENT;
    }
    return is_new;
}

/* Whether files may have a layout whose text a disk has not taken, because of the error r. A disk that is full or
 * broken keeps nobody from laying out files on others. But the disks that a layout names must have its text: who has
 * lost the others can read it where the bytes are. The home disk must have it as well, unless it is full: it may have
 * room for a name, which takes less, and fsck writes the text there later. */
static bool can_do_without(const struct volume *volume, const struct file_layout *layout, uint32_t disk, int r)
{
    if (r == -ENOMEM || r == -EEXIST || file_layout_names(layout, disk))
        return false;
    return disk != volume->home || r == -ENOSPC || r == -EDQUOT;
}

/* Writes the text of a layout to a disk. An absent one is passed over: 0. So are disks that can be done without, a
 * read-only one: 0, and a slow one: -ETIMEDOUT. A disk that says whether it had the text is not unasked any more. */
static int write_where_needed(const struct volume *volume, const struct file_layout *layout, uint32_t index,
                              struct record_bits *unasked, bool *was_there)
{
    const struct disk *disk = &volume->disk[index];
    bool had = false;
    int r;

    if (!disk_is_present(disk) || (disk_is_read_only(disk) && can_do_without(volume, layout, index, -EROFS)))
        return 0;
    if (!watch_is_prompt(disk->watch) && can_do_without(volume, layout, index, -ETIMEDOUT))
        return -ETIMEDOUT;
    r = write_on(disk, layout, &had);
    if (r == -ENOMEM || r == -ETIMEDOUT)
        return r;
    *was_there |= had && bits_has(unasked, index);
    bits_clear(unasked, index);
    return r;
}

int layout_text_write(const struct volume *volume, const struct file_layout *layout, struct record_bits *unasked,
                      bool *ret_owes, bool *ret_was_there)
{
    int r = 0;

    *ret_owes = *ret_was_there = false;
    for (uint32_t i = 0; r == 0 && i < volume->n_disks; i++) {
        r = write_where_needed(volume, layout, i, unasked, ret_was_there);
        if (r == 0 || !can_do_without(volume, layout, i, r))
            continue;
        *ret_owes |= r == -ETIMEDOUT;
        r = 0;
    }
    return r;
}

static bool can_be_removed(const struct disk *disk)
{
    return disk->standing == DISK_GONE || (disk_is_present(disk) && !disk_is_read_only(disk) &&
                                           (disk->watch == NULL || watch_refuses(disk->watch) == 0));
}

int layout_text_remove(const struct volume *volume, const uint8_t hash[HASH_SIZE])
{
    char path[LAYOUT_PATH];
    int r = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (!can_be_removed(&volume->disk[i]))
            return -EIO;
    layouts_text_path(hash, path);
    for (uint32_t i = 1; r == 0 && i <= volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[(volume->home + i) % volume->n_disks];

        if (disk->standing != DISK_GONE)
            r = disk_call(disk, unlink, disk->root, path, 0);
        if (r == -ENOENT)
            r = 0;
    }
    return r;
}

/* While file_text_replace writes a text, .new stands behind the text's name. */
bool layout_text_is_unfinished(const char *name)
{
    uint8_t hash[HASH_SIZE];

    return strlen(name) == 2 * HASH_SIZE + 4 && strcmp(name + 2 * HASH_SIZE, ".new") == 0 &&
           hex_parse(name, HASH_SIZE, hash) == 0;
}

int layout_texts_clear(const struct disk *disk)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int dir = disk_call(disk, open, disk->root, "layout", O_RDONLY | O_DIRECTORY, 0);
    int r = dir < 0 ? dir : walk_new(disk, dir, &walk), more = 0;

    disk_close(disk, &dir);
    while (r == 0 && (more = walk_next(walk, &entry)) > 0) {
        walk_skip(walk);
        r = entry.error;
        if (r == 0 && layout_text_is_unfinished(entry.name))
            r = disk_call(disk, unlink, entry.dir, entry.name, 0);
    }
    return r < 0 ? r : more;
}

int layout_texts_list(const struct disk *disk, struct hashes *names)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int dir = disk_call(disk, open, disk->root, "layout", O_RDONLY | O_DIRECTORY, 0);
    int r = dir < 0 ? dir : walk_new(disk, dir, &walk), more = 0;

    disk_close(disk, &dir);
    while (r == 0 && (more = walk_next(walk, &entry)) > 0) {
        uint8_t hash[HASH_SIZE];

        walk_skip(walk);
        if (walk_lost_it(&entry))
            continue;
        if (entry.error < 0)
            r = entry.error;
        else if (strlen(entry.name) == 2 * HASH_SIZE && hex_parse(entry.name, HASH_SIZE, hash) == 0)
            r = hashes_add(names, hash);
    }
    return r < 0 ? r : more;
}

static void spread_text(const struct disk *home, const struct disk *disk, const char *path)
{
    cleanup(freep) char *text = NULL, *old = NULL;
    size_t len, old_len;

    if (file_text_read(home, path, MAX_TEXT, &text, &len) == 0 &&
        file_text_read(disk, path, MAX_TEXT, &old, &old_len) == -ENOENT)
        (void) file_text_replace(disk, path, text, len);
}

void layout_texts_spread(const struct volume *volume, const struct disk *disk)
{
    const struct disk *home = &volume->disk[volume->home];
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int dir = disk_call(home, open, home->root, "layout", O_RDONLY | O_DIRECTORY, 0);

    if (dir < 0)
        return;
    if (walk_new(home, dir, &walk) == 0)
        while (walk_next(walk, &entry) > 0) {
            char path[LAYOUT_PATH];

            walk_skip(walk);
            if (entry.error == 0 && S_ISREG(entry.st.st_mode) && strlen(entry.name) == 2 * HASH_SIZE) {
                snprintf(path, sizeof path, "layout/%s", entry.name);
                spread_text(home, disk, path);
            }
        }
    disk_close(home, &dir);
}

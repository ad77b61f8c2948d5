/* SPDX-License-Identifier: MIT */
/* layout/: every text on every disk, each as its name says. */
#include "fs/core/file_text.h"
#include "fs/fsck/checking.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct names {
    uint8_t (*hash)[HASH_SIZE];
    size_t n;
};

static int add(struct names *names, const uint8_t hash[HASH_SIZE])
{
    void *more;

    for (size_t i = 0; i < names->n; i++)
        if (memcmp(names->hash[i], hash, HASH_SIZE) == 0)
            return 0;
    more = realloc(names->hash, (names->n + 1) * sizeof names->hash[0]);
    if (more == NULL)
        return -ENOMEM;
    names->hash = more;
    memcpy(names->hash[names->n++], hash, HASH_SIZE);
    return 0;
}

/* What is in layout/ and names no text: the rest of one being written, or something planted. */
static void tell_stranger(struct checking *checking, const struct disk *disk, const char *name)
{
    char object[NAME_MAX + 8];
    const struct spot spot = { .object = object, .disk = disk->index };

    snprintf(object, sizeof object, "layout/%s", name);
    checking_tell_aside(checking, "stranger", &spot, "no layout has such a name");
}

static int list_names(struct checking *checking, const struct disk *disk, struct names *names)
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
        if (strlen(entry.name) == 2 * HASH_SIZE && hex_parse(entry.name, HASH_SIZE, hash) == 0)
            r = add(names, hash);
        else
            tell_stranger(checking, disk, entry.name);
    }
    return r < 0 ? r : more;
}

/* One text on all disks. */
static int check_text(struct checking *checking, const uint8_t hash[HASH_SIZE])
{
    cleanup(freep) char *good = NULL;
    char path[LAYOUT_PATH];
    size_t len = 0;
    int r = layouts_read_text(checking->fs.layouts, hash, &good, &len);

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

int check_layouts(struct checking *checking)
{
    struct names names = { 0 };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < checking->volume->n_disks; i++)
        if (disk_is_present(&checking->volume->disk[i]))
            r = list_names(checking, &checking->volume->disk[i], &names);
    for (size_t i = 0; r == 0 && i < checking->ids.n_slots; i++)
        if (checking->ids.slot[i] != NULL && checking->ids.slot[i]->layout != NULL)
            r = add(&names, checking->ids.slot[i]->layout->hash);
    for (size_t i = 0; r == 0 && i < names.n; i++)
        r = check_text(checking, names.hash[i]);
    free(names.hash);
    return r;
}

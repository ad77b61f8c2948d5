/* SPDX-License-Identifier: MIT */
/* obj/: what lies there and belongs to nobody. */
#include "fs/fsck/checking.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* What the name of an object says. */
struct object_name {
    uint8_t id[ID_SIZE];
    bool is_copy, is_fresh, is_header;
    uint64_t gen;
    uint32_t slot;
};

static bool read_number(const char **at, uint64_t max, uint64_t *ret)
{
    const char *start = *at;
    char *end;

    if (*start < '0' || *start > '9' || (*start == '0' && start[1] >= '0' && start[1] <= '9'))
        return false;
    errno = 0;
    *ret = strtoull(start, &end, 10);
    *at = end;
    return errno == 0 && *ret <= max;
}

/* ID.GEN.I, ID.GEN.h, ID.m, ID.m.new; nothing else is ours. */
static bool parse(const char *name, struct object_name *ret)
{
    uint64_t slot;

    *ret = (struct object_name){ 0 };
    if (strnlen(name, 2 * ID_SIZE + 2) < 2 * ID_SIZE + 2 || hex_parse(name, ID_SIZE, ret->id) < 0 ||
        name[2 * ID_SIZE] != '.')
        return false;
    name += 2 * ID_SIZE + 1;
    ret->is_copy = strcmp(name, "m") == 0;
    ret->is_fresh = strcmp(name, "m.new") == 0;
    if (ret->is_copy || ret->is_fresh)
        return true;
    if (!read_number(&name, UINT64_MAX, &ret->gen) || *name++ != '.')
        return false;
    ret->is_header = strcmp(name, "h") == 0;
    if (ret->is_header)
        return true;
    if (!read_number(&name, UINT32_MAX - 2, &slot) || *name != 0)
        return false;
    ret->slot = (uint32_t) slot;
    return true;
}

/* Why nobody needs the object; NULL: somebody does, or may. */
static const char *why_not(const struct checking *checking, const struct disk *disk, const struct object_name *name)
{
    const struct owner *owner = ids_find(&checking->ids, name->id);
    uint32_t slot;

    if (owner == NULL)
        return checking->keep_orphans ? NULL : "no file has this id";
    if (owner->layout == NULL || name->is_copy)
        return NULL;
    if (name->gen == owner->gen + 1 && owner->migrating)
        return NULL;
    if (name->gen < owner->oldest_gen || name->gen > owner->gen)
        return "its file is of another generation";
    if (name->gen < owner->gen)
        return NULL; /* waits to be removed, maybe in another layout */
    slot = name->is_header ? owner->layout->pattern->n_elements : name->slot;
    if (slot >= file_layout_slots(owner->layout) || (!name->is_header && slot >= owner->layout->pattern->n_elements))
        return "its file has no such element";
    if (file_layout_disk(owner->layout, checking->volume->home, owner->rotate, slot) != disk->index)
        return "its file has this element on another disk";
    if (owner->settled && !bits_has(&owner->bits, slot))
        return "its file's record knows of no such subfile";
    return NULL;
}

static void check_object(struct checking *checking, const struct disk *disk, const struct walk_entry *entry,
                         uint32_t dir_index)
{
    char object[NAME_MAX + 16];
    const struct spot spot = { .object = object, .disk = disk->index };
    struct object_name name;
    const char *why;

    if (strncmp(entry->name, ".nfs", 4) == 0)
        return; /* the client of NFS removes it when its last user is gone */
    checking->check->n_objects++;
    snprintf(object, sizeof object, "obj/%s", entry->path);
    if (!parse(entry->name, &name))
        why = "no object has such a name";
    else if (name.id[0] % checking->volume->fanout != dir_index)
        why = "it belongs into another directory";
    else
        why = name.is_fresh ? "a copy of a record was never finished" : why_not(checking, disk, &name);
    if (why == NULL)
        return;
    checking_tell_aside(checking, "orphan", &spot, why);
}

/* obj/XX; false: it is none of ours. */
static bool dir_index(const struct checking *checking, const char *name, uint32_t *ret_index)
{
    uint8_t index;

    if (strlen(name) != 2 || hex_parse(name, 1, &index) < 0)
        return false;
    *ret_index = index;
    return index < checking->volume->fanout;
}

static void tell_stranger(struct checking *checking, const struct disk *disk, const char *path)
{
    char object[NAME_MAX + 8];
    const struct spot spot = { .object = object, .disk = disk->index };

    snprintf(object, sizeof object, "obj/%s", path);
    checking_tell_aside(checking, "stranger", &spot, "no directory of objects has such a name");
}

static int check_disk(struct checking *checking, const struct disk *disk)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    int fd = disk_call(disk, open, disk->root, "obj", O_RDONLY | O_DIRECTORY, 0);
    int r = fd < 0 ? fd : walk_new(disk, fd, &walk);
    struct walk_entry entry;
    uint32_t index = 0;

    disk_close(disk, &fd);
    while (r == 0 && (r = walk_next(walk, &entry)) > 0) {
        r = 0;
        if (entry.error < 0) {
            const struct spot spot = { .object = entry.path, .disk = disk->index };

            checking_tell_left(checking, "unreadable", &spot, "cannot be read: %s", strerror(-entry.error));
        } else if (entry.leaving) {
            continue;
        } else if (entry.depth > 0) {
            if (S_ISDIR(entry.st.st_mode))
                walk_skip(walk);
            check_object(checking, disk, &entry, index);
        } else if (!S_ISDIR(entry.st.st_mode) || !dir_index(checking, entry.name, &index)) {
            if (S_ISDIR(entry.st.st_mode))
                walk_skip(walk);
            tell_stranger(checking, disk, entry.path);
        }
    }
    return r;
}

/* Subfiles cannot be made where their directory is missing; what stood there instead has been put aside. */
static void check_directories(struct checking *checking, const struct disk *disk)
{
    char path[16] = "obj";
    const struct spot spot = { .object = path, .disk = disk->index };

    for (uint32_t i = 0; i <= checking->volume->fanout; i++) {
        struct stat st;
        int r;

        if (i > 0)
            snprintf(path, sizeof path, "obj/%02x", i - 1);
        r = disk_call(disk, stat, disk->root, path, &st);
        if (r != -ENOENT && (r < 0 || S_ISDIR(st.st_mode)))
            continue;
        r = checking->check->repair ? disk_call(disk, mkdir, disk->root, path, 0700) : 0;
        checking_tell_fix(checking, "directory", &spot, r, "a directory is missing: is made anew");
        if (i == 0 && !checking->check->repair)
            return;
    }
}

int check_objects(struct checking *checking)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < checking->volume->n_disks; i++) {
        const struct disk *disk = &checking->volume->disk[i];

        if (!disk_is_present(disk))
            continue;
        r = check_disk(checking, disk);
        if (r == -ENOENT)
            r = 0; /* obj/ itself is missing, and told now */
        if (r == 0)
            check_directories(checking, disk);
    }
    return r;
}

/* SPDX-License-Identifier: MIT */
/* obj/: what lies there and belongs to nobody. */
#include "fs/fsck/checking.h"
#include "fs/fsck/object_name.h"
#include "fs/fsck/orphans.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void check_object(struct checking *checking, const struct disk *disk, const struct walk_entry *entry,
                         uint32_t dir_index)
{
    char object[NAME_MAX + 16];
    struct spot spot = { .object = object, .disk = disk->index };
    struct object_name name;
    struct verdict verdict;

    if (strncmp(entry->name, ".nfs", 4) == 0)
        return; /* the client of NFS removes it when its last user is gone */
    checking->check->n_objects++;
    snprintf(object, sizeof object, "obj/%s", entry->path);
    if (!object_name_parse(entry->name, &name))
        verdict = (struct verdict){ .why = "no object has such a name" };
    else if (name.id[0] % checking->volume->fanout != dir_index)
        verdict = (struct verdict){ .why = "it belongs into another directory" };
    else
        verdict = orphans_judge(checking, disk, &name);
    if (verdict.why == NULL)
        return;
    if (verdict.nobody_needs_it && checking->orphans.may_go && S_ISREG(entry->st.st_mode)) {
        orphans_free(checking, &spot, &entry->st, verdict.why);
        return;
    }
    spot.path = orphans_path(&checking->orphans, name.id);
    checking_tell_aside(checking, "orphan", &spot, verdict.why);
}

/* Whether this is the name of one of the directories obj/XX, and the number of that directory. */
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

/* Makes missing directories of objects anew, since no subfile can be made there; what stood there instead has been put
 * aside, or is to be: goes_aside. With obj/ itself all of them are gone, which is told once. */
static void check_directories(struct checking *checking, const struct disk *disk, bool goes_aside)
{
    char path[16] = "obj";
    const struct spot spot = { .object = path, .disk = disk->index };
    bool all_are_missing = false;

    for (uint32_t i = 0; i <= checking->volume->fanout; i++) {
        struct stat st;
        int r;

        if (i > 0)
            snprintf(path, sizeof path, "obj/%02x", i - 1);
        r = disk_call(disk, stat, disk->root, path, &st);
        if (r != -ENOENT && (r < 0 || goes_aside || S_ISDIR(st.st_mode)))
            continue;
        r = checking->check->repair ? disk_call(disk, mkdir, disk->root, path, 0700) : 0;
        if (!all_are_missing || r < 0)
            checking_tell_fix(checking, "directory", &spot, r, "a directory is missing: is made anew");
        if (i == 0 && !checking->check->repair)
            return;
        all_are_missing |= i == 0;
    }
}

int check_directories_first(struct checking *checking)
{
    for (uint32_t i = 0; checking->check->repair && i < checking->volume->n_disks; i++)
        if (disk_is_present(&checking->volume->disk[i]))
            check_directories(checking, &checking->volume->disk[i], true);
    return 0;
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
            check_directories(checking, disk, false);
    }
    return r;
}

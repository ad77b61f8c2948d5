/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/objects.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/stub/copy.h"
#include "fs/core/stub/replica_files.h"
#include "fs/core/volume/promise.h"

#include <string.h>

bool object_may_be_linked(const struct record *record)
{
    return record_migrates(record) || record->oldest_gen < record->gen;
}

/* -- stamps: what a subfile is, told by itself where its disk has extended attributes -- */

#define STAMP_XATTR "user.fallsfs"
#define STAMP_SIZE  (ID_SIZE + 8 + 4)

static void encode(const struct object_stamp *stamp, uint8_t ret_bytes[static STAMP_SIZE])
{
    memcpy(ret_bytes, stamp->id, ID_SIZE);
    for (int i = 0; i < 8; i++)
        ret_bytes[ID_SIZE + i] = (uint8_t) (stamp->gen >> 8 * i);
    for (int i = 0; i < 4; i++)
        ret_bytes[ID_SIZE + 8 + i] = (uint8_t) (stamp->slot >> 8 * i);
}

void object_put_stamp(const struct disk *disk, int dir, const char *path, const struct object_stamp *stamp)
{
    uint8_t bytes[STAMP_SIZE];

    encode(stamp, bytes);
    /* A stamp that stays from before, as of a subfile that its file keeps in another layout, would be believed; none is
     * no harm, and to take it away needs no room. */
    if (disk_call(disk, set_xattr, dir, path, STAMP_XATTR, bytes, sizeof bytes, 0) < 0)
        (void) disk_call(disk, remove_xattr, dir, path, STAMP_XATTR);
}

int object_check_stamp(const struct disk *disk, int dir, const char *path, const struct object_stamp *stamp,
                       bool may_be_linked)
{
    uint8_t bytes[STAMP_SIZE], found[STAMP_SIZE];
    ssize_t n = disk_call(disk, get_xattr, dir, path, STAMP_XATTR, found, sizeof found);

    encode(stamp, bytes);
    return n == STAMP_SIZE && memcmp(bytes, found, may_be_linked ? ID_SIZE : STAMP_SIZE) != 0 ? -EUCLEAN : 0;
}

/* -- removing -- */

/* Removes the objects of generations [from, to), which lie as layout and the record's rotate say. The result is the
 * first error; the other objects are removed anyway. */
static int remove_all(const struct volume *volume, const struct record *record, const struct file_layout *layout,
                      uint64_t from, uint64_t to)
{
    int first = 0;

    for (uint64_t gen = from; gen < to; gen++)
        for (uint32_t slot = 0; slot < file_layout_slots(layout); slot++) {
            const struct disk *disk = file_layout_on(layout, volume, record->rotate, slot);
            char path[OBJECT_PATH];
            int r;

            /* The record tells which objects the current generation has; of other generations all are tried. */
            if (gen == record->gen && !record_may_be_behind(volume, record) && !bits_has(&record->bits, slot))
                continue;
            object_path(volume, record->id, gen, slot, layout, path);
            r = disk->standing == DISK_GONE ? 0 : disk_is_present(disk) ? object_remove(disk, path) : -EIO;
            if (r < 0 && r != -ENOENT && first == 0)
                first = r;
        }
    return first;
}

/* Gives the objects that stay from one laying to another the stamps that go with the names they keep; false: there are
 * none. */
static bool stamp_kept(const struct volume *volume, const struct record *record, const struct placed_layout *from,
                       const struct placed_layout *to)
{
    bool any = false;

    for (uint32_t slot = 0; slot < file_layout_slots(to->layout); slot++) {
        const struct disk *disk = file_layout_on(to->layout, volume, to->rotate, slot);
        char path[OBJECT_PATH];

        if (placed_layout_same(from, to, volume->home, slot) == UINT32_MAX || !disk_is_present(disk))
            continue;
        object_path(volume, record->id, record->gen, slot, to->layout, path);
        object_put_stamp(disk, disk->root, path, &(struct object_stamp){ record->id, record->gen, slot });
        any = true;
    }
    return any;
}

/* Syncs the directories of a file's objects, on all disks that the slots of a layout are on: after that no crash brings
 * back what was removed. */
static int sync_objects(const struct volume *volume, const struct record *record, const struct file_layout *layout,
                        uint16_t rotate)
{
    cleanup(freep) bool *synced = calloc(STAMP_MAX_DISKS, sizeof *synced);
    char path[OBJECT_PATH];
    int r = synced == NULL ? -ENOMEM : 0;

    object_path(volume, record->id, 0, OBJECT_DIR, layout, path);
    for (uint32_t slot = 0; r == 0 && slot < file_layout_slots(layout); slot++) {
        uint32_t index = file_layout_disk(layout, volume->home, rotate, slot);
        const struct disk *disk = &volume->disk[index];

        if (!synced[index] && disk_is_present(disk))
            r = file_text_sync_dir(disk, path);
        synced[index] = true;
    }
    return r;
}

/* An object that stays has two names for a while, and loses one here: for good, before a record says that objects have
 * one name. With two again, after a crash, it would be taken for something that somebody has put there. */
int objects_remove_old(const struct volume *volume, struct layouts *layouts, const struct record *record,
                       const struct file_layout *old_layout)
{
    const struct placed_layout from = { old_layout, record->old_rotate };
    struct placed_layout to = { .rotate = record->rotate };
    struct record old = *record;
    struct file_layout *layout;
    bool any_stays = false;
    int r;

    old.rotate = record->old_rotate;
    if (record_lies_anew(record)) {
        r = layouts_get(layouts, record->layout, &layout);
        if (r < 0)
            return r;
        to.layout = layout;
        any_stays = stamp_kept(volume, record, &from, &to);
        layouts_put(layouts, layout);
    }
    r = remove_all(volume, &old, old_layout, record->oldest_gen, record->gen);
    return r == 0 && any_stays ? sync_objects(volume, record, old_layout, record->old_rotate) : r;
}

/* The next generation of a file whose target was given up may have the target's number: so no crash may bring back the
 * target's objects. */
int objects_remove_target(const struct volume *volume, const struct record *record,
                          const struct file_layout *target_layout)
{
    struct record target = *record;
    int r;

    target.rotate = record->target_rotate;
    r = remove_all(volume, &target, target_layout, record->gen + 1, record->gen + 2);
    if (r == 0 && (record->target_flags & TARGET_GIVEN_UP) != 0)
        r = sync_objects(volume, record, target_layout, record->target_rotate);
    return r;
}

/* Removes the objects of the current and of older generations, each by the layout it has, and the copies of the record.
 */
static int remove_generations(const struct volume *volume, struct layouts *layouts, const struct record *record)
{
    struct file_layout *layout;
    int r = layouts_get(layouts, record->layout, &layout);

    if (r < 0)
        return r;
    r = remove_all(volume, record, layout, record->gen, record->gen + 1);
    if (r == 0)
        r = copy_remove(volume, record, layout);
    layouts_put(layouts, layout);
    if (record->oldest_gen == record->gen)
        return r;
    if (r == 0)
        r = layouts_get(layouts, record->old_layout, &layout);
    if (r < 0)
        return r;
    r = objects_remove_old(volume, layouts, record, layout);
    if (r == 0)
        r = copy_remove_old(volume, record, layout);
    layouts_put(layouts, layout);
    return r;
}

int objects_remove(const struct volume *volume, struct layouts *layouts, const struct record *record)
{
    struct file_layout *layout;
    int r = replicas_remove_all(volume, layouts, record);

    if (r == 0)
        r = remove_generations(volume, layouts, record);
    if (r == 0 && record_migrates(record) && (r = layouts_get(layouts, record->target_layout, &layout)) == 0) {
        r = objects_remove_target(volume, record, layout);
        layouts_put(layouts, layout);
    }
    return r;
}

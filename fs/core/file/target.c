/* SPDX-License-Identifier: MIT */
#include "fs/core/file/target.h"

#include "fs/core/file/plan.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/transfer.h"

#include <string.h>
#include <unistd.h>

#include <linux/falloc.h>

/* -- life -- */

/* Makes the record of a target, as much of it as a generation needs. */
static struct record record_of(struct file *file)
{
    mutex_lock(&file->meta); /* whoever stores the record changes it */

    struct record record = { .rotate = file->record.target_rotate,
                             .gen = file->record.gen + 1,
                             .oldest_gen = file->record.gen + 1 };

    memcpy(record.id, file->record.id, ID_SIZE);
    memcpy(record.layout, file->record.target_layout, HASH_SIZE);
    mutex_unlock(&file->meta);
    return record;
}

void target_free(struct fs *fs, struct target *target)
{
    if (target == NULL)
        return;
    subfiles_free(fs, target->generation);
    free(target->keeps);
    free(target->kept_from);
    free(target->solid);
    free(target);
}

/* Finds the subfiles that stay: those with the same bytes on the same disk as one of the target. They get the target's
 * names in the end. */
static void find_kept(struct fs *fs, const struct generation *now, struct target *target)
{
    struct generation *next = target->generation;
    const struct placed_layout from = { now->layout, now->rotate };
    const struct placed_layout to = { next->layout, next->rotate };

    if (from.layout == to.layout && from.rotate == to.rotate)
        return; /* the file is made anew, as it has lost something */
    for (uint32_t slot = 0; slot < next->n_slots; slot++) {
        uint32_t same = placed_layout_same(&from, &to, fs->volume->home, slot);

        if (same == UINT32_MAX)
            continue;
        next->sub[slot] = (struct subfile){ .fd = -1, .absent = true, .kept = true };
        target->keeps[same] = target->keeps_any = true;
        target->kept_from[slot] = same;
    }
}

static int target_new(struct fs *fs, struct file *file, struct target **ret_target)
{
    struct record record = record_of(file);
    struct target *target = calloc(1, sizeof *target);
    struct file_layout *layout;
    struct generation *next;
    int r = target == NULL ? -ENOMEM : layouts_get(fs->layouts, record.layout, &layout);

    if (r < 0) {
        free(target);
        return r;
    }
    target->keeps = calloc(file->now->n_slots, sizeof target->keeps[0]);
    target->kept_from = calloc(file_layout_slots(layout), sizeof target->kept_from[0]);
    target->solid = calloc(file->now->n_slots, sizeof target->solid[0]);
    next = target->generation = generation_new(file->inode, layout, &record, &file->meta, &file->opened);
    if (next == NULL)
        layouts_put(fs->layouts, layout);
    if (next == NULL || target->keeps == NULL || target->kept_from == NULL || target->solid == NULL) {
        target_free(fs, target);
        return -ENOMEM;
    }
    find_kept(fs, file->now, target);
    atomic_init(&target->done, file->record.migrated);
    atomic_init(&target->lowest, UINT64_MAX);
    for (uint32_t slot = 0; file->record.migrated == 0 && slot < next->n_slots; slot++)
        if (!next->sub[slot].kept) /* an object that lies there nevertheless is nobody's */
            next->sub[slot] = (struct subfile){ .fd = -1, .absent = true };
    *ret_target = target;
    return 0;
}

static bool has_target(const struct file *file)
{
    return record_migrates(&file->record) && (file->record.target_flags & TARGET_GIVEN_UP) == 0;
}

void target_expect(struct file *file)
{
    atomic_store(&file->migrates, has_target(file));
}

struct target *target_detach(struct file *file)
{
    return steal(file->next);
}

int target_attach(struct fs *fs, struct file *file)
{
    struct target *target = NULL;
    int r;

    if (!has_target(file))
        return 0;
    r = target_new(fs, file, &target);
    if (r == 0) {
        file->next = target;
        atomic_store(&file->next_weight, file_layout_weight(target->generation->layout));
    }
    return r == -ENOMEM ? r : 0;
}

void target_fail(struct file *file, int error)
{
    int none = 0;

    if (file->next != NULL)
        (void) atomic_compare_exchange_strong(&file->next->error, &none, error);
}

/* -- before bytes change -- */

static void note_lowest(struct target *target, uint64_t file_off)
{
    uint64_t lowest = atomic_load(&target->lowest);

    while (file_off < lowest && !atomic_compare_exchange_weak(&target->lowest, &lowest, file_off))
        ;
}

int target_will_change(struct fs *fs, struct file *file, uint64_t file_off)
{
    uint64_t before;
    int r = 0;

    if (!atomic_load(&file->migrates))
        return 0;
    if (file->next != NULL)
        note_lowest(file->next, file_off);
    mutex_lock(&file->meta); /* held until the record is durable: others who write there wait for that, too */
    before = file->record.migrated;
    if (file_off < before) {
        file->record.migrated = file_off;
        r = file_store(fs, file);
        if (r == 0)
            r = file_sync_stub(fs, file);
        if (r < 0)
            file->record.migrated = before;
    }
    mutex_unlock(&file->meta);
    return r;
}

/* -- copying -- */

/* Marks the shares of subfiles that stay as done: their bytes are the target's already, and need not be read. */
static void leave_out_kept(const struct target *target, struct plan *from)
{
    for (uint32_t i = 0; i < from->n_shares; i++)
        if (target->keeps[from->share[i].slot])
            from->share[i].done = from->share[i].len;
}

int target_copy(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi, bool fresh, void *buf)
{
    cleanup(plan_done) struct plan from = { 0 };
    bool full = true, empty = false;
    int r = plan_init(&from, file->now->layout, lo, hi - lo, buf);

    if (r < 0)
        return r;
    leave_out_kept(file->next, &from);
    if (fresh)
        r = fill_look_for_holes(fs, file->now, &from, file->next->solid, &full, &empty);
    if (r == -EIO && file->replicas != NULL) {
        full = true; /* what is lost is no hole */
        empty = false;
        r = 0;
    }
    if (r < 0 || empty)
        return r < 0 ? r : TARGET_EMPTY;
    r = transfer_run(fs, file->now, &from, false);
    if (r == 0)
        r = transfer_finish_read(fs, file->now, &from);
    if (r < 0)
        r = replicas_read_for_good(fs, file, &from, &(struct lacking){ lo, hi, false, r });
    plan_done(&from); /* the plan of fill_write takes its memory */
    return r < 0 ? r : fill_write(fs, file->next->generation, lo, hi, buf, !full);
}

/* -- what is done to the file is done to the target -- */

/* Forgets where subfiles have no holes, as there may be new ones. io is held exclusively. */
static void forget_solid(const struct file *file)
{
    memset(file->next->solid, 0, file->now->n_slots * sizeof file->next->solid[0]);
}

/* Copies bytes [lo, hi) to the target again after a write that failed: nobody knows which of them it has changed. */
static int copy_again(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi)
{
    cleanup(freep) void *buf = hi > lo ? malloc(hi - lo) : NULL;

    if (hi <= lo)
        return 0;
    return buf != NULL ? target_copy(fs, file, lo, hi, false, buf) : -ENOMEM;
}

void target_write(struct fs *fs, struct file *file, const void *buf, uint64_t file_off, uint64_t len, uint64_t written)
{
    struct target *target = file->next;
    uint64_t end = MIN(file_off + len, atomic_load(&target->done));
    int r;

    if (file_off >= end || atomic_load(&target->error) != 0)
        return;
    if (written < len) /* what such a write left behind the end of the file will be cut off */
        r = copy_again(fs, file, file_off, MIN(end, file_size(file)));
    else
        r = fill_write(fs, target->generation, file_off, end, drop_const(buf), false);
    if (r < 0)
        target_fail(file, r);
}

void target_cut(struct fs *fs, struct file *file, uint64_t size)
{
    int r;

    if (file->next == NULL || atomic_load(&file->next->error) != 0)
        return;
    note_lowest(file->next, size);
    forget_solid(file);
    r = subfiles_cut(fs, file->next->generation, size);
    if (r < 0)
        target_fail(file, r);
}

void target_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len)
{
    struct target *target = file->next;
    uint64_t end;
    int r;

    if (target == NULL || atomic_load(&target->error) != 0)
        return;
    forget_solid(file);
    end = MIN(off + len, atomic_load(&target->done));
    if (off >= end)
        return;
    r = subfiles_allocate(fs, target->generation, mode, off, end - off);
    if (r < 0)
        target_fail(file, r);
}

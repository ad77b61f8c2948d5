/* SPDX-License-Identifier: MIT */
#include "fs/core/file/target.h"

#include "fs/core/file/plan.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/transfer.h"

#include <string.h>
#include <unistd.h>

#include <linux/falloc.h>

#define BLOCK 4096u /* bytes of a subfile: a block of zeros is not written, so that a hole stays one */

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

/* Finds out whether all bytes of a share are data (full), or none is (empty), or neither. Some file systems find the
 * next hole by looking at all that lies before it: so the answer is remembered, and not asked for again. */
static int look_for_holes(struct fs *fs, struct file *file, const struct share *share, bool *ret_full, bool *ret_empty)
{
    struct solid *solid = &file->next->solid[share->slot];
    uint64_t end = share->sub_off + share->len;
    const struct disk *disk;
    int fd, r = subfile_open(fs, file->now, share->slot, SUBFILE_READ, &fd);
    int64_t data, hole;

    *ret_full = r == 0 && share->sub_off >= solid->from && end <= solid->until;
    *ret_empty = r == 0 && fd < 0;
    if (r < 0 || fd < 0 || *ret_full)
        return r;
    r = subfile_disk(fs, file->now, share->slot, &disk);
    if (r < 0)
        return r;
    data = disk_call(disk, seek, fd, share->sub_off, SEEK_DATA);
    if (data < 0 && data != -ENXIO)
        return (int) data;
    *ret_empty = data < 0 || (uint64_t) data >= end;
    if (*ret_empty || (uint64_t) data > share->sub_off)
        return 0;
    hole = disk_call(disk, seek, fd, share->sub_off, SEEK_HOLE);
    if (hole < 0)
        return hole == -ENXIO ? 0 : (int) hole;
    *solid = (struct solid){ share->sub_off, (uint64_t) hole };
    *ret_full = (uint64_t) hole >= end;
    return 0;
}

static int look_for_all_holes(struct fs *fs, struct file *file, const struct plan *from, bool *ret_full,
                              bool *ret_empty)
{
    int r = 0;

    *ret_full = *ret_empty = true;
    for (uint32_t i = 0; r == 0 && i < from->n_shares; i++) {
        bool full, empty;

        if (from->share[i].done > 0)
            continue;
        r = look_for_holes(fs, file, &from->share[i], &full, &empty);
        *ret_full &= full;
        *ret_empty &= empty;
    }
    return r;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* Writes those blocks of a share that are not all zeros, with one write for blocks that touch. bytes has the share in
 * one piece; *ret_end is where the last block that was written ends in the subfile. */
static int write_blocks(const struct disk *disk, int fd, const struct share *share, uint8_t *bytes, uint64_t *ret_end)
{
    uint64_t at = 0;

    while (at < share->len) {
        uint64_t from = at;

        for (; at < share->len; at += MIN(BLOCK - (share->sub_off + at) % BLOCK, share->len - at))
            if (is_zero(bytes + at, MIN(BLOCK - (share->sub_off + at) % BLOCK, share->len - at)))
                break;
        while (from < at) {
            struct iovec iov = { bytes + from, at - from };
            ssize_t n = disk_call(disk, pwritev, fd, &iov, 1, share->sub_off + from);

            if (n <= 0)
                return n < 0 ? (int) n : -EIO;
            from += (uint64_t) n;
            *ret_end = share->sub_off + from;
        }
        if (at < share->len)
            at += MIN(BLOCK - (share->sub_off + at) % BLOCK, share->len - at);
    }
    return 0;
}

static void note_end(struct generation *generation, uint32_t slot, uint64_t end)
{
    if (end == 0)
        return;
    mutex_lock(generation->meta);
    generation->sub[slot].len = MAX(generation->sub[slot].len, end);
    bits_mark(&generation->dirty, slot);
    mutex_unlock(generation->meta);
}

static int write_sparse_share(struct fs *fs, struct generation *generation, const struct share *share)
{
    cleanup(freep) uint8_t *bytes = calloc(1, share->len);
    const struct disk *disk;
    uint64_t at = 0, end = 0;
    int fd, r = bytes == NULL ? -ENOMEM : subfile_disk(fs, generation, share->slot, &disk);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < share->n_iov; i++) {
        memcpy(bytes + at, share->iov[i].iov_base, share->iov[i].iov_len);
        at += share->iov[i].iov_len;
    }
    if (is_zero(bytes, share->len))
        return 0;
    r = subfile_open(fs, generation, share->slot, SUBFILE_CREATE, &fd);
    if (r == 0)
        r = write_blocks(disk, fd, share, bytes, &end);
    note_end(generation, share->slot, end);
    return r;
}

static int write_sparse(struct fs *fs, struct generation *generation, const struct plan *to)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < to->n_shares; i++)
        if (!generation->sub[to->share[i].slot].kept)
            r = write_sparse_share(fs, generation, &to->share[i]);
    return r;
}

/* Has the disk begin to write what it was given of a subfile; else all would be written when it is synced. */
static void begin_to_write(struct fs *fs, struct generation *generation, const struct share *share)
{
    const struct disk *disk;
    int fd;

    if (subfile_disk(fs, generation, share->slot, &disk) == 0 && watch_is_prompt(disk->watch) &&
        subfile_open(fs, generation, share->slot, SUBFILE_READ, &fd) == 0 && fd >= 0)
        (void) disk_call(disk, sync, fd, SYNC_START); /* an error comes up again when it is synced */
    mutex_lock(generation->meta);
    generation->sub[share->slot].writing = false;
    generation->sub[share->slot].unwritten = 0;
    mutex_unlock(generation->meta);
}

static int write_all(struct fs *fs, struct generation *generation, struct plan *to)
{
    int r = transfer_run(fs, generation, to, true);

    mutex_lock(generation->meta);
    subfiles_note_written(fs, generation, to);
    mutex_unlock(generation->meta);
    for (uint32_t i = 0; i < to->n_shares; i++)
        if (to->share[i].is_long)
            begin_to_write(fs, generation, &to->share[i]);
    for (uint32_t i = 0; r == 0 && i < to->n_shares; i++)
        if (to->share[i].done < to->share[i].len)
            r = to->share[i].error != 0 ? to->share[i].error : -EIO;
    return r;
}

static int write_target(struct fs *fs, struct target *target, uint64_t lo, uint64_t hi, void *buf, bool sparse)
{
    cleanup(plan_done) struct plan to = { 0 };
    int r = plan_init(&to, target->generation->layout, lo, hi - lo, buf);

    if (r < 0)
        return r;
    plan_gather(&to);
    return sparse ? write_sparse(fs, target->generation, &to) : write_all(fs, target->generation, &to);
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
        r = look_for_all_holes(fs, file, &from, &full, &empty);
    if (r < 0 || empty)
        return r < 0 ? r : TARGET_EMPTY;
    r = transfer_run(fs, file->now, &from, false);
    if (r == 0)
        r = transfer_finish_read(fs, file->now, &from);
    plan_done(&from); /* the plan of write_target takes its memory */
    return r < 0 ? r : write_target(fs, file->next, lo, hi, buf, !full);
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
        r = write_target(fs, target, file_off, end, drop_const(buf), false);
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

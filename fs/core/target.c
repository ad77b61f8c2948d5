/* SPDX-License-Identifier: MIT */
#include "fs/core/target.h"

#include "fs/core/plan.h"
#include "fs/core/subfile.h"

#include <string.h>
#include <unistd.h>

#include <linux/falloc.h>

#define BLOCK 4096u /* of a subfile: what is zero and was a hole stays one */

/* -- life -- */

static struct record record_of(struct file *file)
{
    pthread_mutex_lock(&file->meta); /* others may note that they have stored it */

    const struct record *record = &file->record;
    struct record target = { .rotate = record->target_rotate,
                             .old_rotate = record->target_rotate,
                             .gen = record->gen + 1,
                             .oldest_gen = record->gen + 1,
                             .size = record->size,
                             .epoch = record->epoch,
                             .born = record->born };

    memcpy(target.id, record->id, ID_SIZE);
    memcpy(target.layout, record->target_layout, HASH_SIZE);
    pthread_mutex_unlock(&file->meta);
    return target;
}

void target_free(struct fs *fs, struct target *target)
{
    if (target == NULL)
        return;
    if (target->file != NULL)
        file_free(fs, target->file);
    free(target->keeps);
    free(target->kept_from);
    free(target->solid);
    free(target);
}

/* Subfiles that have the right bytes on the right disk stay. They get another name in the end. */
static void find_kept(struct fs *fs, const struct file *file, struct target *target)
{
    const struct laying from = { file->layout, file->record.rotate };
    const struct laying to = { target->file->layout, target->file->record.rotate };

    for (uint32_t slot = 0; slot < target->file->n_slots; slot++) {
        uint32_t same = laying_same(&from, &to, fs->volume->home, slot);

        if (same == UINT32_MAX)
            continue;
        target->file->sub[slot] = (struct subfile){ .fd = -1, .absent = true, .kept = true };
        target->keeps[same] = target->keeps_any = true;
        target->kept_from[slot] = same;
    }
}

static int target_new(struct fs *fs, struct file *file, struct target **ret_target)
{
    struct record record = record_of(file);
    struct target *target = calloc(1, sizeof *target);
    struct file_layout *layout;
    int r = target == NULL ? -ENOMEM : layouts_get(fs->layouts, record.layout, &layout);

    if (r < 0) {
        free(target);
        return r;
    }
    target->keeps = calloc(file->n_slots, sizeof target->keeps[0]);
    target->kept_from = calloc(file_layout_slots(layout), sizeof target->kept_from[0]);
    target->solid = calloc(file->n_slots, sizeof target->solid[0]);
    target->file = file_new(file->inode, layout, &record);
    if (target->file == NULL)
        layouts_put(fs->layouts, layout);
    if (target->file == NULL || target->keeps == NULL || target->kept_from == NULL || target->solid == NULL) {
        target_free(fs, target);
        return -ENOMEM;
    }
    find_kept(fs, file, target);
    atomic_init(&target->done, file->record.migrated);
    atomic_init(&target->lowest, UINT64_MAX);
    for (uint32_t slot = 0; file->record.migrated == 0 && slot < target->file->n_slots; slot++)
        if (!target->file->sub[slot].kept) /* what lies there anyway is nobody's */
            target->file->sub[slot] = (struct subfile){ .fd = -1, .absent = true };
    *ret_target = target;
    return 0;
}

/* Without the layout's text the migration cannot go on; what was done is not believed any more. */
static int forget(struct fs *fs, struct file *file)
{
    int r = 0;

    pthread_mutex_lock(&file->meta);
    if (file->record.migrated > 0) {
        file->record.migrated = 0;
        r = file_store(fs, file);
    }
    pthread_mutex_unlock(&file->meta);
    return r;
}

int target_attach(struct fs *fs, struct file *file)
{
    struct target *target = NULL;
    int r;

    if (!record_migrates(&file->record) || (file->record.target_flags & TARGET_GIVEN_UP) != 0)
        return 0;
    r = target_new(fs, file, &target);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return forget(fs, file);
    file->target = target;
    atomic_store(&file->migrates, true);
    return 0;
}

void target_fail(struct file *file, int error)
{
    int none = 0;

    if (file->target != NULL)
        (void) atomic_compare_exchange_strong(&file->target->error, &none, error);
}

/* -- what was done is done no more -- */

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

    if (file->target == NULL)
        return 0;
    note_lowest(file->target, file_off);
    pthread_mutex_lock(&file->meta); /* until it is durable: others who write there wait, too */
    before = file->record.migrated;
    if (file_off < before) {
        file->record.migrated = file_off;
        r = file_store(fs, file);
        if (r == 0)
            r = file_sync_stub(fs, file);
        if (r < 0)
            file->record.migrated = before;
    }
    pthread_mutex_unlock(&file->meta);
    return r;
}

/* -- copying -- */

/* The shares of subfiles that stay are of no interest, on either side: they have the same bytes. */
static void leave_out_kept(const struct target *target, struct plan *from)
{
    for (uint32_t i = 0; i < from->n_shares; i++)
        if (target->keeps[from->share[i].slot])
            from->share[i].done = from->share[i].len;
}

/* Whether all bytes of a share are data, or none is; neither: both are false. Where the next hole is takes some file
 * systems a look at all there is until then, so it is asked once. */
static int look_for_holes(struct fs *fs, struct file *file, const struct share *share, bool *ret_full, bool *ret_empty)
{
    struct solid *solid = &file->target->solid[share->slot];
    uint64_t end = share->sub_off + share->len;
    const struct disk *disk;
    int fd, r = subfile_open(fs, file, share->slot, SUBFILE_READ, &fd);
    int64_t data, hole;

    *ret_full = r == 0 && share->sub_off >= solid->from && end <= solid->until;
    *ret_empty = r == 0 && fd < 0;
    if (r < 0 || fd < 0 || *ret_full)
        return r;
    r = subfile_disk(fs, file, share->slot, &disk);
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

/* Writes what is not zero of a share, in one piece in bytes, as one write for blocks that touch. */
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

static void note_end(struct file *file, uint32_t slot, uint64_t end)
{
    if (end == 0)
        return;
    pthread_mutex_lock(&file->meta);
    file->sub[slot].len = MAX(file->sub[slot].len, end);
    bits_mark(&file->record.dirty, slot);
    pthread_mutex_unlock(&file->meta);
}

static int write_sparse_share(struct fs *fs, struct file *file, const struct share *share)
{
    cleanup(freep) uint8_t *bytes = calloc(1, share->len);
    const struct disk *disk;
    uint64_t at = 0, end = 0;
    int fd, r = bytes == NULL ? -ENOMEM : subfile_disk(fs, file, share->slot, &disk);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < share->n_iov; i++) {
        memcpy(bytes + at, share->iov[i].iov_base, share->iov[i].iov_len);
        at += share->iov[i].iov_len;
    }
    if (is_zero(bytes, share->len))
        return 0;
    r = subfile_open(fs, file, share->slot, SUBFILE_CREATE, &fd);
    if (r == 0)
        r = write_blocks(disk, fd, share, bytes, &end);
    note_end(file, share->slot, end);
    return r;
}

static int write_sparse(struct fs *fs, struct file *file, const struct plan *to)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < to->n_shares; i++)
        if (!file->sub[to->share[i].slot].kept)
            r = write_sparse_share(fs, file, &to->share[i]);
    return r;
}

/* Else all would be written when it is synced. */
static void begin_to_write(struct fs *fs, struct file *file, const struct share *share)
{
    const struct disk *disk;
    int fd;

    if (subfile_disk(fs, file, share->slot, &disk) == 0 && watch_is_prompt(disk->watch) &&
        subfile_open(fs, file, share->slot, SUBFILE_READ, &fd) == 0 && fd >= 0)
        (void) disk_call(disk, sync, fd, SYNC_START); /* an error comes up again when it is synced */
    pthread_mutex_lock(&file->meta);
    file->sub[share->slot].writing = false;
    file->sub[share->slot].unwritten = 0;
    pthread_mutex_unlock(&file->meta);
}

static int write_all(struct fs *fs, struct file *file, struct plan *to)
{
    int r = file_run_plan(fs, file, to, true);

    pthread_mutex_lock(&file->meta);
    file_note_lengths(fs, file, to);
    pthread_mutex_unlock(&file->meta);
    for (uint32_t i = 0; i < to->n_shares; i++)
        if (to->share[i].is_long)
            begin_to_write(fs, file, &to->share[i]);
    for (uint32_t i = 0; r == 0 && i < to->n_shares; i++)
        if (to->share[i].done < to->share[i].len)
            r = to->share[i].error != 0 ? to->share[i].error : -EIO;
    return r;
}

static int write_target(struct fs *fs, struct target *target, uint64_t lo, uint64_t hi, void *buf, bool sparse)
{
    cleanup(plan_done) struct plan to = { 0 };
    int r = plan_init(&to, target->file->layout, lo, hi - lo, buf);

    if (r < 0)
        return r;
    plan_gather(&to);
    return sparse ? write_sparse(fs, target->file, &to) : write_all(fs, target->file, &to);
}

int target_copy(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi, bool fresh, void *buf)
{
    cleanup(plan_done) struct plan from = { 0 };
    bool full = true, empty = false;
    int r = plan_init(&from, file->layout, lo, hi - lo, buf);

    if (r < 0)
        return r;
    leave_out_kept(file->target, &from);
    if (fresh)
        r = look_for_all_holes(fs, file, &from, &full, &empty);
    if (r < 0 || empty)
        return r < 0 ? r : TARGET_EMPTY;
    r = file_run_plan(fs, file, &from, false);
    if (r == 0)
        r = file_finish_read(file, &from);
    plan_done(&from); /* the other one has its memory */
    return r < 0 ? r : write_target(fs, file->target, lo, hi, buf, !full);
}

/* -- what is done to the file -- */

/* io is held exclusively. */
static void forget_solid(const struct file *file)
{
    memset(file->target->solid, 0, file->n_slots * sizeof file->target->solid[0]);
}

/* Nobody knows what of it was written, so the target gets what is there now. */
static int copy_again(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi)
{
    cleanup(freep) void *buf = hi > lo ? malloc(hi - lo) : NULL;

    if (hi <= lo)
        return 0;
    return buf != NULL ? target_copy(fs, file, lo, hi, false, buf) : -ENOMEM;
}

void target_write(struct fs *fs, struct file *file, const void *buf, uint64_t file_off, uint64_t len, uint64_t written)
{
    struct target *target = file->target;
    uint64_t end = MIN(file_off + len, atomic_load(&target->done));
    int r;

    if (file_off >= end || atomic_load(&target->error) != 0)
        return;
    if (written < len) /* what was left behind the end will be cut off */
        r = copy_again(fs, file, file_off, MIN(end, file_size(file)));
    else
        r = write_target(fs, target, file_off, end, drop_const(buf), false);
    if (r < 0)
        target_fail(file, r);
}

void target_cut(struct fs *fs, struct file *file, uint64_t size)
{
    int r;

    if (file->target == NULL || atomic_load(&file->target->error) != 0)
        return;
    note_lowest(file->target, size);
    forget_solid(file);
    file->target->file->record.size = size;
    r = file_cut_tails(fs, file->target->file);
    if (r < 0)
        target_fail(file, r);
}

void target_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len)
{
    struct target *target = file->target;
    uint64_t end;
    int r;

    if (target == NULL || atomic_load(&target->error) != 0)
        return;
    forget_solid(file);
    end = MIN(off + len, atomic_load(&target->done));
    if (off >= end)
        return;
    r = file_allocate_subfiles(fs, target->file, mode, off, end - off);
    if (r < 0)
        target_fail(file, r);
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/file/fill.h"

#include "fs/core/file/plan.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/transfer.h"

#include <string.h>
#include <unistd.h>

#define BLOCK 4096u /* bytes of a subfile: a block of zeros is not written, so that a hole stays one */

/* -- what the file has -- */

/* Finds out whether all bytes of a share are data (full), or none is (empty), or neither. Some file systems find the
 * next hole by looking at all that lies before it: so the answer is remembered, and not asked for again. */
static int look_for_holes(struct fs *fs, struct generation *from, const struct share *share, struct solid *solid,
                          bool *ret_full, bool *ret_empty)
{
    uint64_t end = share->sub_off + share->len;
    const struct disk *disk;
    int fd, r = subfile_open(fs, from, share->slot, SUBFILE_READ, &fd);
    int64_t data, hole;

    *ret_full = r == 0 && share->sub_off >= solid->from && end <= solid->until;
    *ret_empty = r == 0 && fd < 0;
    if (r < 0 || fd < 0 || *ret_full)
        return r;
    r = subfile_disk(fs, from, share->slot, &disk);
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

int fill_look_for_holes(struct fs *fs, struct generation *from, const struct plan *plan, struct solid *solid,
                        bool *ret_full, bool *ret_empty)
{
    int r = 0;

    *ret_full = *ret_empty = true;
    for (uint32_t i = 0; r == 0 && i < plan->n_shares; i++) {
        struct solid none = { 0 };
        bool full = false, empty = false;

        if (plan->share[i].done > 0)
            continue;
        /* What is lost is no hole. */
        r = subfile_check_whole(fs, from, plan->share[i].slot, plan->share[i].sub_off + plan->share[i].len);
        if (r == 0)
            r = look_for_holes(fs, from, &plan->share[i], solid != NULL ? &solid[plan->share[i].slot] : &none, &full,
                               &empty);
        *ret_full &= full;
        *ret_empty &= empty;
    }
    return r;
}

/* -- what the other generation gets -- */

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

int fill_run(struct fs *fs, struct generation *generation, struct plan *plan)
{
    int r = plan->n_shares > 0 ? transfer_run(fs, generation, plan, true) : 0;

    mutex_lock(generation->meta);
    subfiles_note_written(fs, generation, plan);
    mutex_unlock(generation->meta);
    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].is_long)
            begin_to_write(fs, generation, &plan->share[i]);
    return r;
}

static int write_all(struct fs *fs, struct generation *generation, struct plan *to)
{
    int r = fill_run(fs, generation, to);

    return r == 0 ? plan_error(to) : r;
}

int fill_write(struct fs *fs, struct generation *to, uint64_t lo, uint64_t hi, void *buf, bool sparse)
{
    cleanup(plan_done) struct plan plan = { 0 };
    int r = plan_init(&plan, to->layout, lo, hi - lo, buf);

    if (r < 0)
        return r;
    plan_gather(&plan);
    return sparse ? write_sparse(fs, to, &plan) : write_all(fs, to, &plan);
}

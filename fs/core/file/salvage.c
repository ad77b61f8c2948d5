/* SPDX-License-Identifier: MIT */
#include "fs/core/file/salvage.h"

#include "fs/core/file/plan.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfile.h"
#include "layout/map.h"

/* The next piece of a share's memory, behind the bytes that are done. */
static struct iovec next_piece(const struct share *share)
{
    uint64_t skip = share->done;

    for (uint32_t i = 0; i < share->n_iov; i++) {
        const struct iovec *iov = &share->iov[i];

        if (skip < iov->iov_len)
            return (struct iovec){ (uint8_t *) iov->iov_base + skip, iov->iov_len - skip };
        skip -= iov->iov_len;
    }
    return (struct iovec){ 0 };
}

static int read_share(struct fs *fs, struct file *file, struct share *share)
{
    const struct disk *disk;
    int fd = -1, r = subfile_disk(fs, file->now, share->slot, &disk);
    uint64_t must;

    if (r == 0)
        r = subfile_open(fs, file->now, share->slot, SUBFILE_READ, &fd);
    while (r == 0 && fd >= 0 && share->done < share->len) {
        struct iovec iov = next_piece(share);
        ssize_t n = disk_call(disk, preadv, fd, &iov, 1, share->sub_off + share->done, false);

        if (n == 0)
            break;
        if (n < 0)
            r = (int) n;
        else
            share->done += (uint64_t) n;
    }
    mutex_lock(&file->meta);
    must = generation_must_have(file->now, share->slot);
    mutex_unlock(&file->meta);
    if (r == 0 && share->done < share->len && share->sub_off + share->done < must)
        r = -EIO;
    return r;
}

/* -- telling -- */

struct lost_range {
    uint64_t off, len;
    int error;
};

static void tell(const struct salvage *salvage, struct lost_range *range, uint64_t off, uint64_t len, int error)
{
    if (range->len > 0 && range->off + range->len == off) {
        range->len += len;
        return;
    }
    if (range->len > 0)
        salvage->lost(salvage->arg, range->off, range->len, range->error);
    *range = (struct lost_range){ off, len, error };
}

static const struct share *share_of(const struct plan *plan, uint32_t element)
{
    uint32_t slot = file_layout_slot(plan->layout, element);

    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].slot == slot)
            return &plan->share[i];
    return NULL;
}

/* Tells of the bytes that are lost, in file order: what of a run lies behind the bytes that its share has read. */
static int tell_lost(const struct plan *plan, const struct salvage *salvage, struct lost_range *range)
{
    struct runs runs;
    struct run run;
    int r = runs_init(&runs, plan->layout->pattern, plan->file_off, plan->len);

    while (r == 0 && runs_next(&runs, &run)) {
        const struct share *share = share_of(plan, run.element);
        uint64_t have, skip;

        if (share == NULL || share->error == 0)
            continue;
        have = share->sub_off + share->done;
        skip = have > run.sub_off ? MIN(have - run.sub_off, run.len) : 0;
        if (skip < run.len)
            tell(salvage, range, run.file_off + skip, run.len - skip, share->error);
    }
    return r;
}

/* Reads what the file's own subfiles have of a range. */
static int read_own(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off,
                    const struct salvage *salvage, struct lost_range *range)
{
    cleanup(plan_done) struct plan plan = { 0 };
    bool lost = false;
    int r = plan_init(&plan, file->now->layout, off, len, buf);

    for (uint32_t i = 0; r == 0 && i < plan.n_shares; i++) {
        struct share *share = &plan.share[i];

        share->error = read_share(fs, file, share);
        lost |= share->error != 0;
        plan_zero_rest(share);
        plan_scatter(&plan, share);
    }
    return r == 0 && lost ? tell_lost(&plan, salvage, range) : r;
}

/* A file with replicas is read where all bytes are, window by window: what some window lacks the next one may have. */
static int read_left(struct fs *fs, struct file *file, uint8_t *buf, size_t len, uint64_t off,
                     const struct salvage *salvage, struct lost_range *range)
{
    uint64_t window, n;
    int r = 0;

    if (file->replicas == NULL)
        return read_own(fs, file, buf, len, off, salvage, range);
    window = UINT64_C(1) << file->replicas->map.shift;
    for (; r == 0 && len > 0; buf += n, off += n, len -= n) {
        n = MIN(window - off % window, len);
        if (file_read(fs, file, buf, n, off) != (ssize_t) n)
            r = read_own(fs, file, buf, n, off, salvage, range);
    }
    return r;
}

ssize_t salvage_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off,
                     const struct salvage *salvage)
{
    struct lost_range range = { 0 };
    uint64_t size = file_size(file);
    int r;

    len = off >= size ? 0 : MIN(len, size - off);
    if (len == 0)
        return 0;
    r = read_left(fs, file, buf, len, off, salvage, &range);
    if (range.len > 0)
        salvage->lost(salvage->arg, range.off, range.len, range.error);
    return r < 0 ? r : (ssize_t) len;
}

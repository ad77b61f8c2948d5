/* SPDX-License-Identifier: MIT */
#include "fs/core/file/transfer.h"

#include "fs/core/file/plan.h"
#include "fs/core/file/subfile.h"

#include <limits.h>

/* One share on its way. */
struct transfer {
    struct chore chore;
    struct fs *fs;
    struct generation *generation;
    struct share *share;
    bool write, no_wait;
};

/* Lists the pieces of a share's memory behind the bytes that are done, at most room of them. Returns how many. */
static int rest_of(const struct share *share, struct iovec *iov, int room)
{
    uint64_t skip = share->done;
    int n = 0;

    for (uint32_t i = 0; i < share->n_iov && n < room; i++) {
        if (skip >= share->iov[i].iov_len) {
            skip -= share->iov[i].iov_len;
            continue;
        }
        iov[n++] = (struct iovec){ (uint8_t *) share->iov[i].iov_base + skip, share->iov[i].iov_len - skip };
        skip = 0;
    }
    return n;
}

static ssize_t call(const struct disk *disk, int fd, const struct transfer *t)
{
    const struct share *share = t->share;
    uint64_t off = share->sub_off + share->done;
    struct iovec rest[IOV_MAX];
    const struct iovec *iov = share->iov;
    int n = (int) share->n_iov;

    if (share->done > 0 || share->n_iov > IOV_MAX) {
        n = rest_of(share, rest, IOV_MAX);
        iov = rest;
    }
    return t->write ? disk_call(disk, pwritev, fd, iov, n, off) : disk_call(disk, preadv, fd, iov, n, off, t->no_wait);
}

/* Reads or writes a share as far as it goes: until it is done, the subfile ends, or there is an error. */
static void transfer(struct transfer *t)
{
    cleanup(errand_leave) struct errand before = errand_at(t->generation->nodeid, t->share->slot);
    struct share *share = t->share;
    const struct disk *disk;
    int fd = -1, r;

    share->error = 0;
    if (share->done == share->len || t->generation->sub[share->slot].kept) {
        share->done = share->len; /* done before, or the subfile is kept and has the bytes already */
        return;
    }
    r = subfile_disk(t->fs, t->generation, share->slot, &disk);
    if (r == 0)
        r = subfile_open(t->fs, t->generation, share->slot, t->write ? SUBFILE_CREATE : SUBFILE_READ, &fd);
    if (r == 0 && t->write)
        r = subfile_check_write(t->fs, t->generation, share->slot, share->sub_off);
    while (r == 0 && fd >= 0 && share->done < share->len) {
        ssize_t n = call(disk, fd, t);

        if (n == 0)
            break;
        if (n < 0)
            r = (int) n;
        else
            share->done += (uint64_t) n;
    }
    share->error = r;
}

static void run_transfer(struct chore *chore)
{
    transfer((struct transfer *) chore);
}

void transfer_note(struct fs *fs, const struct generation *generation, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        const struct disk *disk;

        errand.footprint->n_runs += plan->share[i].n_iov;
        errand.footprint->n_subfiles++;
        if (subfile_disk(fs, generation, plan->share[i].slot, &disk) == 0 && disk->index < 64)
            errand.footprint->disks |= UINT64_C(1) << disk->index;
    }
}

int transfer_run(struct fs *fs, struct generation *generation, struct plan *plan, bool write)
{
    cleanup(freep) struct transfer *t = NULL;
    cleanup(freep) struct chore **chore = NULL;
    uint32_t n = 0;

    if (errand.footprint != NULL)
        transfer_note(fs, generation, plan);
    if (plan->n_shares == 1) {
        struct transfer one = { .fs = fs, .generation = generation, .share = &plan->share[0], .write = write };

        transfer(&one);
        return 0;
    }
    t = calloc(plan->n_shares, sizeof *t);
    chore = calloc(plan->n_shares, sizeof(struct chore *));
    if (t == NULL || chore == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        t[i] = (struct transfer){ .chore = { .run = run_transfer },
                                  .fs = fs,
                                  .generation = generation,
                                  .share = &plan->share[i],
                                  .write = write,
                                  .no_wait = !write };
        transfer(&t[i]);
        if (plan->share[i].error == -EAGAIN || plan->share[i].error == -EOPNOTSUPP) {
            t[i].no_wait = false;
            chore[n++] = &t[i].chore;
        }
    }
    workers_run(fs->workers, chore, n);
    return 0;
}

/* Ends the reading of a share: bytes that the subfile has not are a hole, unless it must have them. */
static int finish_share(struct fs *fs, struct generation *generation, struct plan *plan, struct share *share)
{
    uint64_t must;

    if (share->error == 0 && share->done < share->len) {
        mutex_lock(generation->meta);
        must = generation_must_have(generation, share->slot);
        mutex_unlock(generation->meta);
        if (share->sub_off + share->done < must)
            share->error = subfile_lost(fs, generation, share->slot);
    }
    if (share->error == 0) {
        plan_zero_rest(share);
        share->done = share->len;
    }
    plan_scatter(plan, share);
    return share->error;
}

int transfer_finish_read(struct fs *fs, struct generation *generation, struct plan *plan)
{
    int first = 0;

    for (uint32_t i = 0; i < plan->n_shares; i++) {
        int r = finish_share(fs, generation, plan, &plan->share[i]);

        first = first != 0 ? first : r;
    }
    return first;
}

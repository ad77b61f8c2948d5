/* SPDX-License-Identifier: MIT */
#include "test/support/simfs.h"

#include <assert.h>
#include <string.h>

/* When more than this is pending, the older half reaches the disk by itself, as any kernel sees to in the end. */
#define MAX_PENDING       8192
#define MAX_PENDING_BYTES (UINT64_C(64) << 20)

static bool is_write(const struct sim_pending *pending)
{
    return pending->change->kind == SIM_CHANGE_WRITE;
}

static bool touches(const struct sim_change *change, uint32_t ino)
{
    return change->ino == ino || change->other == ino || change->dir == ino || change->to_dir == ino;
}

/* Whether fdatasync need not wait for the change. */
static bool is_lazy(const struct sim_change *change)
{
    return change->kind == SIM_CHANGE_ATTR || change->kind == SIM_CHANGE_XATTR;
}

static uint64_t weight(const struct sim_change *change)
{
    return change->data != NULL ? change->data->len : 0;
}

static bool settled(const struct sim_disk *disk, size_t i)
{
    const struct sim_pending *pending = &disk->pending[i];

    return is_write(pending) ? pending->durable && !pending->lost : i < disk->n_committed;
}

/* Moves the changes at the front that will survive in any case to the durable image. */
static void settle(struct sim_disk *disk)
{
    size_t n = 0;

    for (; n < disk->n_pending && settled(disk, n); n++) {
        struct sim_pending *pending = &disk->pending[n];

        simimage_apply(disk->durable, pending->change);
        disk->pending_bytes -= weight(pending->change);
        sim_change_put(pending->change);
    }
    if (n == 0)
        return;
    disk->n_pending -= n;
    disk->n_committed -= MIN(n, disk->n_committed);
    memmove(disk->pending, disk->pending + n, disk->n_pending * sizeof disk->pending[0]);
}

static void write_back(struct sim_disk *disk, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        disk->pending[i].durable = true;
        disk->pending[i].lost = false;
    }
    disk->n_committed = MAX(disk->n_committed, n);
    settle(disk);
}

void simcrash_change(struct sim_disk *disk, struct sim_change *change)
{
    simimage_apply(disk->now, change);
    if (disk->n_pending == disk->room_pending) {
        disk->room_pending = 2 * disk->room_pending + 64;
        disk->pending = sim_realloc(disk->pending, disk->room_pending * sizeof disk->pending[0]);
    }
    disk->pending[disk->n_pending++] = (struct sim_pending){ .change = change };
    disk->pending_bytes += weight(change);
    if (disk->n_pending > MAX_PENDING || disk->pending_bytes > MAX_PENDING_BYTES)
        write_back(disk, disk->n_pending / 2);
}

static bool covers(const struct sim_pending *pending, uint32_t ino, enum disk_sync how)
{
    return how == SYNC_DISK || pending->change->ino == ino;
}

void simcrash_sync(struct sim_disk *disk, uint32_t ino, enum disk_sync how)
{
    if (how == SYNC_START || how == SYNC_WAIT)
        return;
    for (size_t i = 0; i < disk->n_pending; i++) {
        struct sim_pending *pending = &disk->pending[i];

        if (is_write(pending))
            pending->durable = pending->durable || covers(pending, ino, how);
        else if (how == SYNC_DISK || (touches(pending->change, ino) && (how == SYNC_ALL || !is_lazy(pending->change))))
            disk->n_committed = MAX(disk->n_committed, i + 1);
    }
    settle(disk);
}

void simcrash_sync_failed(struct sim_disk *disk, uint32_t ino, enum disk_sync how)
{
    for (size_t i = 0; i < disk->n_pending; i++)
        if (is_write(&disk->pending[i]) && !disk->pending[i].durable && covers(&disk->pending[i], ino, how))
            disk->pending[i].lost = true;
}

/* Chooses how many of the pending changes of metadata survive. */
static size_t choose_cut(const struct sim_disk *disk, struct rng *rng)
{
    switch (rng == NULL ? 0 : rng_below(rng, 4)) {
    case 0:
        return disk->n_committed;
    case 1:
        return disk->n_pending;
    default:
        return rng_between(rng, disk->n_committed, disk->n_pending);
    }
}

/* Replays a write after a crash. Of one that a sync covers, but that an earlier sync lost, only the length is safe. */
static void replay_write(struct sim_disk *disk, const struct sim_pending *write, struct rng *rng)
{
    if (write->durable && !write->lost)
        simimage_apply(disk->durable, write->change);
    else if ((write->durable || rng != NULL) && simimage_inode(disk->durable, write->change->ino) != NULL)
        simimage_apply_torn(disk->durable, write->change, write->durable, rng);
}

static void replay(struct sim_disk *disk, struct rng *rng)
{
    size_t cut = choose_cut(disk, rng);

    for (size_t i = 0; i < disk->n_pending; i++) {
        const struct sim_pending *pending = &disk->pending[i];

        if (is_write(pending))
            replay_write(disk, pending, rng);
        else if (i < cut)
            simimage_apply(disk->durable, pending->change);
        sim_change_put(pending->change);
    }
    disk->n_pending = disk->n_committed = 0;
    disk->pending_bytes = 0;
}

static void number_again(struct sim_disk *disk)
{
    memset(disk->numbers, 0, disk->n_numbers * sizeof disk->numbers[0]);
    disk->numbers[0] = 1;
    for (uint32_t ino = 1; ino < disk->now->n_inodes; ino++) {
        const struct sim_inode *inode = simimage_inode(disk->now, ino);

        if (inode != NULL)
            disk->numbers[inode->number / 64] |= UINT64_C(1) << inode->number % 64;
    }
}

void simcrash_restart(struct sim_disk *disk, struct rng *rng)
{
    replay(disk, rng);
    simimage_drop_orphans(disk->durable);
    assert(disk->durable->used == simimage_count_used(disk->durable));
    simimage_free(disk->now);
    disk->now = simimage_clone(disk->durable);
    disk->next_ino = disk->now->n_inodes;
    number_again(disk);
}

void simcrash_clone(struct sim_disk *to, const struct sim_disk *from)
{
    to->now = simimage_clone(from->now);
    to->durable = simimage_clone(from->durable);
    to->pending = sim_alloc(from->n_pending * sizeof from->pending[0]);
    to->room_pending = from->n_pending;
    for (size_t i = 0; i < from->n_pending; i++) {
        to->pending[i] = from->pending[i];
        sim_change_get(from->pending[i].change);
    }
    to->numbers = sim_alloc(from->n_numbers * sizeof from->numbers[0]);
    memcpy(to->numbers, from->numbers, from->n_numbers * sizeof from->numbers[0]);
}

void simcrash_done(struct sim_disk *disk)
{
    for (size_t i = 0; i < disk->n_pending; i++)
        sim_change_put(disk->pending[i].change);
    free(disk->pending);
    free(disk->numbers);
    simimage_free(disk->now);
    simimage_free(disk->durable);
}

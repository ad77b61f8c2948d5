/* SPDX-License-Identifier: MIT */
#include "fs/daemon/refills.h"

#include "fs/core/workers.h"
#include "fs/daemon/mount.h"

#include <time.h>

#define PAGE     4096
#define SLOTS    65536
#define RECENT   1000000 /* us: no write is on its way for longer */
#define PATIENCE 5       /* ms; see settle_now */

/* A slot says when one of its pages was last read after it had been forgotten: the page's key above, microseconds
 * below. Where two pages meet in a slot, ANY stands for both until the note is old. Doubt costs a page read again. */
#define ANY UINT32_MAX

static _Atomic uint64_t slots[SLOTS];

static uint32_t now_us(void)
{
    return (uint32_t) watch_now_us() | 1; /* 0 is never */
}

/* Of what others note, some may be from after our now. */
static bool is_recent(uint32_t when, uint32_t now)
{
    return when != 0 && (int32_t) (now - when) <= RECENT;
}

/* Where a page of an inode is noted, and its key there. */
static _Atomic uint64_t *slot_of(const struct inode *inode, uint64_t page, uint32_t *ret_key)
{
    uint64_t hash = (inode->nodeid * UINT64_C(0x9e3779b97f4a7c15) ^ page) * UINT64_C(0xd6e8feb86659fd93);

    *ret_key = (uint32_t) (hash >> 32) & ~UINT32_C(1); /* never ANY */
    return &slots[hash >> 16 & (SLOTS - 1)];
}

/* The pages that a part of a file touches. */
struct pages {
    uint64_t first, end;
};

static struct pages pages_of(uint64_t lo, uint64_t hi)
{
    return (struct pages){ lo / PAGE, (hi + PAGE - 1) / PAGE };
}

uint32_t refills_forget(struct inode *inode)
{
    uint32_t now = now_us();

    atomic_store(&inode->forgotten, now);
    return now;
}

/* What was noted before is over now, and not sooner: until the kernel has forgotten, a page may lack a write. Behind
 * the first of a large part notes may stay. */
void refills_forgotten(const struct inode *inode, uint64_t lo, uint64_t hi, uint32_t since)
{
    struct pages pages = pages_of(lo, hi);
    uint32_t key;

    for (uint64_t page = pages.first; page < MIN(pages.end, pages.first + SLOTS); page++) {
        _Atomic uint64_t *slot = slot_of(inode, page, &key);
        uint64_t was = atomic_load(slot);

        if ((uint32_t) (was >> 32) == key && (int32_t) ((uint32_t) was - since) < 0)
            (void) atomic_compare_exchange_strong(slot, &was, 0);
    }
}

void refills_read(struct inode *inode, uint64_t off, uint64_t len)
{
    struct pages pages = pages_of(off, off + len);
    uint32_t now, key;

    if (atomic_load(&inode->forgotten) == 0)
        return;
    now = now_us();
    if (!is_recent(atomic_load(&inode->forgotten), now))
        return;
    for (uint64_t page = pages.first; page < pages.end; page++) {
        _Atomic uint64_t *slot = slot_of(inode, page, &key);
        uint64_t was = atomic_load(slot), is;

        do {
            bool is_noted = is_recent((uint32_t) was, now);
            uint32_t latest = is_noted && (int32_t) ((uint32_t) was - now) > 0 ? (uint32_t) was : now;

            is = (uint64_t) (is_noted && (uint32_t) (was >> 32) != key ? ANY : key) << 32 | latest;
        } while (!atomic_compare_exchange_weak(slot, &was, is));
    }
}

/* Whether a part of a file was read again recently. */
static bool was_read(const struct inode *inode, uint64_t off, uint64_t len)
{
    struct pages pages = pages_of(off, off + len);
    uint32_t now = now_us(), key;

    for (uint64_t page = pages.first; page < pages.end; page++) {
        uint64_t is = atomic_load(slot_of(inode, page, &key));

        if (is_recent((uint32_t) is, now) && ((uint32_t) (is >> 32) == key || (uint32_t) (is >> 32) == ANY))
            return true;
    }
    return false;
}

/* -- forgetting once more -- */

/* Shared by the thread that waits and the one that tells the kernel; the last frees it. */
struct settling {
    struct job job;
    struct handle *handle;
    uint64_t lo, hi;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    unsigned users;
};

static void let_go(struct settling *settling)
{
    bool last;

    pthread_mutex_lock(&settling->lock);
    last = --settling->users == 0;
    pthread_mutex_unlock(&settling->lock);
    if (!last)
        return;
    pthread_cond_destroy(&settling->done);
    pthread_mutex_destroy(&settling->lock);
    handle_put(settling->handle);
    free(settling);
}

static void run_settling(struct job *job)
{
    struct settling *settling = (struct settling *) job;
    const struct inode *inode = settling->handle->inode;
    uint32_t since = now_us();

    kernel_forgets(inode, settling->lo, settling->hi);
    refills_forgotten(inode, settling->lo, settling->hi, since);
    pthread_mutex_lock(&settling->lock);
    settling->is_done = true;
    pthread_cond_signal(&settling->done);
    pthread_mutex_unlock(&settling->lock);
    let_go(settling);
}

static struct settling *settling_new(struct handle *handle, uint64_t off, uint64_t len)
{
    struct settling *settling = calloc(1, sizeof *settling);
    pthread_condattr_t attr;

    if (settling == NULL)
        return NULL;
    settling->job =
        (struct job){ .run = run_settling, .settles = true }; /* the write may have to wait for the others */
    settling->lo = off;
    settling->hi = off + len;
    settling->users = 2;
    handle_ref(handle);
    settling->handle = handle;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&settling->done, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&settling->lock, NULL);
    return settling;
}

/* The kernel keeps the last page of a write to itself until our reply when it did not have all of it; then it has not
 * read it either, and there was nothing to settle. We cannot tell that from reads that are slow, so the reply waits
 * for a moment only. */
static void settle_now(struct settling *settling)
{
    struct timespec until;

    (void) clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    workers_later(settling->handle->fs->workers, &settling->job);
    pthread_mutex_lock(&settling->lock);
    while (!settling->is_done && pthread_cond_timedwait(&settling->done, &settling->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&settling->lock);
    let_go(settling);
}

void refills_settle(struct handle *handle, uint64_t off, uint64_t len)
{
    struct settling *settling;

    if (atomic_load(&handle->inode->forgotten) == 0 || !was_read(handle->inode, off, len))
        return;
    settling = settling_new(handle, off, len);
    if (settling != NULL)
        settle_now(settling);
}

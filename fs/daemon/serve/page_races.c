/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/page_races.h"

#include "fs/core/disk/workers.h"
#include "fs/daemon/serve/kernel_cache.h"
#include "fs/daemon/serve/mount.h"

#define PAGE     4096
#define SLOTS    65536
#define RECENT   1000000 /* us that a read counts as recent: no write is on its way for longer */
#define PATIENCE 5       /* ms that mend_now waits */

/* A slot tells of a page that was read after it had been forgotten: the page's key in the high half, when it was last
 * read, in microseconds, in the low half. Where two pages fall into one slot, ANY stands for both until the note is
 * old. A doubt costs no more than a page that is read again. */
#define ANY UINT32_MAX

static _Atomic uint64_t slots[SLOTS];

static uint32_t now_us(void)
{
    return (uint32_t) clock_us() | 1; /* 0 means never */
}

/* Whether a time was less than RECENT ago; it may also be a little after now, when another thread has noted it. */
static bool is_recent(uint32_t when, uint32_t now)
{
    return when != 0 && (int32_t) (now - when) <= RECENT;
}

/* Finds the slot of a page, and the page's key in it. */
static _Atomic uint64_t *slot_of(const struct inode *inode, uint64_t page, uint32_t *ret_key)
{
    uint64_t hash = (inode->nodeid * UINT64_C(0x9e3779b97f4a7c15) ^ page) * UINT64_C(0xd6e8feb86659fd93);

    *ret_key = (uint32_t) (hash >> 32) & ~UINT32_C(1); /* so that no key is ANY */
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

uint32_t page_races_forget(struct inode *inode)
{
    uint32_t now = now_us();

    atomic_store(&inode->pages.forgotten, now);
    return now;
}

/* Removes notes from before since, now that the kernel has forgotten; not sooner, as until then a page may lack a
 * write. Of a very large part only the first SLOTS pages are looked at; old notes behind them cost a page read
 * again. */
void page_races_forgotten(const struct inode *inode, uint64_t lo, uint64_t hi, uint32_t since)
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

void page_races_read(struct inode *inode, uint64_t off, uint64_t len)
{
    struct pages pages = pages_of(off, off + len);
    uint32_t now, key;

    if (atomic_load(&inode->pages.forgotten) == 0)
        return;
    now = now_us();
    if (!is_recent(atomic_load(&inode->pages.forgotten), now))
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

/* One mending, shared by the thread that waits for it and the worker that tells the kernel; whoever is last frees
 * it. */
struct mending {
    struct chore chore;
    struct handle *handle;
    uint64_t lo, hi;
    struct mutex lock;
    struct cond done;
    bool is_done;
    unsigned users;
};

static void let_go(struct mending *mending)
{
    bool last;

    mutex_lock(&mending->lock);
    last = --mending->users == 0;
    mutex_unlock(&mending->lock);
    if (!last)
        return;
    cond_done(&mending->done);
    mutex_done(&mending->lock);
    handle_put(mending->handle);
    free(mending);
}

static void run_mending(struct chore *chore)
{
    struct mending *mending = (struct mending *) chore;
    const struct inode *inode = mending->handle->inode;
    uint32_t since = now_us();

    kernel_forgets(inode, mending->lo, mending->hi);
    page_races_forgotten(inode, mending->lo, mending->hi, since);
    mutex_lock(&mending->lock);
    mending->is_done = true;
    cond_signal(&mending->done);
    mutex_unlock(&mending->lock);
    let_go(mending);
}

static struct mending *mending_new(struct handle *handle, uint64_t off, uint64_t len)
{
    struct mending *mending = calloc(1, sizeof *mending);

    if (mending == NULL)
        return NULL;
    mending->chore =
        (struct chore){ .run = run_mending, .waits = true }; /* telling the kernel may have to wait for others */
    mending->lo = off;
    mending->hi = off + len;
    mending->users = 2;
    handle_ref(handle);
    mending->handle = handle;
    cond_init(&mending->done);
    mutex_init(&mending->lock);
    return mending;
}

/* Has a worker tell the kernel, and waits for PATIENCE at most. Where a write covers its last page only in part, and
 * the kernel lacks that page, it holds the page until our reply; then it has not read the page either, and there is
 * nothing to mend. We cannot tell that from slow reads, so we do not wait longer. */
static void mend_now(struct mending *mending)
{
    uint64_t until = clock_in_ms(PATIENCE);

    workers_later(mending->handle->fs->workers, &mending->chore);
    mutex_lock(&mending->lock);
    while (!mending->is_done && cond_wait_until_ms(&mending->done, &mending->lock, until))
        ;
    mutex_unlock(&mending->lock);
    let_go(mending);
}

void page_races_mend(struct handle *handle, uint64_t off, uint64_t len)
{
    struct mending *mending;

    if (atomic_load(&handle->inode->pages.forgotten) == 0 || !was_read(handle->inode, off, len))
        return;
    mending = mending_new(handle, off, len);
    if (mending != NULL)
        mend_now(mending);
}

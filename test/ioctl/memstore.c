/* SPDX-License-Identifier: MIT */
#include "test/ioctl/memstore.h"

#include <string.h>

static int next_call(struct memstore *memstore)
{
    return ++memstore->n_calls == memstore->fail_at ? -EIO : 0;
}

/* Flags of what is selected of a disk's bytes in a range. */
static unsigned look_at(const struct memstore *memstore, size_t len, uint64_t file_off, const struct selection *only,
                        uint32_t disk)
{
    unsigned flags = 0;
    uint64_t here;

    for (uint64_t at = file_off; at < file_off + len; at += here) {
        here = MIN(memstore->stripe - at % memstore->stripe, file_off + len - at);
        if (at / memstore->stripe % memstore->store.n_disks == disk)
            flags |= only->look(only, at, at + here);
    }
    return flags;
}

/* Calls leave_out for all bytes of disks that have nothing that is selected. */
static void each_left_out(const struct memstore *memstore, size_t len, uint64_t file_off, struct selection *only,
                          void (*leave_out)(void *at, size_t len, const struct memstore *memstore, uint64_t file_off),
                          uint8_t *buf)
{
    unsigned flags[MEMSTORE_DISKS];
    uint64_t here;

    for (uint32_t disk = 0; disk < memstore->store.n_disks; disk++)
        flags[disk] = look_at(memstore, len, file_off, only, disk);
    for (uint64_t at = file_off; at < file_off + len; at += here) {
        here = MIN(memstore->stripe - at % memstore->stripe, file_off + len - at);
        if ((flags[at / memstore->stripe % memstore->store.n_disks] & SELECTED) != 0)
            continue;
        only->left_out += here;
        leave_out(buf + (at - file_off), here, memstore, at);
    }
}

/* What the daemon leaves as it is would not be noticed if it were right by chance. */
static void spoil(void *at, size_t len, const struct memstore *memstore, uint64_t file_off)
{
    (void) memstore, (void) file_off;
    memset(at, 0xbd, len);
}

static int store_read(void *ctx, void *buf, size_t len, uint64_t file_off, struct selection *only)
{
    struct memstore *memstore = ctx;
    uint64_t there;
    int r;

    pthread_mutex_lock(&memstore->lock);
    r = next_call(memstore);
    there = file_off < memstore->size ? MIN(len, memstore->size - file_off) : 0;
    memcpy(buf, memstore->bytes + MIN(file_off, memstore->size), there);
    memset((uint8_t *) buf + there, 0, len - there);
    pthread_mutex_unlock(&memstore->lock);
    if (only != NULL)
        each_left_out(memstore, len, file_off, only, spoil, buf);
    return r;
}

static int store_write(void *ctx, const void *buf, size_t len, uint64_t file_off)
{
    struct memstore *memstore = ctx;
    int r;

    pthread_mutex_lock(&memstore->lock);
    r = next_call(memstore);
    memstore->wrong |= len > memstore->room || file_off > memstore->room - len;
    if (!memstore->wrong && r == 0) {
        memcpy(memstore->bytes + file_off, buf, len);
        memstore->size = MAX(memstore->size, file_off + len);
    }
    pthread_mutex_unlock(&memstore->lock);
    return r;
}

static bool store_is_apart(void *ctx, size_t len, uint64_t file_off, const struct selection *only)
{
    const struct memstore *memstore = ctx;
    bool is_apart = true;

    for (uint32_t disk = 0; disk < memstore->store.n_disks; disk++)
        is_apart &= look_at(memstore, len, file_off, only, disk) != (SELECTED | NOT_SELECTED);
    return is_apart;
}

static void keep(void *at, size_t len, const struct memstore *memstore, uint64_t file_off)
{
    memcpy(at, memstore->bytes + file_off, len);
}

/* Now and then it says that it cannot, as the daemon does when the file has begun to migrate. */
static int store_write_only(void *ctx, const void *buf, size_t len, uint64_t file_off, struct selection *only)
{
    struct memstore *memstore = ctx;
    uint8_t *bytes = malloc(len);
    int r;

    memcpy(bytes, buf, len);
    pthread_mutex_lock(&memstore->lock);
    r = memstore->n_calls % 4 == 3 ? -EAGAIN : next_call(memstore);
    memstore->wrong |= len > memstore->room || file_off > memstore->room - len;
    memstore->wrong |= only->look(only, file_off + len - 1, file_off + len) != SELECTED;
    if (!memstore->wrong && r == 0) {
        each_left_out(memstore, len, file_off, only, keep, bytes);
        memcpy(memstore->bytes + file_off, bytes, len);
        memstore->size = MAX(memstore->size, file_off + len);
        memstore->n_apart++;
    }
    pthread_mutex_unlock(&memstore->lock);
    free(bytes);
    return r;
}

static uint64_t store_size(void *ctx)
{
    struct memstore *memstore = ctx;
    uint64_t size;

    pthread_mutex_lock(&memstore->lock);
    size = memstore->size;
    pthread_mutex_unlock(&memstore->lock);
    return size;
}

static size_t store_map(void *ctx, size_t len, uint64_t file_off, bool writes, void **ret_addr)
{
    struct memstore *memstore = ctx;
    size_t n = 0;

    (void) writes;
    pthread_mutex_lock(&memstore->lock);
    if (memstore->mapped > 0 && file_off < memstore->size && file_off / memstore->mapped % 2 == 0) {
        n = MIN(len, memstore->size - file_off);
        n = MIN(n, memstore->mapped - file_off % memstore->mapped);
        *ret_addr = memstore->bytes + file_off;
        memstore->n_maps++;
    }
    pthread_mutex_unlock(&memstore->lock);
    return n;
}

static void store_unmap(void *ctx, size_t changed, uint64_t file_off)
{
    struct memstore *memstore = ctx;

    pthread_mutex_lock(&memstore->lock);
    memstore->wrong |= memstore->n_maps-- == 0 || file_off + changed > memstore->size;
    pthread_mutex_unlock(&memstore->lock);
}

static void store_prefetch(void *ctx, uint64_t len, uint64_t file_off, const struct selection *only)
{
    struct memstore *memstore = ctx;

    (void) only;

    pthread_mutex_lock(&memstore->lock);
    memstore->wrong |= len == 0 || file_off + len > memstore->room;
    memstore->sent_for += memstore->n_calls == 0 ? len : 0;
    pthread_mutex_unlock(&memstore->lock);
}

/* Locks a range. Those that one collective holds never meet: where they do, something is wrong. */
static int store_lock(void *ctx, uint64_t file_off, uint64_t len)
{
    struct memstore *memstore = ctx;
    int r;

    pthread_mutex_lock(&memstore->lock);
    r = next_call(memstore);
    for (unsigned i = 0; i < memstore->n_locked; i++)
        memstore->wrong |= file_off < memstore->locked_hi[i] && memstore->locked_lo[i] < file_off + len;
    if (r == 0) {
        memstore->locked_lo[memstore->n_locked] = file_off;
        memstore->locked_hi[memstore->n_locked++] = file_off + len;
    }
    pthread_mutex_unlock(&memstore->lock);
    return r;
}

static void store_unlock(void *ctx, uint64_t file_off, uint64_t len)
{
    struct memstore *memstore = ctx;
    unsigned i = 0;

    pthread_mutex_lock(&memstore->lock);
    while (i < memstore->n_locked && (memstore->locked_lo[i] != file_off || memstore->locked_hi[i] != file_off + len))
        i++;
    memstore->wrong |= i == memstore->n_locked;
    if (i < memstore->n_locked) {
        memstore->n_locked--;
        memstore->locked_lo[i] = memstore->locked_lo[memstore->n_locked];
        memstore->locked_hi[i] = memstore->locked_hi[memstore->n_locked];
    }
    pthread_mutex_unlock(&memstore->lock);
}

static uint32_t store_disk(void *ctx, uint64_t file_off, uint64_t *ret_len)
{
    const struct memstore *memstore = ctx;

    *ret_len = memstore->stripe - file_off % memstore->stripe;
    return (uint32_t) (file_off / memstore->stripe % memstore->store.n_disks);
}

void memstore_init(struct memstore *memstore, uint64_t room, uint32_t n_disks, uint64_t stripe)
{
    static const struct store_ops ops = {
        .read = store_read,
        .write = store_write,
        .is_apart = store_is_apart,
        .write_only = store_write_only,
        .size = store_size,
        .map = store_map,
        .unmap = store_unmap,
        .prefetch = store_prefetch,
        .lock = store_lock,
        .unlock = store_unlock,
        .disk = store_disk,
    };

    *memstore = (struct memstore){ .room = room, .stripe = stripe };
    memstore->store = (struct store){
        .ops = &ops, .ctx = memstore, .n_disks = n_disks, .stripe = stripe, .cost = { 500, 150, 500, 150 }
    };
    memstore->bytes = calloc(1, room);
    pthread_mutex_init(&memstore->lock, NULL);
}

void memstore_done(struct memstore *memstore)
{
    free(memstore->bytes);
    pthread_mutex_destroy(&memstore->lock);
}

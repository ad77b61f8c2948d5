/* SPDX-License-Identifier: MIT */
#include "fs/core/file/file_store.h"

#include "fs/core/file/replicas.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfile_map.h"
#include "fs/core/file/touched.h"
#include "layout/map.h"

#include <string.h>

const struct store_cost file_store_cost = {
    .read_call = 100000, .read_kib = 500, .write_call = 4000, .write_kib = 250
};

/* Runs shorter than this cost more to find in memory than to copy. */
#define MIN_RUN 4096u

static int store_read(void *ctx, void *buf, size_t len, uint64_t file_off, struct selection *only)
{
    const struct file_store *store = ctx;
    ssize_t n = file_read_only(store->fs, store->file, buf, len, file_off, only);

    if (n < 0)
        return (int) n;
    memset((uint8_t *) buf + n, 0, len - (size_t) n); /* behind the end of the file */
    return 0;
}

static int write_all(const struct file_store *store, const void *buf, size_t len, uint64_t file_off,
                     struct selection *only)
{
    while (len > 0) {
        ssize_t n = file_write_only(store->fs, store->file, buf, len, file_off, only);

        if (n < 0)
            return (int) n;
        buf = (const uint8_t *) buf + n;
        len -= (size_t) n;
        file_off += (uint64_t) n;
    }
    return 0;
}

static int store_write(void *ctx, const void *buf, size_t len, uint64_t file_off)
{
    return write_all(ctx, buf, len, file_off, NULL);
}

static bool store_is_apart(void *ctx, size_t len, uint64_t file_off, const struct selection *only)
{
    const struct file_store *store = ctx;

    return file_is_apart(store->file, len, file_off, only);
}

static int store_write_only(void *ctx, const void *buf, size_t len, uint64_t file_off, struct selection *only)
{
    return write_all(ctx, buf, len, file_off, only);
}

static int store_will_write(void *ctx, uint64_t file_off, uint64_t len)
{
    const struct file_store *store = ctx;
    int r;

    if (store->file->replicas == NULL)
        return 0;
    pthread_rwlock_rdlock(&store->file->io);
    r = replicas_take_back(store->fs, store->file, file_off, file_off + len);
    pthread_rwlock_unlock(&store->file->io);
    return r;
}

static uint64_t store_size(void *ctx)
{
    const struct file_store *store = ctx;

    return file_size(store->file);
}

/* Finds how many bytes of the run at file_off are in memory, and where; 0: none, or the run is short. io is held. */
static size_t map_run(const struct file_store *store, size_t len, uint64_t file_off, uint8_t **ret_addr)
{
    uint64_t size = file_size(store->file);
    struct runs runs;
    struct run run;

    if (file_off >= size ||
        runs_init(&runs, store->file->now->layout->pattern, file_off, MIN(len, size - file_off)) < 0 ||
        !runs_next(&runs, &run))
        return 0;
    if (run.len < MIN_RUN && run.len < len)
        return 0;
    return subfile_map(store->fs, store->file->now, file_layout_slot(store->file->now->layout, run.element),
                       run.sub_off, run.len, ret_addr);
}

/* Locks io, shared, to look at a range in memory, or to write there; false: it cannot be done. A file that migrates is
 * not written in memory, as its target would not get those bytes. */
static bool begin_map(const struct file_store *store, size_t len, uint64_t file_off, bool writes)
{
    struct file_writing writing;

    if (!writes)
        return pthread_rwlock_rdlock(&store->file->io) == 0;
    if (file_begin_write(store->fs, store->file, file_off, len, &writing) < 0)
        return false;
    if (!writing.is_listed)
        return true;
    file_end_write(store->file, &writing);
    return false;
}

static size_t store_map(void *ctx, size_t len, uint64_t file_off, bool writes, void **ret_addr)
{
    const struct file_store *store = ctx;
    uint8_t *addr;
    size_t n;

    if (!begin_map(store, len, file_off, writes))
        return 0;
    n = map_run(store, len, file_off, &addr);
    if (n == 0)
        pthread_rwlock_unlock(&store->file->io);
    else
        *ret_addr = addr;
    return n;
}

static void store_unmap(void *ctx, size_t changed, uint64_t file_off)
{
    const struct file_store *store = ctx;
    struct place place;

    if (changed > 0 && pattern_map(store->file->now->layout->pattern, file_off, &place) == 0)
        file_note_changed(store->file, file_layout_slot(store->file->now->layout, place.element), changed);
    pthread_rwlock_unlock(&store->file->io);
}

/* One call for each subfile: a range of the file is a range of each. */
static void store_prefetch(void *ctx, uint64_t len, uint64_t file_off, const struct selection *only)
{
    cleanup(touched_done) struct touched touched = { 0 };
    const struct file_store *store = ctx;
    struct file *file = store->file;
    struct generation *from;

    pthread_rwlock_rdlock(&file->io);
    from = replicas_choose(store->fs, file, file_off, len, only, true);
    if (only != NULL)
        (void) touched_find(from->layout, file_off, len, only, &touched);
    for (uint32_t slot = 0; slot < from->n_slots; slot++) {
        uint64_t lo = file_layout_len(from->layout, slot, file_off);
        uint64_t hi = file_layout_len(from->layout, slot, file_off + len);
        const struct disk *disk;
        int fd;

        if (lo < hi && touched_has(&touched, slot) && subfile_disk(store->fs, from, slot, &disk) == 0 &&
            disk->ops->prefetch != NULL && watch_is_prompt(disk->watch) &&
            subfile_open(store->fs, from, slot, SUBFILE_READ, &fd) == 0 && fd >= 0)
            (void) disk_call(disk, prefetch, fd, lo, hi - lo);
    }
    pthread_rwlock_unlock(&file->io);
}

/* Writes that began before the range was listed have ended once io was held exclusively. */
static int store_lock(void *ctx, uint64_t file_off, uint64_t len)
{
    const struct file_store *store = ctx;
    int r = ranges_lock(&store->file->ranges, file_off, file_off + len);

    if (r == 0) {
        pthread_rwlock_wrlock(&store->file->io);
        pthread_rwlock_unlock(&store->file->io);
    }
    return r;
}

static void store_unlock(void *ctx, uint64_t file_off, uint64_t len)
{
    const struct file_store *store = ctx;

    ranges_unlock(&store->file->ranges, file_off, file_off + len);
}

static uint32_t store_disk(void *ctx, uint64_t file_off, uint64_t *ret_len)
{
    const struct file_store *store = ctx;
    const struct file_layout *layout = store->layout;
    struct runs runs;
    struct run run;

    *ret_len = FALLS_LIMIT;
    if (runs_init(&runs, layout->pattern, file_off, FALLS_LIMIT - file_off) < 0 || !runs_next(&runs, &run))
        return 0;
    *ret_len = run.len;
    return file_layout_disk(layout, store->fs->volume->home, store->rotate, file_layout_slot(layout, run.element));
}

/* How long the runs of a pattern are, if its first two are equally long, and long enough; else 0. */
static uint64_t stripe_of(const struct pattern *pattern)
{
    struct runs runs;
    struct run first, second;

    if (pattern->n_elements < 2 || runs_init(&runs, pattern, pattern->disp, pattern->size) < 0 ||
        !runs_next(&runs, &first) || !runs_next(&runs, &second))
        return 0;
    return first.len == second.len && first.len >= MIN_RUN ? first.len : 0;
}

struct store file_store_of(struct file_store *file_store)
{
    static const struct store_ops ops = {
        .read = store_read,
        .write = store_write,
        .is_apart = store_is_apart,
        .write_only = store_write_only,
        .will_write = store_will_write,
        .size = store_size,
        .map = store_map,
        .unmap = store_unmap,
        .prefetch = store_prefetch,
        .lock = store_lock,
        .unlock = store_unlock,
        .disk = store_disk,
    };
    struct record record;

    file_store->layout = file_look(file_store->fs, file_store->file, &record);
    file_store->rotate = record.rotate;
    return (struct store){ .ops = &ops,
                           .ctx = file_store,
                           .n_disks = file_store->fs->volume->n_disks,
                           .stripe = stripe_of(file_store->layout->pattern),
                           .cost = file_store_cost };
}

void file_store_done(struct file_store *file_store)
{
    layouts_put(file_store->fs->layouts, steal(file_store->layout));
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/file/subfiles.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/file/plan.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfile_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <linux/falloc.h>

void subfiles_close(struct fs *fs, struct generation *generation)
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++) {
        struct subfile *sub = &generation->sub[slot];
        const struct disk *disk = file_layout_on(generation->layout, fs->volume, generation->rotate, slot);

        subfile_unmap(disk, sub);
        disk_close(disk, &sub->fd);
    }
    generation_has_none(generation);
}

void subfiles_free(struct fs *fs, struct generation *generation)
{
    if (generation != NULL)
        subfiles_close(fs, generation);
    generation_free(fs, generation);
}

/* -- how long they are -- */

/* Whether the subfile of a slot may be shorter than the size demands. meta is held. */
static bool may_be_short(const struct generation *generation, uint32_t slot, uint64_t size)
{
    uint64_t want = file_layout_len(generation->layout, slot, size);

    if (!bits_has(&generation->bits, slot) || want == 0)
        return false;
    return generation->sub[slot].len == SUBFILE_LEN_UNKNOWN ? generation_must_have(generation, slot) < want
                                                            : generation->sub[slot].len < want;
}

bool subfiles_are_padded(const struct generation *generation, uint64_t size)
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++)
        if (may_be_short(generation, slot, size))
            return false;
    return true;
}

int subfiles_pad(struct fs *fs, struct generation *generation, uint64_t size)
{
    return subfiles_pad_some(fs, generation, size, NULL);
}

int subfiles_pad_some(struct fs *fs, struct generation *generation, uint64_t size, const bool which[])
{
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < generation->n_slots; slot++) {
        uint64_t want, len, must;
        bool maybe;

        if (which != NULL && !which[slot])
            continue;
        mutex_lock(generation->meta);
        maybe = may_be_short(generation, slot, size);
        must = generation_must_have(generation, slot);
        want = file_layout_len(generation->layout, slot, size);
        mutex_unlock(generation->meta);
        if (!maybe)
            continue;
        r = subfile_len(fs, generation, slot, &len);
        /* A subfile that has lost bytes stays short, which tells that it has. */
        if (r == 0 && len < want && len >= must)
            r = subfile_set_len(fs, generation, slot, want);
    }
    return r;
}

bool subfiles_need_padding(const struct generation *generation, uint64_t size)
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++)
        if (may_be_short(generation, slot, size) && generation->sub[slot].len >= generation_must_have(generation, slot))
            return true;
    return false;
}

int subfiles_cut(struct fs *fs, struct generation *generation, uint64_t size)
{
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < generation->n_slots; slot++) {
        uint64_t want = file_layout_len(generation->layout, slot, size), len;

        r = subfile_len(fs, generation, slot, &len);
        if (r == 0 && len > want)
            r = subfile_set_len(fs, generation, slot, want);
    }
    return r;
}

/* Notes that a subfile has nothing behind that end; it is closed, so that whoever opens it cuts it. */
static void note_tail(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t end)
{
    struct subfile *sub = &generation->sub[slot];
    const struct disk *disk = file_layout_on(generation->layout, fs->volume, generation->rotate, slot);
    int fd;

    subfile_unmap(disk, sub);
    mutex_lock(generation->meta);
    fd = sub->fd;
    sub->end = sub->has_tail ? MIN(sub->end, end) : end;
    sub->has_tail = true;
    sub->fd = -1;
    sub->absent = false;
    sub->len = SUBFILE_LEN_UNKNOWN;
    mutex_unlock(generation->meta);
    disk_close(disk, &fd);
}

void subfiles_cut_later(struct fs *fs, struct generation *generation, uint64_t size)
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++) {
        uint64_t want = file_layout_len(generation->layout, slot, size);
        const struct subfile *sub = &generation->sub[slot];

        if ((sub->absent && sub->fd < 0) || (sub->fd >= 0 && sub->len <= want) ||
            (sub->fd >= 0 && subfile_set_len(fs, generation, slot, want) == 0))
            continue;
        note_tail(fs, generation, slot, want);
    }
}

bool subfiles_have_tails(const struct generation *generation)
{
    bool have = false;

    for (uint32_t slot = 0; !have && slot < generation->n_slots; slot++)
        have = generation->sub[slot].has_tail;
    return have;
}

int subfiles_cut_now(struct fs *fs, struct generation *generation)
{
    int r = 0, fd;

    for (uint32_t slot = 0; r == 0 && slot < generation->n_slots; slot++)
        if (generation->sub[slot].has_tail)
            r = subfile_open(fs, generation, slot, SUBFILE_CHANGE, &fd);
    return r;
}

/* Counts len bytes that were written to a subfile; true when they are so many that its disk is to begin to write them,
 * while a long write goes on, and not only when it is synced. meta is held. */
static bool note_unwritten(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t len)
{
    struct subfile *sub = &generation->sub[slot];
    const struct disk *disk;

    sub->unwritten += len;
    if (sub->unwritten < fs->behind || sub->writing || subfile_disk(fs, generation, slot, &disk) < 0 ||
        sub->unwritten < watch_backlog(disk->watch, fs->behind))
        return false;
    sub->writing = true;
    return true;
}

void subfiles_note_written(struct fs *fs, struct generation *generation, struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        struct share *share = &plan->share[i];
        struct subfile *sub = &generation->sub[share->slot];

        if (share->done == 0 || sub->kept)
            continue;
        bits_mark(&generation->dirty, share->slot);
        sub->len = MAX(sub->len, share->sub_off + share->done);
        share->is_long = note_unwritten(fs, generation, share->slot, share->done);
    }
}

/* -- on their disks -- */

static int sync_directory(struct fs *fs, const struct generation *generation, const struct disk *disk)
{
    char path[OBJECT_PATH];

    object_path(fs->volume, generation->id, 0, OBJECT_DIR, generation->layout, path);
    return file_text_sync_dir(disk, path);
}

/* Whether the name of a subfile may be new: the last fsync knew none with its bit, or a bit stands for several. */
static bool may_be_new(const struct generation *generation, uint32_t slot)
{
    return generation->n_slots > RECORD_BITS || !bits_has(&generation->durable, slot);
}

/* Opens a subfile to sync it; 0 and *ret_fd -1 when there is none. */
static int open_dirty(struct fs *fs, struct generation *generation, uint32_t slot, const struct disk **ret_disk,
                      int *ret_fd)
{
    int r = subfile_disk(fs, generation, slot, ret_disk);

    return r < 0 ? r : subfile_open(fs, generation, slot, SUBFILE_READ, ret_fd);
}

static int sync_subfile(struct fs *fs, struct generation *generation, uint32_t slot)
{
    cleanup(errand_leave) struct errand before = errand_at(generation->nodeid, slot);
    const struct disk *disk;
    int fd, r = open_dirty(fs, generation, slot, &disk, &fd);

    if (r < 0 || fd < 0)
        return r;
    r = disk_call(disk, sync, fd, SYNC_DATA);
    return r == 0 && may_be_new(generation, slot) ? sync_directory(fs, generation, disk) : r;
}

struct sync_job {
    struct chore chore;
    struct fs *fs;
    struct generation *generation;
    uint32_t slot;
    int result;
};

static void run_sync(struct chore *chore)
{
    struct sync_job *sync = (struct sync_job *) chore;

    sync->result = sync_subfile(sync->fs, sync->generation, sync->slot);
}

#define SYNCS_AT_ONCE 32

/* Syncs some of the dirty subfiles from *slot on, all at once, so that disks are not waited for one after the other.
 * Moves *slot behind them. */
static int sync_some(struct fs *fs, struct generation *generation, const struct record_bits *dirty, const bool which[],
                     uint32_t *slot)
{
    struct sync_job sync[SYNCS_AT_ONCE];
    struct chore *chore[SYNCS_AT_ONCE] = { NULL };
    uint32_t n = 0;
    int first = 0;

    for (; *slot < generation->n_slots && n < SYNCS_AT_ONCE; ++*slot) {
        if (!bits_has(dirty, *slot) || (which != NULL && !which[*slot]))
            continue;
        sync[n] = (struct sync_job){ .chore = { .run = run_sync }, .fs = fs, .generation = generation, .slot = *slot };
        chore[n] = &sync[n].chore;
        n++;
    }
    workers_run(fs->workers, chore, n);
    for (uint32_t i = 0; i < n; i++)
        first = first != 0 ? first : sync[i].result;
    return first;
}

int subfiles_sync(struct fs *fs, struct generation *generation)
{
    return subfiles_sync_some(fs, generation, NULL);
}

/* Of some alone the marks stay: one may stand for several. */
int subfiles_sync_some(struct fs *fs, struct generation *generation, const bool which[])
{
    struct record_bits dirty;
    int first = 0;

    mutex_lock(generation->meta);
    dirty = generation->dirty;
    generation->dirty = (struct record_bits){ 0 }; /* what is written from here on, this sync does not cover */
    mutex_unlock(generation->meta);
    if (bits_none(&dirty))
        return 0;
    for (uint32_t slot = 0; slot < generation->n_slots;) {
        int r = sync_some(fs, generation, &dirty, which, &slot);

        first = first != 0 ? first : r;
    }
    if (first < 0 || which != NULL) {
        mutex_lock(generation->meta);
        bits_add(&generation->dirty, &dirty);
        mutex_unlock(generation->meta);
    }
    return first;
}

/* One call for each subfile: a range of the file is a range of each. */
int subfiles_allocate(struct fs *fs, struct generation *generation, int mode, uint64_t off, uint64_t len)
{
    bool digs = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < generation->n_slots; slot++) {
        cleanup(errand_leave) struct errand before = errand_at(generation->nodeid, slot);
        uint64_t lo = file_layout_len(generation->layout, slot, off),
                 hi = file_layout_len(generation->layout, slot, off + len);
        const struct disk *disk;
        int fd = -1;

        if (lo == hi || generation->sub[slot].kept)
            continue;
        r = subfile_disk(fs, generation, slot, &disk);
        if (r == 0)
            r = subfile_open(fs, generation, slot, digs ? SUBFILE_CHANGE : SUBFILE_CREATE, &fd);
        if (r == 0 && (mode & FALLOC_FL_KEEP_SIZE) == 0)
            r = subfile_check_write(fs, generation, slot, (mode & FALLOC_FL_ZERO_RANGE) != 0 ? lo : hi);
        if (r == 0 && fd >= 0)
            r = disk_call(disk, allocate, fd, mode, lo, hi - lo);
        if (r == 0 && fd >= 0) {
            mutex_lock(generation->meta);
            bits_mark(&generation->dirty, slot);
            if ((mode & FALLOC_FL_KEEP_SIZE) == 0)
                generation->sub[slot].len = MAX(generation->sub[slot].len, hi);
            mutex_unlock(generation->meta);
        }
    }
    return r;
}

bool subfiles_open(struct fs *fs, struct generation *generation)
{
    for (uint32_t slot = 0; slot < generation->n_slots; slot++) {
        const struct disk *disk;
        int fd;

        if (subfile_disk(fs, generation, slot, &disk) < 0 || !watch_is_prompt(disk->watch) ||
            subfile_open(fs, generation, slot, SUBFILE_READ, &fd) < 0)
            return false;
    }
    return true;
}

bool subfiles_count_blocks(struct fs *fs, struct generation *generation, uint64_t *ret_blocks)
{
    uint64_t blocks = 0;

    for (uint32_t slot = 0; slot < generation->n_slots; slot++) {
        const struct disk *disk;
        bool there;
        struct stat st;
        int fd;

        mutex_lock(generation->meta);
        there = bits_has(&generation->bits, slot) && !generation->sub[slot].absent;
        fd = generation->sub[slot].fd;
        mutex_unlock(generation->meta);
        if (!there)
            continue;
        if (fd < 0 || subfile_disk(fs, generation, slot, &disk) < 0 || !watch_is_prompt(disk->watch) ||
            disk_call(disk, stat, fd, "", &st) < 0)
            return false;
        blocks += (uint64_t) st.st_blocks;
    }
    *ret_blocks = blocks;
    return true;
}

/* Finds the first data, or the first hole, of one subfile from byte sub_off on; end: there is none. */
static int64_t seek_there(struct fs *fs, struct generation *generation, uint32_t slot, int fd, uint64_t sub_off,
                          uint64_t end, int whence)
{
    const struct disk *disk;
    int64_t at;
    int r;

    if (fd < 0 || generation->sub[slot].len <= sub_off)
        return whence == SEEK_HOLE ? (int64_t) sub_off : (int64_t) end;
    r = subfile_disk(fs, generation, slot, &disk);
    at = r < 0 ? r : disk_call(disk, seek, fd, sub_off, whence);
    return at == -ENXIO ? (int64_t) end : at; /* no data behind */
}

/* The same as bytes of the file; size: there is none. What is lost is no hole, or copying would make zeros of it. */
static int64_t seek_in_subfile(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t off, uint64_t size,
                               int whence)
{
    cleanup(errand_leave) struct errand before = errand_at(generation->nodeid, slot);
    const struct nest *nest = file_layout_nest(generation->layout, slot);
    uint64_t sub_off = file_layout_len(generation->layout, slot, off),
             end = file_layout_len(generation->layout, slot, size), must;
    int fd, r = subfile_open(fs, generation, slot, SUBFILE_READ, &fd);
    int64_t at;

    if (r < 0)
        return r;
    if (sub_off >= end)
        return (int64_t) size;
    mutex_lock(generation->meta);
    must = MIN(generation_must_have(generation, slot), end);
    mutex_unlock(generation->meta);
    at = seek_there(fs, generation, slot, fd, sub_off, end, whence);
    if (at >= 0 && (fd < 0 || generation->sub[slot].len < must)) {
        uint64_t lost = fd < 0 ? 0 : generation->sub[slot].len; /* from there on, up to must */

        if (whence == SEEK_DATA)
            at = MIN(at, (int64_t) MAX(lost, sub_off) < (int64_t) must ? (int64_t) MAX(lost, sub_off) : at);
        else if ((uint64_t) at >= lost && (uint64_t) at < must)
            at = (int64_t) must;
    }
    if (at < 0)
        return at;
    return (uint64_t) at < end ? (int64_t) nest_select(nest, (uint64_t) at) : (int64_t) size;
}

int64_t subfiles_seek(struct fs *fs, struct generation *generation, uint64_t off, uint64_t size, int whence)
{
    int64_t nearest = (int64_t) size;

    for (uint32_t slot = 0; nearest >= 0 && slot < generation->n_slots; slot++) {
        int64_t at = seek_in_subfile(fs, generation, slot, off, size, whence);

        nearest = at < 0 ? at : MIN(nearest, at);
    }
    return nearest;
}

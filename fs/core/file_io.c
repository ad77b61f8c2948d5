/* SPDX-License-Identifier: MIT */
/* Reading and writing: one call for each subfile a request touches. */
#include "fs/core/file.h"
#include "fs/core/jobs.h"
#include "fs/core/plan.h"
#include "fs/core/subfile.h"
#include "fs/core/target.h"

#include <limits.h>

/* One share on its way. */
struct transfer {
    struct job job;
    struct fs *fs;
    struct file *file;
    struct share *share;
    bool write, no_wait;
};

/* The pieces of a share behind the first skip bytes, as many as one call takes. Returns how many. */
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
    struct share *share = t->share;
    const struct disk *disk;
    int fd = -1, r;

    share->error = 0;
    if (share->done == share->len || t->file->sub[share->slot].kept) {
        share->done = share->len; /* others have seen to it */
        return;
    }
    r = subfile_disk(t->fs, t->file, share->slot, &disk);
    if (r == 0)
        r = subfile_open(t->fs, t->file, share->slot, t->write ? SUBFILE_CREATE : SUBFILE_READ, &fd);
    if (r == 0 && t->write)
        r = subfile_check_write(t->file, share->slot, share->sub_off);
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

static void run_transfer(struct job *job)
{
    transfer((struct transfer *) job);
}

/* Several subfiles at once, those that would make this thread wait: the others are served first. */
int file_run_plan(struct fs *fs, struct file *file, struct plan *plan, bool write)
{
    cleanup(freep) struct transfer *t = NULL;
    cleanup(freep) struct job **job = NULL;
    uint32_t n = 0;

    if (plan->n_shares == 1) {
        struct transfer one = { .fs = fs, .file = file, .share = &plan->share[0], .write = write };

        transfer(&one);
        return 0;
    }
    t = calloc(plan->n_shares, sizeof *t);
    job = calloc(plan->n_shares, sizeof(struct job *));
    if (t == NULL || job == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        t[i] = (struct transfer){ .job = { .run = run_transfer },
                                  .fs = fs,
                                  .file = file,
                                  .share = &plan->share[i],
                                  .write = write,
                                  .no_wait = !write };
        transfer(&t[i]);
        if (plan->share[i].error == -EAGAIN || plan->share[i].error == -EOPNOTSUPP) {
            t[i].no_wait = false;
            job[n++] = &t[i].job;
        }
    }
    workers_run(fs->workers, job, n);
    return 0;
}

/* -- reading -- */

/* What a subfile did not have is a hole, unless it must have been there. */
static int finish_share(struct file *file, struct plan *plan, struct share *share)
{
    uint64_t must;

    if (share->error == 0 && share->done < share->len) {
        pthread_mutex_lock(&file->meta);
        must = file_must_have(file, share->slot);
        pthread_mutex_unlock(&file->meta);
        if (share->sub_off + share->done < must)
            share->error = -EIO;
    }
    if (share->error == 0) {
        plan_zero_rest(share);
        share->done = share->len;
    }
    plan_scatter(plan, share);
    return share->error;
}

int file_finish_read(struct file *file, struct plan *plan)
{
    int first = 0;

    for (uint32_t i = 0; i < plan->n_shares; i++) {
        int r = finish_share(file, plan, &plan->share[i]);

        first = first != 0 ? first : r;
    }
    return first;
}

/* io is held. */
static int read_plan(struct fs *fs, struct file *file, struct plan *plan)
{
    int r = file_run_plan(fs, file, plan, false);

    return r < 0 ? r : file_finish_read(file, plan);
}

/* How much came into the pipe, of bytes that are one run of one subfile. What goes wrong will go wrong again when they
 * are read. */
static size_t pipe_plan(struct fs *fs, struct file *file, const struct plan *plan, int pipe)
{
    const struct share *share = &plan->share[0];
    const struct disk *disk;
    size_t piped = 0;
    ssize_t n = 1;
    int fd;

    if (plan->n_shares > 1 || share->n_iov > 1 || subfile_disk(fs, file, share->slot, &disk) < 0 ||
        disk->ops->to_pipe == NULL || subfile_open(fs, file, share->slot, SUBFILE_READ, &fd) < 0 || fd < 0)
        return 0;
    while (n > 0 && piped < share->len) {
        n = disk_call(disk, to_pipe, fd, share->sub_off + piped, pipe, share->len - piped);
        if (n > 0)
            piped += (size_t) n;
    }
    return piped;
}

ssize_t file_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off)
{
    size_t piped;

    return file_read_piped(fs, file, buf, len, off, -1, &piped);
}

ssize_t file_read_piped(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off, int pipe,
                        size_t *ret_piped)
{
    cleanup(plan_done) struct plan plan = { 0 };
    uint64_t size;
    int r = 0;

    *ret_piped = 0;
    fs_begin_io(fs);
    pthread_rwlock_rdlock(&file->io);
    size = file_size(file);
    len = off >= size ? 0 : MIN(len, size - off);
    if (len > 0)
        r = plan_init(&plan, file->layout, off, len, buf);
    if (len > 0 && r == 0 && pipe >= 0)
        *ret_piped = pipe_plan(fs, file, &plan, pipe);
    if (r == 0 && *ret_piped < len)
        r = read_plan(fs, file, &plan);
    pthread_rwlock_unlock(&file->io);
    fs_end_io(fs);
    /* Fewer bytes than asked for would mean the end of the file. */
    return r < 0 ? r : (ssize_t) len;
}

ssize_t file_read_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot, void *buf,
                          size_t len, uint64_t sub_off)
{
    cleanup(plan_done) struct plan plan = { 0 };
    uint64_t sub_len;
    ssize_t r = -EAGAIN;

    fs_begin_io(fs);
    pthread_rwlock_rdlock(&file->io);
    if (file->layout == layout) {
        sub_len = file_layout_len(layout, slot, file_size(file));
        len = sub_off >= sub_len ? 0 : MIN(len, sub_len - sub_off);
        plan_init_share(&plan, layout, slot, sub_off, len, buf);
        r = len > 0 ? read_plan(fs, file, &plan) : 0;
    }
    pthread_rwlock_unlock(&file->io);
    fs_end_io(fs);
    return r < 0 ? r : (ssize_t) len;
}

/* -- writing -- */

void file_note_lengths(struct fs *fs, struct file *file, struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        struct share *share = &plan->share[i];
        struct subfile *sub = &file->sub[share->slot];

        if (share->done == 0 || sub->kept)
            continue;
        bits_mark(&file->record.dirty, share->slot);
        sub->len = MAX(sub->len, share->sub_off + share->done);
        share->is_long = file_note_unwritten(fs, file, share->slot, share->done);
    }
}

/* And how long the file became: len bytes were written, which end at its byte end. */
static void note_written(struct fs *fs, struct file *file, struct plan *plan, uint64_t len, uint64_t end)
{
    pthread_mutex_lock(&file->meta);
    file_note_lengths(fs, file, plan);
    if (len > 0) {
        file->record.size = MAX(file->record.size, end);
        file_touch(file, len);
    }
    pthread_mutex_unlock(&file->meta);
}

void file_note_changed(struct file *file, uint32_t slot, uint64_t len)
{
    pthread_mutex_lock(&file->meta);
    bits_mark(&file->record.dirty, slot);
    file_touch(file, len);
    pthread_mutex_unlock(&file->meta);
}

/* A write that stopped early may have left bytes behind the end of the file on other disks. They go, or they would show
 * up when the file grows: if they cannot go now, before anything else is written. */
static void cut_tails(struct fs *fs, struct file *file)
{
    pthread_rwlock_wrlock(&file->io);
    if (file_cut_tails(fs, file) < 0)
        file_must_cut(file);
    pthread_rwlock_unlock(&file->io);
}

static int first_error(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].done < plan->share[i].len)
            return plan->share[i].error != 0 ? plan->share[i].error : -EIO;
    return 0;
}

/* A cut that could not be finished goes first, or what is written now might be cut, too. */
static int check_writable(struct fs *fs, struct file *file)
{
    bool cutting;
    int r = 0;

    if (fs->read_only)
        return -EROFS;
    pthread_mutex_lock(&file->meta);
    cutting = file->record.state == RECORD_TRUNC;
    pthread_mutex_unlock(&file->meta);
    if (cutting) {
        pthread_rwlock_wrlock(&file->io);
        r = file_finish_cut(fs, file);
        pthread_rwlock_unlock(&file->io);
    }
    return r;
}

/* Range and io are held, or nothing. */
static int begin_listed(struct file *file, struct file_writing *writing)
{
    int r = ranges_lock(&file->ranges, writing->file_off, writing->file_off + writing->len);

    if (r < 0)
        return r;
    writing->is_listed = true;
    pthread_rwlock_rdlock(&file->io);
    return 0;
}

int file_begin_write(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len, struct file_writing *ret)
{
    int r = check_writable(fs, file);

    *ret = (struct file_writing){ .file_off = file_off, .len = len };
    while (r == 0) {
        if (atomic_load(&file->migrates)) {
            r = begin_listed(file, ret);
            if (r == 0 && (r = target_will_change(fs, file, file_off)) < 0)
                file_end_write(file, ret);
            return r;
        }
        pthread_rwlock_rdlock(&file->io);
        if (file->target == NULL && !ranges_block(&file->ranges, file_off, file_off + len))
            return 0;
        pthread_rwlock_unlock(&file->io);
        r = ranges_wait(&file->ranges, file_off, file_off + len);
    }
    return r;
}

void file_end_write(struct file *file, const struct file_writing *writing)
{
    pthread_rwlock_unlock(&file->io);
    if (writing->is_listed)
        ranges_unlock(&file->ranges, writing->file_off, writing->file_off + writing->len);
}

/* With io held. How many bytes were written. */
static ssize_t write_plan(struct fs *fs, struct file *file, struct plan *plan)
{
    uint64_t written;
    int r = file_run_plan(fs, file, plan, true);

    if (r < 0)
        return r;
    written = plan_prefix(plan);
    note_written(fs, file, plan, written, plan->file_off + written);
    if (file->target != NULL)
        target_write(fs, file, plan->buf, plan->file_off, plan->len, written);
    return (ssize_t) written;
}

static void begin_to_write_behind(struct fs *fs, struct file *file, const struct plan *plan, uint64_t gen)
{
    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].is_long)
            file_write_behind(fs, file, gen, plan->share[i].slot);
}

static ssize_t write_once(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off)
{
    cleanup(plan_done) struct plan plan = { 0 };
    struct file_writing writing;
    ssize_t n = file_begin_write(fs, file, off, len, &writing);
    uint64_t gen;

    if (n < 0)
        return n;
    gen = file->record.gen; /* only changes under io */
    n = plan_init(&plan, file->layout, off, len, drop_const(buf));
    if (n == 0) {
        plan_gather(&plan);
        n = write_plan(fs, file, &plan);
    }
    file_end_write(file, &writing);
    if (n < 0)
        return n;
    begin_to_write_behind(fs, file, &plan, gen);
    if ((size_t) n < len) {
        int error = first_error(&plan);

        cut_tails(fs, file);
        return n > 0 ? n : error;
    }
    return n;
}

ssize_t file_write(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off)
{
    ssize_t n;

    if (len == 0)
        return fs->read_only ? -EROFS : 0;
    fs_begin_io(fs);
    n = write_once(fs, file, buf, len, off);
    if (n == -ENOSPC) {
        jobs_make_room(fs->jobs);
        workers_settle(fs->workers); /* what removed and truncated files held may be on its way out */
        n = write_once(fs, file, buf, len, off);
    }
    fs_end_io(fs);
    return n;
}

/* Where the first n bytes of a share end in the file. */
static uint64_t end_in_file(const struct plan *plan, uint64_t n)
{
    const struct share *share = &plan->share[0];

    return nest_select(pattern_element(plan->layout->pattern, file_layout_element(plan->layout, share->slot)),
                       share->sub_off + n - 1) +
           1;
}

/* -EAGAIN: the file has another layout, or is on its way to one. */
static int begin_subfile(struct fs *fs, struct file *file, const struct plan *plan, struct file_writing *ret_writing)
{
    uint64_t end = end_in_file(plan, plan->len), lo = end_in_file(plan, 1) - 1;
    int r = end > FALLS_LIMIT ? -EFBIG : file_begin_write(fs, file, lo, end - lo, ret_writing);

    if (r == 0 && (file->layout != plan->layout || file->target != NULL)) {
        file_end_write(file, ret_writing);
        r = -EAGAIN;
    }
    return r;
}

static ssize_t write_subfile_once(struct fs *fs, struct file *file, struct plan *plan)
{
    struct share *share = &plan->share[0];
    struct file_writing writing;
    int r = begin_subfile(fs, file, plan, &writing);
    uint64_t gen;

    if (r < 0)
        return r;
    gen = file->record.gen; /* only changes under io */
    r = file_run_plan(fs, file, plan, true);
    if (r == 0 && share->done > 0)
        note_written(fs, file, plan, share->done, end_in_file(plan, share->done));
    file_end_write(file, &writing);
    begin_to_write_behind(fs, file, plan, gen);
    if (r == 0 && share->done < share->len) {
        cut_tails(fs, file);
        r = first_error(plan);
    }
    return share->done > 0 ? (ssize_t) share->done : r;
}

ssize_t file_write_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot,
                           const void *buf, size_t len, uint64_t sub_off)
{
    cleanup(plan_done) struct plan plan = { 0 };
    ssize_t n;

    if (sub_off + len > pattern_element(layout->pattern, file_layout_element(layout, slot))->size)
        return -EFBIG;
    fs_begin_io(fs);
    plan_init_share(&plan, layout, slot, sub_off, len, drop_const(buf));
    n = write_subfile_once(fs, file, &plan);
    if (n == -ENOSPC) {
        jobs_make_room(fs->jobs);
        workers_settle(fs->workers);
        plan_init_share(&plan, layout, slot, sub_off, len, drop_const(buf));
        n = write_subfile_once(fs, file, &plan);
    }
    fs_end_io(fs);
    return n;
}

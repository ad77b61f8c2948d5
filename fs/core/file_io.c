/* SPDX-License-Identifier: MIT */
/* Reading and writing: one call for each subfile a request touches. */
#include "fs/core/file.h"
#include "fs/core/plan.h"
#include "fs/core/subfile.h"

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
    int fd = -1, r = subfile_disk(t->fs, t->file, share->slot, &disk);

    share->error = 0;
    if (r == 0)
        r = subfile_open(t->fs, t->file, share->slot, t->write, &fd);
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
static int run_shares(struct fs *fs, struct file *file, struct plan *plan, bool write)
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
static int finish_read(struct file *file, struct plan *plan, struct share *share)
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

ssize_t file_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off)
{
    cleanup(plan_done) struct plan plan = { 0 };
    uint64_t size;
    int r = 0, error = 0;

    pthread_rwlock_rdlock(&file->io);
    size = file_size(file);
    len = off >= size ? 0 : MIN(len, size - off);
    if (len > 0)
        r = plan_init(&plan, file->layout, off, len, buf);
    if (len > 0 && r == 0)
        r = run_shares(fs, file, &plan, false);
    for (uint32_t i = 0; r == 0 && i < plan.n_shares; i++) {
        int e = finish_read(file, &plan, &plan.share[i]);

        error = error != 0 ? error : e;
    }
    pthread_rwlock_unlock(&file->io);
    /* Fewer bytes than asked for would mean the end of the file. */
    return r < 0 ? r : error < 0 ? error : (ssize_t) len;
}

/* -- writing -- */

/* Notes how long subfiles became, and the file. */
static void note_written(struct file *file, const struct plan *plan, uint64_t len)
{
    pthread_mutex_lock(&file->meta);
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        const struct share *share = &plan->share[i];
        struct subfile *sub = &file->sub[share->slot];

        if (share->done == 0)
            continue;
        bits_mark(&file->record.dirty, share->slot);
        sub->len = MAX(sub->len, share->sub_off + share->done);
    }
    if (len > 0) {
        file->record.size = MAX(file->record.size, plan->file_off + len);
        file_touch(file, len);
    }
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

static ssize_t write_once(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off)
{
    cleanup(plan_done) struct plan plan = { 0 };
    uint64_t written = 0;
    int r = plan_init(&plan, file->layout, off, len, drop_const(buf));

    if (r < 0)
        return r;
    plan_gather(&plan);
    pthread_rwlock_rdlock(&file->io);
    r = run_shares(fs, file, &plan, true);
    if (r == 0) {
        written = plan_prefix(&plan);
        note_written(file, &plan, written);
    }
    pthread_rwlock_unlock(&file->io);
    if (r == 0 && written < len) {
        cut_tails(fs, file);
        r = first_error(&plan);
    }
    return written > 0 ? (ssize_t) written : r;
}

ssize_t file_write(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off)
{
    ssize_t n;
    int r = check_writable(fs, file);

    if (r < 0 || len == 0)
        return r;
    n = write_once(fs, file, buf, len, off);
    if (n == -ENOSPC) {
        workers_drain(fs->workers); /* what removed and truncated files held may be on its way out */
        n = write_once(fs, file, buf, len, off);
    }
    return n;
}

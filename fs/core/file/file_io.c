/* SPDX-License-Identifier: MIT */
/* Reading and writing: one call for each subfile a request touches. */
#include "fs/core/file/file.h"
#include "fs/core/file/plan.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfile_map.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/target.h"
#include "fs/core/file/touched.h"
#include "fs/core/file/transfer.h"

#include <limits.h>

/* -- reading -- */

/* Reads what a plan says from that generation. io is held. */
static int read_plan(struct fs *fs, struct generation *from, struct plan *plan)
{
    int r = plan->n_shares > 0 ? transfer_run(fs, from, plan, false) : 0;

    return r < 0 ? r : transfer_finish_read(fs, from, plan);
}

/* Makes a plan anew, for that generation. */
static int plan_for(const struct generation *from, struct plan *plan, struct selection *only)
{
    const uint64_t file_off = plan->file_off, len = plan->len;
    uint8_t *const buf = plan->buf;
    int r;

    plan_done(plan);
    r = plan_init(plan, from->layout, file_off, len, buf);
    return r == 0 && only != NULL ? plan_select(plan, only, false) : r;
}

/* Whether the system has in memory all that a plan reads. To try to read it would have the disks read ahead. */
static bool is_cached(struct fs *fs, struct generation *from, const struct plan *plan)
{
    bool is = true;

    for (uint32_t i = 0; is && i < plan->n_shares; i++) {
        const struct share *share = &plan->share[i];
        uint8_t *addr;

        is = subfile_map(fs, from, share->slot, share->sub_off, share->len, &addr) == share->len;
    }
    return is;
}

/* Reads a range of which nothing but a plan for the file is made: from a replica where that is quicker; but what the
 * system has cached of the file is read there. io is held. */
static int read_best(struct fs *fs, struct file *file, struct plan *plan, struct selection *only, bool is_section)
{
    const uint64_t before = only != NULL ? only->left_out - plan_left_out(plan) : 0;
    struct generation *from = file->now;
    int r = 0;

    if (file->replicas != NULL && !is_cached(fs, file->now, plan))
        from = replicas_choose(fs, file, plan->file_off, plan->len, only, is_section);
    if (from == file->now)
        return read_plan(fs, from, plan);
    if (only != NULL)
        only->left_out = before;
    r = plan_for(from, plan, only);
    if (r == 0)
        r = read_plan(fs, from, plan);
    if (r == 0)
        return 0;
    replicas_note_failing(file, from);
    if (only != NULL)
        only->left_out = before;
    r = plan_for(file->now, plan, only);
    return r < 0 ? r : read_plan(fs, file->now, plan);
}

/* Reads a range from where it can be had. io is held. */
static int read_somewhere(struct fs *fs, struct file *file, struct plan *plan, struct selection *only, bool is_section)
{
    int r = read_best(fs, file, plan, only, is_section);
    const struct lacking lacking = { plan->file_off, plan->file_off + plan->len, false, r };

    return r < 0 ? replicas_read_instead(fs, file, plan, &lacking) : r;
}

/* Moves bytes into a pipe, if they are one run of one subfile, and returns how many. Errors are passed over: they come
 * again when the bytes are read instead. */
static size_t pipe_plan(struct fs *fs, struct file *file, const struct plan *plan, int pipe)
{
    const struct share *share = &plan->share[0];
    const struct disk *disk;
    size_t piped = 0;
    ssize_t n = 1;
    int fd;

    if (plan->n_shares > 1 || share->n_iov > 1 || subfile_disk(fs, file->now, share->slot, &disk) < 0 ||
        disk->ops->to_pipe == NULL || subfile_open(fs, file->now, share->slot, SUBFILE_READ, &fd) < 0 || fd < 0)
        return 0;
    while (n > 0 && piped < share->len) {
        n = disk_call(disk, to_pipe, fd, share->sub_off + piped, pipe, share->len - piped);
        if (n > 0)
            piped += (size_t) n;
    }
    return piped;
}

/* is_section and only, or pipe and ret_piped: see file_read_only, file_read_piped; false and NULL, or -1. */
static ssize_t read_range(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off, bool is_section,
                          struct selection *only, int pipe, size_t *ret_piped)
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
        r = plan_init(&plan, file->now->layout, off, len, buf);
    if (len > 0 && r == 0 && only != NULL)
        r = plan_select(&plan, only, false);
    if (len > 0 && r == 0 && pipe >= 0 && file->replicas == NULL)
        *ret_piped = pipe_plan(fs, file, &plan, pipe);
    if (errand.footprint != NULL && len > 0 && *ret_piped == len)
        transfer_note(fs, file->now, &plan);
    if (r == 0 && *ret_piped < len)
        r = read_somewhere(fs, file, &plan, only, is_section);
    pthread_rwlock_unlock(&file->io);
    fs_end_io(fs);
    /* Fewer bytes than asked for would mean the end of the file. */
    return r < 0 ? r : (ssize_t) len;
}

ssize_t file_read(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off)
{
    size_t piped;

    return read_range(fs, file, buf, len, off, false, NULL, -1, &piped);
}

ssize_t file_read_only(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off, struct selection *only)
{
    size_t piped;

    return read_range(fs, file, buf, len, off, true, only, -1, &piped);
}

ssize_t file_read_piped(struct fs *fs, struct file *file, void *buf, size_t len, uint64_t off, int pipe,
                        size_t *ret_piped)
{
    return read_range(fs, file, buf, len, off, false, NULL, pipe, ret_piped);
}

/* Where the first n bytes of a plan's only share end in the file. */
static uint64_t end_in_file(const struct plan *plan, uint64_t n)
{
    const struct share *share = &plan->share[0];

    return nest_select(file_layout_nest(plan->layout, share->slot), share->sub_off + n - 1) + 1;
}

ssize_t file_read_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot, void *buf,
                          size_t len, uint64_t sub_off)
{
    cleanup(plan_done) struct plan plan = { 0 };
    uint64_t sub_len;
    ssize_t r = -EAGAIN;

    fs_begin_io(fs);
    pthread_rwlock_rdlock(&file->io);
    if (file->now->layout == layout) {
        sub_len = file_layout_len(layout, slot, file_size(file));
        len = sub_off >= sub_len ? 0 : MIN(len, sub_len - sub_off);
        plan_init_share(&plan, layout, slot, sub_off, len, buf);
        r = len > 0 ? read_plan(fs, file->now, &plan) : 0;
        if (r < 0) {
            const struct lacking lacking = { end_in_file(&plan, 1) - 1, end_in_file(&plan, len), true, (int) r };

            r = replicas_read_instead(fs, file, &plan, &lacking);
        }
    }
    pthread_rwlock_unlock(&file->io);
    fs_end_io(fs);
    return r < 0 ? r : (ssize_t) len;
}

/* -- writing -- */

/* Notes what a plan has written: its subfiles, and that the file now has len bytes more that end at its byte end. */
static void note_written(struct fs *fs, struct file *file, struct plan *plan, uint64_t len, uint64_t end)
{
    mutex_lock(&file->meta);
    subfiles_note_written(fs, file->now, plan);
    if (len > 0) {
        file->record.size = MAX(file->record.size, end);
        file_touch(file, len);
    }
    mutex_unlock(&file->meta);
}

void file_note_changed(struct file *file, uint32_t slot, uint64_t len)
{
    mutex_lock(&file->meta);
    bits_mark(&file->now->dirty, slot);
    file_touch(file, len);
    mutex_unlock(&file->meta);
}

/* Cuts off what a write up to end that stopped early may have left behind the end of the file on other disks: it would
 * show up when the file grows. If it cannot be cut off now, that is done before anything else is written. */
static void cut_tails(struct fs *fs, struct file *file, uint64_t end)
{
    if (end <= file_size(file))
        return;
    if (file_lock_io(fs, file) < 0) {
        file_must_cut(file);
        return;
    }
    if (subfiles_cut(fs, file->now, file_size(file)) < 0)
        file_must_cut(file);
    replicas_cut_tails(fs, file);
    pthread_rwlock_unlock(&file->io);
}

/* Checks that the file can be written to. A cut that could not be finished is finished first, or what is written now
 * might be cut off, too. */
static int check_writable(struct fs *fs, struct file *file)
{
    int r;

    if (fs->read_only)
        return -EROFS;
    if (!file_is_to_be_cut(file))
        return 0;
    r = file_lock_io(fs, file);
    if (r < 0)
        return r;
    r = file_finish_cut(fs, file);
    pthread_rwlock_unlock(&file->io);
    return r;
}

/* Locks the range of a write, and io shared; neither when it fails. */
static int begin_listed(struct file *file, struct file_writing *writing)
{
    int r = ranges_lock(&file->ranges, writing->file_off, writing->file_off + writing->len);

    if (r < 0)
        return r;
    writing->is_listed = true;
    pthread_rwlock_rdlock(&file->io);
    return 0;
}

/* Whether another generation gets what is written: then two writes to one byte come one after the other. */
static bool is_followed(const struct file *file)
{
    return atomic_load(&file->migrates) || atomic_load(&file->follows);
}

static int will_change(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len)
{
    int r = target_will_change(fs, file, file_off);

    return r < 0 ? r : replicas_will_change(fs, file, file_off, file_off + len);
}

int file_begin_write(struct fs *fs, struct file *file, uint64_t file_off, uint64_t len, struct file_writing *ret)
{
    int r = check_writable(fs, file);

    *ret = (struct file_writing){ .file_off = file_off, .len = len };
    while (r == 0) {
        if (is_followed(file)) {
            r = begin_listed(file, ret);
            if (r == 0 && (r = will_change(fs, file, file_off, len)) < 0)
                file_end_write(file, ret);
            return r;
        }
        pthread_rwlock_rdlock(&file->io);
        if (file->next == NULL && !is_followed(file) && !ranges_block(&file->ranges, file_off, file_off + len)) {
            r = replicas_will_change(fs, file, file_off, file_off + len);
            if (r < 0)
                pthread_rwlock_unlock(&file->io);
            return r;
        }
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

/* Writes what a plan says to the file, and to those generations that follow it. Returns how many bytes were written, up
 * to the first that was not, and why that was not. io is held. */
static ssize_t write_plan(struct fs *fs, struct file *file, struct plan *plan, int *ret_error)
{
    const uint64_t lo = plan->file_off, hi = lo + plan->len;
    uint64_t written;
    int r = transfer_run(fs, file->now, plan, true), copy;

    if (r < 0)
        return r;
    written = plan_prefix(plan);
    copy = replicas_write_copy(fs, file, plan, lo, hi, &written);
    note_written(fs, file, plan, written, lo + written);
    if (file->next != NULL)
        target_write(fs, file, plan->buf, lo, plan->len, written);
    replicas_write(fs, file, plan, written);
    r = plan_error(plan);
    *ret_error = r < 0 ? r : copy;
    return (ssize_t) written;
}

static void begin_to_write_behind(struct fs *fs, struct file *file, const struct plan *plan, uint64_t gen)
{
    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].is_long)
            file_write_behind(fs, file, gen, plan->share[i].slot);
}

/* Whether no generation follows the file in another layout, in which other bytes are apart. */
static bool is_settled(const struct file *file)
{
    return file->next == NULL && !atomic_load(&file->migrates) && !replicas_follow_apart(file);
}

/* only: see file_write_only; NULL: everything is written. */
static ssize_t write_once(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off,
                          struct selection *only)
{
    cleanup(plan_done) struct plan plan = { 0 };
    struct file_writing writing;
    ssize_t n = file_begin_write(fs, file, off, len, &writing);
    int error = 0;
    uint64_t gen;

    if (n < 0)
        return n;
    gen = file->record.gen; /* changes only with io held exclusively */
    n = only == NULL || is_settled(file) ? 0 : -EAGAIN;
    if (n == 0)
        n = plan_init(&plan, file->now->layout, off, len, drop_const(buf));
    if (n == 0 && only != NULL)
        n = plan_select(&plan, only, true);
    if (n == 0) {
        plan_gather(&plan);
        n = write_plan(fs, file, &plan, &error);
    }
    file_end_write(file, &writing);
    if (n < 0)
        return n;
    begin_to_write_behind(fs, file, &plan, gen);
    if ((size_t) n < len) {
        cut_tails(fs, file, off + len);
        return n > 0 ? n : error;
    }
    return n;
}

/* Ends a write that had this result. When a disk had no room, all are asked for theirs: who was refused may make
 * another file, which shall not be put on that disk, too. */
static ssize_t end_io(struct fs *fs, ssize_t n)
{
    if (n == -ENOSPC)
        fs->calls->ask_room(fs);
    else if (n > 0)
        fs->calls->written(fs, (uint64_t) n);
    fs_end_io(fs);
    return n;
}

ssize_t file_write_only(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off,
                        struct selection *only)
{
    ssize_t n;

    if (len == 0)
        return fs->read_only ? -EROFS : 0;
    fs_begin_io(fs);
    n = write_once(fs, file, buf, len, off, only);
    if (n == -ENOSPC) {
        fs->calls->make_room(fs);
        n = write_once(fs, file, buf, len, off, only);
    }
    return end_io(fs, n);
}

ssize_t file_write(struct fs *fs, struct file *file, const void *buf, size_t len, uint64_t off)
{
    return file_write_only(fs, file, buf, len, off, NULL);
}

bool file_is_apart(struct file *file, size_t len, uint64_t off, const struct selection *only)
{
    cleanup(touched_done) struct touched touched = { 0 };
    bool is_apart;

    pthread_rwlock_rdlock(&file->io);
    is_apart = file->next == NULL && !replicas_follow_apart(file) &&
               touched_find(file->now->layout, off, len, only, &touched) == 0 && touched_is_apart(&touched);
    pthread_rwlock_unlock(&file->io);
    return is_apart;
}

/* Begins a write to a part of one subfile. -EAGAIN: the file has another layout, or is on its way to one. */
static int begin_subfile(struct fs *fs, struct file *file, const struct plan *plan, struct file_writing *ret_writing)
{
    uint64_t end = end_in_file(plan, plan->len), lo = end_in_file(plan, 1) - 1;
    int r = end > FALLS_LIMIT ? -EFBIG : file_begin_write(fs, file, lo, end - lo, ret_writing);

    if (r == 0 && (file->now->layout != plan->layout || file->next != NULL || replicas_follow_apart(file))) {
        file_end_write(file, ret_writing);
        r = -EAGAIN;
    }
    return r;
}

static ssize_t write_subfile_once(struct fs *fs, struct file *file, struct plan *plan)
{
    struct share *share = &plan->share[0];
    struct file_writing writing;
    int r = begin_subfile(fs, file, plan, &writing), copy = 0;
    uint64_t gen, written;

    if (r < 0)
        return r;
    gen = file->record.gen; /* changes only with io held exclusively */
    r = transfer_run(fs, file->now, plan, true);
    written = r == 0 ? share->done : 0;
    if (written > 0) {
        copy = replicas_write_copy(fs, file, plan, writing.file_off, writing.file_off + writing.len, &written);
        note_written(fs, file, plan, written, written > 0 ? end_in_file(plan, written) : 0);
    }
    file_end_write(file, &writing);
    begin_to_write_behind(fs, file, plan, gen);
    if (r == 0 && written < share->len) {
        cut_tails(fs, file, writing.file_off + writing.len);
        r = share->done < share->len ? plan_error(plan) : copy;
    }
    return written > 0 ? (ssize_t) written : r;
}

ssize_t file_write_subfile(struct fs *fs, struct file *file, const struct file_layout *layout, uint32_t slot,
                           const void *buf, size_t len, uint64_t sub_off)
{
    cleanup(plan_done) struct plan plan = { 0 };
    ssize_t n;

    if (sub_off + len > file_layout_nest(layout, slot)->size)
        return -EFBIG;
    fs_begin_io(fs);
    plan_init_share(&plan, layout, slot, sub_off, len, drop_const(buf));
    n = write_subfile_once(fs, file, &plan);
    if (n == -ENOSPC) {
        fs->calls->make_room(fs);
        plan_init_share(&plan, layout, slot, sub_off, len, drop_const(buf));
        n = write_subfile_once(fs, file, &plan);
    }
    return end_io(fs, n);
}

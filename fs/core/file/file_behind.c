/* SPDX-License-Identifier: MIT */
/* Write-behind: what is written in long streams goes to the disks while more comes. Otherwise it would pile up in
 * memory until an fsync, and many disks would wait for the writer first and the writer then for them. A quick disk is
 * left alone for longer: its work, done now, would take the processor from the writer, and done at the fsync is soon
 * done. So each disk is timed at what it writes behind. */
#include "fs/core/file/file.h"
#include "fs/core/file/subfile.h"

#include <fcntl.h>

struct behind_job {
    struct chore chore;
    struct fs *fs;
    struct file *file;
    uint64_t gen;
    uint32_t slot;
};

/* Takes the count of bytes that a disk is to begin to write; 0: none, or the file has another generation by now. */
static uint64_t take(struct file *file, const struct behind_job *behind)
{
    uint64_t bytes = 0;

    mutex_lock(&file->meta);
    if (file->record.gen == behind->gen) {
        bytes = file->now->sub[behind->slot].unwritten;
        file->now->sub[behind->slot].unwritten = 0;
    }
    mutex_unlock(&file->meta);
    return bytes;
}

/* Notes that no worker is at the subfile any more, unless the file has another generation by now. */
static void done(struct file *file, uint64_t gen, uint32_t slot)
{
    mutex_lock(&file->meta);
    if (file->record.gen == gen)
        file->now->sub[slot].writing = false;
    mutex_unlock(&file->meta);
}

/* What a disk is being told to write, and a descriptor to wait for that: one of its own, which stays open when the
 * subfile is closed. */
struct timing {
    const struct disk *disk;
    uint64_t bytes, start;
    bool measures;
    int fd;
};

static void begin(struct fs *fs, struct file *file, const struct behind_job *behind, struct timing *timing)
{
    int fd;

    timing->bytes = take(file, behind);
    if (timing->bytes == 0 || subfile_disk(fs, file->now, behind->slot, &timing->disk) < 0 ||
        !watch_is_prompt(timing->disk->watch) || subfile_open(fs, file->now, behind->slot, SUBFILE_READ, &fd) < 0 ||
        fd < 0)
        return;
    timing->start = clock_us();
    timing->measures = watch_begin_measure(timing->disk->watch);
    if (timing->measures)
        timing->fd = disk_call(timing->disk, open, fd, "", O_RDONLY, 0);
    (void) disk_call(timing->disk, sync, fd, SYNC_START); /* an error is the fsync's to tell */
}

/* Waits until the disk has written, if it is being measured. One thread at a time does so for each disk, and takes no
 * seat of its watch. An error is kept for the fsync: it is told here, and not again to descriptors opened later. */
static void finish(const struct file *file, struct timing *timing)
{
    const struct disk *disk = timing->disk;
    int r;

    if (!timing->measures)
        return;
    r = timing->fd < 0 ? timing->fd : disk->ops->sync(disk->ctx, timing->fd, SYNC_WAIT);
    if (timing->fd >= 0 && r < 0)
        atomic_store(&file->inode->write_error, r);
    disk_close(disk, &timing->fd);
    watch_end_measure(disk->watch, r == 0 ? timing->bytes : 0, clock_us() - timing->start);
}

static void run_behind(struct chore *chore)
{
    struct behind_job *behind = (struct behind_job *) chore;
    struct file *file = behind->file;
    struct timing timing = { .fd = -1 };

    pthread_rwlock_rdlock(&file->io); /* meanwhile nobody closes subfiles or puts others in their place */
    begin(behind->fs, file, behind, &timing);
    pthread_rwlock_unlock(&file->io);
    finish(file, &timing);
    done(file, behind->gen, behind->slot);
    file_put(behind->fs, file);
    free(behind);
}

void file_write_behind(struct fs *fs, struct file *file, uint64_t gen, uint32_t slot)
{
    struct behind_job *behind = calloc(1, sizeof *behind);

    if (behind == NULL) {
        done(file, gen, slot); /* without memory all is left to the fsync */
        return;
    }
    *behind = (struct behind_job){ .chore = { .run = run_behind }, .fs = fs, .file = file, .gen = gen, .slot = slot };
    file_ref(fs, file);
    workers_later(fs->workers, &behind->chore);
}

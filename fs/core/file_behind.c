/* SPDX-License-Identifier: MIT */
/* Write-behind: what is written in long streams goes to the disks while more comes. Otherwise it would pile up in
 * memory until an fsync, and many disks would wait for the writer first and the writer then for them. A quick disk is
 * left alone for longer: its work, done now, would take the processor from the writer, and done at the fsync is soon
 * done. So each disk is timed at what it writes behind. */
#include "fs/core/file.h"
#include "fs/core/subfile.h"

#include <fcntl.h>

struct behind_job {
    struct job job;
    struct fs *fs;
    struct file *file;
    uint64_t gen;
    uint32_t slot;
};

bool file_note_unwritten(struct fs *fs, struct file *file, uint32_t slot, uint64_t len)
{
    struct subfile *sub = &file->sub[slot];
    const struct disk *disk;

    sub->unwritten += len;
    if (sub->unwritten < fs->behind || sub->writing || subfile_disk(fs, file, slot, &disk) < 0 ||
        sub->unwritten < watch_backlog(disk->watch, fs->behind))
        return false;
    sub->writing = true;
    return true;
}

/* How many bytes there are to be written; 0 when the file has another generation by now. */
static uint64_t take(struct file *file, const struct behind_job *behind)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&file->meta);
    if (file->record.gen == behind->gen) {
        bytes = file->sub[behind->slot].unwritten;
        file->sub[behind->slot].unwritten = 0;
    }
    pthread_mutex_unlock(&file->meta);
    return bytes;
}

/* Subfiles of another generation know nothing of this. */
static void done(struct file *file, uint64_t gen, uint32_t slot)
{
    pthread_mutex_lock(&file->meta);
    if (file->record.gen == gen)
        file->sub[slot].writing = false;
    pthread_mutex_unlock(&file->meta);
}

/* What a disk is being told to write, and a descriptor to wait for that: one of our own, which stays when the subfile
 * goes. */
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
    if (timing->bytes == 0 || subfile_disk(fs, file, behind->slot, &timing->disk) < 0 ||
        !watch_is_prompt(timing->disk->watch) || subfile_open(fs, file, behind->slot, SUBFILE_READ, &fd) < 0 || fd < 0)
        return;
    timing->start = watch_now_us();
    timing->measures = watch_begin_measure(timing->disk->watch);
    if (timing->measures)
        timing->fd = disk_call(timing->disk, open, fd, "", O_RDONLY, 0);
    (void) disk_call(timing->disk, sync, fd, SYNC_START); /* an error is the fsync's to tell */
}

/* One thread at a time waits for a disk here, so it takes no seat from those who count. Whoever opens the subfile after
 * an error was told does not learn of it again. */
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
    watch_end_measure(disk->watch, r == 0 ? timing->bytes : 0, watch_now_us() - timing->start);
}

static void run_behind(struct job *job)
{
    struct behind_job *behind = (struct behind_job *) job;
    struct file *file = behind->file;
    struct timing timing = { .fd = -1 };

    pthread_rwlock_rdlock(&file->io); /* against who puts other subfiles in their place */
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
        done(file, gen, slot); /* the fsync does it all */
        return;
    }
    *behind = (struct behind_job){ .job = { .run = run_behind }, .fs = fs, .file = file, .gen = gen, .slot = slot };
    file_ref(fs, file);
    workers_later(fs->workers, &behind->job);
}

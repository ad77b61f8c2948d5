/* SPDX-License-Identifier: MIT */
/* Write-behind: what is written in long streams goes to the disks while more comes. Otherwise it would pile up in
 * memory until an fsync, and many disks would wait for the writer first and the writer then for them. */
#include "fs/core/file.h"
#include "fs/core/subfile.h"

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

    sub->unwritten += len;
    if (sub->unwritten < fs->behind || sub->writing)
        return false;
    sub->unwritten = 0;
    sub->writing = true;
    return true;
}

static bool is_current(struct file *file, uint64_t gen)
{
    bool current;

    pthread_mutex_lock(&file->meta);
    current = file->record.gen == gen;
    pthread_mutex_unlock(&file->meta);
    return current;
}

/* Subfiles of another generation know nothing of this. */
static void done(struct file *file, uint64_t gen, uint32_t slot)
{
    pthread_mutex_lock(&file->meta);
    if (file->record.gen == gen)
        file->sub[slot].writing = false;
    pthread_mutex_unlock(&file->meta);
}

static void begin(struct fs *fs, struct file *file, uint64_t gen, uint32_t slot)
{
    const struct disk *disk;
    int fd;

    pthread_rwlock_rdlock(&file->io); /* against who puts other subfiles in their place */
    if (is_current(file, gen) && subfile_disk(fs, file, slot, &disk) == 0 && watch_is_prompt(disk->watch) &&
        subfile_open(fs, file, slot, SUBFILE_READ, &fd) == 0 && fd >= 0)
        (void) disk_call(disk, sync, fd, SYNC_START); /* an error is the fsync's to tell */
    pthread_rwlock_unlock(&file->io);
    done(file, gen, slot);
}

static void run_behind(struct job *job)
{
    struct behind_job *behind = (struct behind_job *) job;

    begin(behind->fs, behind->file, behind->gen, behind->slot);
    file_put(behind->fs, behind->file);
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

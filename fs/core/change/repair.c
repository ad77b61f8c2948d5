/* SPDX-License-Identifier: MIT */
#include "fs/core/change/repair.h"

#include "fs/core/change/membership.h"
#include "fs/core/change/relocation.h"
#include "fs/core/file/replicas.h"
#include "fs/core/file/subfile.h"

#include <fcntl.h>

#define PROBE       "probe" /* a file below .fallsfs, for a moment */
#define PROBE_HOLDS 1000    /* ms that the answer of a probe counts */

/* -- which disks fail -- */

/* Writes something to a disk and has it synced. A disk that is full or read-only has not failed. */
static bool probe(const struct disk *disk)
{
    uint8_t block[512] = { 0 };
    struct iovec iov = { block, sizeof block };
    int fd = disk_ask(disk, open, disk->root, PROBE, O_WRONLY | O_CREAT, 0600);
    int64_t r = fd;

    if (fd >= 0)
        r = disk_ask(disk, pwritev, fd, &iov, 1, 0);
    if (r >= 0)
        r = disk_ask(disk, sync, fd, SYNC_DATA);
    disk_close(disk, &fd);
    (void) disk_ask(disk, unlink, disk->root, PROBE, 0);
    return r >= 0 || r == -ENOSPC || r == -EDQUOT || r == -EROFS;
}

static bool fails(struct disk *disk)
{
    uint64_t now = clock_ms(), last = atomic_load(&disk->probed);

    if (!disk_is_present(disk) || (disk->watch != NULL && watch_refuses(disk->watch) < 0))
        return true;
    if (last == 0 || last / 2 + PROBE_HOLDS < now) {
        last = now * 2 + !probe(disk);
        atomic_store(&disk->probed, last);
    }
    return last % 2 == 1;
}

/* Whether a generation has a subfile on a disk that fails, or may get one there. */
static bool is_on_failing(struct fs *fs, const struct generation *generation)
{
    bool is = false;

    for (uint32_t slot = 0; !is && slot < generation->n_slots; slot++)
        is = fails(&fs->volume->disk[file_layout_disk(generation->layout, fs->volume->home, generation->rotate, slot)]);
    return is;
}

/* -- what is lost -- */

struct losses {
    bool disk; /* a disk fails that the file, or its second copy, lies on */
    bool file; /* a subfile of the file is not what it must be */
};

static bool is_lost(struct fs *fs, struct generation *generation, uint32_t slot)
{
    bool lacks;
    int r = subfile_lacks(fs, generation, slot, UINT64_MAX, &lacks);

    return r == -EUCLEAN || r == -EIO || (r == 0 && lacks);
}

static struct losses find_losses(struct fs *fs, struct file *file)
{
    struct losses losses = { 0 };

    pthread_rwlock_rdlock(&file->io);
    losses.disk = is_on_failing(fs, file->now);
    for (uint32_t i = 0; file->replicas != NULL && !losses.disk && i < file->replicas->map.n; i++)
        if (replica_is_copy(file, &file->replicas->map.replica[i]) && file->replicas->replica[i].generation != NULL)
            losses.disk = is_on_failing(fs, file->replicas->replica[i].generation);
    for (uint32_t slot = 0; !losses.disk && !losses.file && slot < file->now->n_slots; slot++)
        losses.file = is_lost(fs, file->now, slot);
    pthread_rwlock_unlock(&file->io);
    return losses;
}

/* -- what the file is to get -- */

/* Finds other disks for what lies on those that fail. */
static int choose_others(struct fs *fs, const struct file_layout *layout, const struct record *record,
                         struct file_layout **ret_layout, uint32_t *ret_start, struct layout_error *ret_error)
{
    cleanup(relocation_forget) struct placement placement = { 0 };
    cleanup(relocation_done) struct relocation relocation = { .text = NULL };
    uint64_t lacking;
    int r = relocation_look(fs, RELOCATION_NONE, &placement);

    for (uint32_t i = 0; r == 0 && i < placement.n; i++)
        if (fails(&fs->volume->disk[i]))
            placement.disk[i].stands = placement.disk[i].takes = false;
    if (r == 0)
        r = relocation_leave(&placement, layout, record, &relocation, &lacking);
    if (r <= 0)
        return r;
    *ret_start = relocation.start;
    return membership_lay_out(fs, &relocation, ret_layout, ret_error);
}

static int choose(struct fs *fs, struct file *file, struct file_layout **ret_layout, uint32_t *ret_start,
                  struct layout_error *ret_error)
{
    const struct losses losses = find_losses(fs, file);
    struct file_layout *layout;
    struct record record;
    int r = 0;

    layout = file_look(fs, file, &record);
    record.blocks = file_blocks(file);
    if (losses.disk) {
        r = choose_others(fs, layout, &record, ret_layout, ret_start, ret_error);
    } else if (losses.file) {
        *ret_layout = layouts_ref(fs->layouts, layout);
        *ret_start = record.rotate;
    } else {
        r = replicas_verify(fs, file);
    }
    layouts_put(fs->layouts, layout);
    return r;
}

int repair_choose(struct fs *fs, struct inode *inode, struct file_layout **ret_layout, uint32_t *ret_start,
                  struct layout_error *ret_error)
{
    struct file *file;
    int r = file_get(fs, inode, &file);

    *ret_layout = NULL;
    if (r < 0)
        return r;
    r = choose(fs, file, ret_layout, ret_start, ret_error);
    file_put(fs, file);
    return r;
}

/* SPDX-License-Identifier: MIT */
/* What the calls of one simulated disk have in common. Private to simcall*.c. */
#ifndef FALLSFS_TEST_SUPPORT_SIMCALL_H
#define FALLSFS_TEST_SUPPORT_SIMCALL_H

#include "test/support/simfs.h"

#include <fcntl.h>

static inline const struct sim_inode *inode_of(const struct sim_disk *disk, uint32_t ino)
{
    return simimage_inode(disk->now, ino);
}

static inline struct sim_change *change_new(struct sim_disk *disk, enum sim_change_kind kind, uint32_t ino)
{
    return sim_change_new(kind, ino, disk->sim->clock);
}

static inline bool has_room(const struct sim_disk *disk, uint64_t bytes)
{
    return disk->now->used <= disk->capacity && bytes <= disk->capacity - disk->now->used;
}

static inline bool writes(const struct sim_fd *fd)
{
    return (fd->flags & O_PATH) == 0 && (fd->flags & O_ACCMODE) != O_RDONLY;
}

static inline bool reads(const struct sim_fd *fd)
{
    return (fd->flags & O_PATH) == 0 && (fd->flags & O_ACCMODE) != O_WRONLY;
}

/* Who this thread is for now. */
const struct cred *simcall_identity(void);

/* Finds an open descriptor; -EBADF also where it only stands for a place. */
int simcall_usable(struct sim_disk *disk, int number, struct sim_fd **ret_fd);

/* Frees an inode that neither a name nor a descriptor needs. Its number is given out again, as on real disks. */
void simcall_free_if_unused(struct sim_disk *disk, uint32_t ino);

/* Finds a place where a new name may be made: -EEXIST, or -ENOENT in a directory that is gone. */
int simcall_vacant(struct sim_disk *disk, int dir, const char *path, struct sim_place *ret_place);

/* Makes an inode that belongs to who this thread is for now; place NULL: without a name, and for good unless
 * linkable. */
int simcall_make(struct sim_disk *disk, uint32_t dir_ino, const struct sim_place *place, mode_t mode, dev_t rdev,
                 const char *target, bool linkable);

void simcall_set_size(struct sim_disk *disk, uint32_t ino, uint64_t size);

#endif

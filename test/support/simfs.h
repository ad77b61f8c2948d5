/* SPDX-License-Identifier: MIT */
/* The file system of one simulated disk. Private to the simulated disk.
 *
 *     simdisk.c   the machine: its life, its faults
 *     simops.c    the table: locks, counts, fails and traces each call, then asks
 *     simcall*.c  what each call does, under the machine's lock: descriptors; _data, _names, _attr
 *     simpath.c   descriptors and names
 *     simcrash.c  the journal: what a change does to the disk, and what a crash leaves
 *     simimage.c  the things themselves
 *     simmeddle.c what tests do behind everybody's back */
#ifndef FALLSFS_TEST_SUPPORT_SIMFS_H
#define FALLSFS_TEST_SUPPORT_SIMFS_H

#include "test/support/simdisk.h"
#include "test/support/simimage.h"

/* The last byte a file may have lies before it. */
#define SIM_MAX_SIZE (UINT64_C(1) << 62)

/* A change that `now` has and `durable` has not, in the order in which they were made. */
struct sim_pending {
    struct sim_change *change;
    bool durable; /* a write: synced */
    bool lost;    /* a write: a sync has failed, so no other one tries; durable is then its length alone */
};

struct sim_disk {
    struct sim *sim;
    unsigned index;
    struct sim_image *now, *durable;
    struct sim_pending *pending;
    size_t n_pending, room_pending;
    size_t n_committed; /* of the pending: metadata of these survives */
    uint64_t pending_bytes;
    uint32_t next_ino;
    uint64_t *numbers; /* inode numbers in use, a bit each; 0 is nobody's */
    size_t n_numbers;  /* words */
    uint64_t capacity, xattr_room;
    uint64_t taken; /* by others, besides the capacity */
    bool absent, read_only;
    unsigned lacks;
};

struct sim_fd {
    int fd; /* -1: not open */
    unsigned generation;
    struct sim_disk *disk;
    uint32_t ino;
    int flags;
    uint64_t pos;
    bool locked;
};

/* -- simpath.c -- */

/* Opens a descriptor of an inode; -EMFILE. */
int simpath_open(struct sim_disk *disk, uint32_t ino, int flags);

/* What is behind a descriptor; NULL: it is not open, or on another disk. */
struct sim_fd *simpath_fd(struct sim_disk *disk, int fd);
bool simpath_elsewhere(struct sim_disk *disk, int fd); /* open, on another disk of the machine */
unsigned simpath_n_open(const struct sim *sim);
bool simpath_full(const struct sim *sim); /* no more can be opened */
bool simpath_in_use(struct sim_disk *disk, uint32_t ino);
void simpath_close_all(struct sim *sim);

enum sim_last {
    SIM_LAST_NAME,
    SIM_LAST_DOT,
    SIM_LAST_DOT_DOT,
};

/* The directory and the name that the last component of a path is. */
struct sim_place {
    uint32_t dir;
    enum sim_last last;
    const char *name;
    size_t len;
    uint32_t ino; /* what is there; 0: nothing */
};

/* Finds the place of a path's last component, which may be absent. -ENOENT for the empty path, and as any path may
 * fail. */
int simpath_place(struct sim_disk *disk, int dir, const char *path, struct sim_place *ret_place);

/* The same for calls that follow no symlink on the way either: -ELOOP. */
int simpath_place_beneath(struct sim_disk *disk, int dir, const char *path, struct sim_place *ret_place);

/* Why nothing is at a place: -ENOENT, or -ENAMETOOLONG where nothing can be. */
int simpath_absent(const struct sim_disk *disk, const struct sim_place *place);

/* Finds the inode behind a path, which may be empty. */
int simpath_find(struct sim_disk *disk, int dir, const char *path, uint32_t *ret_ino);

/* -- simcrash.c -- */

/* Makes the change now, and records that it is pending. Takes the change. */
void simcrash_change(struct sim_disk *disk, struct sim_change *change);

/* Syncs the inode ino, as how says. */
void simcrash_sync(struct sim_disk *disk, uint32_t ino, enum disk_sync how);
void simcrash_sync_failed(struct sim_disk *disk, uint32_t ino, enum disk_sync how);

/* Restarts the disk after a crash; rng NULL: nothing has survived but what was synced. */
void simcrash_restart(struct sim_disk *disk, struct rng *rng);
void simcrash_clone(struct sim_disk *to, const struct sim_disk *from);
void simcrash_done(struct sim_disk *disk);

/* -- simcall*.c: as in struct disk_ops -- */

int simcall_open(struct sim_disk *disk, int dir, const char *path, int flags, mode_t mode);
int simcall_close(struct sim_disk *disk, int fd);
ssize_t simcall_preadv(struct sim_disk *disk, int fd, const struct iovec *iov, int n_iov, uint64_t off, bool no_wait);
ssize_t simcall_pwritev(struct sim_disk *disk, int fd, const struct iovec *iov, int n_iov, uint64_t off);
int simcall_truncate(struct sim_disk *disk, int fd, uint64_t size);
int simcall_allocate(struct sim_disk *disk, int fd, int mode, uint64_t off, uint64_t len);
int64_t simcall_seek(struct sim_disk *disk, int fd, uint64_t off, int whence);
int simcall_sync(struct sim_disk *disk, int fd, enum disk_sync how);
int simcall_sync_failed(struct sim_disk *disk, int fd, enum disk_sync how, int error);
int simcall_lock(struct sim_disk *disk, int fd);
int simcall_stat(struct sim_disk *disk, int dir, const char *path, struct stat *ret_stat);
int simcall_statfs(struct sim_disk *disk, int fd, struct statvfs *ret_statfs);
ssize_t simcall_read_dir(struct sim_disk *disk, int fd, void *buf, size_t size);
ssize_t simcall_read_link(struct sim_disk *disk, int dir, const char *path, char *buf, size_t size);
int simcall_link(struct sim_disk *disk, int from_dir, const char *from, int to_dir, const char *to);
int simcall_rename(struct sim_disk *disk, int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int simcall_unlink(struct sim_disk *disk, int dir, const char *path, int flags);
int simcall_mkdir(struct sim_disk *disk, int dir, const char *path, mode_t mode);
int simcall_symlink(struct sim_disk *disk, const char *target, int dir, const char *path);
int simcall_mknod(struct sim_disk *disk, int dir, const char *path, mode_t mode, dev_t dev);
int simcall_chmod(struct sim_disk *disk, int dir, const char *path, mode_t mode);
int simcall_chown(struct sim_disk *disk, int dir, const char *path, uid_t uid, gid_t gid);
int simcall_set_times(struct sim_disk *disk, int dir, const char *path, const struct timespec times[2]);
ssize_t simcall_get_xattr(struct sim_disk *disk, int dir, const char *path, const char *name, void *value, size_t size);
int simcall_set_xattr(struct sim_disk *disk, int dir, const char *path, const char *name, const void *value,
                      size_t size, int flags);
ssize_t simcall_list_xattr(struct sim_disk *disk, int dir, const char *path, char *list, size_t size);
int simcall_remove_xattr(struct sim_disk *disk, int dir, const char *path, const char *name);
void simcall_assume(const struct cred *cred);
void simcall_resume(void);

/* Frees inodes without a name, once all descriptors are closed. */
void simcall_free_orphans(struct sim_disk *disk);

#endif

/* SPDX-License-Identifier: MIT */
/* A machine with simulated disks, for programs that reach their disks through struct disk_ops: each disk is a file
 * system of its own that behaves as Linux ones do, and may lose what they may lose.
 *
 *     calls ──> now ─────────────────────────────────────────────> what a killed daemon finds again
 *                 │ journal of changes, in order:
 *                 │   make a | write a | link b | write a | rename c | ...
 *                 │   ^ committed                 any prefix ^          ^ now
 *                 v
 *              durable + that prefix + any sectors written ───────> what a crashed machine finds again
 *
 * Within a disk, changes of metadata survive in order: those up to some point at or behind the last one that a sync
 * covered. Sectors of 512 bytes written and not synced survive each by itself, whole, in one of the states they were
 * written in; a file that grew is as long as any of them demands, or longer, up to what was written. Truncating and
 * punching are changes of metadata and remove what was written before them. A sync covers all that ever happened to the
 * file or directory; SYNC_DATA may leave out attributes that changed after everything else. Nothing orders one disk
 * after another.
 *
 *     struct sim *sim = sim_new(3, seed);
 *     sim_crash_at(sim, n);                   calls from number n on return -EIO and do nothing
 *     run(&sim_ops, sim_disk(sim, 0), sim_root(sim_disk(sim, 0)), ...);
 *     sim_crash(sim, &rng);                   restarted: no descriptor is left
 *     check(...);
 *
 * All calls may come from any thread; one mutex serves a whole machine. Clones share memory, safely, and nothing else.
 */
#ifndef FALLSFS_TEST_SUPPORT_SIMDISK_H
#define FALLSFS_TEST_SUPPORT_SIMDISK_H

#include "fs/core/disk/disk.h"
#include "test/support/rng.h"

#include <pthread.h>
#include <stdio.h>

enum sim_call {
    SIM_OPEN,
    SIM_CREATE, /* open with O_CREAT or O_TMPFILE */
    SIM_PREADV,
    SIM_PWRITEV,
    SIM_TRUNCATE,
    SIM_ALLOCATE,
    SIM_SEEK,
    SIM_SYNC,
    SIM_LOCK,
    SIM_STAT, /* calls from here on take a path, but for STATFS and READ_DIR: simstep.c relies on it */
    SIM_STATFS,
    SIM_READ_DIR,
    SIM_READ_LINK,
    SIM_LINK,
    SIM_RENAME,
    SIM_UNLINK,
    SIM_MKDIR,
    SIM_SYMLINK,
    SIM_MKNOD,
    SIM_CHMOD,
    SIM_CHOWN,
    SIM_SET_TIMES,
    SIM_GET_XATTR,
    SIM_SET_XATTR,
    SIM_LIST_XATTR,
    SIM_REMOVE_XATTR,
    SIM_N_CALLS, /* calls below are neither counted nor failed */
    SIM_CLOSE = SIM_N_CALLS,
    SIM_ASSUME,
    SIM_RESUME,
};

#define SIM_MASK(call) (UINT32_C(1) << (call))

/* What a disk cannot do, as NFS and old file systems. */
enum sim_lack {
    SIM_LACKS_TMPFILE = 1,      /* -EOPNOTSUPP; and an open file that loses a name counts in n_silly */
    SIM_LACKS_RENAME_FLAGS = 2, /* -EINVAL */
    SIM_LACKS_XATTR = 4,        /* -EOPNOTSUPP */
    SIM_LACKS_SPACE = 8,        /* allocate: -EOPNOTSUPP */
    SIM_LACKS_NO_WAIT = 16,     /* preadv: -EOPNOTSUPP */
};

struct sim_disk;
struct sim_fd;

struct sim_fault {
    uint64_t at; /* the number of a call, the first is 1 */
    int error;
    bool persistent;
    int disk;       /* -1: any */
    uint32_t calls; /* SIM_MASK of those it may strike */
};

#define SIM_MAX_FAULTS 8

struct sim {
    /* for tests to read */
    uint64_t calls;    /* so far, on all disks */
    uint64_t n_failed; /* of these by sim_fail */
    bool down;         /* sim_crash_at has struck; sim_crash and sim_kill start the machine again */
    uint64_t n_silly;  /* names in .fallsfs/ns that went while their file was open: NFS would have kept another */

    /* for simdisk.c and its helpers */
    pthread_mutex_t lock; /* everything below and above, and the disks */
    unsigned n_disks;
    struct sim_disk *disks;
    struct sim_fd *fds;
    unsigned n_fds;
    int64_t clock; /* ns, one microsecond a call */
    uint64_t crash_at;
    struct sim_fault faults[SIM_MAX_FAULTS];
    unsigned n_faults;
    FILE *trace;
};

/* ctx is a struct sim_disk. Descriptors are those of the whole machine, and not given out twice. */
extern const struct disk_ops sim_ops;

/* A machine of empty disks; seed decides the order of names in directories. */
struct sim *sim_new(unsigned n_disks, uint64_t seed);
void sim_free(struct sim *sim);

static inline void sim_freep(struct sim **sim)
{
    sim_free(*sim);
}

/* The same machine again, without open descriptors, locks, faults and trace: to be crashed or killed in its turn. */
struct sim *sim_clone(struct sim *sim);

struct sim_disk *sim_disk(struct sim *sim, unsigned i);

/* A descriptor of the root directory, the caller's to close; -ENOENT: the disk is absent. Not a counted call. */
int sim_root(struct sim_disk *disk);

/* How many descriptors are open, for finding those that leak. */
unsigned sim_n_open(struct sim *sim);

/* -- what goes wrong -- */

/* Power fails, and comes back: each disk holds one of the states it may hold. rng NULL: nothing but what was synced. */
void sim_crash(struct sim *sim, struct rng *rng);

/* The daemon is killed; the machine goes on. */
void sim_kill(struct sim *sim);

/* Calls from number n on return -EIO and do nothing; 0: never. Restarting forgets it. */
void sim_crash_at(struct sim *sim, uint64_t n);

/* Call n fails with error, and so do all later ones if persistent, when on that disk (-1: any) and of a kind that fails
 * so: see sim_failable. A failed sync makes nothing durable, ever: what was written until then, and not synced, may
 * survive a crash or not. error 0: the call does half of what it was asked for, where it can. */
void sim_fail(struct sim *sim, uint64_t n, int error, bool persistent, int disk);
void sim_fail_calls(struct sim *sim, const struct sim_fault *fault);
void sim_heal(struct sim *sim);

/* SIM_MASK of the calls that a real disk fails with this error. */
uint32_t sim_failable(int error);

void sim_disk_absent(struct sim_disk *disk, bool absent);        /* calls: -EIO */
void sim_disk_read_only(struct sim_disk *disk, bool read_only);  /* changes: -EROFS */
void sim_disk_capacity(struct sim_disk *disk, uint64_t bytes);   /* a gigabyte unless told */
void sim_disk_leave_free(struct sim_disk *disk, uint64_t bytes); /* others take the rest, or give it back */
void sim_disk_xattr_room(struct sim_disk *disk, uint64_t bytes); /* of one file; ext4's 4000 unless told */
void sim_disk_lacks(struct sim_disk *disk, unsigned lacks);      /* of enum sim_lack */

/* How many bytes of the capacity are taken. */
uint64_t sim_disk_used(struct sim_disk *disk);

/* Lets so many seconds go by. */
void sim_sleep(struct sim *sim, uint64_t seconds);

/* Writes each call to out from now on, a line each; NULL: no longer. */
void sim_trace(struct sim *sim, FILE *out);

/* -- meddling: paths from the disk's root; never counted, never failed, and durable at once -- */

/* The content of a file, the caller's to free; NULL: there is no such file. */
char *sim_peek(struct sim_disk *disk, const char *path, size_t *ret_len);

/* Writes into a file, which is made if it is not there. */
int sim_poke(struct sim_disk *disk, const char *path, uint64_t off, const void *bytes, size_t len);
int sim_cut(struct sim_disk *disk, const char *path, uint64_t size);
int sim_delete(struct sim_disk *disk, const char *path); /* also a directory that is empty */
int sim_flip(struct sim_disk *disk, const char *path, uint64_t bit);
int sim_flip_xattr(struct sim_disk *disk, const char *path, const char *name, uint64_t bit);

/* Prints the whole tree, a line each: path, mode, owner, links, size, checksum of the content, attributes. */
void sim_print(struct sim_disk *disk, FILE *out);

#endif

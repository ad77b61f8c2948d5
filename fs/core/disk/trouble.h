/* SPDX-License-Identifier: MIT */
/* What goes wrong, told where it is found out. Nothing in core says anything to anybody: whoever mounts listens.
 *
 *     a call to a disk fails ──┐
 *     a subfile is missing ────┼──> struct trouble ──> listener: a line in the log, a reason for who asked
 *     a record is damaged ─────┘                └────> the count of its disk
 *
 * What a thread is at is its errand, so that a disk which fails need not know for whom. A batch of jobs has the errand
 * of who waits for it. */
#ifndef FALLSFS_FS_CORE_DISK_TROUBLE_H
#define FALLSFS_FS_CORE_DISK_TROUBLE_H

#include "layout/base.h"

struct disk;

enum trouble_kind {
    TROUBLE_CALL,    /* the disk answered with an error */
    TROUBLE_DEAD,    /* the disk has not answered for longer than anybody waits */
    TROUBLE_FULL,    /* the disk has no room */
    TROUBLE_ABSENT,  /* the disk is not here */
    TROUBLE_MISSING, /* a subfile that must be there is not: its bytes are lost */
    TROUBLE_NOWHERE, /* a new subfile cannot be made: the directory that it belongs into is not there */
    TROUBLE_SHORT,   /* a subfile is shorter than it must be: some of its bytes are lost */
    TROUBLE_FOREIGN, /* something that is not ours is in the place of a subfile */
    TROUBLE_DAMAGED, /* a record, or the layout it names; the disk is the home disk */
    TROUBLE_JOB,     /* a migration has failed; the disk is the home disk */
    TROUBLE_KINDS
};

#define NO_SUBFILE UINT32_MAX

struct trouble {
    enum trouble_kind kind;
    int error;               /* what the caller gets for it, as -EIO */
    const char *call;        /* of TROUBLE_CALL and TROUBLE_DEAD: the member of disk_ops; else NULL */
    const struct disk *disk; /* that the trouble is with */
    uint64_t nodeid;         /* of the inode that somebody was at work on; 0: of none */
    uint32_t slot;           /* of its subfile, or NO_SUBFILE */
};

/* Who hears of troubles. hear is called in any thread and under any lock: it takes no lock of core, calls no disk,
 * waits for nobody. */
struct listener {
    void (*hear)(void *ctx, const struct trouble *trouble);
    void *ctx;
};

/* How a request was carried out, for who wants to know. */
struct footprint {
    uint32_t n_runs, n_subfiles;
    uint64_t disks; /* a bit for each of the first 64 */
};

struct errand {
    uint64_t nodeid;
    uint32_t slot;
    struct footprint *footprint; /* of the thread's own; NULL: nobody wants to know */
};

extern _Thread_local struct errand errand;

#define NO_ERRAND ((struct errand){ .slot = NO_SUBFILE })

/* Notes what this thread works on from now on, a subfile or NO_SUBFILE, and returns what it worked on before.
 *
 *     cleanup(errand_leave) struct errand before = errand_at(inode->nodeid, slot); */
struct errand errand_at(uint64_t nodeid, uint32_t slot);

static inline void errand_leave(const struct errand *before)
{
    errand = *before;
}

/* Tells the disk's listener of a trouble, and counts it if the disk is to blame. Returns error. */
int trouble_tell(const struct disk *disk, enum trouble_kind kind, int error);

/* Tells of a call to a disk that has failed, with what watch_enter gave as seat. Errors that tell of names and rights,
 * not of the disk, are no trouble. Returns whether the disk was asked and is to blame. */
bool trouble_of_call(const struct disk *disk, const char *call, int error, int seat);

#endif

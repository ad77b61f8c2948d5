/* SPDX-License-Identifier: MIT */
/* What is counted of a mount as it serves, beside what its disks count themselves (watch.h):
 *
 *     kernel ──> requests, by operation ─────────┐
 *     groups ──> rounds, by direction and kind ──┼──> figures ──> .falls/metrics, .falls/stats.json
 *     kernel <── told to forget what it caches ──┘
 *
 * Each is counted before whoever waits for it is answered: who reads the figures after an answer finds it in them. */
#ifndef FALLSFS_FS_DAEMON_SERVE_FIGURES_H
#define FALLSFS_FS_DAEMON_SERVE_FIGURES_H

#include "fs/core/disk/tally.h"

#include <sys/types.h>

enum operation {
    OPERATION_LOOKUP,
    OPERATION_GETATTR,
    OPERATION_SETATTR,
    OPERATION_READLINK,
    OPERATION_MKNOD,
    OPERATION_MKDIR,
    OPERATION_UNLINK,
    OPERATION_RMDIR,
    OPERATION_SYMLINK,
    OPERATION_RENAME,
    OPERATION_LINK,
    OPERATION_OPEN,
    OPERATION_READ,
    OPERATION_WRITE,
    OPERATION_FLUSH,
    OPERATION_RELEASE,
    OPERATION_FSYNC,
    OPERATION_OPENDIR,
    OPERATION_READDIR,
    OPERATION_READDIRPLUS,
    OPERATION_RELEASEDIR,
    OPERATION_FSYNCDIR,
    OPERATION_STATFS,
    OPERATION_SETXATTR,
    OPERATION_GETXATTR,
    OPERATION_LISTXATTR,
    OPERATION_REMOVEXATTR,
    OPERATION_CREATE,
    OPERATION_IOCTL,
    OPERATION_POLL,
    OPERATION_FALLOCATE,
    OPERATION_LSEEK,
    OPERATION_COPY_FILE_RANGE,
    N_OPERATIONS
};

const char *operation_name(enum operation operation);

/* What the kernel was told to forget. */
enum forgotten { FORGOTTEN_PAGES, FORGOTTEN_NAMES, FORGOTTEN_ATTRIBUTES, N_FORGOTTEN };

/* What the rounds of groups, and requests without a group, took of their files, in bytes and in windows. */
enum collective_work {
    WORK_DISK_READ,    /* bytes that came from disks by calls */
    WORK_DISK_WRITTEN, /* bytes that went to disks by calls */
    WORK_MAPPED,       /* bytes that were copied from or to mapped files, by no call */
    WORK_REREAD,       /* bytes that were read to be written again, among those that were asked to be written */
    WORK_WINDOWS,
    N_WORKS
};

struct figures {
    struct tally operation[N_OPERATIONS];
    struct tally round[2][2]; /* [1]: of a group, not of one process alone; [1]: writes */
    atomic_uint_least64_t work[N_WORKS];
    atomic_uint_least64_t forgotten[N_FORGOTTEN];
    atomic_uint_least64_t n_failed; /* requests that failed for what may be a disk's fault */
    atomic_uint_least64_t n_late;   /* requests that were answered in place of a thread that waits for a disk */
};

/* The figures of the mount, the only one of the process. */
extern struct figures figures;

static inline void figures_add(atomic_uint_least64_t *figure, uint64_t n)
{
    atomic_fetch_add_explicit(figure, n, memory_order_relaxed);
}

/* Counts a request that is about to be answered: it came then, by clock_ns, and comes to r, bytes or -errno. Bytes are
 * counted where the operation moves those of files. */
void figures_note_request(enum operation operation, uint64_t began, ssize_t r);

#endif

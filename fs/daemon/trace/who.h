/* SPDX-License-Identifier: MIT */
/* Which process a thread belongs to, for every request that is traced. /proc knows, and takes its time: so what it said
 * is believed for a second, in which no number of a thread comes around again. */
#ifndef FALLSFS_FS_DAEMON_TRACE_WHO_H
#define FALLSFS_FS_DAEMON_TRACE_WHO_H

#include "fs/core/disk/mutex.h"
#include "fs/daemon/group/processes.h"

#define WHO_THREADS 4096
#define WHO_MS      1000

struct who_known {
    pid_t tid;
    uint64_t until; /* on clock_ms's clock */
    struct process_identity identity;
};

struct who {
    struct mutex lock;
    struct who_known known[WHO_THREADS]; /* lock; at tid % WHO_THREADS */
};

int who_new(struct who **ret_who);
void who_free(struct who *who);

/* Tells who a thread is of. Of one that has ended before anybody asked only its number is known: it stands for the
 * process, which started at 0 and has no name. */
void who_is(struct who *who, pid_t tid, struct process_identity *ret_identity);

#endif

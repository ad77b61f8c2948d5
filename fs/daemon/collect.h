/* SPDX-License-Identifier: MIT */
/* The work of collectives on the mount's files. What is little is done by the thread that brought the last request;
 * what is more waits its turn for the workers:
 *
 *     round ──> little? ──> here ────────────────────┐
 *                  └──────> queue ──> a worker ──────┴──> the kernel's cache ──> engine ──> cache again ──> answers
 */
#ifndef FALLSFS_FS_DAEMON_COLLECT_H
#define FALLSFS_FS_DAEMON_COLLECT_H

#include "fs/daemon/handle.h"
#include "ioctl/group.h"

struct buffer;
struct collect;

/* An ask, with all that must stay while it is worked on. */
struct collect_ask {
    struct ask ask;
    struct handle *handle; /* with a reference */
    struct buffer *buffer; /* with a reference; NULL: nothing to be read or written */
    struct cred cred;
};

/* serving_threads: that answer the kernel. A thread that has the kernel's cache written back waits for another one.
 * max_window: of each thread at work; 0: as large as there are. */
int collect_new(struct fs *fs, uint32_t serving_threads, uint64_t max_window, struct collect **ret_collect);

/* What stalled disks have kept from being done is tried again; is given up, at the end. */
void collect_retry(struct collect *collect);
void collect_give_up(struct collect *collect);

/* No round begins any more: who asks is told -ENOTCONN. */
void collect_close(struct collect *collect);

/* No thread works on a round. */
bool collect_is_idle(struct collect *collect);

/* Nothing is at work any more. */
void collect_free(struct collect *collect);

/* How groups get their work done: groups_ops has these, with the collect as ctx. */
void collect_start(struct collect *collect, struct groups *groups, struct round *round);
void collect_drop(struct ask *ask);

#endif

/* SPDX-License-Identifier: MIT */
/* The work of collectives on the mount's files. What is little is done by the thread that brought the last request;
 * what is more waits its turn for the workers:
 *
 *     round ──> little? ──> here ────────────────────┐
 *                  └──────> queue ──> a worker ──────┴──> the kernel's cache ──> engine ──> cache again ──> answers
 */
#ifndef FALLSFS_FS_DAEMON_GROUP_COLLECT_H
#define FALLSFS_FS_DAEMON_GROUP_COLLECT_H

#include "fs/daemon/serve/handle.h"
#include "ioctl/group.h"

struct buffer;
struct collect;

/* What a rank asks for, with all that must stay while it is worked on. */
struct collect_ask {
    struct ask ask;
    struct handle *handle; /* with a reference */
    struct buffer *buffer; /* with a reference; NULL: nothing to be read or written */
    struct cred cred;
    unsigned cmd;   /* the ioctl that has words for it: SECTION, FALLS, LIST */
    uint64_t began; /* when it came, on clock_ns's clock; 0: nobody traces it */
};

/* Told of each ask of a round that is over, before its rank is answered. */
typedef void collect_ended(const struct collect_ask *ask, const struct round *round, uint32_t rank, int result);

/* Makes a collect. serving_threads: how many answer the kernel, of which one that has the kernel's cache written back
 * waits for another. max_window: bytes of memory of each thread at work; 0: as large as windows are. */
int collect_new(struct fs *fs, uint32_t serving_threads, uint64_t max_window, collect_ended *ended,
                struct collect **ret_collect);

/* Tries again what stalled disks have kept from being done; or gives it up, at the end. */
void collect_retry(struct collect *collect);
void collect_give_up(struct collect *collect);

/* Has no round begin from now on: who asks is told -ENOTCONN. */
void collect_close(struct collect *collect);

/* Whether no thread works on a round. */
bool collect_is_idle(struct collect *collect);

/* Frees a collect, when nothing is at work any more. */
void collect_free(struct collect *collect);

/* How groups get their work done: groups_ops has these, with the collect as ctx. */
void collect_start(struct collect *collect, struct groups *groups, struct round *round);
void collect_drop(struct ask *ask);

#endif

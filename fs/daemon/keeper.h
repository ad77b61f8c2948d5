/* SPDX-License-Identifier: MIT */
/* Sees to it that every request is answered in time. A thread that waits for a disk cannot answer; a request that no
 * thread works on is parked until the disk answers again.
 *
 *     thread: keeper_begin ── works ── keeper_may_reply ── replies       in time
 *     thread: keeper_begin ── works .................. keeper: -EIO      too late; what the thread ends up with is
 * dropped thread: the disk is stalled ── keeper_park ... keeper: runs it again, and again
 */
#ifndef FALLSFS_FS_DAEMON_KEEPER_H
#define FALLSFS_FS_DAEMON_KEEPER_H

#include "fs/daemon/handle.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

/* What act returns when another thread had better do it: not one that serves the kernel. */
#define REQUEST_ELSEWHERE (-EINPROGRESS)

struct pipe;

/* A request that can be parked: all it takes to run it. */
struct request {
    fuse_req_t req;
    ssize_t (*act)(struct request *request); /* does it; -ETIMEDOUT: a disk is stalled */
    void (*answer)(struct request *request, ssize_t result);
    struct fs *fs;
    struct handle *handle; /* with a reference */
    uint64_t off;
    size_t size;
    int mode;
    struct cred cred;
    void *data; /* to be written; parked requests have a copy of their own */
    uint64_t deadline;
    bool again;        /* on a worker's thread, not on one that serves the kernel */
    struct pipe *pipe; /* that what was read is in; or NULL */
    struct request *next;
};

struct keeper;

/* timeout: seconds a request may take; 0: for ever. Starts no thread. */
int keeper_new(struct fs *fs, uint32_t timeout, struct keeper **ret_keeper);
int keeper_start(struct keeper *keeper);
void keeper_free(struct keeper *keeper);

/* This thread serves req from here on. */
void keeper_begin(struct keeper *keeper, fuse_req_t req);

/* Whether this thread may reply to what it serves; if not, that has been done. Ends what keeper_begin began. */
bool keeper_may_reply(void);

/* Runs a request and answers it, now or later; takes its reference on the handle. keeper_begin has been called. */
void keeper_run(struct keeper *keeper, struct request *request);

#endif

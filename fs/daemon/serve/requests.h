/* SPDX-License-Identifier: MIT */
/* A request is one operation that the kernel asks for, with all it takes to carry it out, now or later.
 *
 *     kernel ──> call_read ──> struct request ──> run: ops_texts, ops_views, ops_data ──> reply_...
 *                                    └─ a disk is stalled: deadlines.h has it run again, with a copy of everything
 *
 * So there is one place to see what is done for whom and how long it takes, and to tell why it failed. */
#ifndef FALLSFS_FS_DAEMON_SERVE_REQUESTS_H
#define FALLSFS_FS_DAEMON_SERVE_REQUESTS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "fs/daemon/serve/figures.h"
#include "fs/daemon/serve/handle.h"

enum request_kind {
    REQUEST_REPEATS, /* begun anew it does no harm: whenever it meets a stalled disk it is parked */
    REQUEST_ONCE,    /* done in part it must not be begun anew: parked before, patient later */
    REQUEST_STAYS,   /* waits for others than disks, by its own means */
};

/* What a request does with bytes of files. */
enum request_access {
    REQUEST_NEITHER,
    REQUEST_READS,
    REQUEST_WRITES,
    REQUEST_COPIES, /* from other_fi to fi */
};

struct request {
    enum operation operation;
    enum request_kind kind;
    enum request_access access;
    void (*run)(const struct request *request);
    fuse_req_t req;
    struct cred cred; /* who asks; req itself may have been answered, and be gone, once it is late */
    bool in_group;    /* who asks for an attribute of ours is in the group that may give layouts */
    fuse_ino_t ino, other_ino;
    const char *name, *other_name;
    const void *data;
    size_t size, out_size; /* size: of data, where there is any */
    off_t off, other_off;
    struct stat *attr;
    struct fuse_file_info *fi, *other_fi;
    void *arg;
    struct fuse_pollhandle *poll;
    dev_t dev;
    unsigned number, flags;
    bool is_noted;                        /* somebody traces: it is told what comes of it */
    bool again;                           /* it was parked, and runs on a thread of the workers */
    size_t done;                          /* bytes that were done when it was parked */
    uint64_t began;                       /* when it came, on clock_ns's clock */
    uint64_t deadline;                    /* on clock_ms's clock; 0: it has just come */
    struct handle *handle, *other_handle; /* of fi and other_fi, held when it runs again */
};

/* What this thread serves; NULL: nothing that the kernel asks for. */
const struct request *request_now(void);

/* Whether the request that this thread serves may still be parked. */
bool request_can_wait(void);

/* Whether the request that this thread serves was parked before: then the thread is a worker. */
bool request_is_again(void);

/* Notes that n bytes of the request are done, and stay so when it is parked: who runs it again asks how many. */
void request_set_done(size_t n);
size_t request_done(void);

/* Whether somebody wants to know what comes of requests that access files; and who that is: note is called before the
 * answer, with bytes or -errno, for each request that began since requests_note said so. */
extern atomic_bool requests_noted;

static inline bool requests_are_noted(void)
{
    return atomic_load_explicit(&requests_noted, memory_order_relaxed);
}

void requests_note(bool is_wanted);
void requests_tell(void (*note)(void *ctx, const struct request *request, ssize_t r), void *ctx);

/* Serves what the kernel asks for just now. */
void request_serve(const struct request *request);

/* Runs a request on this thread. It has been answered then, or deadlines.h has it parked. */
void request_run(const struct request *request);

/* Notes that the request was answered by this thread, with 0 unless request_ends says otherwise. */
void request_is_answered(void);

/* Notes that who asked has been told why the request fails, by somebody who knew more than what disks tell. */
void request_is_explained(void);

/* Notes what comes of a request before it is answered: r is bytes or -errno. It is counted; why it fails goes to the
 * log, and to who asked. */
void request_ends(fuse_req_t req, ssize_t r);

/* Notes that the request that this thread serves has been parked: nothing has come of it yet. And that a parked one is
 * answered with an error, while no thread works on it. */
void request_is_parked(void);
void request_is_given_up(const struct request *request, int r);

/* Notes that a request fails that has waited for so many seconds, while no thread works on it. It is counted; why goes
 * to the log, and to who asked. */
void request_is_late(fuse_req_t req, enum operation operation, uint64_t nodeid, uint64_t seconds);

#endif

/* SPDX-License-Identifier: MIT */
/* Tracing: who reads and writes what, recorded as it is answered.
 *
 *     request ── serve: off? nothing more. On: when it began ── served ── request_ends ──> tracing_note ─┐
 *     ask of a section ── when it began ── the round ends ──> tracing_note_ask ──────────────────────────┤
 *                                                                                                        ▼
 *     reader of .falls/trace  <── items of what he may see  <── ring of records, names  <── covered by a scope?
 *
 * An access is recorded before its program has the answer: of a program that has ended all are in the ring. */
#ifndef FALLSFS_FS_DAEMON_TRACE_TRACING_H
#define FALLSFS_FS_DAEMON_TRACE_TRACING_H

#include "fs/daemon/config/options.h"
#include "fs/daemon/group/collect.h"
#include "fs/daemon/serve/requests.h"
#include "fs/daemon/trace/ring.h"

#include <stdio.h>

struct tracing;

/* The ring is made when the first trace begins, as large as options say. mounter: an administrator besides root. */
int tracing_new(struct fs *fs, struct handles *handles, const struct options *options, uid_t mounter,
                struct tracing **ret_tracing);
void tracing_free(struct tracing *tracing);

/* Begins to trace a file, or what is below a directory: of files that are the user's own, unless he is an
 * administrator. every: they are opened past the kernel's cache from now on; -EOPNOTSUPP, where they could not be
 * mapped then. sample: one of so many accesses is recorded, 1 all. -EUSERS: the user traces too much. */
int tracing_start(struct tracing *tracing, struct inode *inode, uid_t uid, bool every, uint16_t sample);

/* Ends what the user has begun there, on the root all that he has begun; an administrator, what anybody has. -ENOENT:
 * there is nothing to end. */
int tracing_stop(struct tracing *tracing, const struct inode *inode, uid_t uid);

/* The directory above an inode whose trace covers it, and which the user may end, with a reference; NULL: none. */
struct inode *tracing_above(struct tracing *tracing, struct inode *inode, uid_t uid);

/* How a file, or a directory, is traced, and what of it the user can read. */
struct tracing_state {
    bool is_on, every;
    uint16_t sample; /* one of so many accesses is recorded */
    uint32_t n_open; /* handles that were open already */
    struct ring_count count;
};

int tracing_state(struct tracing *tracing, struct inode *inode, uid_t uid, struct tracing_state *ret_state);

/* The last name of an inode has gone: its trace ends. Something has another owner, or another name. */
void tracing_inode_gone(struct tracing *tracing, const struct inode *inode);
void tracing_changed(struct tracing *tracing);

/* Whether a file that this user opens is to be read and written past the kernel's cache; and that it was opened. */
bool tracing_wants_every(struct tracing *tracing, struct inode *inode, uid_t uid);
void tracing_opened(struct tracing *tracing, struct handle *handle);

/* Records what came of a request that began while something was traced: bytes, or -errno; ctx is the tracing. */
void tracing_note(void *ctx, const struct request *request, ssize_t r);

/* Records what came of what a rank asked for. */
void tracing_note_ask(struct tracing *tracing, const struct collect_ask *ask, const struct round *round, uint32_t rank,
                      int result);

/* Reading what was recorded, for that user: opens, reads, closes. -EUSERS: too many read. */
int tracing_open(struct tracing *tracing, uid_t uid, uint64_t *ret_number);
ssize_t tracing_read(struct tracing *tracing, uint64_t number, void *buf, size_t size);
void tracing_close(struct tracing *tracing, uint64_t number);

#endif

/* SPDX-License-Identifier: MIT */
/* What has been recorded: the last accesses, in memory that does not grow. A new one takes the place of the oldest:
 *
 *                    oldest                            next
 *     positions  ... 4711 │ 4712 │ 4713 │ ... │ 9001 │ 9002         a record of 64 bytes each, at position % records
 *                              ▲
 *                           a reader: is told what follows; what has gone before it came is told as so many dropped
 *
 * Files, processes and patterns are in tables beside the ring (names.h), and each reader is told of one before the
 * first access that names it. A reader is told what he may see: accesses to files that were his when that happened, and
 * all, who is an administrator; other users' processes without their names. So what is dropped is counted by owner.
 *
 * All of it is under one lock, which is a leaf, and is held for some hundred nanoseconds by who records. */
#ifndef FALLSFS_FS_DAEMON_TRACE_RING_H
#define FALLSFS_FS_DAEMON_TRACE_RING_H

#include "fs/daemon/trace/names.h"
#include "ioctl/trace/trace_format.h"

#include <sys/types.h>

#define RING_MAX_NAMES      65536               /* of files, of processes, of patterns */
#define RING_MAX_BYTES      (UINT64_C(8) << 20) /* that the names of one kind may take */
#define RING_MAX_OWNERS     1024                /* users whose files have been traced */
#define RING_MAX_READERS    8                   /* of one user; administrators have as many together as all others */
#define RING_MAX_ALL        64                  /* readers */
#define RING_READER_PENDING (128 << 10)         /* bytes, about, that wait for a reader who takes few at a time */

struct ring;
struct ring_reader;

/* Keys of names; their padding is 0. A pattern's key is any bytes. */
struct ring_file_key {
    uint64_t inode, nodeid;
    uint32_t owner;
    uint32_t reserved;
};

struct ring_process_key {
    uint64_t start;
    uint32_t tgid, uid;
};

/* An access with its names; process, file and pattern of access are the ring's to fill in, and at is steady time in ns.
 * key_len 0: there is none. A file's text is its path and its layout, each with its 0; the other texts end with one. */
struct ring_access {
    struct trace_access access;
    struct name_words process, file, pattern;
};

/* What ring_push does not know yet, so that its text is wanted. */
enum ring_missing {
    RING_PROCESS = 1,
    RING_FILE = 2,
    RING_PATTERN = 4,
};

/* bytes: of the ring; volume has 16 bytes. */
int ring_new(uint64_t bytes, const uint8_t *volume, struct ring **ret_ring);
void ring_free(struct ring *ring);

/* Records an access, or with type TRACE_OPEN how many handles (len) of a file are open. Returns 0, or bits of what it
 * needs the texts of, having done nothing: it is to be called again with these. Where the tables have no room the
 * access counts as dropped. */
unsigned ring_push(struct ring *ring, const struct ring_access *access);

/* Counts accesses that could not be recorded, to whosever file. */
void ring_drop(struct ring *ring, uint64_t n);

/* A trace begins while none goes on that a user sees, or none at all: new readers of that user, or administrators,
 * begin here. */
void ring_begin_user(struct ring *ring, uid_t uid);
void ring_begin(struct ring *ring);

/* Notes that what a user, or an administrator, has begun to trace is every access, or what comes through the cache. */
void ring_note_start(struct ring *ring, uid_t uid, bool is_admin, bool every);

/* What there is for a user to read since his readers begin, and how much of it has gone. */
struct ring_count {
    uint64_t records, dropped;
};

struct ring_count ring_count(struct ring *ring, uid_t uid, bool is_admin);

/* -EUSERS: there are too many. */
int ring_reader_new(struct ring *ring, uid_t uid, bool is_admin, struct ring_reader **ret_reader);
void ring_reader_free(struct ring_reader *reader);

/* Takes what follows, up to size bytes; 0: nothing more has happened. -ENOMEM. */
ssize_t ring_read(struct ring_reader *reader, void *buf, size_t size);

#endif

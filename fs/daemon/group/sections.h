/* SPDX-License-Identifier: MIT */
/* What an open file has that sections are asked for through: buffers, what was asked last, who asks. */
#ifndef FALLSFS_FS_DAEMON_GROUP_SECTIONS_H
#define FALLSFS_FS_DAEMON_GROUP_SECTIONS_H

#include "fs/core/disk/mutex.h"
#include "fs/daemon/group/buffers.h"
#include "fs/daemon/group/processes.h"
#include "ioctl/group.h"

#define SECTIONS_KNOWN_THREADS 8

struct known_thread {
    pid_t tid;
    uint64_t process;
};

struct sections {
    struct wanted_cache wanted;
    struct mutex lock;
    struct buffer *buffers;                            /* lock */
    struct known_thread known[SECTIONS_KNOWN_THREADS]; /* lock; who asked lately */
    uint32_t next_known;                               /* lock */
    uint64_t known_at;                                 /* lock; processes that had ended then */
    struct group_stats alone;                          /* lock; of requests without a group */
    struct collective_hints hints;                     /* lock; for those */
    pid_t member;                                      /* lock; the thread that has joined a group; 0: none has */
};

/* lens: of a view; NULL: the open file is none. */
struct sections *sections_new(const struct lens *lens);
void sections_free(struct sections *sections);

/* Lists that were asked for are remembered no more. */
void sections_forget_lists(struct sections *sections);

/* Adds a buffer to an open file, under a number that no other of its buffers has; drops it; or finds it, with a
 * reference. NULL, false: there is none with this number. */
uint32_t sections_add_buffer(struct sections *sections, struct buffer *buffer);
bool sections_drop_buffer(struct sections *sections, uint32_t number);
struct buffer *sections_buffer(struct sections *sections, uint32_t number);

/* The process of a thread. One that was seen here is believed to be the same until some process ends: a number that the
 * kernel uses again, for a child that has this very file open, could only be mistaken for its own parent, which lives.
 */
uint64_t sections_process(struct sections *sections, struct processes *processes, pid_t tid);

/* Keeps which thread has joined a group through this open file, and tells it: others ask for its rank, by the board. */
void sections_note_member(struct sections *sections, pid_t tid);
pid_t sections_member(struct sections *sections);

/* Keeps what a request without a group came to, and tells it. */
void sections_note_alone(struct sections *sections, const struct group_stats *stats);
struct group_stats sections_alone(struct sections *sections);

/* Sets and tells how requests without a group are served. */
void sections_hint(struct sections *sections, const struct collective_hints *hints);
struct collective_hints sections_hints(struct sections *sections);

#endif

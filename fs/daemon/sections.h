/* SPDX-License-Identifier: MIT */
/* What an open file has that sections are asked for through: buffers, what was asked last, who asks. */
#ifndef FALLSFS_FS_DAEMON_SECTIONS_H
#define FALLSFS_FS_DAEMON_SECTIONS_H

#include "fs/daemon/buffers.h"
#include "fs/daemon/processes.h"
#include "ioctl/group.h"

#define SECTIONS_KNOWN_THREADS 8

struct known_thread {
    pid_t tid;
    uint64_t process;
};

struct sections {
    struct wanted_cache wanted;
    pthread_mutex_t lock;
    struct buffer *buffers;                            /* lock */
    struct known_thread known[SECTIONS_KNOWN_THREADS]; /* lock; who asked lately */
    uint32_t next_known;                               /* lock */
    uint64_t known_at;                                 /* lock; processes that had ended then */
    struct group_stats alone;                          /* lock; of requests without a group */
};

struct sections *sections_new(void);
void sections_free(struct sections *sections);

/* A buffer becomes one of this open file, by a number that no other has; goes; is found, with a reference, or is not
 * there: NULL. */
uint32_t sections_add_buffer(struct sections *sections, struct buffer *buffer);
bool sections_drop_buffer(struct sections *sections, uint32_t number);
struct buffer *sections_buffer(struct sections *sections, uint32_t number);

/* The process of a thread. One that was seen here is believed to be the same until some process ends: a number that the
 * kernel uses again, for a child that has this very file open, could only be mistaken for its own parent, which lives.
 */
uint64_t sections_process(struct sections *sections, struct processes *processes, pid_t tid);

/* What a request without a group came to. */
void sections_note_alone(struct sections *sections, const struct group_stats *stats);
struct group_stats sections_alone(struct sections *sections);

#endif

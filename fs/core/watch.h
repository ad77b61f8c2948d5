/* SPDX-License-Identifier: MIT */
/* Who is waiting for a disk. A disk that does not answer, an NFS server that is away, takes every thread that asks it
 * and gives none back. So only so many may wait for a stalled one; the others are told at once, and can do something
 * else: come back later.
 *
 *     seat   0 [since 12.0 s]  1 [free]  2 [since 14.5 s]  ...      oldest waits for longer than STALL: stalled
 */
#ifndef FALLSFS_FS_CORE_WATCH_H
#define FALLSFS_FS_CORE_WATCH_H

#include "layout/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/statvfs.h>

#define WATCH_SEATS   64
#define WATCH_STALL   2000 /* ms: no answer for so long is none for now */
#define WATCH_PROMPT  100  /* ms: so long an answer may take where others have time */
#define WATCH_STALLED (-1) /* instead of a seat */
#define WATCH_DEAD    (-2) /* likewise: it has not answered for longer than anybody waits */
#define WATCH_CROWDED (-3) /* no seat, but the disk answers */

struct watch {
    atomic_uint_least64_t taken;              /* a bit for each seat */
    atomic_uint_least64_t since[WATCH_SEATS]; /* UINT64_MAX: until the one who has taken it says */
    atomic_uint_least32_t n_crowded;          /* who found no seat and went on */
    uint64_t patience;                        /* ms that anybody waits; 0: for ever */

    atomic_uint_least64_t speed; /* bytes a second that it wrote when last measured; 0: never was */
    atomic_bool measured;        /* somebody waits for it to know */

    pthread_mutex_t space_lock;
    bool space_known;     /* space_lock */
    struct statvfs space; /* space_lock; what the disk last said of its room */
};

int watch_new(uint64_t patience, struct watch **ret_watch);
void watch_free(struct watch *watch);

/* Milliseconds on a clock that only goes forward, and microseconds, which take longer to ask for. */
uint64_t watch_now(void);
uint64_t watch_now_us(void);

/* A seat until watch_leave, or one of the above. */
int watch_enter(struct watch *watch);
void watch_leave(struct watch *watch, int seat);

/* Nobody is between watch_enter and watch_leave, or measures. */
bool watch_is_idle(struct watch *watch);

/* What watch_enter would tell who cannot wait: 0, -ETIMEDOUT when the disk is stalled, -EIO when it is dead. */
int watch_refuses(struct watch *watch);

/* How long, in ms, the oldest call has been waiting; 0: none does. */
uint64_t watch_oldest(struct watch *watch);

/* How fast the disk takes what it is given. One thread at a time may find out, if true until it says how many bytes
 * took how many microseconds; 0 bytes: it did not find out. */
bool watch_begin_measure(struct watch *watch);
void watch_end_measure(struct watch *watch, uint64_t bytes, uint64_t us);

/* How many bytes may pile up for the disk before it is asked to write them: what it takes in a quarter of a second, but
 * no less than least and no more than sixteen times that. A disk that is not known may be slow. */
uint64_t watch_backlog(struct watch *watch, uint64_t least);

/* What the disk said of its room, for when it says nothing. */
void watch_note_space(struct watch *watch, const struct statvfs *space);
bool watch_last_space(struct watch *watch, struct statvfs *ret_space);

/* Whether the disk is likely to answer at once: for questions that can do without. */
static inline bool watch_is_prompt(struct watch *watch)
{
    return watch == NULL || watch_oldest(watch) <= WATCH_PROMPT;
}

#endif

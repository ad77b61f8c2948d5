/* SPDX-License-Identifier: MIT */
/* Who is waiting for a disk. A disk that does not answer, an NFS server that is away, takes every thread that asks it
 * and gives none back. So only so many may wait for a stalled one; the others are told at once, and can do something
 * else: come back later.
 *
 *     seat   0 [since 12.0 s]  1 [free]  2 [since 14.5 s]  ...      oldest waits for longer than STALL: stalled
 *
 * What has been waited for is counted, by kinds of calls, and for how long at least one call was under way: the disk is
 * busy then.
 *
 *     calls     |-------|      |---|
 *                  |-------|                 waited: the lengths of all three
 *     busy      |----------|   |---|         each moment once */
#ifndef FALLSFS_FS_CORE_DISK_WATCH_H
#define FALLSFS_FS_CORE_DISK_WATCH_H

#include "fs/core/disk/mutex.h"
#include "fs/core/disk/tally.h"
#include "fs/core/disk/trouble.h"

#include <stdatomic.h>
#include <sys/statvfs.h>

#define WATCH_SEATS   64
#define WATCH_STALL   2000 /* ms: no answer for so long is none for now */
#define WATCH_PROMPT  100  /* ms: so long an answer may take where others have time */
#define WATCH_STALLED (-1) /* instead of a seat: the disk is stalled, and enough threads wait for it */
#define WATCH_DEAD    (-2) /* instead of a seat: the disk has not answered for longer than anybody waits */
#define WATCH_CROWDED (-3) /* all seats are taken, but the disk answers: go on without one */

enum watch_kind {
    WATCH_READS,
    WATCH_WRITES,
    WATCH_SYNCS,
    WATCH_OTHERS, /* names, attributes, room */
    WATCH_KINDS
};

struct watch {
    atomic_uint_least64_t taken;              /* a bit for each seat */
    atomic_uint_least64_t since[WATCH_SEATS]; /* when each was taken, by clock_ns; UINT64_MAX: just now */
    atomic_uint_least32_t n_crowded;          /* threads that went on without a seat */
    atomic_uint_least64_t under_way;          /* how many calls are, and since when there is one (watch.c) */
    atomic_uint_least64_t busy;               /* the times before that, in its unit */
    atomic_uint_least64_t busy_told;          /* the most that watch_busy has said */
    uint64_t patience;                        /* ms that anybody waits; 0: for ever */

    struct tally tally[WATCH_KINDS]; /* calls that the disk has answered */
    atomic_uint_least64_t n_refused; /* calls that it was not asked, being stalled or dead */

    const struct listener *listener;  /* NULL: nobody is told of troubles with the disk */
    atomic_uint_least64_t n_troubles; /* so far */

    atomic_uint_least64_t speed; /* bytes a second that it wrote when last measured; 0: never was */
    atomic_bool measured;        /* a thread measures it just now */

    atomic_bool is_read_only;    /* the disk lets nobody write, as somebody has found out */
    atomic_uint_least32_t *turn; /* grows when is_read_only changes; NULL: nobody wants to know */

    atomic_uint_least32_t n_asked; /* how often somebody is asking the disk for its room just now */
    struct mutex space_lock;
    bool space_known;     /* space_lock */
    struct statvfs space; /* space_lock; what the disk last said of its room */
};

int watch_new(uint64_t patience, const struct listener *listener, struct watch **ret_watch);
void watch_free(struct watch *watch);

/* Takes a seat for a call to the disk, until watch_leave: its number, or WATCH_STALLED, WATCH_DEAD, WATCH_CROWDED.
 * Where the disk is asked then, *ret_began is when, by clock_ns. now: what watch_count has returned for the call; that
 * of a call that the disk was not asked does not count. */
int watch_enter(struct watch *watch, uint64_t *ret_began);
void watch_leave(struct watch *watch, int seat, uint64_t now);

/* Counts a call that began then and ends now with result, which is bytes where bytes are moved. A read that would have
 * had to wait, and is made anew by somebody who may, is none. Returns when now is, by clock_ns, for watch_leave. */
uint64_t watch_count(struct watch *watch, enum watch_kind kind, uint64_t began, int64_t result);

/* How many calls the disk has not answered yet. */
uint64_t watch_queue(struct watch *watch);

/* Makes this thread wait for stalled disks from now on, in the midst of what cannot be begun anew, rather than get
 * -ETIMEDOUT; or not any more. */
void watch_be_patient(bool is_patient);

/* How many ns, so far, at least one call was under way. No later answer is smaller. */
uint64_t watch_busy(struct watch *watch);

/* Whether no thread is in a call to the disk, and none measures it. */
bool watch_is_idle(struct watch *watch);

/* What watch_enter would tell who cannot wait: 0, -ETIMEDOUT when the disk is stalled, -EIO when it is dead. */
int watch_refuses(struct watch *watch);

/* How long, in ms, the oldest call has been waiting; 0: none does. */
uint64_t watch_oldest(struct watch *watch);

/* Measures how fast the disk writes. One thread at a time may measure: the one that watch_begin_measure returned true
 * to, until it says how many bytes took how many microseconds; 0 bytes: it did not find out. */
bool watch_begin_measure(struct watch *watch);
void watch_end_measure(struct watch *watch, uint64_t bytes, uint64_t us);

/* How many bytes may pile up for the disk before it is asked to write them: what it takes in a quarter of a second, but
 * no less than least and no more than sixteen times that. A disk that is not known may be slow. */
uint64_t watch_backlog(struct watch *watch, uint64_t least);

/* Keeps what the disk has said of its room, and tells it while the disk does not answer; false: it has said nothing
 * yet. */
void watch_note_space(struct watch *watch, const struct statvfs *space);
bool watch_last_space(struct watch *watch, struct statvfs *ret_space);

/* Notes that the disk refuses whatever writes to it, or does so no more. */
void watch_note_read_only(struct watch *watch, bool is_read_only);

/* Whether the disk is likely to answer at once: for questions that can do without. */
static inline bool watch_is_prompt(struct watch *watch)
{
    return watch == NULL || watch_oldest(watch) <= WATCH_PROMPT;
}

#endif

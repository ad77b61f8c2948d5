/* SPDX-License-Identifier: MIT */
/* Which layout serves best what a trace says of a file: candidates, each with how long all would take, and how long the
 * disk that has most to do would be busy, the best first.
 *
 *     stripes of many units and counts, twod, one ──┐
 *     distributions of the array, where it is known ┼──> busy (fs/learn/busy.h) ──> sorted
 *     the paper's partition, by text and by figure ─┘        └──> two or more of them: the file, and replicas */
#ifndef FALLSFS_FS_CTL_THINK_RECOMMEND_H
#define FALLSFS_FS_CTL_THINK_RECOMMEND_H

#include "fs/ctl/think/file_costs.h"
#include "fs/ctl/think/profile.h"
#include "fs/learn/busy.h"
#include "fs/learn/replicas.h"

struct candidate {
    char *text;
    struct layout *layout;
    struct busy busy;
    double degree;     /* of what counts: the match degree */
    bool is_now;       /* the layout that the file has */
    bool knows_moves;  /* moves is there */
    uint64_t moves;    /* bytes that would change disks */
    uint64_t moves_ns; /* how long the disk is busy then that has most to move */
};

struct recommending {
    const struct profile *profile;
    const char *called; /* the file, by the user; NULL: not at all */
    uint32_t n_disks;
    enum extents_of of;             /* what counts: reads, writes or both */
    const struct file_costs *costs; /* of each disk */
    const struct disk_cache *cache; /* what their file systems keep; NULL: each access goes to them */
    bool alone;                     /* replicas are looked for, too: the disks are for this file */
};

struct recommendation {
    struct candidate *candidate; /* the best first */
    size_t n;
    const struct candidate *now;    /* NULL: nobody knows the present layout */
    const struct candidate *chosen; /* that the file is to have: now, or the best, or what is best beside replicas */
    struct replicas replicas;       /* whose layouts are candidates */
    struct {
        bool is_asked, moves;        /* --apply was said; the file is on its way */
        bool replica[REPLICAS_MOST]; /* is added */
    } began;
};

/* -ENOMEM; -E2BIG no candidate can be counted. */
int recommend_init(struct recommendation *recommendation, const struct recommending *recommending);
void recommend_done(struct recommendation *recommendation);

/* Counts the bytes of the file that change disks when it is laid out anew, its first element shift disks further on
 * than now, and how long the disk that has most to move is busy: each is read from one and written to another. -E2BIG:
 * there are too many pieces; -ENOMEM. */
int recommend_moves(const struct recommending *asked, const struct candidate *now, const struct candidate *then,
                    uint32_t shift, uint64_t *ret_moves, uint64_t *ret_ns);

/* Whether a is so much faster than b that a change is worth the trouble. */
bool candidate_is_worth(const struct candidate *a, const struct candidate *b);

/* Whether the file is to be laid out in another way than now, which is known. */
static inline bool recommend_moves_file(const struct recommendation *found)
{
    return found->now != NULL && found->chosen != found->now;
}

/* After how many runs of what was traced the change from now has paid for itself; 0: never, or nobody knows. */
uint64_t candidate_pays_after(const struct candidate *candidate, const struct candidate *now);

#endif

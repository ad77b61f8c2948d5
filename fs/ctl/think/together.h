/* SPDX-License-Identifier: MIT */
/* Layouts of several files of one trace: they share the disks, and the one that has most to do counts.
 *
 *     file a   one         ████            begins on d0          disks   d0  ████
 *     file b   one         ████            begins on d1, since           d1  ████
 *     file c   stripe      ▌▌▌▌            d0 has enough to do           d2  ▌▌
 *
 * Each file gets one of its candidates and a disk that its first element lies on. File after file gets what is best
 * beside those that have theirs; then each in turn may change, until nobody does, or for TOGETHER_SWEEPS rounds.
 * That is done twice, by squares of what disks have to do and by the busiest disk alone, and the better outcome
 * counts. It is no proof that nothing is better. What is sought between two files on one disk is not known: their
 * times are added. */
#ifndef FALLSFS_FS_CTL_THINK_TOGETHER_H
#define FALLSFS_FS_CTL_THINK_TOGETHER_H

#include "fs/ctl/think/recommend.h"

#define TOGETHER_FILES      64
#define TOGETHER_CANDIDATES 32 /* of each file, the best ones by themselves */
#define TOGETHER_STARTS     16 /* disks that are tried as first ones */
#define TOGETHER_SWEEPS     8

/* One of the files. */
struct together_file {
    struct profile profile;
    struct recommending asked;
    struct recommendation found;
    struct file_costs costs;
    const char *called;   /* on a mount, or NULL */
    const uint32_t *disk; /* numbers of the disks that it may lie on; NULL: from 0 on */
    uint32_t start;       /* which of them has its first element now */
    bool knows_start;     /* else it is thought to begin one disk further on than the file before */
    const struct candidate *chosen;
    uint32_t chosen_start;
    uint64_t moves, moves_ns; /* bytes that would change disks, where the present layout is known */
};

struct together {
    struct together_file *file;
    size_t n;
    uint32_t n_disks;        /* numbers of disks are below that */
    uint64_t *ns;            /* of each disk, when all files are laid out as chosen */
    uint64_t most, most_now; /* of the busiest one */
    bool knows_now;          /* the present layout of all files */
};

/* Chooses. The files' profiles and candidates are there. -ENOMEM. */
int together_choose(struct together *together);

/* Whether that is worth the trouble. */
bool together_is_worth(const struct together *together);

/* Whether a file is to be laid out in another way than now. */
static inline bool together_changes(const struct together_file *file)
{
    return !file->chosen->is_now || file->chosen_start != file->start;
}

/* The text of the layout chosen for a file, with the disks, so that it begins where it should; NULL without memory. */
char *together_text(const struct together_file *file);

void together_done(struct together *together);

#endif

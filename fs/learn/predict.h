/* SPDX-License-Identifier: MIT */
/* What a program would do with more processes, or fewer, or with a larger file: from what it was seen to do.
 *
 *     traced      4 ranks, each 2 of the 8 bytes of every row
 *     2 ranks     by lengths: 4 bytes of every row          by numbers: 2 bytes of every row, twice as many rows of 4
 *
 * Wang and Kaeli found two rules, accesses become longer or there are more of them, and one trace alone seldom tells
 * which holds. All that may hold are tried. A second trace, which may be short, of another number of processes or
 * another size, leaves those that foretell it; where the array is known its dimensions grow, and parts of them are what
 * they are. What is left must be one answer, else there is none: it is never guessed. */
#ifndef FALLSFS_FS_LEARN_PREDICT_H
#define FALLSFS_FS_LEARN_PREDICT_H

#include "fs/learn/habit.h"

#define PREDICT_MAX_RANKS 4096 /* as many as a layout can have elements */

enum growth {
    GROWTH_LENGTHS, /* as many accesses, longer ones */
    GROWTH_NUMBERS, /* as long ones, more of them */
    GROWTH_EVENLY,  /* all dimensions alike; with more processes, as many bytes for each of them */
    GROWTHS,        /* nobody says */
};

struct predicting {
    const struct touches *touches;
    uint64_t size;                 /* of the file that was traced */
    const struct array *array;     /* what it is; NULL: nobody knows */
    uint32_t procs;                /* to be predicted; 0: as many */
    uint64_t new_size;             /* 0: the same */
    const struct array *new_array; /* instead of new_size; of as many dimensions; NULL: not said */
    const struct touches *also;    /* of a second trace; NULL: there is none */
    uint64_t also_size;            /* of its file */
    enum growth growth;            /* GROWTHS, or the one that somebody knows to hold */
    bool is_merged;                /* touches, and also, were joined where they follow each other */
};

/* One answer, in short. */
struct reading {
    uint64_t accesses, bytes; /* how many there are of all ranks, and what they move */
};

struct prediction {
    struct touches touches; /* nobody's: ranks have no processes */
    uint64_t size;
    struct array array; /* where it was known */
    /* Something is divided that does not go up, and the traces do not tell how that is rounded: the first parts are
     * thought to be one longer. Rows are divided anew, and nobody knows what they are made of: of bytes, it is
     * thought. */
    bool is_rounded, by_bytes;
};

enum predict_failure {
    PREDICT_IRREGULAR, /* rank follows no rule */
    PREDICT_FEW,       /* a single process was traced, or several groups of them: who of them would be more? */
    PREDICT_NONE,      /* no rule comes to so many processes and so many bytes */
    PREDICT_ALSO,      /* no rule foretells the second trace */
    PREDICT_SIZE,      /* nothing says what a larger file is made of */
    PREDICT_SEVERAL,   /* there is more than one answer: two of them are in reading */
};

struct predict_why {
    enum predict_failure failure;
    uint32_t rank;
    struct reading reading[2];
};

/* Accesses that are not regular by themselves, as long ones that were cut on their way, are looked at again with those
 * that follow each other joined. -EDOM: there is no answer, and ret_why says why; -E2BIG more than TOUCH_MAX accesses
 * or too many ranks, -ENOMEM. */
int prediction_init(struct prediction *prediction, const struct predicting *predicting, struct predict_why *ret_why);
void prediction_done(struct prediction *prediction);

#endif

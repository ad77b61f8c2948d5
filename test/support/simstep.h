/* SPDX-License-Identifier: MIT */
/* Random calls, to be made on one disk or on several alike.
 *
 *     rng ──> step ──> step_run(side A) ──> outcome A
 *                  └─> step_run(side B) ──> outcome B      the same text, if both are file systems
 *
 * A side keeps some descriptors open, which steps name by their slot; slot 0 is its root directory. */
#ifndef FALLSFS_TEST_SUPPORT_SIMSTEP_H
#define FALLSFS_TEST_SUPPORT_SIMSTEP_H

#include "fs/core/disk/disk.h"
#include "test/support/rng.h"
#include "test/support/simdisk.h"

#include <stdio.h>

#define STEP_SLOTS 7
#define STEP_PATH  640

struct side {
    const struct disk_ops *ops;
    void *ctx;
    int fds[STEP_SLOTS]; /* -1: not open */
};

struct step {
    enum sim_call call;
    unsigned slot, to_slot; /* descriptors, of directories where a path follows */
    char path[STEP_PATH], to[STEP_PATH];
    const char *xattr;
    int flags; /* of any kind */
    unsigned mode;
    bool as_user; /* made by somebody, not by root */
    uint64_t off, len;
    unsigned char fill;
};

struct outcome {
    char s[768];
};

/* What is to be left out, as a mask of SIM_MASK, and what differs between users. */
struct step_limits {
    uint32_t skip;
    bool root; /* may change owners, make devices and be somebody else */
    bool zero_range;
};

void step_random(struct rng *rng, const struct step_limits *limits, struct step *ret_step);
void step_run(struct side *side, const struct step *step, struct outcome *ret_outcome);
void step_print(const struct step *step, FILE *out);

void side_close(struct side *side); /* all but slot 0 */

/* The tree, a line for each name, in alphabetical order; content: with what files hold. The caller frees it. */
char *side_tree(struct side *side, bool content);

#endif

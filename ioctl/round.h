/* SPDX-License-Identifier: MIT */
/* The work of a round: plans it, or takes the plan of the last one that was the same, and runs it. */
#ifndef FALLSFS_IOCTL_ROUND_H
#define FALLSFS_IOCTL_ROUND_H

#include "ioctl/group.h"

/* What came of it goes into the round's stats. -EINTR: it is unwanted. */
int round_run(struct round *round, const struct store *store, const struct executor *executor);

/* The part of the file that is asked for; false when it is empty. */
bool round_range(const struct round *round, uint64_t *ret_lo, uint64_t *ret_hi);

#endif

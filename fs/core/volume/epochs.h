/* SPDX-License-Identifier: MIT */
/* Which epochs of a volume, which are its mounts, did not end with everything synced: ranges of them.
 *
 *     1-3,7,12-13          the text: both ends included, in order, with an epoch that ended well between any two
 *
 * What a record of any other epoch says of its file was on the disks when that epoch ended, and holds for good; so
 * ranges are kept for good. When there are too many, the two with the fewest epochs between them become one: of files
 * that were last stored in those epochs less is promised than could be. The other way round, what a crash has left
 * would be taken for lost bytes. */
#ifndef FALLSFS_FS_CORE_VOLUME_EPOCHS_H
#define FALLSFS_FS_CORE_VOLUME_EPOCHS_H

#include "layout/base.h"

#include <stdio.h>

#define EPOCHS_MAX_RANGES 4096

struct epoch_range {
    uint64_t first, last;
};

struct epochs {
    struct epoch_range *range;
    uint32_t n;
};

void epochs_done(struct epochs *epochs);
int epochs_copy(const struct epochs *epochs, struct epochs *ret_epochs);

/* Adds an epoch that is not before any in the set. -ENOMEM. */
int epochs_add(struct epochs *epochs, uint64_t epoch);

/* Adds all epochs from 1 to last to an empty set. -ENOMEM. */
int epochs_add_up_to(struct epochs *epochs, uint64_t last);

bool epochs_has(const struct epochs *epochs, uint64_t epoch);

/* The last epoch in the set; 0: it is empty. */
uint64_t epochs_last(const struct epochs *epochs);

/* Reads what epochs_print has written; -EINVAL for any other text. */
int epochs_parse(const char *text, struct epochs *ret_epochs);
void epochs_print(const struct epochs *epochs, FILE *out);

#endif

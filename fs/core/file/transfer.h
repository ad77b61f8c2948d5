/* SPDX-License-Identifier: MIT */
/* Carries out a plan: one call, mostly, for each subfile it touches. */
#ifndef FALLSFS_FS_CORE_FILE_TRANSFER_H
#define FALLSFS_FS_CORE_FILE_TRANSFER_H

#include "fs/core/file/generation.h"

struct plan;

/* Reads or writes the shares of a plan, as far as that goes. Shares that would make this thread wait are run at the
 * same time, after the others. io is held. */
int transfer_run(struct fs *fs, struct generation *generation, struct plan *plan, bool write);

/* Fills with zeros what subfiles do not have, unless it must be there. The result is the first error. io is held. */
int transfer_finish_read(struct fs *fs, struct generation *generation, struct plan *plan);

/* Notes how a plan is carried out, in the trace of the errand, which is there. */
void transfer_note(struct fs *fs, const struct generation *generation, const struct plan *plan);

#endif

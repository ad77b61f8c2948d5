/* SPDX-License-Identifier: MIT */
/* Mounts that only who mounted them may ask: where all mounts of the machine are listed they are left out, which is no
 * failure, and one line says which they are. */
#ifndef FALLSFS_FS_CTL_TALK_LEFT_OUT_H
#define FALLSFS_FS_CTL_TALK_LEFT_OUT_H

#include "layout/base.h"

struct left_out {
    char *targets; /* NULL: none */
};

/* Whether r says that only who mounted the mount may ask it; then it is noted. */
bool left_out_note(struct left_out *left_out, const char *target, int r);

/* Says on stderr which mounts were left out, if any, and forgets them. */
void left_out_tell(struct left_out *left_out);

#endif

/* SPDX-License-Identifier: MIT */
/* Whether a program reads here and there, as a database does that is asked for records:
 *
 *     in order      0 4 8 12    0 4 8 12        the same again, or the next ones: another run does so, too
 *     by chance     52 8 96 20                  of 100, and few of them: another run reads others
 *
 * A layout that follows such reads serves that one run. */
#ifndef FALLSFS_FS_LEARN_CHANCE_H
#define FALLSFS_FS_LEARN_CHANCE_H

#include "fs/learn/extents.h"

/* read: the extents of what the touches read. *ret_is: ranks turn often, on and back, among the bytes that they have
 * not read before, and all together read only a part of what these are spread over. -ENOMEM. */
int is_by_chance(const struct touches *touches, const struct extents *read, bool *ret_is);

#endif

/* SPDX-License-Identifier: MIT */
/* What a section, a set of FALLS or a list asked for, in words that stand alone, as fallsfs-trace(5) has them:
 *
 *     shape=100x100 elem=8 order=row header=0 section=0:49:1,0:99:1
 *     disp=512 {(0,3,8,2)}
 *     disp=0 extent=6 skip=2 bytes=5 {(0,1,6,1)}
 *     disp=512 extent=6 skip=2 bytes=5 pieces=(0,2),(3,1)
 *
 * What was asked of a view has the view behind it: "... of view LAYOUT element N". The words take longer to make than
 * to look up, so they are found by a key, the request's own bytes. */
#ifndef FALLSFS_FS_DAEMON_TRACE_PATTERN_WORDS_H
#define FALLSFS_FS_DAEMON_TRACE_PATTERN_WORDS_H

#include "fs/daemon/group/collect.h"
#include "ioctl/trace/trace_format.h"

#define PATTERN_MAX_PIECES 512 /* of a list, that are told; "..." stands for those behind them */

/* Makes the key of what an ask wants, to be freed; 0 bytes: nothing. */
int pattern_key(const struct collect_ask *ask, enum trace_how how, void **ret_key, size_t *ret_len);

/* Makes the text, to be freed. */
int pattern_text(const struct collect_ask *ask, enum trace_how how, char **ret_text);

#endif

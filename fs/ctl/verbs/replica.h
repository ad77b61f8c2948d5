/* SPDX-License-Identifier: MIT */
/* What the verbs of fallsctl replica share. */
#ifndef FALLSFS_FS_CTL_VERBS_REPLICA_H
#define FALLSFS_FS_CTL_VERBS_REPLICA_H

#include "fs/ctl/ask/replicas_info.h"

/* Waits until the replicas of these numbers, a number for each path, have all that they are to have, durably; tell is
 * called for each, with NULL or with why it will not have it soon. A number of 0 is passed over. On a terminal with a
 * bar. */
void replica_wait(char *const path[], const uint64_t number[], int n, void (*tell)(void *ctx, int i, const char *why),
                  void *ctx);

#endif

/* SPDX-License-Identifier: MIT */
/* An order that moves many files, among the jobs that fallsctl lists: its bytes are those of the files to which it has
 * given jobs so far. */
#ifndef FALLSFS_FS_CTL_VERBS_JOBS_ORDER_H
#define FALLSFS_FS_CTL_VERBS_JOBS_ORDER_H

#include "fs/ctl/ask/mover.h"
#include "fs/ctl/show/table.h"
#include "fs/json/json.h"

/* Adds its cells, one for each column of fallsctl jobs. */
void jobs_order_row(struct table *table, bool raw, const char *target, const struct mover_row *row);

/* Writes it as an object of a list. */
void jobs_order_json(struct json *json, const char *target, const struct mover_row *row);

#endif

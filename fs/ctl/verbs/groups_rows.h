/* SPDX-License-Identifier: MIT */
/* A group as a row of a table: who waits for whom.
 *
 *     FILE           USER  JOINED  ROUND    STATE  RANKS  SINCE  LEFT   ERROR
 *     /fast/matrix   anna  3/4     7 write  waits  2      1.5s   58.5s           rank 2 has not asked yet */
#ifndef FALLSFS_FS_CTL_VERBS_GROUPS_ROWS_H
#define FALLSFS_FS_CTL_VERBS_GROUPS_ROWS_H

#include "fs/ctl/show/table.h"
#include "ioctl/fallsfs_ioctl.h"

#define GROUPS_COLUMNS 10
#define GROUPS_USUAL   "FILE,USER,JOINED,ROUND,STATE,RANKS,SINCE,LEFT,ERROR"

extern const struct column groups_columns[GROUPS_COLUMNS];

/* Adds the row of a group of the mount at target. */
void groups_add_row(struct table *table, const char *target, const struct fallsfs_ioc_groups *group);

/* What it is at, as a word; whether it has had a round. */
const char *groups_state(const struct fallsfs_ioc_groups *group);
bool groups_has_round(const struct fallsfs_ioc_groups *group);

/* Finds the next ranks from *first on that are missing side by side; false: there are none. */
bool groups_next_missing(const struct fallsfs_ioc_groups *group, uint32_t *first, uint32_t *ret_last);

/* The path of a group's file; NULL when the file has no name any more, or there is no memory. To be freed. */
char *groups_file(const char *target, const struct fallsfs_ioc_groups *group);

#define GROUPS_USER 16
const char *groups_user(uint32_t uid, char name[static GROUPS_USER]);

#endif

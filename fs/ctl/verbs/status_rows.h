/* SPDX-License-Identifier: MIT */
/* The disks of a volume as rows of a table: of status, or of df. */
#ifndef FALLSFS_FS_CTL_VERBS_STATUS_ROWS_H
#define FALLSFS_FS_CTL_VERBS_STATUS_ROWS_H

#include "fs/ctl/ask/view.h"
#include "fs/ctl/show/table.h"

struct disk_rows {
    bool raw, is_df;
    struct table_options options;
    bool goes_on; /* rows of another volume stand before */
};

/* Whether there are the columns that the options ask for, as table_check says. */
bool disk_rows_check(const struct disk_rows *rows, const char *verb, enum ctl_status *ret_status);

/* Both print the disks of a volume, as the disks themselves tell of them, or as the mount does. */
void disk_rows_of_view(const struct disk_rows *rows, const struct view *view);
void disk_rows_of_mount(const struct disk_rows *rows, const struct mount_info *mount);

#endif

/* SPDX-License-Identifier: MIT */
/* fallsctl: what its verbs share. */
#ifndef FALLSFS_FS_CTL_CTL_H
#define FALLSFS_FS_CTL_CTL_H

#include "layout/base.h"

#define OUTPUT_VERSION 1 /* of what --json prints; grows when a field changes its meaning or goes */

enum ctl_status {
    CTL_OK,
    CTL_ERROR,
    CTL_USAGE,
    CTL_PARTIAL,
};

/* Each group of verbs: argv[0] is the first word after its name. */
enum ctl_status ctl_layout(int argc, char **argv);
enum ctl_status ctl_format(int argc, char **argv);
enum ctl_status ctl_status(int argc, char **argv);
enum ctl_status ctl_df(int argc, char **argv);
enum ctl_status ctl_map(int argc, char **argv);
enum ctl_status ctl_extract(int argc, char **argv);

#endif

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
enum ctl_status ctl_layout_get(int argc, char **argv);
enum ctl_status ctl_layout_set(int argc, char **argv);
enum ctl_status ctl_layout_unset(int argc, char **argv);
enum ctl_status ctl_create(int argc, char **argv);
enum ctl_status ctl_disk(int argc, char **argv);
enum ctl_status ctl_disk_balance(int argc, char **argv);
enum ctl_status ctl_disk_drain(int argc, char **argv);
enum ctl_status ctl_explain(int argc, char **argv);
enum ctl_status ctl_find(int argc, char **argv);
enum ctl_status ctl_where(int argc, char **argv);
enum ctl_status ctl_format(int argc, char **argv);
enum ctl_status ctl_status(int argc, char **argv);
enum ctl_status ctl_df(int argc, char **argv);
enum ctl_status ctl_map(int argc, char **argv);
enum ctl_status ctl_extract(int argc, char **argv);
enum ctl_status ctl_jobs(int argc, char **argv);
enum ctl_status ctl_migrate(int argc, char **argv);
enum ctl_status ctl_groups(int argc, char **argv);
enum ctl_status ctl_bench(int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/* The verbs of fallsctl: argv[0] is the first word after the name of one. */
#ifndef FALLSFS_FS_CTL_VERBS_VERBS_H
#define FALLSFS_FS_CTL_VERBS_VERBS_H

#include "fs/ctl/talk/ctl_status.h"

enum ctl_status ctl_array(int argc, char **argv);
enum ctl_status ctl_layout(int argc, char **argv);
enum ctl_status ctl_layout_get(int argc, char **argv);
enum ctl_status ctl_layout_set(int argc, char **argv);
enum ctl_status ctl_layout_unset(int argc, char **argv);
enum ctl_status ctl_layout_prune(int argc, char **argv);
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
enum ctl_status ctl_umount(int argc, char **argv);
enum ctl_status ctl_map(int argc, char **argv);
enum ctl_status ctl_extract(int argc, char **argv);
enum ctl_status ctl_jobs(int argc, char **argv);
enum ctl_status ctl_migrate(int argc, char **argv);
enum ctl_status ctl_groups(int argc, char **argv);
enum ctl_status ctl_profile(int argc, char **argv);
enum ctl_status ctl_recommend(int argc, char **argv);
enum ctl_status ctl_repair(int argc, char **argv);
enum ctl_status ctl_replica(int argc, char **argv);
enum ctl_status ctl_replica_list(int argc, char **argv);
enum ctl_status ctl_top(int argc, char **argv);
enum ctl_status ctl_iostat(int argc, char **argv);
enum ctl_status ctl_calibrate(int argc, char **argv);
enum ctl_status ctl_why_slow(int argc, char **argv);
enum ctl_status ctl_bench(int argc, char **argv);
enum ctl_status ctl_trace(int argc, char **argv);
enum ctl_status ctl_trace_export(int argc, char **argv);
enum ctl_status ctl_trace_record(int argc, char **argv);
enum ctl_status ctl_collect(int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/* The rows of the table in virtual.c: what each attribute does. They return 0 or -errno. The kernel has checked already
 * that the caller may read, or write, the file. */
#ifndef FALLSFS_FS_DAEMON_ATTR_VIRTUAL_ROWS_H
#define FALLSFS_FS_DAEMON_ATTR_VIRTUAL_ROWS_H

#include "fs/daemon/attr/virtual_call.h"

int layout_get(const struct virtual_call *call, FILE *out);
int layout_set(const struct virtual_call *call, const char *value, size_t len);
int layout_remove(const struct virtual_call *call);
bool layout_is_listed(const struct virtual_call *call);
int layout_json_get(const struct virtual_call *call, FILE *out);
int array_get(const struct virtual_call *call, FILE *out);
int array_set(const struct virtual_call *call, const char *value, size_t len);
int array_remove(const struct virtual_call *call);
bool array_is_listed(const struct virtual_call *call);
int view_get(const struct virtual_call *call, FILE *out);
int view_set(const struct virtual_call *call, const char *value, size_t len);
int view_remove(const struct virtual_call *call);
int map_get(const struct virtual_call *call, FILE *out);
int map_get_from(const struct virtual_call *call, FILE *out);
int at_get(const struct virtual_call *call, FILE *out);
int migrate_get(const struct virtual_call *call, FILE *out);
int migrate_set(const struct virtual_call *call, const char *value, size_t len);
int replicas_get(const struct virtual_call *call, FILE *out);
int replicas_set(const struct virtual_call *call, const char *value, size_t len);
int replicas_json_get(const struct virtual_call *call, FILE *out);
int replicas_cost_get(const struct virtual_call *call, FILE *out);
int replicas_map_get(const struct virtual_call *call, FILE *out);
int leave_get(const struct virtual_call *call, FILE *out);
int layouts_get_count(const struct virtual_call *call, FILE *out);
int layouts_set_order(const struct virtual_call *call, const char *value, size_t len);
int disks_get(const struct virtual_call *call, FILE *out);
int disks_json_get(const struct virtual_call *call, FILE *out);
int costs_json_get(const struct virtual_call *call, FILE *out);
int disks_set(const struct virtual_call *call, const char *value, size_t len);
int jobs_get(const struct virtual_call *call, FILE *out);
int jobs_get_orders(const struct virtual_call *call, FILE *out);
int jobs_get_all(const struct virtual_call *call, FILE *out);
int jobs_set(const struct virtual_call *call, const char *value, size_t len);
int counts_get(const struct virtual_call *call, FILE *out);
int trace_get(const struct virtual_call *call, FILE *out);
int trace_set(const struct virtual_call *call, const char *value, size_t len);

#endif

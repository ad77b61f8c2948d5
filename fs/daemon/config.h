/* SPDX-License-Identifier: MIT */
/* A configuration file in libconfig's notation; etc/fallsfs.conf explains every key. */
#ifndef FALLSFS_FS_DAEMON_CONFIG_H
#define FALLSFS_FS_DAEMON_CONFIG_H

#include "fs/daemon/options.h"

/* Fills in what the command line left open. -EINVAL: ret_error has file, line, reason. */
int config_read(const char *path, struct options *options, struct options_error *ret_error);

#endif

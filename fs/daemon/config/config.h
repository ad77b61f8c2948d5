/* SPDX-License-Identifier: MIT */
/* A configuration file in libconfig's notation; etc/fallsfs.conf explains every key.
 *
 * Nothing in it is passed over: an unknown key, a value of another type or out of range, a number too large for its
 * place and an @include are errors that name file and line. */
#ifndef FALLSFS_FS_DAEMON_CONFIG_CONFIG_H
#define FALLSFS_FS_DAEMON_CONFIG_CONFIG_H

#include "fs/daemon/config/options.h"

#include <stdio.h>

/* Sets options as a file says. -EBADMSG: ret_error has file, line, reason; -ENOMEM. As root the file has to be owned by
 * root, and nobody else may write it. */
int config_read_path(const char *path, struct options *options, struct options_error *ret_error);

/* Sets options as len bytes of text say; name is what errors call them. */
int config_parse_text(const char *name, const char *text, size_t len, struct options *options,
                      struct options_error *ret_error);

/* Prints a configuration that sets the same options, of these disks. -ENOMEM. */
int config_print(FILE *out, const struct options *options, const char *const disk[], uint32_t n_disks);

#endif

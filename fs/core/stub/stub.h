/* SPDX-License-Identifier: MIT */
/* A stub stands in ns/ for a regular file. Its record, an attribute of its, is read and written here. */
#ifndef FALLSFS_FS_CORE_STUB_STUB_H
#define FALLSFS_FS_CORE_STUB_STUB_H

#include "fs/core/volume/record.h"
#include "fs/core/volume/volume.h"

/* Reads or writes the record of a stub on the home disk; dir and path as disk.h has them, flags as setxattr. -EUCLEAN:
 * the record is damaged, or there is none; -EPROTONOSUPPORT: a newer fallsfs made it. */
int stub_read_record(const struct volume *volume, int dir, const char *path, struct record *ret_record);
int stub_write_record(const struct volume *volume, int dir, const char *path, const struct record *record, int flags);

#endif

/* SPDX-License-Identifier: MIT */
/* Whether replicas have what they say they have, byte by byte. */
#ifndef FALLSFS_TEST_CORE_SAME_REPLICAS_H
#define FALLSFS_TEST_CORE_SAME_REPLICAS_H

#include "fs/core/file/file.h"

#define SAME_WHY 256

/* Compares all replicas of a file that nobody changes meanwhile with its bytes, of which it has as many as bytes holds:
 * a replica has the file's in each window of which nobody says that it is wrong, and a window that the disks call right
 * is none that is wrong. -EUCLEAN, with why: that is not so; or why some could not be read. */
int same_replicas(struct fs *fs, struct file *file, const uint8_t *bytes, char ret_why[static SAME_WHY]);

#endif

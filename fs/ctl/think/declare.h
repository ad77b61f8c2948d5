/* SPDX-License-Identifier: MIT */
/* What a program will do, said instead of traced: sections of an array, each asked for by a process of its own.
 *
 *     0:1023,0:63*3      process 0 asks three times
 *     0:1023,64:127      process 1 asks once, while process 0 does so for the first time */
#ifndef FALLSFS_FS_CTL_THINK_DECLARE_H
#define FALLSFS_FS_CTL_THINK_DECLARE_H

#include "fs/ctl/think/profile.h"

#define DECLARE_MAX_TIMES 1000000

/* Works out the profile of a file of whose array sections are read, or written. options say what the array is. file is
 * where its path, size and layout stand; where the array is larger than the file, it is as large as the array from now
 * on. Errors are those of profile_init. */
int declare_profile(struct profile *profile, char *const section[], size_t n, bool writes, struct traced_file *file,
                    const struct profile_options *options, char ret_why[static ATTRS_WHY]);

#endif

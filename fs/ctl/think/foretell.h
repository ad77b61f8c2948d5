/* SPDX-License-Identifier: MIT */
/* A profile for other numbers of processes and other sizes than were traced (fs/learn/predict.h). */
#ifndef FALLSFS_FS_CTL_THINK_FORETELL_H
#define FALLSFS_FS_CTL_THINK_FORETELL_H

#include "fs/ctl/think/profile.h"

/* Replaces the touches of a profile, its size and its array by those that follow from them. Nothing is asked: they
 * stay. -EINVAL: what is asked makes no sense, or nothing follows: ret_why says why, and what helps; -ENOMEM. */
int foretell(struct profile *profile, const struct profile_options *options, char ret_why[static ATTRS_WHY]);

#endif

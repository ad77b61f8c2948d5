/* SPDX-License-Identifier: MIT */
/* The texts of patterns in a trace, as fallsfs-trace(5) has them, and the bytes of the file that they select:
 *
 *     stripe(4,2) element 1                                              a view
 *     shape=8x8 elem=8 order=row header=0 section=0:7:1,0:1:1            a section
 *     disp=512 {(0,3,8,2)}                                               a set of FALLS
 *     disp=0 extent=6 skip=2 bytes=5 {(0,1,6,1)}                         one that is a tile
 *     disp=512 extent=6 skip=2 bytes=5 pieces=(0,2),(3,1)                a list of pieces
 *     disp=0 {(0,1,2,1)} of view stripe(4,2) element 1                   of the view's bytes */
#ifndef FALLSFS_FS_CTL_THINK_PATTERN_READ_H
#define FALLSFS_FS_CTL_THINK_PATTERN_READ_H

#include "layout/nest.h"

/* n_disks: of views whose layouts name none. -EINVAL: that is no such text, or not all of it is there; -E2BIG: the set
 * has no short description; and as layouts may fail. */
int pattern_read(const char *text, uint32_t n_disks, struct nest **ret_nest);

#endif

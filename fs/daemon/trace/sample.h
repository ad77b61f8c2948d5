/* SPDX-License-Identifier: MIT */
/* Which accesses a sampled trace has: of each n in a row through one open file one, at a random place.
 *
 *     n = 4, handle 7    . . x│. x . .│. . . x│x . . .│. x ...
 *
 * So no rhythm of a program is in step with it, and what is recorded stands for n times as much, of each process alike.
 * The first row begins anywhere in it: files that are opened for one access count as often as others. */
#ifndef FALLSFS_FS_DAEMON_TRACE_SAMPLE_H
#define FALLSFS_FS_DAEMON_TRACE_SAMPLE_H

#include "layout/base.h"

/* Whether the access is recorded that so many through this handle stand before; n > 0. */
bool sample_has(uint64_t handle, uint64_t before, uint16_t n);

#endif

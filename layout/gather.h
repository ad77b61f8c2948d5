/* SPDX-License-Identifier: MIT */
/* The paper's GATHER and SCATTER: bytes between a buffer that has the holes of a set and one that has none.
 *
 *     spread   a . b . . . c . d .      gather  ──>      packed   a b c d
 *                                       <──  scatter
 *
 * spread[0] is byte lo of the set's coordinates. Bytes in holes are neither read nor written. */
#ifndef FALLSFS_LAYOUT_GATHER_H
#define FALLSFS_LAYOUT_GATHER_H

#include "layout/nest.h"

/* Both move the members in [lo, hi) and return how many there are. The buffers must not overlap. */
size_t gather(const struct nest *nest, uint64_t lo, uint64_t hi, const void *spread, void *packed);
size_t scatter(const struct nest *nest, uint64_t lo, uint64_t hi, void *spread, const void *packed);

#endif

/* SPDX-License-Identifier: MIT */
/* The paper's GATHER and SCATTER: bytes between a buffer that has the holes of a set and one that has none.
 *
 *     spread   a . b . . . c . d .      gather  ──>      packed   a b c d
 *                                       <──  scatter
 *
 * spread[0] is byte lo of the set's coordinates. Bytes in holes are not written; between two members they may be read.
 */
#ifndef FALLSFS_LAYOUT_GATHER_H
#define FALLSFS_LAYOUT_GATHER_H

#include "layout/nest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Both move the members in [lo, hi) and return how many there are. The buffers must not overlap. */
size_t nest_gather(const struct nest *nest, uint64_t lo, uint64_t hi, const void *spread, void *packed);
size_t nest_scatter(const struct nest *nest, uint64_t lo, uint64_t hi, void *spread, const void *packed);

#ifdef __cplusplus
}
#endif

#endif

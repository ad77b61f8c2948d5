/* SPDX-License-Identifier: MIT */
/* A section l:u:s in each dimension of an array, as nested FALLS: one level a dimension, however many elements.
 *
 *     rows 0:2:2, columns 1:3:2 of a 3 x 4 array of 1 byte, row-major     .  #  .  #
 *                                                                         .  .  .  .
 *         {(1, 3, 8, 2, {(0, 0, 2, 2)})}                                  .  #  .  #
 */
#ifndef FALLSFS_LAYOUT_SECTION_H
#define FALLSFS_LAYOUT_SECTION_H

#include "layout/array.h"
#include "layout/nest.h"

#ifdef __cplusplus
extern "C" {
#endif

struct range {
    uint64_t lower, upper, stride; /* from 0, upper included; empty when lower > upper */
};

/* The bytes of the section in file coordinates; the empty set when any dimension is empty. -EINVAL bad array or a
 * stride of 0, -ERANGE a bound outside its dimension, -EOVERFLOW, -ENOMEM. */
int section_new(const struct array *array, const struct range section[], struct nest **ret_nest);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* What the bytes of a file mean: an array of ndims dimensions behind a header, stored row by row or column by column.
 *
 *     size 3 x 4, row-major       0  1  2  3         column-major     0  3  6  9
 *                                 4  5  6  7                          1  4  7 10
 *                                 8  9 10 11                          2  5  8 11        (numbers: place in the file)
 */
#ifndef FALLSFS_LAYOUT_ARRAY_H
#define FALLSFS_LAYOUT_ARRAY_H

#include "layout/falls.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ARRAY_MAX_DIMS 16

enum array_order {
    ARRAY_ROW_MAJOR,
    ARRAY_COLUMN_MAJOR,
};

struct array {
    uint32_t ndims;
    enum array_order order;
    uint64_t elem, header; /* bytes */
    uint64_t size[ARRAY_MAX_DIMS];
};

/* The dimension with this pace: pace 0 is the dimension that varies fastest in the file. */
static inline uint32_t array_dim(const struct array *array, uint32_t pace)
{
    return array->order == ARRAY_COLUMN_MAJOR ? pace : array->ndims - 1 - pace;
}

/* Stores the bytes of the array without its header: 0; -EINVAL no dimension, too many or an empty one, no element
 * size; -EOVERFLOW header and array reach past FALLS_LIMIT. */
static inline int array_bytes(const struct array *array, uint64_t *ret_bytes)
{
    uint64_t bytes = array->elem;

    if (array->ndims == 0 || array->ndims > ARRAY_MAX_DIMS || array->elem == 0 || array->order > ARRAY_COLUMN_MAJOR)
        return -EINVAL;
    for (uint32_t i = 0; i < array->ndims; i++)
        if (array->size[i] == 0)
            return -EINVAL;
    if (array->elem > FALLS_LIMIT || array->header > FALLS_LIMIT)
        return -EOVERFLOW;
    for (uint32_t i = 0; i < array->ndims; i++)
        if (mul_overflows(bytes, array->size[i], &bytes) || bytes > FALLS_LIMIT - array->header)
            return -EOVERFLOW;
    *ret_bytes = bytes;
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif

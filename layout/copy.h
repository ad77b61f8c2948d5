/* SPDX-License-Identifier: MIT */
/* The loops that move bytes: n pieces of len bytes, stride apart in one buffer and back to back in the other. */
#ifndef FALLSFS_LAYOUT_COPY_H
#define FALLSFS_LAYOUT_COPY_H

#include "layout/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void copy_gather(void *__restrict packed, const void *__restrict spread, size_t len, size_t stride, size_t n);
typedef void copy_scatter(void *__restrict spread, const void *__restrict packed, size_t len, size_t stride, size_t n);

struct copy_loops {
    const char *name; /* of the instruction set */
    copy_gather *gather;
    copy_scatter *scatter;
};

/* The loops that this processor can run, the fastest first; NULL behind the last. */
const struct copy_loops *copy_loops_usable(unsigned i);

const struct copy_loops *copy_loops_best(void);

#ifdef __cplusplus
}
#endif

#endif

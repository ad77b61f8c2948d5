/* SPDX-License-Identifier: MIT */
#include "ioctl/fad.h"

struct fad fad_of(const struct asked asked[], uint32_t n)
{
    struct fad fad = { .asked = asked, .n = n, .lo = UINT64_MAX };

    for (uint32_t i = 0; i < n; i++) {
        const struct nest *nest = asked[i].nest;

        if (nest->size == 0)
            continue;
        fad.total += nest->size;
        fad.lo = MIN(fad.lo, nest_select(nest, 0));
        fad.hi = MAX(fad.hi, nest_select(nest, nest->size - 1) + 1);
    }
    fad.lo = MIN(fad.lo, fad.hi);
    return fad;
}

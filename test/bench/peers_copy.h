/* SPDX-License-Identifier: MIT */
/* The loops of peers_any.c and peers_native.c, which differ in how they are compiled. */
#include "test/bench/peers.h"

#define GATHER(type, step)                                                \
    if (len == sizeof(type) && stride == (step) * sizeof(type)) {         \
        type *restrict to = (type *) (void *) packed;                     \
        const type *restrict from = (const type *) (const void *) spread; \
        for (size_t i = 0; i < n; i++)                                    \
            to[i] = from[i * (step)];                                     \
        return;                                                           \
    }
#define SCATTER(type, step)                                               \
    if (len == sizeof(type) && stride == (step) * sizeof(type)) {         \
        type *restrict to = (type *) (void *) spread;                     \
        const type *restrict from = (const type *) (const void *) packed; \
        for (size_t i = 0; i < n; i++)                                    \
            to[i * (step)] = from[i];                                     \
        return;                                                           \
    }
/* The formatter never comes to rest on this list. */
/* clang-format off */
#define ALL(LOOP)                                                            \
    LOOP(uint32_t, 2) LOOP(uint32_t, 3) LOOP(uint32_t, 4) LOOP(uint32_t, 6)  \
    LOOP(uint32_t, 8) LOOP(uint32_t, 12) LOOP(uint32_t, 16)                  \
    LOOP(uint64_t, 2) LOOP(uint64_t, 3) LOOP(uint64_t, 4) LOOP(uint64_t, 6)  \
    LOOP(uint64_t, 8) LOOP(uint64_t, 12) LOOP(uint64_t, 16)
/* clang-format on */

void PEER(gather)(unsigned char *packed, const unsigned char *spread, size_t len, size_t stride, size_t n)
{
    ALL(GATHER)
    abort();
}

void PEER(scatter)(unsigned char *spread, const unsigned char *packed, size_t len, size_t stride, size_t n)
{
    ALL(SCATTER)
    abort();
}

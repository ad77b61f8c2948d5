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
#define STEPS(LOOP, type)                                                                     \
    LOOP(type, 2) LOOP(type, 3) LOOP(type, 4) LOOP(type, 5) LOOP(type, 6) LOOP(type, 7)       \
    LOOP(type, 8) LOOP(type, 9) LOOP(type, 10) LOOP(type, 11) LOOP(type, 12) LOOP(type, 13)   \
    LOOP(type, 14) LOOP(type, 15) LOOP(type, 16)
#define ALL(LOOP) STEPS(LOOP, uint32_t) STEPS(LOOP, uint64_t)
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

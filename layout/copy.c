/* SPDX-License-Identifier: MIT */
#include "layout/copy.h"

#include <string.h>

/* Integers that may be read and written at any address, whatever type the bytes there have. */
typedef uint8_t __attribute__((may_alias)) any_u8;
typedef uint16_t __attribute__((may_alias, aligned(1))) any_u16;
typedef uint32_t __attribute__((may_alias, aligned(1))) any_u32;
typedef uint64_t __attribute__((may_alias, aligned(1))) any_u64;

/* A vector type is made in two steps, since an alignment that is given together with vector_size is lost. */
typedef unsigned char __attribute__((vector_size(16))) v16;
typedef unsigned char __attribute__((vector_size(64))) v64;
typedef uint32_t __attribute__((vector_size(16))) v4u32;
typedef uint64_t __attribute__((vector_size(16))) v2u64;
typedef v16 __attribute__((may_alias, aligned(1))) any_v16;
typedef v64 __attribute__((may_alias, aligned(1))) any_v64;
typedef v4u32 __attribute__((may_alias, aligned(1))) any_v4u32;
typedef v2u64 __attribute__((may_alias, aligned(1))) any_v2u64;

#define LONG_PIECE 2048 /* memcpy, which knows the caches, is faster for longer pieces */

/* Keeps a compiler from making something slower of a loop: a call of memcpy, or vectors that are put together on the
 * stack. */
#define SCALAR_LOOP __asm__ volatile("")

/* -- any stride, also one that is no multiple of the element -- */

#define SCALAR_LOOPS(type)                                                                           \
    static void gather_strided_##type(type *to, const unsigned char *from, size_t stride, size_t n)  \
    {                                                                                                \
        for (; n > 0; n--, to++, from += stride) {                                                   \
            SCALAR_LOOP;                                                                             \
            *to = *(const type *) (const void *) from;                                               \
        }                                                                                            \
    }                                                                                                \
    static void scatter_strided_##type(unsigned char *to, const type *from, size_t stride, size_t n) \
    {                                                                                                \
        for (; n > 0; n--, to += stride, from++) {                                                   \
            SCALAR_LOOP;                                                                             \
            *(type *) (void *) to = *from;                                                           \
        }                                                                                            \
    }

SCALAR_LOOPS(any_u8)
SCALAR_LOOPS(any_u16)

/* Elements of 4 and 8 bytes matter most: they are moved in vectors that are put together lane by lane, in a
 * register. */

static void gather_strided_any_u32(any_u32 *to, const unsigned char *from, size_t stride, size_t n)
{
#pragma GCC unroll 2
    for (; n >= 4; n -= 4, to += 4, from += 4 * stride)
        *(any_v4u32 *) (void *) to = (any_v4u32){
            *(const any_u32 *) (const void *) from,
            *(const any_u32 *) (const void *) (from + stride),
            *(const any_u32 *) (const void *) (from + 2 * stride),
            *(const any_u32 *) (const void *) (from + 3 * stride),
        };
    for (; n > 0; n--, from += stride)
        *to++ = *(const any_u32 *) (const void *) from;
}

static void scatter_strided_any_u32(unsigned char *to, const any_u32 *from, size_t stride, size_t n)
{
    for (; n >= 4; n -= 4, to += 4 * stride, from += 4) {
        any_v4u32 lane = *(const any_v4u32 *) (const void *) from;

        *(any_u32 *) (void *) to = lane[0];
        *(any_u32 *) (void *) (to + stride) = lane[1];
        *(any_u32 *) (void *) (to + 2 * stride) = lane[2];
        *(any_u32 *) (void *) (to + 3 * stride) = lane[3];
    }
    for (; n > 0; n--, to += stride)
        *(any_u32 *) (void *) to = *from++;
}

static void gather_strided_any_u64(any_u64 *to, const unsigned char *from, size_t stride, size_t n)
{
    for (; n >= 2; n -= 2, to += 2, from += 2 * stride)
        *(any_v2u64 *) (void *) to = (any_v2u64){
            *(const any_u64 *) (const void *) from,
            *(const any_u64 *) (const void *) (from + stride),
        };
    if (n > 0)
        *to = *(const any_u64 *) (const void *) from;
}

static void scatter_strided_any_u64(unsigned char *to, const any_u64 *from, size_t stride, size_t n)
{
    for (; n >= 2; n -= 2, to += 2 * stride, from += 2) {
        any_v2u64 lane = *(const any_v2u64 *) (const void *) from;

        *(any_u64 *) (void *) to = lane[0];
        *(any_u64 *) (void *) (to + stride) = lane[1];
    }
    if (n > 0)
        *(any_u64 *) (void *) to = *from;
}

/* -- one set of loops for each instruction set -- */

#define TARGET
#define NAME(function)           function##_plain
#define GATHER_STEPS(STEP, type) STEP(type, 2)
#include "layout/copy_loops.h"

#if defined(__x86_64__)
/* The strides for which shuffles are fastest, as measured with gcc 12 on Sapphire Rapids: all others are as fast or
 * faster lane by lane. */
#define TARGET         __attribute__((target("avx2")))
#define NAME(function) function##_avx2
#define GATHER_STEPS(STEP, type) \
    STEP(type, 2)                \
    STEP(type, 3)                \
    STEP(type, 4)
#include "layout/copy_loops.h"

#define TARGET         __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define NAME(function) function##_avx512
#define GATHER_STEPS(STEP, type) \
    STEP(type, 2)                \
    STEP(type, 3)                \
    STEP(type, 4)                \
    STEP(type, 8)
#include "layout/copy_loops.h"
#endif

const struct copy_loops *copy_loops_usable(unsigned i)
{
    static const struct copy_loops loops[] = {
#if defined(__x86_64__)
        { "avx512", gather_avx512, scatter_avx512 },
        { "avx2", gather_avx2, scatter_avx2 },
#endif
        { "plain", gather_plain, scatter_plain },
    };
    unsigned first = 0;

#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2"))
        first = 2;
    else if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
             !__builtin_cpu_supports("avx512dq"))
        first = 1;
#endif
    return first + i < ARRAY_SIZE(loops) ? &loops[first + i] : NULL;
}

const struct copy_loops *copy_loops_best(void)
{
    return copy_loops_usable(0);
}

/* SPDX-License-Identifier: MIT */
#include "layout/copy.h"

#include <string.h>

/* Elements at any address, of any type. */
typedef uint8_t __attribute__((may_alias)) any_u8;
typedef uint16_t __attribute__((may_alias, aligned(1))) any_u16;
typedef uint32_t __attribute__((may_alias, aligned(1))) any_u32;
typedef uint64_t __attribute__((may_alias, aligned(1))) any_u64;

/* A call of memcpy costs as much as moving some hundred bytes: short pieces are two moves that may overlap. */
static inline void copy_piece(unsigned char *restrict to, const unsigned char *restrict from, size_t len)
{
    if (len >= 64) {
        memcpy(to, from, len);
    } else if (len >= 32) {
        unsigned char head[32], tail[32];

        memcpy(head, from, 32);
        memcpy(tail, from + len - 32, 32);
        memcpy(to, head, 32);
        memcpy(to + len - 32, tail, 32);
    } else if (len >= 16) {
        unsigned char head[16], tail[16];

        memcpy(head, from, 16);
        memcpy(tail, from + len - 16, 16);
        memcpy(to, head, 16);
        memcpy(to + len - 16, tail, 16);
    } else if (len >= 8) {
        any_u64 head = *(const any_u64 *) (const void *) from, tail = *(const any_u64 *) (const void *) (from + len - 8);

        *(any_u64 *) (void *) to = head;
        *(any_u64 *) (void *) (to + len - 8) = tail;
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = from[i];
    }
}

#define TARGET
#define NAME(function) function##_plain
#include "layout/copy_loops.h"

#if defined(__x86_64__)
#define TARGET         __attribute__((target("avx2")))
#define NAME(function) function##_avx2
#include "layout/copy_loops.h"

#define TARGET         __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define NAME(function) function##_avx512
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

/* SPDX-License-Identifier: MIT */
/* Included by copy.c once for each instruction set, with TARGET and NAME(function) defined.
 * The stride is a constant in every inner loop: only then does a compiler find the shuffles for it. */

#define GATHER_STEP(type, step)                    \
    case step:                                     \
        for (size_t i = 0; i < n; i++)             \
            to[i] = from[i * (step)];              \
        return;
#define SCATTER_STEP(type, step)                   \
    case step:                                     \
        for (size_t i = 0; i < n; i++)             \
            to[i * (step)] = from[i];              \
        return;
#define STEPS(STEP, type)                                                                                        \
    STEP(type, 2) STEP(type, 3) STEP(type, 4) STEP(type, 5) STEP(type, 6) STEP(type, 7) STEP(type, 8)            \
    STEP(type, 9) STEP(type, 10) STEP(type, 11) STEP(type, 12) STEP(type, 13) STEP(type, 14) STEP(type, 15)      \
    STEP(type, 16)

/* Elements whose stride is a multiple of their size, and others. */
#define LOOPS(type)                                                                                              \
    TARGET static void NAME(gather_##type)(void *restrict packed, const void *restrict spread, size_t stride,    \
                                           size_t n)                                                             \
    {                                                                                                            \
        type *restrict to = packed;                                                                              \
        const type *restrict from = spread;                                                                      \
        const unsigned char *at = spread;                                                                        \
                                                                                                                 \
        switch (stride % sizeof(type) == 0 ? stride / sizeof(type) : 0) {                                        \
            STEPS(GATHER_STEP, type)                                                                             \
        default:                                                                                                 \
            for (size_t i = 0; i < n; i++, at += stride)                                                         \
                to[i] = *(const type *) (const void *) at;                                                       \
        }                                                                                                        \
    }                                                                                                            \
    TARGET static void NAME(scatter_##type)(void *restrict spread, const void *restrict packed, size_t stride,   \
                                            size_t n)                                                            \
    {                                                                                                            \
        type *restrict to = spread;                                                                              \
        const type *restrict from = packed;                                                                      \
        unsigned char *at = spread;                                                                              \
                                                                                                                 \
        switch (stride % sizeof(type) == 0 ? stride / sizeof(type) : 0) {                                        \
            STEPS(SCATTER_STEP, type)                                                                            \
        default:                                                                                                 \
            for (size_t i = 0; i < n; i++, at += stride)                                                         \
                *(type *) (void *) at = from[i];                                                                 \
        }                                                                                                        \
    }

LOOPS(any_u8)
LOOPS(any_u16)
LOOPS(any_u32)
LOOPS(any_u64)

TARGET static void NAME(gather)(void *restrict packed, const void *restrict spread, size_t len, size_t stride, size_t n)
{
    unsigned char *to = packed;
    const unsigned char *from = spread;

    switch (len) {
    case 1:
        NAME(gather_any_u8)(packed, spread, stride, n);
        return;
    case 2:
        NAME(gather_any_u16)(packed, spread, stride, n);
        return;
    case 4:
        NAME(gather_any_u32)(packed, spread, stride, n);
        return;
    case 8:
        NAME(gather_any_u64)(packed, spread, stride, n);
        return;
    default:
        break;
    }
    for (; n > 0; n--, to += len, from += stride)
        copy_piece(to, from, len);
}

TARGET static void NAME(scatter)(void *restrict spread, const void *restrict packed, size_t len, size_t stride,
                                 size_t n)
{
    unsigned char *to = spread;
    const unsigned char *from = packed;

    switch (len) {
    case 1:
        NAME(scatter_any_u8)(spread, packed, stride, n);
        return;
    case 2:
        NAME(scatter_any_u16)(spread, packed, stride, n);
        return;
    case 4:
        NAME(scatter_any_u32)(spread, packed, stride, n);
        return;
    case 8:
        NAME(scatter_any_u64)(spread, packed, stride, n);
        return;
    default:
        break;
    }
    for (; n > 0; n--, to += stride, from += len)
        copy_piece(to, from, len);
}

#undef LOOPS
#undef STEPS
#undef SCATTER_STEP
#undef GATHER_STEP
#undef TARGET
#undef NAME

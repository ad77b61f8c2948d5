/* SPDX-License-Identifier: MIT */
/* The loops for one instruction set: copy.c includes this file once for each, with TARGET, NAME(function) and
 * GATHER_STEPS defined. GATHER_STEPS lists the strides, in elements, for which the set has shuffles: each of them gets
 * a loop with a constant stride, since a compiler finds the shuffle only there. */

#define GATHER_STEP(type, step)        \
    case step:                         \
        for (size_t i = 0; i < n; i++) \
            to[i] = from[i * (step)];  \
        return;
#define SCATTER_STEP(type, step)       \
    case step:                         \
        for (size_t i = 0; i < n; i++) \
            to[i * (step)] = from[i];  \
        return;

#define LOOPS(type)                                                                                            \
    TARGET static void NAME(gather_##type)(void *restrict packed, const void *restrict spread, size_t stride,  \
                                           size_t n)                                                           \
    {                                                                                                          \
        type *restrict to = packed;                                                                            \
        const type *restrict from = spread;                                                                    \
                                                                                                               \
        switch (stride % sizeof(type) == 0 ? stride / sizeof(type) : 0) {                                      \
            GATHER_STEPS(GATHER_STEP, type)                                                                    \
        default:                                                                                               \
            gather_strided_##type(packed, spread, stride, n);                                                  \
        }                                                                                                      \
    }                                                                                                          \
    TARGET static void NAME(scatter_##type)(void *restrict spread, const void *restrict packed, size_t stride, \
                                            size_t n)                                                          \
    {                                                                                                          \
        type *restrict to = spread;                                                                            \
        const type *restrict from = packed;                                                                    \
                                                                                                               \
        switch (stride % sizeof(type) == 0 ? stride / sizeof(type) : 0) {                                      \
            SCATTER_STEP(type, 2)                                                                              \
        default:                                                                                               \
            scatter_strided_##type(spread, packed, stride, n);                                                 \
        }                                                                                                      \
    }

LOOPS(any_u8)
LOOPS(any_u16)
LOOPS(any_u32)
LOOPS(any_u64)

/* Copies one piece. A call of memcpy costs as much as moving some hundred bytes, so a short piece is moved by loads and
 * stores of fixed width, the last of which may overlap those before it. */
TARGET static inline void NAME(piece)(unsigned char *restrict to, const unsigned char *restrict from, size_t len)
{
    if (len > LONG_PIECE) {
        memcpy(to, from, len);
    } else if (len >= 64) {
        any_v64 tail = *(const any_v64 *) (const void *) (from + len - 64);

        for (size_t i = 0; i + 64 < len; i += 64) {
            SCALAR_LOOP;
            *(any_v64 *) (void *) (to + i) = *(const any_v64 *) (const void *) (from + i);
        }
        *(any_v64 *) (void *) (to + len - 64) = tail;
    } else if (len >= 16) {
        any_v16 head = *(const any_v16 *) (const void *) from;
        any_v16 tail = *(const any_v16 *) (const void *) (from + len - 16);

        for (size_t i = 16; i + 16 < len; i += 16) {
            SCALAR_LOOP;
            *(any_v16 *) (void *) (to + i) = *(const any_v16 *) (const void *) (from + i);
        }
        *(any_v16 *) (void *) to = head;
        *(any_v16 *) (void *) (to + len - 16) = tail;
    } else if (len >= 8) {
        any_u64 head = *(const any_u64 *) (const void *) from,
                tail = *(const any_u64 *) (const void *) (from + len - 8);

        *(any_u64 *) (void *) to = head;
        *(any_u64 *) (void *) (to + len - 8) = tail;
    } else {
        for (size_t i = 0; i < len; i++) {
            SCALAR_LOOP;
            to[i] = from[i];
        }
    }
}

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
        NAME(piece)(to, from, len);
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
        NAME(piece)(to, from, len);
}

#undef LOOPS
#undef SCATTER_STEP
#undef GATHER_STEP
#undef GATHER_STEPS
#undef TARGET
#undef NAME

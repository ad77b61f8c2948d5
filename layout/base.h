/* SPDX-License-Identifier: MIT */
/* What every file may use: checked arithmetic, cleanup declared with the variable, small helpers. */
#ifndef FALLSFS_LAYOUT_BASE_H
#define FALLSFS_LAYOUT_BASE_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

/* cleanup(f) calls f(&variable) when the variable goes out of scope; steal(p) takes a pointer out of its hands. */
#define cleanup(f) __attribute__((cleanup(f)))
#define steal(p)                  \
    (__extension__({              \
        __typeof__(p) *_p = &(p); \
        __typeof__(p) _v = *_p;   \
        *_p = NULL;               \
        _v;                       \
    }))

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* True when the exact result does not fit; *ret is then not to be used. */
static inline bool add_overflows(uint64_t a, uint64_t b, uint64_t *ret)
{
    return __builtin_add_overflow(a, b, ret);
}

static inline bool mul_overflows(uint64_t a, uint64_t b, uint64_t *ret)
{
    return __builtin_mul_overflow(a, b, ret);
}

/* For interfaces that take what they only read as if they wrote it. */
static inline void *drop_const(const void *p)
{
    union {
        const void *read;
        void *write;
    } pointer = { .read = p };

    return pointer.write;
}

static inline void freep(void *p)
{
    free(*(void **) p);
}

#endif

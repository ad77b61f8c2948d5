/* SPDX-License-Identifier: MIT */
/* What every file may use: checked arithmetic, cleanup declared with the variable, small helpers. */
#ifndef FALLSFS_LAYOUT_BASE_H
#define FALLSFS_LAYOUT_BASE_H

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

/* cleanup(f) calls f(&variable) when the variable goes out of scope; steal(p) takes a pointer out of its hands. */
#define cleanup(f) __attribute__((cleanup(f), unused)) /* clang takes a variable for unused that is only cleaned up */
#define steal(p)                  \
    (__extension__({              \
        __typeof__(p) *_p = &(p); \
        __typeof__(p) _v = *_p;   \
        *_p = NULL;               \
        _v;                       \
    }))

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* Both are true when the exact result does not fit; *ret must not be used then. */
static inline bool add_overflows(uint64_t a, uint64_t b, uint64_t *ret)
{
    return __builtin_add_overflow(a, b, ret);
}

static inline bool mul_overflows(uint64_t a, uint64_t b, uint64_t *ret)
{
    return __builtin_mul_overflow(a, b, ret);
}

/* Takes const off a pointer, for functions that only read what it points to and do not say so. */
static inline void *drop_const(const void *p)
{
    union {
        const void *read;
        void *write;
    } pointer;

    pointer.read = p;
    return pointer.write;
}

/* Makes room for one more item in an array of n. The room doubles whenever n comes to a power of two, so nobody has to
 * remember how much there is. False without memory: the array is as it was. */
#define array_grow(array, n) array_make_room(&(array), n, sizeof(__typeof__(*(array))))

static inline bool array_make_room(void *array, size_t n, size_t item_size)
{
    void *items;
    size_t size;

    if ((n & (n - 1)) != 0)
        return true;
    memcpy(&items, array, sizeof items);
    if (mul_overflows(MAX(2 * n, 1), item_size, &size) || (items = realloc(items, size)) == NULL)
        return false;
    memcpy(array, &items, sizeof items);
    return true;
}

static inline void freep(void *p)
{
    free(*(void **) p);
}

#endif

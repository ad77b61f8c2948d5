/* SPDX-License-Identifier: MIT */
/* Numbers as they lie on disks: little endian, one behind the other. */
#ifndef FALLSFS_FS_CORE_VOLUME_BYTES_H
#define FALLSFS_FS_CORE_VOLUME_BYTES_H

#include "layout/base.h"

/* Where the next one is written. */
struct cursor {
    uint8_t *at;
};

static inline void put(struct cursor *c, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *c->at++ = (uint8_t) (value >> 8 * i);
}

static inline void put_bytes(struct cursor *c, const void *bytes, size_t n)
{
    memcpy(c->at, bytes, n);
    c->at += n;
}

static inline uint64_t get(const uint8_t **at, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++)
        value |= (uint64_t) * (*at)++ << 8 * i;
    return value;
}

static inline void get_bytes(const uint8_t **at, void *ret_bytes, size_t n)
{
    memcpy(ret_bytes, *at, n);
    *at += n;
}

#endif

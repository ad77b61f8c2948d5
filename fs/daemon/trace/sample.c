/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/sample.h"

#include <xxhash.h>

/* A number below n, by chance, always the same of a row. */
static uint64_t draw(uint64_t handle, uint64_t row, uint16_t n)
{
    const uint64_t key[] = { handle, row };

    return XXH3_64bits(key, sizeof key) % n;
}

bool sample_has(uint64_t handle, uint64_t before, uint16_t n)
{
    uint64_t at = before + draw(handle, UINT64_MAX, n);

    return at % n == draw(handle, at / n, n);
}

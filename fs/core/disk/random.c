/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/random.h"

#include <sys/random.h>

static uint64_t sequence; /* where the sequence of random_from_seed is; 0: bytes come from the kernel */

int random_bytes(void *ret_bytes, size_t n)
{
    uint8_t *byte = ret_bytes;

    for (size_t i = 0; sequence != 0 && i < n; i++) {
        sequence = sequence * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        byte[i] = (uint8_t) (sequence >> 56);
    }
    if (sequence == 0 && getrandom(ret_bytes, n, 0) != (ssize_t) n)
        return -errno;
    return 0;
}

void random_from_seed(uint64_t seed)
{
    sequence = seed | 1;
}

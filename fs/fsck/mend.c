/* SPDX-License-Identifier: MIT */
#include "fs/fsck/mend.h"

static void flip(uint8_t *bytes, size_t bit)
{
    bytes[bit / 8] ^= (uint8_t) (1U << bit % 8);
}

bool mend_bit(uint8_t *bytes, size_t len, bool (*is_valid)(const uint8_t *bytes, size_t len))
{
    size_t n_found = 0, found = 0;

    for (size_t bit = 0; bit < 8 * len && n_found < 2; bit++) {
        flip(bytes, bit);
        if (is_valid(bytes, len)) {
            n_found++;
            found = bit;
        }
        flip(bytes, bit);
    }
    if (n_found == 1)
        flip(bytes, found);
    return n_found == 1;
}

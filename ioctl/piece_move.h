/* SPDX-License-Identifier: MIT */
/* Copies of a few bytes each, inlined: most pieces of a list are a number or two, and a call would take longer.
 *
 *     exact    # # # # # # # # # . . . .     no byte more: two moves that overlap
 *     wide     # # # # # # # # # x x x x     always as many: nobody has to guess how long the next piece is
 */
#ifndef FALLSFS_IOCTL_PIECE_MOVE_H
#define FALLSFS_IOCTL_PIECE_MOVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PIECE_LANE 16

typedef uint8_t __attribute__((vector_size(PIECE_LANE))) piece_lane;

static inline void piece_move_lane(uint8_t *to, const uint8_t *from)
{
    piece_lane lane;

    memcpy(&lane, from, sizeof lane);
    memcpy(to, &lane, sizeof lane);
}

/* Both ends overlap; 8 to 16 bytes. */
static inline void piece_move_8_to_16(uint8_t *to, const uint8_t *from, size_t len)
{
    uint64_t head, tail;

    memcpy(&head, from, 8);
    memcpy(&tail, from + len - 8, 8);
    memcpy(to, &head, 8);
    memcpy(to + len - 8, &tail, 8);
}

/* Lane by lane, the last one from the end; 17 bytes or more. */
static inline void piece_move_lanes(uint8_t *to, const uint8_t *from, size_t len)
{
    size_t i = 0;

    for (; i + PIECE_LANE < len; i += PIECE_LANE)
        piece_move_lane(to + i, from + i);
    piece_move_lane(to + len - PIECE_LANE, from + len - PIECE_LANE);
}

static inline void piece_move_exact(uint8_t *to, const uint8_t *from, size_t len)
{
    if (len >= 8 && len <= 16)
        piece_move_8_to_16(to, from, len);
    else if (len == 4)
        memcpy(to, from, 4);
    else if (len > 16 && len <= 128)
        piece_move_lanes(to, from, len);
    else
        memcpy(to, from, len);
}

/* width is a constant, of whole lanes. */
__attribute__((always_inline)) static inline void piece_move_wide(uint8_t *to, const uint8_t *from, size_t width)
{
    for (size_t i = 0; i < width; i += PIECE_LANE)
        piece_move_lane(to + i, from + i);
}

#endif

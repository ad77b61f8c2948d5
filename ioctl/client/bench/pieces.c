/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/pieces.h"

static uint64_t count_of(const struct fallsfs_range *range)
{
    return range->lower > range->upper ? 0 : (range->upper - range->lower) / range->stride + 1;
}

/* Dimensions from the one that varies fastest. */
static uint32_t dim_at(const struct fallsfs_array *array, uint32_t pace)
{
    return array->order == FALLSFS_COLUMN_MAJOR ? pace : array->ndims - 1 - pace;
}

void pieces_init(struct pieces *pieces, const struct fallsfs_array *array, const struct fallsfs_range section[])
{
    uint64_t bytes = array->elem; /* from an index of this dimension to the next */
    bool is_whole = true;         /* all faster dimensions are asked for in full */

    *pieces = (struct pieces){ .line = { .file_off = array->header, .len = array->elem, .n = 1 } };
    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        uint32_t d = dim_at(array, pace);
        uint64_t count = count_of(&section[d]), step = bytes * section[d].stride;

        pieces->ended = pieces->ended || count == 0;
        pieces->line.file_off += bytes * section[d].lower;
        bytes *= array->size[d];
        if (count == 1) {
            is_whole = is_whole && array->size[d] == 1;
        } else if (is_whole && section[d].stride == 1) {
            pieces->line.len *= count;
            is_whole = count == array->size[d];
        } else if (pieces->line.n == 1) {
            pieces->line.n = count;
            pieces->line.stride = step;
            is_whole = false;
        } else {
            pieces->outer[pieces->n_outer].count = count;
            pieces->outer[pieces->n_outer++].step = step;
        }
    }
}

/* As an odometer: the first wheel that has not come round moves on. */
static void advance(struct pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->n_outer; i++) {
        pieces->line.file_off += pieces->outer[i].step;
        if (++pieces->outer[i].done < pieces->outer[i].count)
            return;
        pieces->line.file_off -= pieces->outer[i].step * pieces->outer[i].count;
        pieces->outer[i].done = 0;
    }
    pieces->ended = true;
}

bool pieces_next(struct pieces *pieces, struct pieces_line *ret_line)
{
    if (pieces->ended)
        return false;
    *ret_line = pieces->line;
    advance(pieces);
    return true;
}

uint64_t pieces_file_bytes(const struct fallsfs_array *array)
{
    uint64_t bytes = array->elem;

    for (uint32_t d = 0; d < array->ndims; d++)
        bytes *= array->size[d];
    return array->header + bytes;
}

uint64_t pieces_bytes(const struct fallsfs_array *array, const struct fallsfs_range section[])
{
    uint64_t bytes = array->elem;

    for (uint32_t d = 0; d < array->ndims; d++)
        bytes *= count_of(&section[d]);
    return bytes;
}

uint64_t pieces_count(const struct fallsfs_array *array, const struct fallsfs_range section[])
{
    struct pieces pieces;
    struct pieces_line line;
    uint64_t n = 0;

    pieces_init(&pieces, array, section);
    while (pieces_next(&pieces, &line))
        n += line.n;
    return n;
}

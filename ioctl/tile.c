/* SPDX-License-Identifier: MIT */
#include "ioctl/tile.h"

#include "layout/draft.h"

int nest_shift(struct nest *nest, uint64_t disp)
{
    uint64_t last, end;

    if (!nest_prev(nest, UINT64_MAX, &last))
        return 0;
    if (add_overflows(last, disp, &end) || end >= FALLS_LIMIT)
        return -EOVERFLOW;
    for (uint32_t i = 0; i < nest->n_top; i++) {
        nest->node[i].f.l += disp;
        nest->node[i].f.r += disp;
    }
    return 0;
}

int nest_tile(const struct nest *nest, uint64_t extent, uint64_t skip, uint64_t bytes, struct nest **ret_nest)
{
    cleanup(draft_done) struct draft draft = { 0 };
    uint64_t first, span, end, n, reach, lo, hi;
    struct nest *tiled = NULL;
    struct part *row;
    int r;

    if (nest->size == 0)
        return -EINVAL;
    first = nest_select(nest, 0);
    span = nest_select(nest, nest->size - 1) + 1 - first;
    if (add_overflows(skip, bytes, &end))
        return -EOVERFLOW;
    if (extent == 0 ? end > nest->size : extent < span)
        return -EINVAL;
    n = (end - 1) / nest->size + 1;
    if (mul_overflows(n - 1, extent, &reach) || add_overflows(reach, first + span, &reach) || reach > FALLS_LIMIT)
        return -EOVERFLOW;
    lo = first + skip / nest->size * extent + (nest_select(nest, skip % nest->size) - first);
    hi = (n - 1) * extent + nest_select(nest, (end - 1) % nest->size) + 1;
    row = draft_part(&draft, (struct falls){ first, first + span - 1, MAX(extent, span), n },
                     parts_cut(&draft, nest_thaw(&draft, nest), first, first + span));
    if (row == NULL)
        return draft.error;
    row->swept = true;
    row = parts_tidy(&draft, parts_cut(&draft, row, lo, hi));
    r = draft.error != 0 ? draft.error : nest_new(row, &tiled);
    if (r == 0)
        r = nest_shift(tiled, lo);
    if (r < 0)
        nest_free(tiled);
    else
        *ret_nest = tiled;
    return r;
}

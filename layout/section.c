/* SPDX-License-Identifier: MIT */
#include "layout/section.h"

static bool is_empty(const struct array *array, const struct range section[])
{
    for (uint32_t i = 0; i < array->ndims; i++)
        if (section[i].lower > section[i].upper)
            return true;
    return false;
}

static int check(const struct array *array, const struct range section[])
{
    uint64_t bytes;
    int r = array_bytes(array, &bytes);

    for (uint32_t i = 0; r == 0 && i < array->ndims; i++)
        if (section[i].stride == 0)
            r = -EINVAL;
    if (r < 0 || is_empty(array, section))
        return r;
    for (uint32_t i = 0; i < array->ndims; i++)
        if (section[i].upper >= array->size[i])
            return -ERANGE;
    return 0;
}

/* What the range selects of one dimension whose indices lie slice bytes apart; inner is what is selected of each
 * index. */
static struct part *one_dimension(struct draft *draft, const struct range *range, uint64_t slice, struct part *inner)
{
    uint64_t n = (range->upper - range->lower) / range->stride + 1, first = range->lower * slice;
    uint64_t stride = n > 1 ? range->stride * slice : slice;
    struct part part = { .f = { first, first + slice - 1, stride, n }, .inner = inner, .swept = true };
    struct parts reduced = { 0 };

    parts_reduce(draft, &reduced, &part);
    return parts_tidy(draft, reduced.first);
}

int section_new(const struct array *array, const struct range section[], struct nest **ret_nest)
{
    cleanup(draft_done) struct draft draft = { 0 };
    struct part *inner = NULL;
    uint64_t slice = array->elem;
    int r = check(array, section);

    if (r < 0)
        return r;
    if (is_empty(array, section))
        return nest_new(NULL, ret_nest);
    for (uint32_t pace = 0; pace < array->ndims && draft.error == 0; pace++) {
        uint32_t dim = array_dim(array, pace);

        inner = one_dimension(&draft, &section[dim], slice, inner);
        slice *= array->size[dim];
    }
    for (struct part *p = inner; p != NULL; p = p->next) {
        p->f.l += array->header;
        p->f.r += array->header;
    }
    return draft.error != 0 ? draft.error : nest_new(inner, ret_nest);
}

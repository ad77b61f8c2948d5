/* SPDX-License-Identifier: MIT */
#include "layout/pattern.h"

#include "layout/sweep.h"

void pattern_free(struct pattern *pattern)
{
    if (pattern == NULL)
        return;
    for (uint32_t i = 0; i < pattern->n_elements; i++) {
        nest_free(pattern->element[i].once);
        nest_free(pattern->element[i].file);
    }
    nest_free(pattern->header);
    cover_free(pattern->cover);
    free(pattern);
}

void pattern_freep(struct pattern **pattern)
{
    pattern_free(*pattern);
}

/* All elements in one list, in no order. */
static struct part *all_parts(struct draft *draft, struct part *const element[], uint32_t n_elements)
{
    struct parts all = { 0 };

    for (uint32_t i = 0; i < n_elements; i++)
        for (const struct part *p = element[i]; p != NULL; p = p->next)
            parts_append(&all, draft_copy(draft, p, 0));
    return all.first;
}

/* 0 when nothing is wrong with the bytes before end, -ERANGE and one of the faults when something is. */
static int prefix_fault(const struct part *all, uint64_t end, struct fault *ret_fault)
{
    cleanup(draft_done) struct draft draft = { 0 };

    parts_sweep_cover(&draft, parts_cut(&draft, all, 0, end), end, ret_fault);
    return draft.error;
}

/* A sweep need not stop at the first fault: an overlap within one member is met before the members around it are. So
 * the end of what is right is searched for; that all before a byte is right holds up to the first fault and no further.
 * Where a prefix is too irregular to be swept, the fault known best stands: it is one, if not the first. */
static int first_fault(const struct part *all, struct fault fault, struct pattern_error *error)
{
    uint64_t right = 0, end = fault.byte;
    int r = 0;

    while (right < fault.byte) {
        struct fault earlier;

        r = prefix_fault(all, end, &earlier);
        if (r == 0)
            right = end;
        else if (r == -ERANGE)
            fault = earlier;
        else
            break;
        end = right + (fault.byte - right + 1) / 2;
    }
    if (r == -ENOMEM)
        return -ENOMEM;
    *error = (struct pattern_error){ .fault = fault.gap ? PATTERN_GAP : PATTERN_OVERLAP,
                                     .byte = fault.byte,
                                     .origin = { MIN(fault.origin[0], fault.origin[1]),
                                                 MAX(fault.origin[0], fault.origin[1]) } };
    return -ERANGE;
}

/* Sweeps the union of all elements into ret_swept, or says in error what keeps it from being a partition of [0,
 * size). */
static int prove(struct draft *draft, const struct part *all, uint64_t size, struct part **ret_swept,
                 struct pattern_error *error)
{
    struct fault fault;
    const struct part *after;
    int r;

    *ret_swept = parts_sweep_cover(draft, all, size, &fault);
    if (draft->error == -E2BIG)
        error->fault = PATTERN_IRREGULAR;
    if (draft->error != -ERANGE)
        return draft->error;
    r = first_fault(all, fault, error);
    if (error->fault == PATTERN_GAP && parts_next(all, error->byte, &error->next, &after))
        error->origin[0] = after->origin;
    return r;
}

/* Makes one element: its set within the period, and that set repeated through the file. */
static int element_init(struct draft *draft, const struct part *list, const struct pattern *pattern,
                        struct element *element, struct pattern_error *error)
{
    struct part period = { .f = { pattern->disp, pattern->disp + pattern->size - 1, pattern->size,
                                  (FALLS_LIMIT - pattern->disp) / pattern->size + 1 },
                           .swept = true };
    struct parts file = { 0 };
    struct fault fault;
    int r;

    period.inner = parts_sweep(draft, list, &fault);
    if (draft->error == -E2BIG)
        error->fault = PATTERN_IRREGULAR;
    if (period.inner != NULL)
        parts_reduce(draft, &file, &period);
    if (draft->error != 0)
        return draft->error;
    r = nest_new(period.inner, &element->once);
    if (r == 0 && element->once->depth > FALLS_MAX_DEPTH)
        r = -E2BIG;
    if (r == -E2BIG)
        error->fault = PATTERN_TOO_DEEP;
    return r < 0 ? r : nest_new(parts_tidy(draft, file.first), &element->file);
}

size_t pattern_bytes(const struct pattern *pattern)
{
    size_t bytes = sizeof *pattern + nest_bytes(pattern->header) + cover_bytes(pattern->cover);

    for (uint32_t i = 0; i < pattern->n_elements; i++)
        bytes +=
            sizeof pattern->element[0] + nest_bytes(pattern->element[i].once) + nest_bytes(pattern->element[i].file);
    return bytes;
}

int pattern_new(struct draft *draft, struct part *const element[], uint32_t n_elements, uint64_t disp,
                struct pattern **ret_pattern, struct pattern_error *ret_error)
{
    cleanup(pattern_freep) struct pattern *pattern = NULL;
    struct part *all = all_parts(draft, element, n_elements), *swept;
    struct part header = { .f = { 0, disp - 1, disp, 1 } };
    uint64_t size = parts_end(all);
    int r;

    *ret_error = (struct pattern_error){ 0 };
    if (draft->error != 0)
        return draft->error;
    if (size == 0) {
        ret_error->fault = PATTERN_EMPTY;
        return -EINVAL;
    }
    if (size > FALLS_LIMIT || disp > FALLS_LIMIT - size) {
        ret_error->fault = PATTERN_TOO_LONG;
        return -EOVERFLOW;
    }
    pattern = calloc(1, sizeof *pattern + n_elements * sizeof pattern->element[0]);
    if (pattern == NULL)
        return -ENOMEM;
    pattern->disp = disp;
    pattern->size = size;
    pattern->n_elements = n_elements;
    r = prove(draft, all, size, &swept, ret_error);
    if (r == 0)
        r = cover_new(swept, size, n_elements, &pattern->cover);
    for (uint32_t i = 0; r == 0 && i < n_elements; i++) {
        r = element_init(draft, element[i], pattern, &pattern->element[i], ret_error);
        if (r == 0)
            pattern->n_nodes += pattern->element[i].once->n_nodes;
    }
    if (r == 0)
        r = nest_new(disp > 0 ? &header : NULL, &pattern->header);
    if (r == 0)
        *ret_pattern = steal(pattern);
    return r;
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/file/touched.h"

#include "layout/map.h"

#include <string.h>

#define BOTH (SELECTED | NOT_SELECTED)

/* Pieces shorter than this on average are too many to look at each. */
#define SHORT_PIECE 256
/* How many pieces are looked at before that is decided. */
#define PROBE       64

static unsigned look(const struct selection *selection, uint64_t lo, uint64_t hi)
{
    const struct nest *nest = ((const struct nest_selection *) selection)->nest;
    const uint64_t n = nest_rank(nest, hi) - nest_rank(nest, lo);

    return (n > 0 ? SELECTED : 0) | (n < hi - lo ? NOT_SELECTED : 0);
}

struct nest_selection nest_selection_of(const struct nest *nest)
{
    return (struct nest_selection){ .selection = { .look = look }, .nest = nest };
}

int touched_find(const struct file_layout *layout, uint64_t file_off, uint64_t len, const struct selection *only,
                 struct touched *ret_touched)
{
    struct touched touched = { .n_slots = file_layout_slots(layout) };
    uint32_t n_open = touched.n_slots, n_runs = 0;
    struct runs runs;
    struct run run;
    int r = runs_init(&runs, layout->pattern, file_off, len);

    if (r < 0)
        return r;
    touched.flags = calloc(touched.n_slots, 1);
    if (touched.flags == NULL)
        return -ENOMEM;
    while (n_open > 0 && runs_next(&runs, &run)) {
        uint8_t *flags = &touched.flags[file_layout_slot(layout, run.element)];

        if (++n_runs >= PROBE && (run.file_off - file_off) / n_runs < SHORT_PIECE) {
            memset(touched.flags, BOTH, touched.n_slots);
            break;
        }
        if (*flags == BOTH)
            continue;
        *flags |= (uint8_t) only->look(only, run.file_off, run.file_off + run.len);
        n_open -= *flags == BOTH;
    }
    *ret_touched = touched;
    return 0;
}

void touched_done(struct touched *touched)
{
    free(touched->flags);
    *touched = (struct touched){ 0 };
}

bool touched_is_apart(const struct touched *touched)
{
    return memchr(touched->flags, BOTH, touched->n_slots) == NULL;
}

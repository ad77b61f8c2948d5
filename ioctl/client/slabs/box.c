/* SPDX-License-Identifier: MIT */
#include "ioctl/client/slabs/box.h"

#include <string.h>

uint64_t box_elements(const struct box *box, uint32_t ndims)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < ndims; i++)
        n *= box->size[i];
    return n;
}

uint64_t box_offset(const struct array *array, const struct box *around, const struct box *what)
{
    uint64_t off = 0;

    for (uint32_t pace = array->ndims; pace-- > 0;) {
        uint32_t d = array_dim(array, pace);

        off = off * around->size[d] + (what->lower[d] - around->lower[d]);
    }
    return off * array->elem;
}

/* How many of the dimensions that vary fastest are whole in the box around; the elements of what make runs of these and
 * of a part of the next dimension. */
static uint32_t whole_dims(const struct array *array, const struct box *around, const struct box *what)
{
    uint32_t pace = 0;

    while (pace < array->ndims && what->size[array_dim(array, pace)] == around->size[array_dim(array, pace)])
        pace++;
    return pace;
}

bool box_is_dense(const struct array *array, const struct box *around, const struct box *what)
{
    for (uint32_t pace = whole_dims(array, around, what) + 1; pace < array->ndims; pace++)
        if (what->size[array_dim(array, pace)] != 1)
            return false;
    return true;
}

/* One box's memory as copying walks it: how far apart the elements of a dimension are, and where the walk is. */
struct steps {
    uint64_t step[ARRAY_MAX_DIMS]; /* bytes, by pace */
    uint64_t at;
};

static struct steps steps_of(const struct array *array, const struct box *around, const struct box *what)
{
    struct steps steps = { .at = box_offset(array, around, what) };
    uint64_t step = array->elem;

    for (uint32_t pace = 0; pace < array->ndims; pace++) {
        steps.step[pace] = step;
        step *= around->size[array_dim(array, pace)];
    }
    return steps;
}

void box_copy(const struct array *array, const struct box *what, const struct box *from, const void *src,
              const struct box *to, void *dst)
{
    struct steps in = steps_of(array, from, what), out = steps_of(array, to, what);
    uint32_t whole = MIN(whole_dims(array, from, what), whole_dims(array, to, what));
    uint32_t first = MIN(whole + 1, array->ndims), pace;
    uint64_t run = array->elem, at[ARRAY_MAX_DIMS] = { 0 };

    if (box_elements(what, array->ndims) == 0)
        return;
    for (pace = 0; pace < first; pace++)
        run *= what->size[array_dim(array, pace)];
    do {
        memcpy((uint8_t *) dst + out.at, (const uint8_t *) src + in.at, run);
        for (pace = first; pace < array->ndims; pace++) {
            uint64_t n = what->size[array_dim(array, pace)];

            in.at += in.step[pace];
            out.at += out.step[pace];
            if (++at[pace] < n)
                break;
            in.at -= n * in.step[pace];
            out.at -= n * out.step[pace];
            at[pace] = 0;
        }
    } while (pace < array->ndims);
}

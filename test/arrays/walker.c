/* SPDX-License-Identifier: MIT */
#include "test/arrays/walker.h"

#include <stdio.h>
#include <unistd.h>

void model_make(struct model *model, struct rng *rng, const struct fallsfs_array *shape, const char *name)
{
    struct fallsfs_array array = files_array(rng, shape->ndims);

    memcpy(array.size, shape->size, sizeof array.size);
    array.elem = MIN(array.elem, files_array_bytes(shape) > 20000 ? 4 : 64);
    *model = (struct model){ .array = array, .len = array.header + files_array_bytes(&array) + 10 };
    model->before = calloc(1, model->len);
    model->after = files_shared(model->len);
    EXPECT(model->before != NULL);
    model->file_len = rng_chance(rng, 80) ? model->len : rng_below(rng, model->len);
    files_fill(rng, model->before, model->file_len);
    memcpy(model->after, model->before, model->len);
    model->fd = files_make(name, model->before, model->file_len);
}

void model_check(struct model *model)
{
    files_equal(model->fd, model->after, model->file_len);
    close(model->fd);
    free(model->before);
    files_unshare(model->after, model->len);
}

static uint8_t *element_of(const struct model *model, uint8_t *bytes, const uint64_t index[])
{
    return bytes + model->array.header + files_element(&model->array, model->array.size, index);
}

static void check_place(const struct walker *walker, const struct fallsfs_slab *slab, uint32_t i)
{
    const struct model *model = &walker->model[i];

    for (uint32_t d = 0; d < model->array.ndims; d++) {
        uint64_t end = slab->lower[d] + slab->size[d];

        EXPECT(slab->first[d] == slab->lower[d] - MIN(slab->lower[d], walker->of[i].halo[d][0]));
        EXPECT(slab->first[d] + slab->n[d] == MIN(end + walker->of[i].halo[d][1], model->array.size[d]));
    }
}

/* Sees what is in the slab, writes into all of it, and notes what is to be in the file. */
static void use_slab(struct walker *walker, const struct fallsfs_slab *slab, uint32_t i, struct rng *rng)
{
    struct model *model = &walker->model[i];
    uint32_t ndims = model->array.ndims;
    uint64_t at[FALLSFS_MAX_DIMS], index[FALLSFS_MAX_DIMS], zero[FALLSFS_MAX_DIMS] = { 0 };

    memset(at, 0, sizeof at);
    do {
        uint8_t *seen = (uint8_t *) slab->bytes + files_element(&model->array, slab->n, at);
        bool own = true;

        for (uint32_t d = 0; d < ndims; d++) {
            index[d] = slab->first[d] + at[d];
            own &= index[d] >= slab->lower[d] && index[d] < slab->lower[d] + slab->size[d];
        }
        if ((walker->of[i].access & FALLSFS_SLABS_READ) != 0)
            EXPECT(memcmp(seen, element_of(model, model->before, index), model->array.elem) == 0);
        files_fill(rng, seen, model->array.elem);
        if (own && (walker->of[i].access & FALLSFS_SLABS_WRITE) != 0)
            memcpy(element_of(model, model->after, index), seen, model->array.elem);
        if (own && i == 0)
            walker->walked[files_element(&model->array, model->array.size, index) / model->array.elem]++;
        walker->own += own && i == 0;
    } while (files_step(ndims, zero, slab->n, at));
}

static uint64_t elements_of(const struct fallsfs_slab *slab, uint32_t ndims)
{
    uint64_t n = 1;

    for (uint32_t d = 0; d < ndims; d++)
        n *= slab->size[d];
    return n;
}

void walker_run(struct walker *walker)
{
    struct fallsfs_slab slab[MAX_ARRAYS];
    struct fallsfs_slabs *slabs;
    struct rng rng = rng_from_seed(walker->seed);
    int r;

    EXPECT(fallsfs_slabs_open(walker->walk, walker->of, walker->n, &slabs) == 0);
    while ((r = fallsfs_slabs_next(slabs, slab)) == 1) {
        walker->rounds++;
        for (uint32_t i = 0; i < walker->n; i++)
            if (elements_of(&slab[i], walker->model[0].array.ndims) > 0) {
                check_place(walker, &slab[i], i);
                use_slab(walker, &slab[i], i, &rng);
            }
    }
    EXPECT(r == 0);
    EXPECT(fallsfs_slabs_next(slabs, slab) == 0);
    fallsfs_slabs_stats(slabs, &walker->stats);
    EXPECT(walker->walk->memory == 0 || walker->stats.memory <= walker->walk->memory);
    EXPECT(fallsfs_slabs_close(slabs) == 0);
}

/* -- what is walked, and how -- */

struct fallsfs_slabs_walk some_walk(struct rng *rng, const struct fallsfs_array *shape)
{
    static const uint32_t ahead[] = { 0, 1, 2, 3, FALLSFS_SLABS_NO_PREFETCH };
    struct fallsfs_slabs_walk walk = { .axis = (uint32_t) rng_below(rng, shape->ndims),
                                       .prefetch = ahead[rng_below(rng, ARRAY_SIZE(ahead))] };

    for (uint32_t d = 0; d < shape->ndims; d++)
        if (d == walk.axis || rng_chance(rng, 40))
            walk.tile[d] = rng_between(rng, 1, shape->size[d] + 1);
    if (rng_chance(rng, 30)) {
        walk.tile[walk.axis] = 0;
        walk.memory = 200000 + rng_below(rng, 2000000);
    }
    return walk;
}

void some_part(struct rng *rng, const struct fallsfs_array *shape, struct fallsfs_range part[])
{
    for (uint32_t d = 0; d < shape->ndims; d++) {
        part[d].lower = rng_below(rng, shape->size[d]);
        part[d].upper = rng_between(rng, part[d].lower, shape->size[d] - 1);
        part[d].stride = 1;
    }
}

void some_access(struct rng *rng, struct fallsfs_slabs_array *of, const struct fallsfs_array *shape, bool in_place)
{
    of->access = (uint32_t) rng_between(rng, 1, 3);
    if ((of->access & FALLSFS_SLABS_READ) == 0 || (of->access == 3 && !in_place) || rng_chance(rng, 20))
        return;
    for (uint32_t d = 0; d < shape->ndims; d++)
        for (uint32_t side = 0; side < 2; side++)
            of->halo[d][side] = rng_chance(rng, 60) ? rng_below(rng, 4) : 0;
}

uint64_t bytes_seen(const struct walker *walker, uint32_t i, const struct fallsfs_range part[])
{
    const struct fallsfs_array *array = &walker->model[i].array;
    uint64_t bytes = array->elem;

    for (uint32_t d = 0; d < array->ndims; d++) {
        uint64_t lower = part != NULL ? part[d].lower : 0, end = part != NULL ? part[d].upper + 1 : array->size[d];

        bytes *= MIN(end + walker->of[i].halo[d][1], array->size[d]) - (lower - MIN(lower, walker->of[i].halo[d][0]));
    }
    return bytes;
}

void note_size(const struct walker *walker, uint32_t i, const struct fallsfs_range part[])
{
    struct model *model = &walker->model[i];
    uint64_t last[FALLSFS_MAX_DIMS];

    for (uint32_t d = 0; d < model->array.ndims; d++)
        last[d] = part != NULL ? part[d].upper : model->array.size[d] - 1;
    if ((walker->of[i].access & FALLSFS_SLABS_WRITE) != 0)
        model->file_len =
            MAX(model->file_len,
                model->array.header + files_element(&model->array, model->array.size, last) + model->array.elem);
}

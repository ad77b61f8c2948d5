/* SPDX-License-Identifier: MIT */
/* Random walks by a process alone: slabs [DIRECTORY]. */
#include "test/arrays/walker.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void walk_alone(struct rng *rng)
{
    struct fallsfs_array shape = files_array(rng, (uint32_t) rng_between(rng, 1, 4));
    struct fallsfs_slabs_walk walk = some_walk(rng, &shape);
    struct fallsfs_range part[FALLSFS_MAX_DIMS];
    struct model model[MAX_ARRAYS];
    struct walker walker = { .walk = &walk, .model = model, .seed = rng_u64(rng) };
    uint64_t read = 0, written = 0, elements, walked = 1;

    shape.elem = 1;
    elements = files_array_bytes(&shape);
    walker.walked = calloc(1, elements);
    walker.n = (uint32_t) rng_between(rng, 1, MAX_ARRAYS);
    if (rng_chance(rng, 40)) {
        some_part(rng, &shape, part);
        walk.part = part;
    }
    for (uint32_t i = 0; i < walker.n; i++) {
        char name[16];

        snprintf(name, sizeof name, "array%u", i);
        model_make(&model[i], rng, &shape, name);
        walker.of[i] = (struct fallsfs_slabs_array){ .fd = model[i].fd, .array = &model[i].array };
        some_access(rng, &walker.of[i], &shape, true);
    }
    walker_run(&walker);
    for (uint32_t d = 0; d < shape.ndims; d++)
        walked *= walk.part != NULL ? part[d].upper - part[d].lower + 1 : shape.size[d];
    EXPECT(walker.own == walked);
    for (uint64_t i = 0; i < elements; i++)
        EXPECT(walker.walked[i] <= 1);
    for (uint32_t i = 0; i < walker.n; i++) {
        read += (walker.of[i].access & FALLSFS_SLABS_READ) != 0 ? bytes_seen(&walker, i, walk.part) : 0;
        written += (walker.of[i].access & FALLSFS_SLABS_WRITE) != 0 ? walked * model[i].array.elem : 0;
        note_size(&walker, i, walk.part);
    }
    EXPECT(walker.stats.bytes_read == read);
    EXPECT(walker.stats.bytes_written == written);
    EXPECT(walker.stats.rounds == walker.rounds);
    for (uint32_t i = 0; i < walker.n; i++)
        model_check(&model[i]);
    free(walker.walked);
}

int main(int argc, char **argv)
{
    files_in(argc > 1 ? argv[1] : NULL);
    for (struct rng rng = rng_from_env(argc > 1 ? 150 : 3000); rng_next(&rng);) {
        files_case(&rng);
        walk_alone(&rng);
    }
    return 0;
}

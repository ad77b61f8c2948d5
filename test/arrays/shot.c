/* SPDX-License-Identifier: MIT */
#include "test/arrays/shot.h"

void shot_aim(struct shot *shot, struct rng *rng)
{
    shot->is_empty = rng_chance(rng, 3);
    for (uint32_t d = 0; d < shot->array->ndims; d++)
        shot->is_empty |= shot->size[d] == 0 || shot->memory[d] == 0;
    for (uint32_t d = 0; d < shot->array->ndims; d++) {
        uint64_t lower = rng_below(rng, MAX(shot->size[d], 1)),
                 stride = rng_chance(rng, 60) ? 1 : rng_between(rng, 1, 4);
        uint64_t most = shot->is_empty ? 1 : MIN((shot->size[d] - 1 - lower) / stride + 1, shot->memory[d]);
        uint64_t n = rng_chance(rng, 40) ? most : rng_between(rng, 1, most);
        uint64_t slack = rng_below(rng, stride), upper = lower + (n - 1) * stride;

        shot->n[d] = n;
        shot->access[d][0] = (int) lower;
        shot->access[d][1] = (int) MIN(upper + slack, MAX(shot->size[d], 1) - 1);
        shot->access[d][2] = (int) stride;
        shot->index[d] = shot->is_empty ? 0 : (int) rng_below(rng, shot->memory[d] - n + 1);
    }
    for (uint32_t d = 0; d < shot->array->ndims && shot->is_empty; d++)
        shot->access[d][1] = shot->access[d][0] - 1;
}

void shot_load(struct shot *shot, struct rng *rng)
{
    shot->len = shot->array->elem;
    for (uint32_t d = 0; d < shot->array->ndims; d++)
        shot->len *= shot->memory[d];
    shot->bytes = malloc(shot->len + 1);
    shot->wanted = malloc(shot->len + 1);
    EXPECT(shot->bytes != NULL && shot->wanted != NULL);
    files_fill(rng, shot->bytes, shot->len);
    memcpy(shot->wanted, shot->bytes, shot->len);
}

void shot_check(struct shot *shot)
{
    EXPECT(memcmp(shot->bytes, shot->wanted, shot->len) == 0);
    free(shot->bytes);
    free(shot->wanted);
}

void shot_move(struct shot *shot, uint8_t *(*cell)(void *ctx, const uint64_t index[]), void *ctx, bool write)
{
    uint64_t zero[DEALT_MAX_DIMS] = { 0 }, at[DEALT_MAX_DIMS] = { 0 };

    if (shot->is_empty)
        return;
    do {
        uint64_t index[DEALT_MAX_DIMS], place[DEALT_MAX_DIMS];
        uint8_t *in_file, *in_memory;

        for (uint32_t d = 0; d < shot->array->ndims; d++) {
            index[d] = (uint64_t) shot->access[d][0] + at[d] * (uint64_t) shot->access[d][2];
            place[d] = (uint64_t) shot->index[d] + at[d];
        }
        in_file = cell(ctx, index);
        in_memory = shot->wanted + files_element(shot->array, shot->memory, place);
        memcpy(write ? in_file : in_memory, write ? in_memory : in_file, shot->array->elem);
    } while (files_step(shot->array->ndims, zero, shot->n, at));
}

struct shot shot_global(const struct dealt *dealt, struct rng *rng)
{
    struct shot shot = { .array = &dealt->array };

    memcpy(shot.size, shot.array->size, sizeof shot.size);
    dealt_memory(dealt, 0, shot.memory);
    for (uint32_t d = 0; d < shot.array->ndims; d++)
        if (dealt->icla[d][0] == 0)
            shot.memory[d] = shot.size[d];
    shot_aim(&shot, rng);
    for (uint32_t d = 0; d < shot.array->ndims; d++)
        if (dealt->icla[d][0] == 0) { /* the section and the overlaps are all there is */
            uint64_t overlaps = (uint64_t) (dealt->overlap[d][0] + dealt->overlap[d][1]);

            shot.memory[d] = shot.n[d] + overlaps;
            shot.index[d] = shot.is_empty ? 0 : (int) rng_below(rng, overlaps + 1);
        }
    shot_load(&shot, rng);
    return shot;
}

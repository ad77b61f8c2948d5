/* SPDX-License-Identifier: MIT */
/* A random section, the memory it lies in, and what is to be in that memory in the end. */
#ifndef FALLSFS_TEST_ARRAYS_SHOT_H
#define FALLSFS_TEST_ARRAYS_SHOT_H

#include "test/arrays/dealt.h"

struct shot {
    const struct fallsfs_array *array;
    uint64_t size[DEALT_MAX_DIMS];   /* of what it is a section of */
    uint64_t memory[DEALT_MAX_DIMS]; /* that it lies in */
    int index[DEALT_MAX_DIMS], access[DEALT_MAX_DIMS][3];
    uint64_t n[DEALT_MAX_DIMS];
    bool is_empty;
    size_t len;
    uint8_t *bytes, *wanted; /* all of the memory, and what is to be in it */
};

/* Chooses the section and its place in memory, whose sizes are known. */
void shot_aim(struct shot *shot, struct rng *rng);

/* Gets the memory, with random bytes. */
void shot_load(struct shot *shot, struct rng *rng);

/* A section of the whole array, in global placement, with its memory. */
struct shot shot_global(const struct dealt *dealt, struct rng *rng);

/* Element after element, between what is to be in memory and a model of the file. */
void shot_move(struct shot *shot, uint8_t *(*cell)(void *ctx, const uint64_t index[]), void *ctx, bool write);

/* Ends the program if the memory has anything else; frees it. */
void shot_check(struct shot *shot);

#endif

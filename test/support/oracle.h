/* SPDX-License-Identifier: MIT */
/* Random patterns with the answer known byte by byte, and the checks that hold the algebra against it. The oracle knows
 * nothing of FALLS: it fills an array with the owner of every byte of one period, from the description the text of the
 * pattern is made from. */
#ifndef FALLSFS_TEST_SUPPORT_ORACLE_H
#define FALLSFS_TEST_SUPPORT_ORACLE_H

#include "layout/layout.h"
#include "test/support/rng.h"

#define ORACLE_MAX_SIZE     4096
#define ORACLE_MAX_ELEMENTS 12
#define ORACLE_MAX_TEXT     (1u << 16)

struct oracle {
    char text[ORACLE_MAX_TEXT];
    uint32_t n_elements, copies;
    uint64_t disp, size;
    uint8_t owner[ORACLE_MAX_SIZE];      /* of each byte of the period */
    uint32_t rank[ORACLE_MAX_SIZE];      /* how many bytes of its owner lie before it in the period */
    uint64_t bytes[ORACLE_MAX_ELEMENTS]; /* of each element in the period */
};

/* Where a byte of the file lies. */
struct oracle_place {
    uint32_t element; /* or ELEMENT_HEADER */
    uint64_t sub_off;
};

/* A pattern of any kind: raw FALLS nested up to 5 deep, their members in order, interleaved or shuffled; arrays of 1 to
 * 4 uneven dimensions; the other named kinds. */
void oracle_random(struct oracle *oracle, struct rng *rng);

/* Any FALLS at all, with nested PITFALLS suffixes: mostly no partition. count holds how often each byte is covered. */
struct oracle_sets {
    char text[ORACLE_MAX_TEXT];
    uint64_t end; /* of the last byte covered */
    uint8_t count[ORACLE_MAX_SIZE];
    uint32_t n_elements;
    uint32_t owner[ORACLE_MAX_SIZE]; /* of bytes that are covered once */
};

void oracle_random_sets(struct oracle_sets *sets, struct rng *rng);

struct oracle_place oracle_map(const struct oracle *oracle, uint64_t file_off);

/* What went wrong, with all that is needed to see it; why[0] is 0 as long as nothing did. */
struct verdict {
    char why[512];
};

/* Each asks the algebra and the oracle the same questions and notes the first difference. */
void check_map(const struct oracle *oracle, const struct pattern *pattern, struct verdict *verdict);
void check_next_prev(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng,
                     struct verdict *verdict);
void check_runs(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict);
void check_cut(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict);
void check_gather(const struct oracle *oracle, const struct pattern *pattern, struct rng *rng, struct verdict *verdict);
void check_print(const struct oracle *oracle, const struct layout *layout, struct verdict *verdict);
void check_overlap(const struct oracle *a, const struct pattern *pattern_a, const struct oracle *b,
                   const struct pattern *pattern_b, struct rng *rng, struct verdict *verdict);
void check_match(const struct oracle *a, const struct pattern *pattern_a, const struct oracle *b,
                 const struct pattern *pattern_b, struct verdict *verdict);

#endif

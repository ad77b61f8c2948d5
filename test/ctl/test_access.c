/* SPDX-License-Identifier: MIT */
/* What reading a set of bytes is said to take, against counting them one by one. */
#include "fs/ctl/think/access.h"
#include "fs/ctl/think/advice.h"
#include "layout/section.h"
#include "test/support/oracle.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#define N_DISKS 5

/* One element as it is gone through. */
struct seen {
    bool any;
    uint64_t next_sub, next_rank; /* where a byte goes on with the run */
    uint64_t requests, read;
};

static void add_byte(struct seen *at, uint64_t sub_off, uint64_t rank, const struct store_cost *cost,
                     struct access *access)
{
    bool goes_on = at->any && (sub_off - at->next_sub) * cost->read_kib / 1024 <= cost->read_call;

    access->wanted++;
    access->runs += !at->any || sub_off != at->next_sub || rank != at->next_rank;
    at->requests += !goes_on;
    at->read += goes_on ? sub_off + 1 - at->next_sub : 1;
    at->any = true;
    at->next_sub = sub_off + 1;
    at->next_rank = rank + 1;
}

/* Byte by byte: wanted[x] tells whether x is. The header is the last of the elements. */
static struct access count_bytes(const struct oracle *oracle, const bool wanted[], uint64_t end, const uint32_t disk[],
                                 const struct store_cost *cost)
{
    struct seen seen[ORACLE_MAX_ELEMENTS + 1] = { 0 };
    uint64_t load[N_DISKS] = { 0 };
    struct access access = { 0 };

    for (uint64_t x = 0; x < end; x++) {
        struct oracle_place place = oracle_map(oracle, x);
        uint32_t i = place.element == ELEMENT_HEADER ? oracle->n_elements : place.element;

        if (wanted[x])
            add_byte(&seen[i], place.sub_off, access.wanted, cost, &access);
    }
    for (uint32_t i = 0; i <= oracle->n_elements; i++) {
        access.requests += seen[i].requests;
        access.read += seen[i].read;
        load[i < oracle->n_elements ? disk[i] : 0] +=
            seen[i].requests * cost->read_call + seen[i].read / 1024 * cost->read_kib;
    }
    for (uint32_t i = 0; i < N_DISKS; i++) {
        access.ns = MAX(access.ns, load[i]);
        access.work += load[i];
    }
    return access;
}

Test(access, counts_what_is_there)
{
    static struct oracle stored, asked;
    static bool wanted[3 * ORACLE_MAX_SIZE];

    for (struct rng rng = rng_from_env(3000); rng_next(&rng);) {
        struct store_cost cost = { .read_call = 1 + rng_below(&rng, 200), .read_kib = 1024 };
        cleanup(layout_freep) struct layout *a = NULL, *b = NULL;
        cleanup(nest_freep) struct nest *nest = NULL;
        uint32_t disk[ORACLE_MAX_ELEMENTS], element;
        struct access counted, found;
        uint64_t end;

        oracle_random(&stored, &rng);
        oracle_random(&asked, &rng);
        a = layout_of(stored.text);
        b = layout_of(asked.text);
        element = (uint32_t) rng_below(&rng, asked.n_elements);
        end = 1 + rng_below(&rng, ARRAY_SIZE(wanted));
        for (uint32_t i = 0; i < ORACLE_MAX_ELEMENTS; i++)
            disk[i] = (uint32_t) rng_below(&rng, N_DISKS);
        for (uint64_t x = 0; x < end; x++)
            wanted[x] = oracle_map(&asked, x).element == element;
        cr_assert_eq(nest_cut(pattern_element(b->pattern, element), 0, end, &nest), 0);
        counted = count_bytes(&stored, wanted, end, disk, &cost);
        if (access_count(a->pattern, disk, 0, nest, &cost, &found) == -E2BIG)
            continue;
        cr_assert(found.wanted == counted.wanted && found.runs == counted.runs && found.requests == counted.requests &&
                      found.read == counted.read && found.ns == counted.ns && found.work == counted.work,
                  RNG_SEED ": wanted %" PRIu64 " runs %" PRIu64 " requests %" PRIu64 " read %" PRIu64
                           ", counted %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n%s\nasked by element %" PRIu32
                           " of %s up to %" PRIu64,
                  rng.seed, found.wanted, found.runs, found.requests, found.read, counted.wanted, counted.runs,
                  counted.requests, counted.read, stored.text, element, asked.text, end);
    }
}

/* -- what would be best -- */

struct advice_case {
    char why[32], shape[32];
    uint32_t n_disks;
    struct range section[2];
    char best[64];
};

ParameterizedTestParameters(access, best)
{
    static struct advice_case rows[] = {
        { "a column", "8x8", 4, { { 0, 7, 1 }, { 0, 0, 1 } }, "array(shape=8x8, elem=1, dist=(*,cyclic), grid=1x8)" },
        { "a row", "8x8", 4, { { 3, 3, 1 }, { 0, 7, 1 } }, "one" },
        { "half the columns of many",
          "4096x4096",
          4,
          { { 0, 4095, 1 }, { 0, 2047, 1 } },
          "array(shape=4096x4096, elem=1, dist=(*,block), grid" },
        { "a large block of rows", "4096x4096", 4, { { 0, 2047, 1 }, { 0, 4095, 1 } }, "stripe(" },
    };

    return cr_make_param_array(struct advice_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct advice_case *row, access, best)
{
    static const struct store_cost cost = { .read_call = 100000, .read_kib = 500 };
    cleanup(nest_freep) struct nest *wanted = NULL;
    struct advice advice = { 0 };
    struct layout_error error;
    struct array array;
    char text[64], type[LAYOUT_MAX_TYPE];

    snprintf(text, sizeof text, "shape=%s", row->shape);
    cr_assert_eq(layout_parse_array(text, strlen(text), &array, type, &error), 0);
    cr_assert_eq(section_new(&array, row->section, &wanted), 0);
    cr_assert_eq(advice_find(&array, NULL, row->n_disks, wanted, &cost, &advice), 0);
    cr_expect(strncmp(advice.text, row->best, strlen(row->best)) == 0, "%s: %s", row->why, advice.text);
    advice_done(&advice);
}

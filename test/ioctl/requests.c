/* SPDX-License-Identifier: MIT */
#include "test/ioctl/requests.h"

#include "test/support/oracle.h"

#include <criterion/criterion.h>
#include <string.h>

static void random_ranges(struct rng *rng, const struct array *array, struct range range[])
{
    for (uint32_t i = 0; i < array->ndims; i++) {
        range[i].lower = rng_below(rng, array->size[i]);
        range[i].upper = rng_chance(rng, 3) && range[i].lower > 0
                             ? range[i].lower - 1
                             : rng_between(rng, range[i].lower, array->size[i] - 1);
        range[i].stride = rng_chance(rng, 50) ? 1 : rng_between(rng, 1, 5);
    }
}

static void random_section(struct rng *rng, const struct array *array, struct nest **ret_nest)
{
    struct range range[ARRAY_MAX_DIMS];

    random_ranges(rng, array, range);
    cr_assert_eq(section_new(array, range, ret_nest), 0);
}

/* Sections that are apart: in one dimension each takes every n-th index, from its own number on; in the others
 * anything. */
static void random_lanes(struct rng *rng, const struct array *array, struct requests *requests)
{
    uint32_t dim = (uint32_t) rng_below(rng, array->ndims);
    struct range range[ARRAY_MAX_DIMS];

    requests->n = (uint32_t) MIN(array->size[dim], rng_between(rng, 2, 8));
    for (uint32_t i = 0; i < requests->n; i++) {
        random_ranges(rng, array, range);
        range[dim] = (struct range){ i, array->size[dim] - 1, requests->n };
        cr_assert_eq(section_new(array, range, &requests->nest[i]), 0);
    }
}

static void random_array(struct rng *rng, uint64_t room, struct array *array)
{
    static const uint64_t elems[] = { 1, 2, 3, 4, 8, 24 };
    uint64_t left = room - 1000; /* a header may take the rest */

    *array = (struct array){ .ndims = (uint32_t) rng_between(rng, 1, 8),
                             .order = rng_chance(rng, 50) ? ARRAY_ROW_MAJOR : ARRAY_COLUMN_MAJOR,
                             .elem = elems[rng_below(rng, ARRAY_SIZE(elems))],
                             .header = rng_chance(rng, 50) ? 0 : rng_below(rng, 1000) };
    left /= array->elem;
    for (uint32_t i = 0; i < array->ndims; i++) {
        uint64_t most = i + 1 < array->ndims ? MIN(left, array->ndims > 2 ? 12 : 200) : left;

        array->size[i] = rng_between(rng, 1, MAX(MIN(most, left), 1));
        left = MAX(left / array->size[i], 1);
    }
}

static struct layout *random_layout(struct rng *rng)
{
    static struct oracle oracle;
    struct layout_error error;
    struct layout *layout;

    oracle_random(&oracle, rng);
    cr_assert_eq(layout_parse(oracle.text, strlen(oracle.text), 0, &layout, &error), 0, "%s", oracle.text);
    return layout;
}

static void copy_element(const struct layout *layout, uint64_t i, struct nest **ret_nest)
{
    cleanup(draft_done) struct draft draft = { 0 };

    cr_assert_eq(nest_new(nest_thaw(&draft, layout->pattern->element[i].once), ret_nest), 0);
}

/* Chooses elements of a random pattern. Each byte is in one of them, but an element may be chosen more than once. */
static void random_elements(struct rng *rng, struct requests *requests)
{
    struct layout *layout = random_layout(rng);

    for (uint32_t i = 0; i < requests->n; i++)
        copy_element(layout, rng_below(rng, layout->pattern->n_elements), &requests->nest[i]);
    layout_free(layout);
}

static void all_elements(struct rng *rng, struct requests *requests)
{
    struct layout *layout = random_layout(rng);

    requests->n = MIN(layout->pattern->n_elements, REQUESTS_MAX);
    for (uint32_t i = 0; i < requests->n; i++)
        copy_element(layout, i, &requests->nest[i]);
    layout_free(layout);
}

/* -- lists -- */

#define MAX_PIECES 600

static void make_list(struct requests *requests, uint32_t i, const struct fallsfs_ioc_piece piece[], uint64_t n,
                      const struct list *how)
{
    static const struct payer nobody;
    const struct list_source from = { .at = (const uint8_t *) piece, .n = n };

    nest_free(requests->nest[i]);
    requests->nest[i] = NULL;
    cr_assert_eq(pieces_copy(&from, &nobody, &requests->pieces[i]), 0);
    cr_assert_eq(list_init(&requests->list[i], requests->pieces[i], how->base, how->extent, how->skip,
                           how->size > 0 ? how->size : requests->pieces[i]->size),
                 0);
}

/* A tile of pieces, as often as there is room, or a part of that. */
static void random_list(struct rng *rng, uint64_t room, struct requests *requests, uint32_t i)
{
    struct fallsfs_ioc_piece piece[MAX_PIECES];
    uint64_t n = rng_between(rng, 1, rng_chance(rng, 50) ? 10 : MAX_PIECES), end = rng_below(rng, 20), size = 0, tiles;
    struct list how = { .base = rng_chance(rng, 50) ? 0 : rng_below(rng, 1000) };

    for (uint64_t k = 0; k < n; k++) {
        uint64_t off = end + rng_below(rng, 30), len = rng_between(rng, 1, rng_chance(rng, 5) ? 300 : 16);

        if (how.base + off + len > room) {
            n = k;
            break;
        }
        piece[k] = (struct fallsfs_ioc_piece){ off, len };
        end = off + len;
        size += len;
    }
    if (n == 0) {
        piece[n++] = (struct fallsfs_ioc_piece){ 0, 1 };
        end = size = 1;
    }
    how.extent = end + rng_below(rng, 50);
    tiles = rng_between(rng, 1, MIN((room - how.base) / how.extent + 1, 40));
    while (how.base + (tiles - 1) * how.extent + end > room)
        tiles--;
    how.skip = rng_chance(rng, 50) ? 0 : rng_below(rng, tiles * size);
    how.size = rng_between(rng, 1, tiles * size - how.skip);
    make_list(requests, i, piece, n, &how);
}

/* Pieces of a row, with holes or without, each of which somebody gets. */
static void all_pieces(struct rng *rng, uint64_t room, struct requests *requests)
{
    static struct fallsfs_ioc_piece piece[REQUESTS_MAX][MAX_PIECES];
    static const struct list all;
    uint64_t n[REQUESTS_MAX] = { 0 }, at = rng_below(rng, 100);
    bool has_holes = rng_chance(rng, 50);

    requests->n = (uint32_t) rng_between(rng, 2, 16);
    while (at + 64 < room) {
        uint32_t i = (uint32_t) rng_below(rng, requests->n);
        uint64_t len = rng_between(rng, 1, 16);

        if (n[i] == MAX_PIECES)
            break;
        at += has_holes ? rng_below(rng, 8) : 0;
        piece[i][n[i]++] = (struct fallsfs_ioc_piece){ at, len };
        at += len;
    }
    for (uint32_t i = 0; i < requests->n; i++) {
        if (n[i] > 0)
            make_list(requests, i, piece[i], n[i], &all);
        else
            cr_assert_eq(nest_new(NULL, &requests->nest[i]), 0);
    }
}

/* -- any of them -- */

static void fill_memory(struct rng *rng, struct requests *requests)
{
    for (uint32_t i = 0; i < requests->n; i++) {
        struct asked *asked = &requests->asked[i];

        *asked =
            (struct asked){ .nest = requests->nest[i], .list = requests->nest[i] == NULL ? &requests->list[i] : NULL };
        asked->buf = malloc(asked_size(asked) + 1);
        for (uint64_t k = 0; k <= asked_size(asked); k++)
            asked->buf[k] = (uint8_t) rng_u64(rng);
    }
}

void requests_one(struct requests *requests, const struct array *array, const struct range range[], struct rng *rng)
{
    *requests = (struct requests){ .n = 1 };
    cr_assert_eq(section_new(array, range, &requests->nest[0]), 0);
    fill_memory(rng, requests);
}

void requests_random(struct requests *requests, uint64_t room, struct rng *rng)
{
    unsigned lists = rng_chance(rng, 40) ? (unsigned) rng_between(rng, 1, 100) : 0;
    struct array array;

    *requests = (struct requests){ .n = 0 };
    requests->n = (uint32_t) (rng_chance(rng, 20) ? 1 : rng_between(rng, 1, rng_chance(rng, 20) ? REQUESTS_MAX : 5));
    if (rng_chance(rng, 30)) {
        random_elements(rng, requests);
    } else {
        random_array(rng, room, &array);
        for (uint32_t i = 0; i < requests->n; i++)
            random_section(rng, &array, &requests->nest[i]);
    }
    for (uint32_t i = 0; i < requests->n; i++)
        if (rng_chance(rng, lists))
            random_list(rng, room, requests, i);
    fill_memory(rng, requests);
}

void requests_apart(struct requests *requests, uint64_t room, struct rng *rng)
{
    struct array array;

    *requests = (struct requests){ .n = 0 };
    if (rng_chance(rng, 30)) {
        all_pieces(rng, room, requests);
    } else if (rng_chance(rng, 30)) {
        all_elements(rng, requests);
    } else {
        random_array(rng, room, &array);
        random_lanes(rng, &array, requests);
    }
    fill_memory(rng, requests);
}

void requests_done(struct requests *requests)
{
    for (uint32_t i = 0; i < requests->n; i++) {
        free(requests->asked[i].buf);
        nest_free(requests->nest[i]);
        pieces_put(requests->pieces[i]);
    }
}

/* SPDX-License-Identifier: MIT */
#include "test/ioctl/requests.h"

#include "layout/section.h"
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

/* In one dimension every n-th index each, in the others something. */
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
    uint64_t left = room - 1000; /* of which a header may take as much */

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

/* Elements of a random pattern: together each byte once; twice for those that come again. */
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

static void fill_memory(struct rng *rng, struct requests *requests)
{
    for (uint32_t i = 0; i < requests->n; i++) {
        requests->asked[i] = (struct asked){ .nest = requests->nest[i], .buf = malloc(requests->nest[i]->size + 1) };
        for (uint64_t k = 0; k <= requests->nest[i]->size; k++)
            requests->asked[i].buf[k] = (uint8_t) rng_u64(rng);
    }
}

void requests_random(struct requests *requests, uint64_t room, struct rng *rng)
{
    struct array array;

    requests->n = (uint32_t) (rng_chance(rng, 20) ? 1 : rng_between(rng, 1, rng_chance(rng, 20) ? REQUESTS_MAX : 5));
    if (rng_chance(rng, 30)) {
        random_elements(rng, requests);
    } else {
        random_array(rng, room, &array);
        for (uint32_t i = 0; i < requests->n; i++)
            random_section(rng, &array, &requests->nest[i]);
    }
    fill_memory(rng, requests);
}

void requests_apart(struct requests *requests, uint64_t room, struct rng *rng)
{
    struct array array;

    if (rng_chance(rng, 30)) {
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
    }
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/advice.h"

#include "fs/ctl/think/candidates.h"

#include <string.h>

/* The search so far. */
struct search {
    uint32_t n_disks;
    const struct nest *wanted;
    const struct store_cost *cost;
    const uint32_t *disk; /* of element i: i mod n_disks */
    struct advice best;
};

void advice_done(struct advice *advice)
{
    free(advice->text);
    layout_free(advice->layout);
}

static uint64_t takes(const struct access *access)
{
    return access->ns + access->work / 8;
}

bool access_is_worth(const struct access *a, const struct access *instead_of)
{
    return takes(a) + takes(a) / 10 < takes(instead_of);
}

/* Whether a takes less than b: time, and somewhat also the work of all disks, which others wait for; then requests,
 * then what is read for nothing. */
static bool access_is_less(const struct access *a, const struct access *b)
{
    uint64_t a_takes = takes(a), b_takes = takes(b);

    if (a_takes != b_takes)
        return a_takes < b_takes;
    return a->requests != b->requests ? a->requests < b->requests : a->read < b->read;
}

/* Tries the layout that a text means, and takes the text. What is no layout, or has no short description together with
 * what is wanted, is passed over. */
static int try_text(void *ctx, char *text)
{
    struct search *search = ctx;
    struct advice one = { .text = text };
    struct layout_error error;
    int r = text == NULL ? -ENOMEM : layout_parse(text, strlen(text), search->n_disks, &one.layout, &error);

    if (r == 0)
        r = access_count(one.layout->pattern, search->disk, 0, search->wanted, search->cost, &one.access);
    if (r == 0 && (search->best.text == NULL || access_is_less(&one.access, &search->best.access))) {
        struct advice before = search->best;

        search->best = one;
        one = before;
    }
    advice_done(&one);
    return r == -ENOMEM ? r : 0;
}

int advice_find(const struct array *array, const char *asked, uint32_t n_disks, const struct nest *wanted,
                const struct store_cost *cost, struct advice *ret_advice)
{
    cleanup(freep) uint32_t *disk = calloc(FALLS_MAX_NODES, sizeof *disk);
    struct search search = { .n_disks = n_disks, .wanted = wanted, .cost = cost, .disk = disk };
    int r = disk == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; r == 0 && i < FALLS_MAX_NODES; i++)
        disk[i] = i % n_disks;
    if (r == 0)
        r = candidates_stripes(array != NULL ? array->header : 0, n_disks, try_text, &search);
    if (r == 0 && asked != NULL)
        r = try_text(&search, strdup(asked));
    if (r == 0 && array != NULL)
        r = candidates_array(array, n_disks, try_text, &search);
    if (r == 0 && search.best.text == NULL)
        r = -E2BIG;
    if (r < 0)
        advice_done(&search.best);
    else
        *ret_advice = search.best;
    return r;
}

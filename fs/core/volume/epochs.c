/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/epochs.h"

#include <string.h>

void epochs_done(struct epochs *epochs)
{
    free(epochs->range);
    *epochs = (struct epochs){ 0 };
}

int epochs_copy(const struct epochs *epochs, struct epochs *ret_epochs)
{
    struct epoch_range *range = calloc(MAX(epochs->n, 1), sizeof *range);

    if (range == NULL)
        return -ENOMEM;
    if (epochs->n > 0)
        memcpy(range, epochs->range, epochs->n * sizeof *range);
    *ret_epochs = (struct epochs){ range, epochs->n };
    return 0;
}

uint64_t epochs_last(const struct epochs *epochs)
{
    return epochs->n > 0 ? epochs->range[epochs->n - 1].last : 0;
}

bool epochs_has(const struct epochs *epochs, uint64_t epoch)
{
    uint32_t lo = 0, hi = epochs->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (epoch > epochs->range[mid].last)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < epochs->n && epoch >= epochs->range[lo].first;
}

/* Makes one range of the two neighbours with the fewest epochs between them; of several such pairs, of the first. */
static void join_nearest(struct epochs *epochs)
{
    uint32_t at = 1;

    for (uint32_t i = 2; i < epochs->n; i++)
        if (epochs->range[i].first - epochs->range[i - 1].last < epochs->range[at].first - epochs->range[at - 1].last)
            at = i;
    epochs->range[at - 1].last = epochs->range[at].last;
    memmove(&epochs->range[at], &epochs->range[at + 1], (--epochs->n - at) * sizeof epochs->range[0]);
}

/* Adds a range behind all that are in the set. */
static int append(struct epochs *epochs, struct epoch_range range)
{
    struct epoch_range *more = realloc(epochs->range, (epochs->n + 1) * sizeof *more);

    if (more == NULL)
        return -ENOMEM;
    epochs->range = more;
    more[epochs->n++] = range;
    return 0;
}

int epochs_add(struct epochs *epochs, uint64_t epoch)
{
    int r;

    if (epochs->n > 0 && epoch <= epochs_last(epochs) + 1) {
        epochs->range[epochs->n - 1].last = MAX(epoch, epochs_last(epochs));
        return 0;
    }
    r = append(epochs, (struct epoch_range){ epoch, epoch });
    if (r == 0 && epochs->n > EPOCHS_MAX_RANGES)
        join_nearest(epochs);
    return r;
}

int epochs_add_up_to(struct epochs *epochs, uint64_t last)
{
    return append(epochs, (struct epoch_range){ 1, last });
}

/* -- text -- */

static bool read_number(const char **at, uint64_t *ret)
{
    char *end;

    if (**at < '1' || **at > '9')
        return false;
    errno = 0;
    *ret = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 && *ret < UINT64_MAX;
}

static bool read_range(const char **at, struct epoch_range *range)
{
    if (!read_number(at, &range->first))
        return false;
    range->last = range->first;
    if (**at != '-')
        return true;
    ++*at;
    return read_number(at, &range->last) && range->last > range->first;
}

int epochs_parse(const char *text, struct epochs *ret_epochs)
{
    struct epochs epochs = { 0 };
    int r = 0;

    while (r == 0 && *text != 0) {
        struct epoch_range range;

        if ((epochs.n > 0 && *text++ != ',') || !read_range(&text, &range) || epochs.n == EPOCHS_MAX_RANGES ||
            (epochs.n > 0 && range.first <= epochs_last(&epochs) + 1))
            r = -EINVAL;
        else
            r = append(&epochs, range);
    }
    if (r < 0)
        epochs_done(&epochs);
    else
        *ret_epochs = epochs;
    return r;
}

void epochs_print(const struct epochs *epochs, FILE *out)
{
    for (uint32_t i = 0; i < epochs->n; i++) {
        const struct epoch_range *range = &epochs->range[i];

        fprintf(out, "%s%" PRIu64, i > 0 ? "," : "", range->first);
        if (range->last > range->first)
            fprintf(out, "-%" PRIu64, range->last);
    }
}

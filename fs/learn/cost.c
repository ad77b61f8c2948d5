/* SPDX-License-Identifier: MIT */
#include "fs/learn/cost.h"

#define NS 1e9

/* Samples of like requests, by how long they took: from .. to. */
struct group {
    size_t from, to;
};

static double ns_of(const struct cost_sample *sample)
{
    return (double) sample->ns / sample->n;
}

static int by_group(const void *a, const void *b)
{
    const struct cost_sample *x = a, *y = b;
    double p = ns_of(x), q = ns_of(y);

    if (x->apart != y->apart)
        return x->apart - y->apart;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return p < q ? -1 : p > q;
}

/* Finds the next group of sorted samples; false at the end. *group is 0, 0 at first. */
static bool next_group(const struct cost_sample sample[], size_t n, struct group *group)
{
    group->from = group->to;
    while (group->to < n && sample[group->to].bytes == sample[group->from].bytes &&
           sample[group->to].apart == sample[group->from].apart)
        group->to++;
    return group->to > group->from;
}

/* The time that a share of the group's requests took at most. */
static double quantile(const struct cost_sample sample[], const struct group *group, double share)
{
    size_t n = group->to - group->from;
    double at = share * (double) (n - 1);
    size_t low = (size_t) at, high = MIN(low + 1, n - 1);
    double a = ns_of(&sample[group->from + low]), b = ns_of(&sample[group->from + high]);

    return a + (b - a) * (at - (double) low);
}

static double median_of(const struct cost_sample sample[], const struct group *group)
{
    return MAX(quantile(sample, group, 0.5), 1);
}

/* -- the line -- */

/* Sums of what follows, each by its weight: how many, bytes, bytes squared, ns, and bytes by ns. */
struct sums {
    double n, b, bb, t, bt;
    double largest, largest_ns; /* the group of most bytes */
    double least_ns;
};

static struct sums sum_up(const struct cost_sample sample[], size_t n)
{
    struct sums sums = { 0 };
    struct group group = { 0 };

    while (next_group(sample, n, &group) && !sample[group.from].apart) {
        double b = sample[group.from].bytes, t = median_of(sample, &group), weight = 1 / (t * t);

        sums.n += weight;
        sums.b += weight * b;
        sums.bb += weight * b * b;
        sums.t += weight * t;
        sums.bt += weight * b * t;
        sums.least_ns = sums.largest > 0 ? MIN(sums.least_ns, t) : t;
        sums.largest = b;
        sums.largest_ns = t;
    }
    return sums;
}

/* Puts a line through ns over bytes: ns a call, and ns a byte, which is more than 0. */
static void fit_line(const struct sums *sums, double *ret_call, double *ret_byte)
{
    double det = sums->n * sums->bb - sums->b * sums->b;
    bool is_one_size = det <= 1e-9 * sums->n * sums->bb;
    double byte = is_one_size ? 0 : (sums->n * sums->bt - sums->b * sums->t) / det;
    double call = is_one_size ? 0 : (sums->t - byte * sums->b) / sums->n;

    if (is_one_size || call < 0) {
        call = 0;
        byte = sums->bt / sums->bb;
    }
    if (byte <= 0) { /* more bytes take no longer: all there is to tell is that they are quick */
        call = sums->least_ns;
        byte = MAX(sums->largest_ns - call, sums->largest_ns / 100) / sums->largest;
    }
    *ret_call = call;
    *ret_byte = byte;
}

/* The median of like requests; 0: there are none. */
static double find_median(const struct cost_sample sample[], size_t n, uint32_t bytes, bool apart)
{
    struct group group = { 0 };

    while (next_group(sample, n, &group))
        if (sample[group.from].bytes == bytes && sample[group.from].apart == apart)
            return median_of(sample, &group);
    return 0;
}

/* How much longer requests apart take than those that follow, over all sizes. */
static double fit_seek(const struct cost_sample sample[], size_t n)
{
    double sum = 0, weights = 0;
    struct group group = { 0 };

    while (next_group(sample, n, &group)) {
        double apart = median_of(sample, &group), following;

        following = sample[group.from].apart ? find_median(sample, n, sample[group.from].bytes, false) : 0;
        if (following > 0) {
            sum += (apart - following) / (apart * apart);
            weights += 1 / (apart * apart);
        }
    }
    return sum > 0 ? sum / weights : 0;
}

int cost_fit(struct cost_sample sample[], size_t n, struct disk_cost *ret_cost)
{
    struct sums sums;
    double call, byte;

    if (n > 0)
        qsort(sample, n, sizeof *sample, by_group);
    sums = sum_up(sample, n);
    if (sums.n <= 0)
        return -ENODATA;
    fit_line(&sums, &call, &byte);
    *ret_cost = (struct disk_cost){ .seek = (uint64_t) (fit_seek(sample, n) + 0.5),
                                    .call = (uint64_t) (call + 0.5),
                                    .rate = MAX((uint64_t) (NS / byte + 0.5), 1) };
    return 0;
}

double cost_median(struct cost_sample sample[], size_t n, uint32_t bytes, bool apart)
{
    if (n > 0)
        qsort(sample, n, sizeof *sample, by_group);
    return find_median(sample, n, bytes, apart);
}

double cost_spread(struct cost_sample sample[], size_t n)
{
    struct group group = { 0 };
    uint32_t n_groups = 0;
    double sum = 0;

    if (n > 0)
        qsort(sample, n, sizeof *sample, by_group);
    for (; next_group(sample, n, &group); n_groups++)
        sum += MIN((quantile(sample, &group, 0.75) - quantile(sample, &group, 0.25)) / median_of(sample, &group), 1);
    return n_groups > 0 ? sum / n_groups : 0;
}

/* SPDX-License-Identifier: MIT */
/* Which section each of P processes gets, in the notation of the extended two-phase paper: lower:upper:stride in each
 * dimension, bounds from 1 and both included, p the process and P how many there are.
 *
 *     (1+250p:250+250p:2,500:2500:3)     process 2: rows 501, 503, .. 749; columns 500, 503, .. 2498
 *     (p+1:4096:P,1:16)                  rows dealt one by one; a stride that is left out is 1
 */
#ifndef FALLSFS_IOCTL_CLIENT_BENCH_DEAL_H
#define FALLSFS_IOCTL_CLIENT_BENCH_DEAL_H

#include "ioctl/client/fallsfs.h"

struct deal_number {
    uint64_t at, per_rank, per_size; /* at + per_rank * p + per_size * P */
};

struct deal_range {
    struct deal_number lower, upper, stride;
};

struct deal {
    uint32_t ndims;
    struct deal_range range[FALLSFS_MAX_DIMS];
};

/* -EINVAL: *ret_bad is where the notation ends to make sense. */
int deal_parse(const char *text, struct deal *ret_deal, const char **ret_bad);

/* What lies outside the array is cut off. array->ndims must be the deal's. */
void deal_section(const struct deal *deal, const struct fallsfs_array *array, uint32_t rank, uint32_t nranks,
                  struct fallsfs_range ret_section[]);

#endif

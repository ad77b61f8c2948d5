/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/deal.h"

#include "layout/base.h"

#include <ctype.h>

#define MAX_NUMBER (UINT64_C(1) << 40) /* times FALLSFS_MAX_RANKS stays far below 2^64 */

/* -- reading -- */

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    ++*at;
    return true;
}

static bool read_term(const char **at, struct deal_number *number)
{
    bool has_digits = isdigit((unsigned char) **at) != 0;
    uint64_t value = has_digits ? 0 : 1;

    for (; isdigit((unsigned char) **at); ++*at) {
        value = 10 * value + (uint64_t) (**at - '0');
        if (value > MAX_NUMBER)
            return false;
    }
    if (take(at, 'p'))
        number->per_rank += value;
    else if (take(at, 'P'))
        number->per_size += value;
    else if (has_digits)
        number->at += value;
    else
        return false;
    return number->at <= MAX_NUMBER && number->per_rank <= MAX_NUMBER && number->per_size <= MAX_NUMBER;
}

static bool read_number(const char **at, struct deal_number *ret_number)
{
    *ret_number = (struct deal_number){ 0 };
    do {
        if (!read_term(at, ret_number))
            return false;
    } while (take(at, '+'));
    return true;
}

/* For process 0, too. */
static bool is_positive(const struct deal_number *number)
{
    return number->at + number->per_size > 0;
}

static bool read_range(const char **at, struct deal_range *ret_range)
{
    ret_range->stride = (struct deal_number){ .at = 1 };
    return read_number(at, &ret_range->lower) && is_positive(&ret_range->lower) && take(at, ':') &&
           read_number(at, &ret_range->upper) &&
           (!take(at, ':') || (read_number(at, &ret_range->stride) && is_positive(&ret_range->stride)));
}

static bool read_deal(const char **at, struct deal *deal)
{
    if (!take(at, '('))
        return false;
    do {
        if (deal->ndims == FALLSFS_MAX_DIMS || !read_range(at, &deal->range[deal->ndims++]))
            return false;
    } while (take(at, ','));
    return take(at, ')') && **at == 0;
}

int deal_parse(const char *text, struct deal *ret_deal, const char **ret_bad)
{
    struct deal deal = { 0 };

    if (!read_deal(&text, &deal)) {
        *ret_bad = text;
        return -EINVAL;
    }
    *ret_deal = deal;
    return 0;
}

/* -- dealing -- */

static uint64_t value_of(const struct deal_number *number, uint32_t rank, uint32_t nranks)
{
    return number->at + number->per_rank * rank + number->per_size * nranks;
}

void deal_section(const struct deal *deal, const struct fallsfs_array *array, uint32_t rank, uint32_t nranks,
                  struct fallsfs_range ret_section[])
{
    for (uint32_t d = 0; d < deal->ndims; d++) {
        uint64_t lower = value_of(&deal->range[d].lower, rank, nranks);
        uint64_t upper = MIN(value_of(&deal->range[d].upper, rank, nranks), array->size[d]);

        if (lower > upper)
            ret_section[d] = (struct fallsfs_range){ 1, 0, 1 };
        else
            ret_section[d] =
                (struct fallsfs_range){ lower - 1, upper - 1, value_of(&deal->range[d].stride, rank, nranks) };
    }
}

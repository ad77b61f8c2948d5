/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/windows.h"

#include <string.h>

void windows_done(struct windows *set)
{
    free(set->word);
    *set = (struct windows){ 0 };
}

/* The bits of a word that are of windows [lo, hi). */
static uint64_t mask(uint64_t word, uint64_t lo, uint64_t hi)
{
    uint64_t from = MAX(lo, word * 64) - word * 64, to = MIN(hi, word * 64 + 64) - word * 64;

    return from >= to ? 0 : (UINT64_MAX << from) & (UINT64_MAX >> (64 - to));
}

static bool grow(struct windows *set, uint64_t n_words)
{
    uint64_t *word;

    if (n_words <= set->n_words)
        return true;
    n_words = MAX(n_words, 2 * (uint64_t) set->n_words); /* so that a file that grows does not ask at each window */
    word = realloc(set->word, n_words * sizeof *word);
    if (word == NULL)
        return false;
    memset(word + set->n_words, 0, (n_words - set->n_words) * sizeof *word);
    set->word = word;
    set->n_words = (uint32_t) n_words;
    return true;
}

bool windows_add(struct windows *set, uint64_t lo, uint64_t hi)
{
    assert(hi <= WINDOWS_MAX);
    if (lo >= hi)
        return true;
    if (!grow(set, (hi + 63) / 64))
        return false;
    for (uint64_t i = lo / 64; i < (hi + 63) / 64; i++)
        set->word[i] |= mask(i, lo, hi);
    return true;
}

void windows_remove(struct windows *set, uint64_t lo, uint64_t hi)
{
    hi = MIN(hi, (uint64_t) set->n_words * 64);
    for (uint64_t i = lo / 64; lo < hi && i < (hi + 63) / 64; i++)
        set->word[i] &= ~mask(i, lo, hi);
}

bool windows_has_any(const struct windows *set, uint64_t lo, uint64_t hi)
{
    return windows_next(set, lo) < hi;
}

bool windows_has_all(const struct windows *set, uint64_t lo, uint64_t hi)
{
    bool has = true;

    for (uint64_t i = lo / 64; has && lo < hi && i < (hi + 63) / 64; i++)
        has = i < set->n_words && (~set->word[i] & mask(i, lo, hi)) == 0;
    return has;
}

bool windows_has_those(const struct windows *set, const struct windows *other)
{
    bool has = true;

    for (uint32_t i = 0; has && i < other->n_words; i++)
        has = (other->word[i] & ~(i < set->n_words ? set->word[i] : 0)) == 0;
    return has;
}

uint64_t windows_next(const struct windows *set, uint64_t window)
{
    for (uint64_t i = window / 64; i < set->n_words; i++) {
        uint64_t bits = set->word[i] & mask(i, window, UINT64_MAX);

        if (bits != 0)
            return i * 64 + (uint64_t) __builtin_ctzll(bits);
    }
    return WINDOWS_MAX;
}

uint64_t windows_end(const struct windows *set)
{
    for (uint64_t i = set->n_words; i-- > 0;)
        if (set->word[i] != 0)
            return i * 64 + 64 - (uint64_t) __builtin_clzll(set->word[i]);
    return 0;
}

uint64_t windows_count(const struct windows *set, uint64_t end)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < set->n_words && i * 64 < end; i++)
        n += (uint64_t) __builtin_popcountll(set->word[i] & mask(i, 0, end));
    return n;
}

int windows_copy(const struct windows *set, struct windows *ret_set)
{
    uint64_t end = windows_end(set);
    struct windows copy = { 0 };

    if (!grow(&copy, (end + 63) / 64))
        return -ENOMEM;
    if (end > 0)
        memcpy(copy.word, set->word, copy.n_words * sizeof copy.word[0]);
    *ret_set = copy;
    return 0;
}

void windows_and(struct windows *set, const struct windows *other)
{
    for (uint32_t i = 0; i < set->n_words; i++)
        set->word[i] &= i < other->n_words ? other->word[i] : 0;
}

bool windows_or(struct windows *set, const struct windows *other)
{
    uint64_t n_words = (windows_end(other) + 63) / 64;

    if (!grow(set, n_words))
        return false;
    for (uint64_t i = 0; i < n_words; i++)
        set->word[i] |= other->word[i];
    return true;
}

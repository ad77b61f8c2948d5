/* SPDX-License-Identifier: MIT */
/* A set of windows, which are equal parts of a file, by their numbers. It takes the memory that its highest member asks
 * for: a short file has a short set. */
#ifndef FALLSFS_FS_CORE_VOLUME_WINDOWS_H
#define FALLSFS_FS_CORE_VOLUME_WINDOWS_H

#include "layout/base.h"

#define WINDOWS_MAX 65536 /* that a file has at most */

struct windows {
    uint64_t *word;
    uint32_t n_words;
};

void windows_done(struct windows *set);

static inline bool windows_has(const struct windows *set, uint64_t window)
{
    return window / 64 < set->n_words && (set->word[window / 64] >> window % 64 & 1) != 0;
}

/* Adds windows [lo, hi); false: there is no memory, and none was added. */
bool windows_add(struct windows *set, uint64_t lo, uint64_t hi);

void windows_remove(struct windows *set, uint64_t lo, uint64_t hi);

/* Whether one of [lo, hi) is a member; whether all are. */
bool windows_has_any(const struct windows *set, uint64_t lo, uint64_t hi);
bool windows_has_all(const struct windows *set, uint64_t lo, uint64_t hi);

/* Whether all members of other are members. */
bool windows_has_those(const struct windows *set, const struct windows *other);

/* The first member from window on; WINDOWS_MAX: there is none. */
uint64_t windows_next(const struct windows *set, uint64_t window);

/* One more than the highest member; 0: the set is empty. */
uint64_t windows_end(const struct windows *set);

/* How many members [0, end) has. */
uint64_t windows_count(const struct windows *set, uint64_t end);

/* Makes a copy of a set. -ENOMEM. */
int windows_copy(const struct windows *set, struct windows *ret_set);

/* Leaves those members that other has, too; adds all that other has, false: there is no memory, and none was added. */
void windows_and(struct windows *set, const struct windows *other);
bool windows_or(struct windows *set, const struct windows *other);

#endif

/* SPDX-License-Identifier: MIT */
/* What somebody typed for files that are yet to be made, and what it means for now. Which disks have room is decided
 * when a file is made, so what a text meant before is used again only as long as no other disks are left out:
 *
 *     "stripe(1M)"  ──>  turn 7: stripe(1M) on d0-d3  ──>  turn 8: stripe(1M) on d1-d3
 *
 * Wants are shared: by a directory and those who make files below it just now. */
#ifndef FALLSFS_FS_CORE_VOLUME_WANT_H
#define FALLSFS_FS_CORE_VOLUME_WANT_H

#include "fs/core/volume/file_layouts.h"

struct want;

/* Makes a want of a text, with one reference for the caller. Errors as layouts_add, but none where there is no room for
 * the text of a new layout: then the want means what it would if all disks had room, most likely what it meant once; or
 * nothing, if there is no room for that text either. */
int want_new(struct layouts *layouts, const char *text, struct want **ret_want, struct layout_error *ret_error);

/* Makes a want of a text whose meaning has been found out already: choice, planned when layouts_turn was turn. Takes
 * the reference of the choice, also when it fails. */
int want_of(struct layouts *layouts, const char *text, uint32_t turn, const struct chosen_layout *choice,
            struct want **ret_want);

struct want *want_ref(struct want *want); /* NULL: none */
void want_put(struct want *want);

const char *want_text(const struct want *want);

/* The bytes of memory that a want takes, with the layout that it means: as if nobody else had that. */
size_t want_bytes(const struct want *want);

/* Finds what a want means now, with a reference to the layout. Where the text of a new layout cannot be stored, or a
 * disk would have to be waited for, it means what it meant before. -ENOSPC and others: it meant nothing. */
int want_choose(struct want *want, struct chosen_layout *ret_choice);

/* Finds what a want would mean if there were room for its text: the layout is the caller's, to be freed. */
int want_plan(const struct want *want, struct chosen_layout *ret_choice);

/* Finds out anew what a want means, after other disks take new bytes. Errors as layouts_add; the want means what it
 * meant then. */
int want_renew(struct want *want, struct layout_error *ret_error);

#endif

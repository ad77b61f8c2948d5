/* SPDX-License-Identifier: MIT */
/* The texts of layouts on the disks: layout/HASH, the same on all of them. Who writes and removes one sees to it that
 * nobody else does meanwhile. */
#ifndef FALLSFS_FS_CORE_VOLUME_LAYOUT_TEXTS_H
#define FALLSFS_FS_CORE_VOLUME_LAYOUT_TEXTS_H

#include "fs/core/volume/file_layouts.h"
#include "fs/core/volume/hashes.h"

void layout_text_hash(const char *text, size_t len, uint8_t ret_hash[HASH_SIZE]);

/* Reads the text with this hash from the first disk that has it whole. -EIO: no disk has it; -EUCLEAN: all that have it
 * have it damaged. */
int layout_text_read(const struct volume *volume, const uint8_t hash[HASH_SIZE], char **ret_text, size_t *ret_len);

/* Whether all disks that answer at once have no text with this name. Those that do not are not waited for: they are
 * marked in unasked, and if they have none either, no record names it. */
bool layout_text_is_new(const struct volume *volume, const uint8_t hash[HASH_SIZE], struct record_bits *unasked);

/* Writes the text of a layout durably: at least on the disks that the layout names. On failure some disks may have it.
 * *ret_owes: some other disk does not answer just now, was not waited for, and is still to get the text. Disks that
 * say so are not unasked any more; *ret_was_there: one of them had something under that name, or cannot tell. */
int layout_text_write(const struct volume *volume, const struct file_layout *layout, struct record_bits *unasked,
                      bool *ret_owes, bool *ret_was_there);

/* Removes a text from all disks, if all are there and answer; from the home disk last. On failure some may have lost
 * it. */
int layout_text_remove(const struct volume *volume, const uint8_t hash[HASH_SIZE]);

/* Whether a name in layout/ is of a text that was not written to its end. */
bool layout_text_is_unfinished(const char *name);

/* Removes the unfinished texts that a disk has. Nobody may write one meanwhile. */
int layout_texts_clear(const struct disk *disk);

/* Adds the names of the texts that a disk has to names. */
int layout_texts_list(const struct disk *disk, struct hashes *names);

/* Copies all texts of the home disk to a disk that has none yet, as far as it takes them. */
void layout_texts_spread(const struct volume *volume, const struct disk *disk);

#endif

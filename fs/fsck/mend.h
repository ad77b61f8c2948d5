/* SPDX-License-Identifier: MIT */
/* One bit of something that has a checksum was flipped: the only change of one bit after which the bytes are valid
 * again is the one that gives back what they were. A checksum of 64 bits leaves no room for a second one. */
#ifndef FALLSFS_FS_FSCK_MEND_H
#define FALLSFS_FS_FSCK_MEND_H

#include "layout/base.h"

/* Flips that bit back. False when no change of one bit makes the bytes valid, or more than one does: the bytes are as
 * before. All bits are tried, so is_valid is asked 8 * len times. */
bool mend_bit(uint8_t *bytes, size_t len, bool (*is_valid)(const uint8_t *bytes, size_t len));

#endif

/* SPDX-License-Identifier: MIT */
/* How much there is room for. Disks may share a file system, and a file takes of each disk the share its layout gives
 * it, so what one new file can take is less than what all disks have together. */
#ifndef FALLSFS_FS_CORE_VOLUME_SPACE_H
#define FALLSFS_FS_CORE_VOLUME_SPACE_H

#include "fs/core/volume/file_layouts.h"

/* How much room the volume has for new files of this choice: f_bavail is what one such file can take, wherever it may
 * start; f_blocks and f_bfree count every file system once. Where no name can be made there is no room at all.
 * ret_limit, unless NULL: a disk on the file system that limits what the one file can take; UINT32_MAX: none does. */
int space_of_chosen(const struct volume *volume, const struct chosen_layout *choice, struct statvfs *ret_statfs,
                    uint32_t *ret_limit);

/* Whether the disks have room, by what they last said, for a file of so many bytes to go from one layout to another:
 * for those of its bytes that do not lie in their new place already. from NULL: none of them does. */
bool space_fits(const struct volume *volume, const struct placed_layout *from, const struct placed_layout *to,
                uint64_t bytes);

/* How long a file can become when its elements that lie in a pool of disks, at least one, take no more than the avail
 * bytes left there, each in whole blocks. of_element has the pool of each, and then, where there are two copies, of
 * their copies. The file ends where a disk is full in the midst of a stripe. */
uint64_t space_of_pool(const struct layout *layout, const uint32_t of_element[], uint32_t pool, uint64_t avail,
                       uint64_t block);

/* The room that a disk last told of; one that nobody watches is asked. -EIO: it has said nothing. */
int space_of_disk(const struct disk *disk, struct statvfs *ret_statfs);

/* Whether all inodes are in use. Some file systems count none, and have as many as there is room for. */
bool space_lacks_inodes(const struct statvfs *space);

/* Whether names can be made on the home disk, which has this space. */
bool space_takes_names(const struct disk *home, const struct statvfs *space);

#define SPACE_ADVICE 512
#define SPACE_FULL   (UINT64_C(1) << 20) /* a disk that has fewer bytes for the volume's user is full */

/* What is known of a disk that is to be judged by its room. */
struct space_of {
    uint32_t index;
    bool is_home, is_read_only;
    const struct statvfs *space;
};

/* Says why nothing, or hardly anything, can be put on a disk, what follows, and what to do; false: much can be put
 * there. */
bool space_advice(const struct space_of *of, char ret_text[static SPACE_ADVICE]);

/* How many bytes a disk has free for the volume's user, as far as it tells. */
uint64_t space_left(const struct disk *disk);

#endif

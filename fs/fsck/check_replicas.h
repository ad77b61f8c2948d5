/* SPDX-License-Identifier: MIT */
/* The replicas of a file that is being checked. The file is the truth: what a replica lacks is filled again, so its
 * bits are cleared and no byte is lost. The second copy of `copies 2` gives back what the file has lost:
 *
 *     subfile of the file           ++++++------------        + there, - lost
 *     of the copy, by its map       ssss|ssss|....|rrrr       windows that are safe or right; . neither
 *                   ──>             ++++++++++--------        as far as the copy has all, since a hole would be zeros
 *
 * Whatever changes how long the file is clears the bits of the windows from there on first, durably: no crash makes a
 * replica right that is not. */
#ifndef FALLSFS_FS_FSCK_CHECK_REPLICAS_H
#define FALLSFS_FS_FSCK_CHECK_REPLICAS_H

#include "fs/core/stub/replica_files.h"
#include "fs/fsck/checking.h"

struct checked_replicas {
    struct checking *checking;
    const char *path; /* of the file */
    struct replica_places places;
    bool is_there;                            /* the file has a map, or may have one */
    bool is_unknown;                          /* which cannot be read */
    struct replica_map map;                   /* its bits are those that count */
    struct file_layout *layout[REPLICAS_MAX]; /* of its replicas */
};

/* Reads the map of a file that has this record and layout; tells what is wrong with it, and repairs that. -ENOMEM. */
int checked_replicas_find(struct checking *checking, const char *path, const struct record *record,
                          const struct file_layout *layout, struct checked_replicas *ret_replicas);
void checked_replicas_done(struct checked_replicas *replicas);

/* The replicas as whoever owns objects; NULL: the file has none. -ENOMEM. */
int checked_replicas_own(const struct checked_replicas *replicas, struct owner_replicas **ret_owned);

/* Clears the bits of the windows from a byte of the file on, durably, if there are any: what is there is about to
 * change. Without repair they are cleared in memory. */
int checked_replicas_clear(struct checked_replicas *replicas, uint64_t from);

/* Cuts what replicas have beyond the end of a file of this size, whose bits have been cleared. */
int checked_replicas_cut(const struct checked_replicas *replicas, uint64_t size);

/* What the second copy has of a subfile. */
struct second_copy {
    const struct disk *disk;
    char object[OBJECT_PATH];
    uint64_t len; /* so far it has the bytes of the file from where was asked on */
};

/* Finds what the second copy of a file has of the subfile of a slot, from byte from of it on, up to byte to at most.
 * false: nothing. */
bool checked_replicas_copy_has(const struct checked_replicas *replicas, const struct placed_layout *laying,
                               uint32_t slot, uint64_t from, uint64_t to, struct second_copy *ret_copy);

/* What is known of the file itself. */
struct told {
    uint64_t size;         /* that its record promises */
    uint64_t durable_size; /* that an fsync has confirmed */
    bool lacks_bytes;      /* somebody may still want to look for them in a replica */
};

/* Checks that replicas have what their bits say. What does not is cleared, unless the file lacks bytes. */
void checked_replicas_check(struct checked_replicas *replicas, const struct told *told);

#endif

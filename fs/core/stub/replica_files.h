/* SPDX-License-Identifier: MIT */
/* What a file's replicas have on the disks:
 *
 *     obj/XX/ID.r          the map, on the home disk; of a file with `copies 2` on a second disk, too
 *     obj/XX/ID.rK.I       the subfiles of replica K
 *
 * Both maps say the same, but for a crash between one and the other (replica_map_join). Where the disk of one is lost
 * the other counts alone. */
#ifndef FALLSFS_FS_CORE_STUB_REPLICA_FILES_H
#define FALLSFS_FS_CORE_STUB_REPLICA_FILES_H

#include "fs/core/volume/file_layouts.h"
#include "fs/core/volume/hashes.h"
#include "fs/core/volume/replica_map.h"

/* Where a map lies. second NULL: there is no second one, or its disk is absent. */
struct replica_places {
    const struct disk *first, *second;
    bool has_second;
};

/* The places of the map of a file that lies so. */
struct replica_places replica_places(const struct volume *volume, const struct placed_layout *laying);

/* The path of a map. */
void replica_map_path(const struct volume *volume, const uint8_t id[ID_SIZE], char ret_path[static OBJECT_PATH]);

/* Reads the map that lies on one disk. -ENOENT: there is none; -EUCLEAN: it is damaged, or of another file. */
int replica_map_read_one(const struct volume *volume, const struct disk *disk, const uint8_t id[ID_SIZE],
                         struct replica_map *ret_map);

/* Reads the map of a file of that generation, of both places; *ret_differ: they are to be written anew. Without valid
 * bits, or of another generation, it has its replicas and no bits. -ENOENT: there is none, or none that is whole. */
int replica_map_read(const struct volume *volume, const struct replica_places *places, const uint8_t id[ID_SIZE],
                     uint64_t gen, struct replica_map *ret_map, bool *ret_differ);

/* What the next two return where the second place could not be written: it says no more than the first one then, since
 * those bits count alone that both have, and is to be written anew. */
#define REPLICA_MAP_BEHIND 1

/* Writes a map as a whole, durably, to its places: a new series begins. */
int replica_map_replace(const struct volume *volume, const struct replica_places *places, struct replica_map *map);

/* Writes the blocks durably that have bits of windows [lo, hi). */
int replica_map_update(const struct volume *volume, const struct replica_places *places, const struct replica_map *map,
                       uint64_t lo, uint64_t hi);

/* Removes the map, durably. */
int replica_map_remove(const struct volume *volume, const struct replica_places *places, const uint8_t id[ID_SIZE]);

/* Removes the subfiles of a replica, for good. The result is the first error; the others are removed anyway. */
int replica_remove_subfiles(const struct volume *volume, const uint8_t id[ID_SIZE], const struct replica_entry *entry,
                            const struct file_layout *layout);

/* Removes all replicas of a file with this record, and their maps: the file goes. */
int replicas_remove_all(const struct volume *volume, struct layouts *layouts, const struct record *record);

/* Adds the hashes of the layouts that the replicas of a file with this record have, by any of its maps. One that cannot
 * be read for its damage names none. */
int replicas_add_layouts(const struct volume *volume, struct layouts *layouts, const struct record *record,
                         struct hashes *hashes);

#endif

/* SPDX-License-Identifier: MIT */
/* The map of a file's replicas says which there are, and which windows of each have, durably, the bytes of the file:
 *
 *     obj/XX/ID.r     4096 bytes    head      which file and generation, window, the replicas with their layouts
 *                     4096 bytes    block 0   of replica 0: bits of its first windows
 *                     4096 bytes    block 0   of replica 1
 *                     ...                     blocks 0 of the others; blocks 1 of all; as far as windows have bits
 *
 * The file is the truth, a replica is what it has been copied to. A window has two bits:
 *
 *     right   both are synced, with no write since. It is cleared, and the clear synced, before the window may change:
 *             so after a crash a window that is right is right, whatever epoch the bit is of.
 *     safe    of the second copy of `copies 2` alone: it has what fsyncs have confirmed of the window, though other
 *             bytes of it may have been written since. It counts where the file itself has lost the bytes.
 *
 * Maps lie in two places where there is a second copy: right is what both say, safe what one says.
 *
 * What is damaged, or of another generation of the file, says nothing: head and blocks have checksums, and bits without
 * one are clear. A file whose layout is being switched has a map for the generation before, too: the bytes are the
 * same. The head changes with the list of replicas alone, and then the file is replaced as a whole, under another
 * series; blocks are written where they are. */
#ifndef FALLSFS_FS_CORE_VOLUME_REPLICA_MAP_H
#define FALLSFS_FS_CORE_VOLUME_REPLICA_MAP_H

#include "fs/core/volume/record.h"
#include "fs/core/volume/windows.h"

#define REPLICAS_MAX        6  /* REPLICAS_USERS, the second copy, those that wait to be removed */
#define REPLICAS_USERS      3  /* that somebody may ask for */
#define REPLICA_USUAL_SHIFT 20 /* a window has 1 MiB at least */
#define REPLICA_MIN_SHIFT   6  /* in tests */
#define REPLICA_MAP_BLOCK   4096
#define REPLICA_BLOCK_WORDS 254 /* of each of the two bits */
#define REPLICA_BLOCK_BITS  (REPLICA_BLOCK_WORDS * 64)
#define REPLICA_BLOCKS      ((WINDOWS_MAX + REPLICA_BLOCK_BITS - 1) / REPLICA_BLOCK_BITS)
#define REPLICA_MAP_MAX     ((1 + (size_t) REPLICAS_MAX * REPLICA_BLOCKS) * REPLICA_MAP_BLOCK)

enum replica_flags {
    REPLICA_UPDATE = 1, /* what is written to the file is written to it, too; else the window is dropped */
    REPLICA_COPY = 2,   /* it is the second copy of `copies 2`: fsync waits for it */
    REPLICA_ENDED = 4,  /* its subfiles are to be removed; it has no bits */
};

struct replica_entry {
    uint32_t number; /* k, in the names of its subfiles; none before it in this file had the same */
    uint16_t flags;
    uint16_t rotate;
    uint8_t layout[HASH_SIZE];
    uint64_t lo, hi; /* it is to have these bytes of the file alone; hi UINT64_MAX: to its end */
    struct windows right, safe;
};

struct replica_map {
    uint8_t id[ID_SIZE];
    uint64_t gen, also_gen; /* of the file, that the bits tell of; mostly the same */
    uint64_t series;        /* of the head and its blocks: another one each time the head is written */
    uint32_t next;          /* number of the next replica */
    unsigned shift;         /* windows have 1 << shift bytes */
    uint32_t n;
    struct replica_entry replica[REPLICAS_MAX];
};

void replica_map_done(struct replica_map *map);
void replica_entry_done(struct replica_entry *entry);

/* Whether the bits tell of that generation of the file. */
static inline bool replica_map_is_of(const struct replica_map *map, uint64_t gen)
{
    return map->gen == gen || map->also_gen == gen;
}

/* The least shift of windows from that one on that are not too many for a file of that size. */
unsigned replica_shift(unsigned least, uint64_t size);

/* Makes a set of windows that are larger by that many bits: one is a member where all were that it is made of. -ENOMEM.
 */
int replica_coarsen(struct windows *set, unsigned by);

/* Forgets all bits. */
void replica_map_void(struct replica_map *map);

/* Forgets which windows are right. */
void replica_map_doubt(struct replica_map *map);

/* Makes one map of the two that a file with a second copy has, of generation gen: those windows are right that both
 * call right, since each was told before a window changed; those are safe that one calls safe, as a crash may have torn
 * a block of the other. -ENOMEM. */
int replica_map_join(struct replica_map *map, const struct replica_map *other, uint64_t gen);

/* How long the map is with all blocks that its bits need, and writes it to so many bytes. */
size_t replica_map_len(const struct replica_map *map);
void replica_map_encode(const struct replica_map *map, uint8_t *bytes);

/* Writes a block of one of the replicas; where in the map it lies; which one has the bits of a window. */
void replica_map_encode_block(const struct replica_map *map, uint32_t replica, uint32_t block,
                              uint8_t bytes[static REPLICA_MAP_BLOCK]);
uint64_t replica_block_off(const struct replica_map *map, uint32_t replica, uint32_t block);
uint32_t replica_block_of(uint64_t window);

/* Reads a map; what blocks have that are damaged, missing, or not of this head is clear. -EUCLEAN: the head is not what
 * replica_map_encode wrote; -EPROTONOSUPPORT: it is that of a later version; -ENOMEM. */
int replica_map_decode(const uint8_t *bytes, size_t len, struct replica_map *ret_map);

#endif

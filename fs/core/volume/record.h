/* SPDX-License-Identifier: MIT */
/* A record is what fallsfs knows of a file beyond its stub: which subfiles hold its bytes, in which layout, and how
 * long it is. It lies in one extended attribute of the stub and has one size for ever, so that storing it replaces it
 * in place, whole or not at all, even where the file system's room for attributes is used up.
 *
 *     user.fallsfs      "FALLSREC" version ... id ... size ... bitmap ... checksum        256 bytes, little endian
 *
 * Of any later version the beginning and the end are the same, however long it is: so one that a newer fallsfs wrote is
 * told from one that is damaged. */
#ifndef FALLSFS_FS_CORE_VOLUME_RECORD_H
#define FALLSFS_FS_CORE_VOLUME_RECORD_H

#include "layout/base.h"

#include <string.h>

#define RECORD_XATTR   "user.fallsfs"
#define HIDDEN_PREFIX  "user.fallsfs." /* of attributes with texts that we keep with files and directories */
#define RECORD_SIZE    256
#define RECORD_VERSION 1
#define RECORD_MAX     4096 /* bytes that a record of any version has at most */
#define RECORD_BITS    256  /* subfile i has bit i mod RECORD_BITS */
#define ID_SIZE        16
#define HASH_SIZE      16

enum record_state {
    RECORD_OK,
    RECORD_TRUNC,   /* subfiles may still reach beyond size */
    RECORD_MIGR,    /* RECORD_OK, and target_layout is being filled, as generation gen + 1 */
    RECORD_DAMAGED, /* fsck gave bytes up for lost */
};

enum target_flags {
    TARGET_PAUSED = 1,
    TARGET_GIVEN_UP = 2, /* generation gen + 1 is to be removed */
};

struct record_bits {
    uint64_t word[RECORD_BITS / 64];
};

struct record {
    uint16_t state;       /* enum record_state */
    uint8_t padded;       /* the subfiles in bits are as long as size demands, unless a crash cut them */
    uint8_t has_map;      /* there is a map of replicas (replica_map.h), or there was one */
    uint16_t rotate;      /* element i lives on disk (rotate + i) mod n of the layout's list */
    uint16_t hidden_mode; /* owner's mode bits that the stub has and the file has not: see tree.c */
    uint16_t old_rotate;  /* of generations before gen */
    uint16_t target_rotate;
    uint32_t target_flags; /* enum target_flags */
    uint8_t id[ID_SIZE];
    uint64_t gen;        /* in the names of the subfiles */
    uint64_t oldest_gen; /* subfiles of generations from here on may exist */
    uint8_t layout[HASH_SIZE];
    uint8_t old_layout[HASH_SIZE];    /* of generations before gen */
    uint8_t target_layout[HASH_SIZE]; /* of a migration; zeros: there is none, and no other field of it is set */
    uint64_t target_limit;            /* of a migration, bytes a second: record_unpack_limit; 0: none */
    uint64_t migrated; /* up to here generation gen + 1 has, durably, what gen has, and nothing was written since */
    uint64_t size;
    uint64_t durable_size;      /* what an fsync has confirmed: subfiles are as long as it demands */
    uint64_t blocks;            /* of 512 bytes, all subfiles together, when last looked at */
    uint64_t epoch;             /* of the mount that stored this */
    uint64_t born;              /* of the mount that made the file */
    struct record_bits bits;    /* clear: no subfile with that bit is there, its bytes are a hole */
    struct record_bits durable; /* what bits was at the fsync that durable_size is of */
    struct record_bits dirty;   /* subfiles that may hold what no fsync has covered yet */
};

static inline bool bits_has(const struct record_bits *bits, uint32_t slot)
{
    uint32_t bit = slot % RECORD_BITS;

    return (bits->word[bit / 64] >> bit % 64 & 1) != 0;
}

static inline void bits_mark(struct record_bits *bits, uint32_t slot)
{
    uint32_t bit = slot % RECORD_BITS;

    bits->word[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline void bits_add(struct record_bits *bits, const struct record_bits *more)
{
    for (size_t i = 0; i < ARRAY_SIZE(bits->word); i++)
        bits->word[i] |= more->word[i];
}

static inline bool bits_none(const struct record_bits *bits)
{
    return (bits->word[0] | bits->word[1] | bits->word[2] | bits->word[3]) == 0;
}

static inline void bits_clear(struct record_bits *bits, uint32_t slot)
{
    uint32_t bit = slot % RECORD_BITS;

    bits->word[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

/* Finds the hashes of the layouts that a record names, each once, and returns how many there are. */
#define RECORD_LAYOUTS 3
unsigned record_layouts(const struct record *record, const uint8_t *ret_hash[static RECORD_LAYOUTS]);

/* Whether generations before gen have another layout or rotation than gen. */
static inline bool record_lies_anew(const struct record *record)
{
    return memcmp(record->layout, record->old_layout, HASH_SIZE) != 0 || record->rotate != record->old_rotate;
}

/* Whether the file is on its way to another layout. */
bool record_migrates(const struct record *record);

/* The state of a record with no cut to be finished. */
static inline uint16_t record_rest(const struct record *record)
{
    return record_migrates(record) ? RECORD_MIGR : RECORD_OK;
}

/* Packs a limit of bytes a second into 16 bits, short by less than a thousandth of it, and unpacks it; 0 means no
 * limit. */
uint16_t record_pack_limit(uint64_t limit);
uint64_t record_unpack_limit(uint16_t packed);

/* Makes a record tell of no migration. */
void record_end_migration(struct record *record);

void record_encode(const struct record *record, uint8_t bytes[static RECORD_SIZE]);

/* Whether bytes begin as a record of a later version does. */
bool record_begins_newer(const uint8_t *bytes, size_t len);

/* Reads a record. -EUCLEAN: the bytes are not, bit for bit, what record_encode wrote; -EPROTONOSUPPORT: they are a
 * whole record of a later version. */
int record_decode(const uint8_t *bytes, size_t len, struct record *ret_record);

/* Finds the id in bytes that are no valid record but seem to have been one; false: they do not look like one. */
bool record_guess_id(const uint8_t bytes[static RECORD_SIZE], uint8_t ret_id[static ID_SIZE]);

/* Prints n bytes as lower-case hexadecimal digits, and reads them back; -EINVAL: the text is something else. */
void hex_print(const uint8_t *bytes, size_t n, char *ret_text);
int hex_parse(const char *text, size_t n, uint8_t *ret_bytes);

#endif

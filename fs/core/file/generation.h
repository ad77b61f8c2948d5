/* SPDX-License-Identifier: MIT */
/* A generation of a file is all its bytes in one layout: subfiles that have one number in their names.
 *
 *     file { now, next }
 *             │     └──> generation 8 { stripe(4M), subfile[slot] }  ──>  obj/XX/ID.8.I     filled by a migration
 *             └────────> generation 7 { stripe(1M), subfile[slot] }  ──>  obj/XX/ID.7.I     what users read
 *
 * It knows which of its subfiles there are, which were changed since they were last synced, and which must be there, up
 * to which length: what of that is missing or short has lost bytes. All its fields are guarded by the file's locks; its
 * layout, rotation and number stay what they are until the file is cut to nothing, when it begins anew under the next
 * number. */
#ifndef FALLSFS_FS_CORE_FILE_GENERATION_H
#define FALLSFS_FS_CORE_FILE_GENERATION_H

#include "fs/core/stub/in_use.h"

#define SUBFILE_LEN_UNKNOWN UINT64_MAX

struct subfile {
    int fd;         /* meta; -1: not open */
    bool read_only; /* meta; fd is open to read only, as the disk was read-only */
    bool absent;    /* meta; somebody has looked for the subfile, and it is not there */
    bool opening;   /* meta; somebody opens it, and waits for its disk; opened is signalled at the end */
    bool kept;      /* io; of a target: a subfile of now that stays, and has all bytes already */
    bool has_tail;  /* meta; it is not open, and what it may have from byte end on is nobody's: to be cut off */
    uint64_t end;   /* meta; of one that has a tail */
    uint64_t len;   /* meta; bytes, or SUBFILE_LEN_UNKNOWN */
    /* meta; bytes written since its disk was last told to begin writing them; writing: a worker tells it just now */
    uint64_t unwritten;
    bool writing;
    uint8_t **chunk; /* meta; parts of the subfile in memory (subfile_map.h) */
    uint32_t n_chunks;
};

struct generation {
    uint64_t nodeid; /* of the file's inode, for who tells of errors */
    uint8_t id[ID_SIZE];
    uint64_t number;
    uint16_t rotate;
    struct file_layout *layout;
    uint32_t n_slots;
    struct subfile *sub;            /* n_slots of them */
    struct record_bits bits;        /* meta; subfiles that there are */
    struct record_bits dirty;       /* meta; changed since they were last synced */
    struct record_bits durable;     /* meta; there at the last sync */
    uint64_t strict;                /* meta; up to here the subfiles in strict_bits must be there, in full */
    struct record_bits strict_bits; /* meta */
    bool may_be_linked;             /* meta; its subfiles may have a second name (stub/objects.h) */
    struct mutex *meta;             /* the file's */
    struct cond *opened;            /* the file's */
};

/* Makes the generation that a record tells of, with subfiles yet to be looked for; takes the layout. NULL without
 * memory. */
struct generation *generation_new(const struct inode *inode, struct file_layout *layout, const struct record *record,
                                  struct mutex *meta, struct cond *opened);

/* Frees a generation whose subfiles are closed. */
void generation_free(struct fs *fs, struct generation *generation);

/* Notes that the generation has no subfiles yet. meta is held, or nobody else knows the generation. */
void generation_has_none(struct generation *generation);

/* How long the subfile of a slot must be, or its bytes are lost. meta is held. */
uint64_t generation_must_have(const struct generation *generation, uint32_t slot);

/* Notes that the subfiles that are there must stay there, as long as a file of size bytes makes them. meta is held. */
void generation_demand(struct generation *generation, uint64_t size);

#endif

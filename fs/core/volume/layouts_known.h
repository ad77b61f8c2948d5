/* SPDX-License-Identifier: MIT */
/* The layouts that are known, for the sources that share them:
 *
 *     file_layouts.c          what a text means
 *     layouts_known.c    the table, and who uses a layout in memory
 *     layouts_gone.c     who names it on disk, and its end when nobody does
 *     layouts_notes.c    what was there before this mount and nobody needs */
#ifndef FALLSFS_FS_CORE_VOLUME_LAYOUTS_KNOWN_H
#define FALLSFS_FS_CORE_VOLUME_LAYOUTS_KNOWN_H

#include "fs/core/disk/mutex.h"
#include "fs/core/disk/workers.h"
#include "fs/core/volume/file_layouts.h"
#include "fs/core/volume/hashes.h"

struct layouts {
    struct volume *volume;
    struct workers *workers;    /* that remove texts; NULL: nobody does before the end */
    pthread_rwlock_t spreading; /* shared: one text, on all disks; exclusive: all texts, on one disk */
    struct mutex lock;          /* held during no call to a disk */
    struct cond idle;           /* of lock; a text is no longer busy */
    /* lock from here on */
    struct file_layout **bucket; /* by hash; n_buckets is a power of two */
    size_t n_buckets, n;
    uint64_t n_bytes; /* that those take whose meaning is known */
    struct file_layout *unused, **unused_end;
    uint32_t n_unused;
    uint64_t unused_bytes;
    struct file_layout *ripe; /* those that go, or would if the home disk were synced */
    uint32_t n_ripe;
    uint64_t n_syncs; /* begun */
    uint32_t n_owed;  /* texts that some disk is still to get */
    bool at_work;     /* the chore tidying is queued, or runs */
    bool shall_sync;  /* it is to sync the home disk, however few texts wait for that */
    struct chore tidying;
    bool is_noting;      /* what is used goes to noted */
    bool notes_are_lost; /* there was no memory for one */
    bool dir_moved;
    struct hashes noted;
};

/* Finds out what a text on disk says. -ENODEV: it is for other disks than there are; others as layout_parse. */
int layouts_build(const struct volume *volume, const char *text, size_t len, struct file_layout **ret_layout,
                  struct layout_error *error);

/* -- the table -- */

/* The layout with this name, busy or not, or as soon as it is not busy. NULL: none is known. */
struct file_layout *layouts_find(const struct layouts *layouts, const uint8_t hash[HASH_SIZE]) REQUIRES(layouts->lock);
struct file_layout *layouts_find_idle(struct layouts *layouts, const uint8_t hash[HASH_SIZE]) REQUIRES(layouts->lock);

/* Adds a layout of which only the name is known. NULL without memory. */
struct file_layout *layouts_insert(struct layouts *layouts, const uint8_t hash[HASH_SIZE]) REQUIRES(layouts->lock);

/* Takes a layout out of the table and frees it. */
void layouts_drop(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock);

/* Forgets what a layout's text says, but not its name. */
void layout_forget_meaning(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock);

/* Makes a layout busy and lets go of lock while the disks are asked about its text; and takes lock again. */
void layout_begin_work(struct layouts *layouts, struct file_layout *layout) RELEASE(layouts->lock);
void layout_end_work(struct layouts *layouts, struct file_layout *layout) ACQUIRE(layouts->lock);

/* -- texts that go -- */

/* To be called after any change of a layout's users. True when somebody had better tidy up. */
bool layout_note_users(struct layouts *layouts, struct file_layout *layout) REQUIRES(layouts->lock);

/* Notes whether some disk is still to get a layout's text. */
void layout_note_debt(struct layouts *layouts, struct file_layout *layout, bool owes) REQUIRES(layouts->lock);

/* Whether no disk is slow now. One whose seat at the watch is taken for long is likely to take the next one for as
 * long. */
bool layouts_write_promptly(const struct volume *volume);

/* Removes the texts that nobody uses any more. */
void layouts_remove_texts(struct layouts *layouts) REQUIRES(layouts->lock);

/* Has a worker tidy up: layouts_run_tidying. */
void layouts_tidy_later(struct layouts *layouts) EXCLUDES(layouts->lock);
void layouts_run_tidying(struct chore *chore);

#endif

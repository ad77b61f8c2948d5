/* SPDX-License-Identifier: MIT */
/* Gives a file another layout while it is in use, a step at a time:
 *
 *     begin ──> copy a window, again and again ──> everywhere done ──> sync ──> switch ──> remove the old generation
 *       │                    │
 *       └── journal, record  └── give up: remove the new generation
 *
 * One record store switches. Before it the old generation is whole, after it the new one, and what is not needed is
 * found by the journal. Each function may be called again after it failed; none is called by two threads at once. */
#ifndef FALLSFS_FS_CORE_MIGRATE_H
#define FALLSFS_FS_CORE_MIGRATE_H

#include "fs/core/file.h"

struct migration {
    struct fs *fs;
    struct file *file;
    uint64_t limit;       /* for the record alone */
    void *buf;            /* of a piece of a window */
    uint64_t unconfirmed; /* bytes copied since the record last told how far it got */
    bool is_in_hole;      /* the last window was one: the next data is looked for */
    bool is_synced;       /* once, so that the second time, with everybody waiting, is short */
};

/* Of a file in use, as long as it is. */
void migration_init(struct migration *migration, struct fs *fs, struct file *file);
void migration_done(struct migration *migration);

/* Journals and records that the file gets this layout. 1 when it has it already, -EBUSY on its way to another. */
int migration_begin(struct migration *migration, const struct file_layout *layout, bool rotates);

/* 1 there is more to do, 0 the file has its new layout and nothing is left of the old. -ETIMEDOUT, -EAGAIN: later; any
 * other error: give it up. */
int migration_step(struct migration *migration);

/* The file keeps the layout it has. Nothing happens when it has the new one already. */
int migration_give_up(struct migration *migration);

/* Makes the record tell how far it got, so that a later mount goes on there. */
int migration_confirm(struct migration *migration);

int migration_pause(struct migration *migration, bool pause);

/* Bytes that are where they will be, and all there are. */
void migration_progress(struct migration *migration, uint64_t *ret_done, uint64_t *ret_total);

#endif

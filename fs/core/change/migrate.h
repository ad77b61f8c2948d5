/* SPDX-License-Identifier: MIT */
/* Gives a file another layout while it is in use, a step at a time:
 *
 *     begin ──> copy a window, again and again ──> everywhere done ──> sync ──> switch ──> remove the old generation
 *       │                    │
 *       └── journal, record  └── give up: remove the new generation
 *
 * One record store switches. Before it the old generation is whole, after it the new one, and what is not needed is
 * found by the journal. Each function may be called again after it failed; none is called by two threads at once. */
#ifndef FALLSFS_FS_CORE_CHANGE_MIGRATE_H
#define FALLSFS_FS_CORE_CHANGE_MIGRATE_H

#include "fs/core/file/file.h"

struct migration {
    struct fs *fs;
    struct file *file;
    uint64_t limit;       /* bytes a second that the record is to tell of; who calls the steps keeps to it */
    void *buf;            /* memory for a piece of a window */
    uint64_t unconfirmed; /* bytes copied since the record last told how far it got */
    bool is_in_hole;      /* the last window was one: the next data is looked for */
    bool is_synced; /* the target was synced once, so that the sync at the switch, with everybody waiting, is short */
};

/* Makes a migration of a file in use, good as long as the file is in use. */
void migration_init(struct migration *migration, struct fs *fs, struct file *file);
void migration_done(struct migration *migration);

/* Journals and records that the file gets this layout, and this start in its list. 1: it has both already; -EBUSY: it
 * is on its way to another. */
int migration_begin(struct migration *migration, const struct file_layout *layout, uint16_t rotate);

/* Does a step: 1 there is more to do, 0 the file has its new layout and nothing is left of the old one. -ETIMEDOUT,
 * -EAGAIN: try again later; any other error: give the migration up. -EROFS, -EIO when it has switched: what is
 * left of the old layout lies on a disk that is read-only, or fails. */
int migration_step(struct migration *migration);

/* Whether the file has its new layout; whether it was made to keep the old one. Something of the other one may be left.
 */
bool migration_has_switched(struct migration *migration);
bool migration_is_given_up(struct migration *migration);

/* Gives the migration up: the file keeps the layout it has. Does nothing when that is the new one already. */
int migration_give_up(struct migration *migration);

/* Makes the record tell how far it got, so that a later mount goes on there. */
int migration_confirm(struct migration *migration);

/* Stops copying for a while, in which the migration takes no memory and no descriptor of the target: the next step goes
 * on. Also when it fails: then the record tells of less than was copied, and the rest is copied again. */
int migration_rest(struct migration *migration);

/* Makes the record tell whether the migration is paused. */
int migration_pause(struct migration *migration, bool pause);

/* Tells how many bytes are where they will be, and how many there are. */
void migration_progress(struct migration *migration, uint64_t *ret_done, uint64_t *ret_total);

/* -- for the parts of this module -- */

/* Stores a change of the record durably. meta is held, and io exclusively: others look without meta. */
int migration_store(struct migration *migration, const struct record *changed);

/* Does the steps after all is copied: 1 the file has switched, or there is more to do; or an error. */
int migration_switch(struct migration *migration);

#endif

/* SPDX-License-Identifier: MIT */
/* One pass of an order through files: each is found by its name, looked at by its record, and given a job.
 *
 *     names ──> record, layout ──> decide: other disks, or none ──> a job        or, of a plan, only the decision
 *
 * What balance and leave decide comes from the records of files and one table of disks. It is the same whether files
 * are then moved or only looked at. */
#ifndef FALLSFS_FS_DAEMON_MOVER_PASS_H
#define FALLSFS_FS_DAEMON_MOVER_PASS_H

#include "fs/core/change/relocation.h"
#include "fs/core/disk/walk.h"
#include "fs/daemon/mover/moving.h"

struct pass {
    struct moving *moving;
    struct placement *disks; /* NULL of MOVE_BELOW */
    uint64_t n_begun;        /* files that were given jobs, or would be */
    uint64_t n_busy;         /* files that are on their way to other layouts already */
    bool is_trial;           /* decides, and gives no jobs; counts nothing */
    void *seen;              /* tree of the numbers of files with several names */
};

/* A file that a pass has come to. */
struct found {
    const struct walk_entry *entry;
    struct record record;
    struct file_layout *layout; /* with a reference */
};

/* Takes all files that the order is about, each once for each of its names; ctx is for take. An order that shall end
 * ends the pass. */
int pass_go(struct pass *pass, int (*take)(struct pass *pass, const struct walk_entry *entry, void *ctx), void *ctx);

/* Whether the pass has come to a file under another name. Without memory it has not. */
bool pass_has_seen(struct pass *pass, const struct walk_entry *entry);

/* Finds a file by its path below the directory of the order. NULL: it is not there any more. With a reference. */
struct inode *pass_find(const struct pass *pass, const char *path);

/* Finds what a file has, when the pass comes to it first; the layout is the caller's to put. false: nobody can use the
 * file, which fsck tells, or it is not there any more. */
bool pass_look_at(struct pass *pass, const struct walk_entry *entry, struct found *ret_found);

/* Decides by decide, which returns 1 when the file shall move, and gives the file a job; decides once more when the
 * disks turn out to have less room. A file that cannot be moved is noted. -ENOMEM, -ENODEV and others: the pass had
 * better end. */
typedef int pass_decide(struct pass *pass, const struct found *found, struct relocation *ret_relocation, void *ctx);
int pass_move(struct pass *pass, const struct found *found, pass_decide *decide, void *ctx);

/* Counts a file that is on its way to another layout already. The order waits for its job, unless it is a plan. */
void pass_await_other(struct pass *pass, const struct walk_entry *entry);

/* Shows who looks at the order what each disk has: before, or after what was decided. */
void pass_show_disks(const struct pass *pass, bool is_before);

#endif

/* SPDX-License-Identifier: MIT */
/* The mover moves files in bulk, as it is ordered: it goes through names and gives files jobs, a few at a time. Whoever
 * asked may go; the order goes on until it is over, or is stopped, or the mount ends.
 *
 *     user.falls.migrate of a directory: restripe, ...   ──┐
 *     user.falls.disks: balance, leave d2                ──┼──> an order ──> a, b/c, b/d ... ──> jobs
 *     a mount that finds a disk which is to leave        ──┘
 *
 * Each user has one order for a directory at a time, and disks have one for all of them. Looks at what would be moved
 * go on beside any. Those of users wait with their next file while one about disks goes on: root goes first.
 *
 * The jobs that an order has begun outlive the mount, as all jobs do. That a disk is to leave is known to the volume:
 * the next mount goes on with it. An order for a directory and balance are forgotten with the mount, and asked for
 * again. An order has the rights of who asked. The mover still tells of the last orders that are over, with the files
 * that could not be moved and why.
 *
 * In this room, each on those before it: move_order.h what is asked; moving.h an order that goes on; pass.h its way
 * through files; below.c, balance.c and leave.c the kinds of orders; mover.c which orders go on. */
#ifndef FALLSFS_FS_DAEMON_MOVER_MOVER_H
#define FALLSFS_FS_DAEMON_MOVER_MOVER_H

#include "fs/daemon/mover/move_order.h"

#include <stdio.h>

struct mover;

int mover_new(struct fs *fs, struct mover **ret_mover);

/* Goes on with disks that are to leave, as an order of who mounted. */
void mover_resume(struct mover *mover);

/* Makes the orders that go on stop where they are, waits for that, and frees the mover. */
void mover_free(struct mover *mover);

/* Begins an order. 0 also when the same user asks for what goes on already: files that are begun from then on have the
 * new limit. -EBUSY: another order goes on that this one cannot go on beside, and ret_why says which. */
int mover_start(struct mover *mover, const struct move_order *order, char ret_why[static LAST_ERROR_SIZE]);

/* Pauses, resumes or cancels the order for a directory that goes on, and with it the jobs that it has begun. -ENOENT:
 * no order goes on for the directory. */
int mover_order(struct mover *mover, const struct inode *dir, enum job_order order);

/* The same for the order with this number, whatever it is about. -ENOENT: no such order goes on; -EPERM: it is neither
 * this user's, nor is he root or who mounted. */
int mover_order_number(struct mover *mover, uint64_t number, enum job_order order, uid_t user);

/* Cancels an order about disks that is of this kind, or that only looks, and waits until nobody works for it any more.
 * false: no such order goes on. */
bool mover_stop(struct mover *mover, enum move_kind kind);

/* Tells of the last order for a directory. false: the mover knows of none. */
bool mover_of(struct mover *mover, const struct inode *dir, struct move_view *ret_view);

/* Prints all orders that are told of, the newest first, as JSON for this user: more than that there is one only to who
 * asked for it, to root, and to who mounted. */
void mover_print(struct mover *mover, uid_t user, FILE *out);

#endif

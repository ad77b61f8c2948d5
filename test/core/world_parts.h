/* SPDX-License-Identifier: MIT */
/* What the sources of a world share: its life and checks (world.c), the operations of programs (world_step.c), programs
 * over many mounts and what is lost (world_live.c). */
#ifndef FALLSFS_TEST_CORE_WORLD_PARTS_H
#define FALLSFS_TEST_CORE_WORLD_PARTS_H

#include "test/core/world.h"

#include "fs/core/tree/tree.h"

#define UNKNOWN_INO UINT64_MAX

static const struct cred nobody_special = { .umask = 022 };

/* What each of the names is called in its directory. */
extern const char *const world_name[WORLD_NAMES];

/* The directory that a name lies in. */
struct inode *world_parent(const struct world *world, int name);

/* Notes what is wrong, if it is the first thing, or what is done. */
PRINTF_LIKE(2, 3) void world_wrong(struct world *world, const char *fmt, ...);
PRINTF_LIKE(2, 3) void world_note(struct world *world, const char *fmt, ...);

/* Whether an operation may have failed so: the machine is down, or errors are expected. */
bool world_may_fail(const struct world *world, int64_t r);

/* Which file each name leads to now. */
struct world_names *world_now(struct world *world);

/* Adds a state of names, a copy of the current one, for an operation to change. If the machine goes down meanwhile,
 * either of the two may come back. */
struct world_names *world_next_state(struct world *world);

/* Makes what the model has of a file now all that there may be of it. */
void world_settle_file(struct world_file *file);

/* Disk i of the machine as a member of a volume, until it is closed. */
struct member world_member(struct world *world, unsigned i);
void world_close_member(struct member *member);

/* -- replicas (world_replicas.c) -- */

/* Adds a replica to a file, or drops one, or has some filled. */
void world_replicate(struct world *world, struct rng *rng, const struct world_file *model);

/* Checks that replicas have what they, and the disks, say they have. */
void world_check_replicas(struct world *world, struct inode *inode, const char *name);

#endif

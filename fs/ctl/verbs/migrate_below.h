/* SPDX-License-Identifier: MIT */
/* fallsctl migrate of a directory: the mount is asked for an order about all that is in it and below, and what becomes
 * of the files is told.
 *
 *     ask ──> the mover goes on by itself ──> wait, with a bar ──> files that could not be moved, by name
 *      └──> refused for want of rights: the caller goes through the directory instead */
#ifndef FALLSFS_FS_CTL_VERBS_MIGRATE_BELOW_H
#define FALLSFS_FS_CTL_VERBS_MIGRATE_BELOW_H

#include "fs/ctl/verbs/migrate_asked.h"

/* Asks for the order, and waits for it if that was asked for; says what fails. false: the caller may not order this for
 * the directory, perhaps for what is in it. */
bool migrate_below(struct migration_asked *request, const char *path);

/* Forgets the order that was not waited for. */
void migrate_below_done(struct migration_asked *request);

#endif

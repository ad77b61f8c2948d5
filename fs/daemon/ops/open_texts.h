/* SPDX-License-Identifier: MIT */
/* Texts that are made once, when they are opened, and read in pieces: figures that grow while they are read would not
 * fit together otherwise, and the last piece would be of another text.
 *
 *     open ──> open_texts_add: number ──> read, read, ... open_texts_read(number) ──> release ──> open_texts_drop
 *
 * They are charged to who opens them (accounts.h). */
#ifndef FALLSFS_FS_DAEMON_OPS_OPEN_TEXTS_H
#define FALLSFS_FS_DAEMON_OPS_OPEN_TEXTS_H

#include "layout/base.h"

#include <sys/types.h>

/* Keeps a text for a user, until it is dropped: its number, which is no handle's. Takes the text over, also when it
 * fails. -EUSERS: the user has too many open. */
int open_texts_add(uid_t uid, char *text, size_t len, uint64_t *ret_number);

/* Copies so much of a text as there is from off on, size bytes at most; the caller frees it. -EBADF: there is no such
 * text. */
int open_texts_read(uint64_t number, size_t off, size_t size, char **ret_bytes, size_t *ret_len);

void open_texts_drop(uint64_t number);

/* Drops those that are still there when the mount ends. */
void open_texts_free(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Who reads what was recorded, by the number that the kernel has of an open file. A reader that the kernel lets go of
 * while it is at work, as when its program is killed, stays until it is not. */
#ifndef FALLSFS_FS_DAEMON_TRACE_READERS_H
#define FALLSFS_FS_DAEMON_TRACE_READERS_H

#include "fs/core/disk/mutex.h"
#include "fs/daemon/trace/ring.h"

struct readers {
    struct mutex lock; /* nothing is taken under it */
    struct {
        struct ring_reader *reader; /* lock; NULL: the place is free */
        uint32_t n_users;           /* lock */
        bool is_closed;             /* lock */
    } place[RING_MAX_ALL];
};

void readers_init(struct readers *readers);
void readers_done(struct readers *readers);

/* Gives a reader a number; -EUSERS, with the reader freed: there is no room for it. */
int readers_add(struct readers *readers, struct ring_reader *reader, uint64_t *ret_number);

/* As ring_read; -EBADF: there is no reader with this number. */
ssize_t readers_read(struct readers *readers, uint64_t number, void *buf, size_t size);
void readers_close(struct readers *readers, uint64_t number);

#endif

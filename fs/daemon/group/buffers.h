/* SPDX-License-Identifier: MIT */
/* Memory of programs that sections are read into and written from. A program names a memfd of its own; it is looked up
 * through the program's entry in /proc, before anything else is done with it, and mapped once:
 *
 *     program   memfd 5, sealed ──> BUFFER fd 5 ──> number 0x8c21 ──> SECTION buffer 0x8c21
 *     daemon               /proc/TID/fd/5 ──> mmap ──> struct memory { addr, len } <── struct buffer
 *
 * It can neither shrink nor grow. Its contents are data, never believed to be anything else.
 *
 * Pages of it that are not there yet, or no longer, would be filled when the daemon touches them, with memory that the
 * kernel holds the daemon responsible for. Programs see to it that they are there; where they are not, only so much is
 * filled for a user, and never again: who keeps such memory, and how long, is not to be found out. */
#ifndef FALLSFS_FS_DAEMON_GROUP_BUFFERS_H
#define FALLSFS_FS_DAEMON_GROUP_BUFFERS_H

#include "fs/daemon/bounds/accounts.h"

#include <stdatomic.h>
#include <sys/types.h>

#define BUFFERS_MAX_NUMBER 8192 /* of one user; root has four times as many */

struct buffers;
struct memory;

struct buffer {
    atomic_uint refs;
    uint32_t number; /* at random, as long as no other of its open file has it: one from another open file, or from
                      * before, means nothing */
    uint8_t *addr;
    uint64_t len;
    uid_t uid;
    struct buffers *buffers;
    struct memory *memory;
    struct buffer *next; /* in the list of whoever keeps it */
};

/* Makes a table without buffers, which the accounts outlive. */
int buffers_new(struct accounts *accounts, struct buffers **ret_buffers);
void buffers_free(struct buffers *buffers);

/* Opens the memory behind a descriptor of the thread tid. -EACCES: the daemon may not look at that process; -EBADF:
 * there is no such descriptor; -EINVAL: it is no sealed memfd of that user and size; -EUSERS: the user has too much. */
int buffers_open(struct buffers *buffers, pid_t tid, uid_t uid, int fd, uint64_t len, struct buffer **ret_buffer);

void buffer_ref(struct buffer *buffer);
void buffer_put(struct buffer *buffer);

/* Sees to it that bytes of a buffer, which memory is, may be touched: to be called before that, or with missed when a
 * touch has found a hole. -EFAULT: there are holes, and the user has had as many filled as may be. Where a touch fills
 * nothing, only bytes that were missed are looked at; elsewhere a program may take pages away between this and the
 * touch, but no more of them than it has shown. */
int buffer_ready(void *memory, const uint8_t *at, uint64_t len, bool missed);

#endif

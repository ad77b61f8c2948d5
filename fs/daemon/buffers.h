/* SPDX-License-Identifier: MIT */
/* Memory of programs that sections are read into and written from. A program names a memfd of its own; it is looked up
 * through the program's entry in /proc, before anything else is done with it, and mapped once:
 *
 *     program   memfd 5, sealed ──> BUFFER fd 5 ──> number 0x8c21 ──> SECTION buffer 0x8c21
 *     daemon               /proc/TID/fd/5 ──> mmap ──> struct buffer { addr, len }
 *
 * It can neither shrink nor grow. Its contents are data, never believed to be anything else. */
#ifndef FALLSFS_FS_DAEMON_BUFFERS_H
#define FALLSFS_FS_DAEMON_BUFFERS_H

#include "layout/base.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Of one user; root has four times as much. Of memory that is the program's own, only the places where it is seen are
 * ours. */
#define BUFFERS_MAX_BYTES  (UINT64_C(1) << 40)
#define BUFFERS_MAX_NUMBER 8192

struct buffers;

struct buffer {
    atomic_uint refs;
    uint32_t number; /* at random, as long as no other of its open file has it: one from another open file, or from
                      * before, means nothing */
    uint8_t *addr;
    uint64_t len;
    uid_t uid;
    struct buffers *buffers;
    struct buffer *next; /* for whoever keeps it */
};

int buffers_new(struct buffers **ret_buffers);
void buffers_free(struct buffers *buffers);

/* The memory behind a descriptor of the thread tid. -EACCES the daemon may not look at that process, -EBADF no such
 * descriptor, -EINVAL no memfd of that user, sealed, of that size, -EUSERS too much. */
int buffers_open(struct buffers *buffers, pid_t tid, uid_t uid, int fd, uint64_t len, struct buffer **ret_buffer);

void buffer_ref(struct buffer *buffer);
void buffer_put(struct buffer *buffer);

#endif

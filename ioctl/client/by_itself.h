/* SPDX-License-Identifier: MIT */
/* What no daemon does, the library does by itself: files on other file systems, memory that a daemon cannot be shown.
 *
 *     reads     one large pread for many small pieces and the holes between them, as the daemon sieves
 *     writes    a pwrite for each piece: what lies between is others' to write, and there is no lock that they heed
 *     tickets   a thread each, which ends with its request
 *
 * Requests of one rank are served one after the other, in a queue. */
#ifndef FALLSFS_IOCTL_CLIENT_BY_ITSELF_H
#define FALLSFS_IOCTL_CLIENT_BY_ITSELF_H

#include "ioctl/client/client.h"
#include "ioctl/collective.h"

/* Moves what is asked for; zeros behind the end of the file. */
int itself_move(int fd, bool write, const struct asked *asked, struct collective_stats *ret_stats);

/* How long the file is; FALLSFS_SIZE_UNKNOWN. */
uint64_t itself_size(int fd);

struct queue;

struct queue *queue_new(void);

/* Whether this process made it: a child has not got what serves it. */
bool queue_is_own(const struct queue *queue);

/* Waits until all who stand in it are served. */
void queue_free(struct queue *queue);

/* What the last one did. */
void queue_stats(struct queue *queue, struct fallsfs_ioc_stats *ret_stats);

/* A request, at work or over. bytes are taken over; queue may be NULL. With nowait a thread works on it, where there is
 * one to be had. */
struct itself;

int itself_begin(const struct wish *wish, struct wish_bytes *bytes, struct queue *queue, bool nowait,
                 struct itself **ret_itself);
bool itself_is_over(const struct itself *itself);

/* What becomes readable when it is over; -1: it is. */
int itself_fd(const struct itself *itself);

/* Waits for it, gives its result, and frees it. -EPERM: it is another process's, which forked this one. */
int itself_end(struct itself *itself, uint64_t *ret_file_size);

#endif

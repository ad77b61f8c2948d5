/* SPDX-License-Identifier: MIT */
/* What the parts of libfallsfs share. */
#ifndef FALLSFS_IOCTL_CLIENT_CLIENT_H
#define FALLSFS_IOCTL_CLIENT_CLIENT_H

#include "ioctl/client/fallsfs.h"
#include "layout/nest.h"

#include <sys/types.h>

/* -- memory.c: what the daemon can reach -- */

/* Memory of whole pages that others can be shown, and that stays as long as it is; NULL: there is none. */
void *memory_new(uint64_t len, int *ret_memfd);
void memory_free(void *addr, uint64_t len, int memfd);

struct arena;

/* Where the bytes of a request are for the daemon: in the caller's own memory, when that is an arena's, or in a copy.
 */
struct place {
    struct arena *arena; /* NULL: no bytes, or memory the daemon cannot be shown */
    uint64_t off;
    bool staged; /* a copy */
};

/* Finds a place for len bytes, at buf or in a copy of them; 0 or -ENOMEM. */
int place_find(const void *buf, uint64_t len, struct place *ret_place);
uint8_t *place_bytes(const struct place *place);
void place_done(struct place *place);

/* The number that fd's daemon knows the arena by, which is told of it if need be; -errno when it cannot be. */
int place_show(const struct place *place, int fd, uint32_t *ret_buffer);

/* The daemon did not know that number: fd is another open file now. */
void place_forget(const struct place *place, int fd);

/* -- pieces.c: without the daemon's help -- */

/* The bytes of the nest, to or from contiguous memory; zeros behind the end of the file. */
int pieces_read(int fd, const struct nest *nest, uint8_t *buf);
int pieces_write(int fd, const struct nest *nest, const uint8_t *buf);

/* -- words.c: what went wrong -- */

/* A group as far as it matters for that. */
struct words_group {
    int fd;
    uint64_t id, seq;
    uint32_t rank, nranks, timeout_ms;
};

/* Note why; give r back. */
int words_join(int r, const struct words_group *group);
int words_request(int r, const struct words_group *group, bool write, const char *falls);
int words_view(int r);
__attribute__((format(printf, 2, 3))) int words(int r, const char *fmt, ...);

/* ioctl; again and again while signals interrupt it. */
int call_once(int fd, unsigned long cmd, void *arg);
int call(int fd, unsigned long cmd, void *arg);

#endif

/* SPDX-License-Identifier: MIT */
/* What the parts of libfallsfs share. */
#ifndef FALLSFS_IOCTL_CLIENT_CLIENT_H
#define FALLSFS_IOCTL_CLIENT_CLIENT_H

#include "ioctl/client/fallsfs.h"
#include "ioctl/fad.h"

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

/* Sees to it that so much of it is there when the daemon touches it; costs something once. -ENOMEM. */
int place_populate(const struct place *place, uint64_t len);

/* The number that fd's daemon knows the arena by, which is told of it if need be; -errno when it cannot be. */
int place_show(const struct place *place, int fd, uint32_t *ret_buffer);

/* The daemon did not know that number: fd is another open file now. */
void place_forget(const struct place *place, int fd);

/* -- wish.c: what is wanted -- */

/* A request: what is wanted, of which file, and where it is to be. */
struct wish {
    int fd;
    struct fallsfs_group *group; /* NULL: alone */
    uint64_t seq;                /* of the group's rounds, once it has been asked for */
    bool write;
    const struct fallsfs_array *array; /* with its section; NULL: a list, or a set of FALLS */
    const struct fallsfs_range *section;
    const struct fallsfs_list *list; /* NULL: a set of FALLS, all of it */
    uint64_t disp;
    const char *falls;
    uint8_t *buf;
    uint64_t bytes;
};

/* What is wanted, decoded as the daemon does it. */
struct wish_bytes {
    struct nest *nest; /* in the file; NULL: a list */
    struct pieces *pieces;
    struct list list;
};

/* A set of FALLS whose text is too long for a request, as a list of pieces. */
struct spelled {
    struct fallsfs_list list;
    struct fallsfs_ioc_piece *piece; /* NULL: there is no need */
};

/* Has the wish be for a list, if there is need. -E2BIG: the list is too long, too. */
int wish_spell(struct wish *wish, struct spelled *spelled);
void spelled_done(struct spelled *spelled);

int wish_decode(const struct wish *wish, struct wish_bytes *ret_bytes);
void wish_bytes_done(struct wish_bytes *bytes);
struct asked wish_asked(const struct wish_bytes *bytes);

/* Whether it is said what is wanted: nothing that is needed for that is NULL. */
bool wish_is_said(const struct wish *wish);

/* How much that is; of lists it is believed. -EFBIG: this process may not write there. */
int wish_measure(const struct wish *wish, uint64_t *ret_bytes);

/* As the daemon takes it; cmd is the result. */
union message {
    struct fallsfs_ioc_request request;
    struct fallsfs_ioc_section section;
    struct fallsfs_ioc_falls falls;
    struct fallsfs_ioc_list list;
};

unsigned long wish_message(const struct wish *wish, union message *message);

/* Of the list's pieces, in memory; 0: it has none. */
uint64_t wish_list_len(const struct wish *wish);

/* Forgets what belongs to the caller but for the memory: it need not last as long as a ticket. */
void wish_forget(struct wish *wish);

/* -- client.c: a wish comes true -- */

int wish_run(const struct wish *wish);
int wish_begin(const struct wish *wish, struct fallsfs_ticket **ret_ticket);

int group_fd(const struct fallsfs_group *group);

/* -- and what ranks of a group tell each other with a round, if they have a board: see board.h -- */

void group_place(const struct fallsfs_group *group, uint32_t *ret_rank, uint32_t *ret_nranks);
bool group_has_board(const struct fallsfs_group *group);
uint64_t group_rounds(struct fallsfs_group *group);           /* so far */
void group_tell(struct fallsfs_group *group, unsigned words); /* with the next round */
unsigned group_told(struct fallsfs_group *group);             /* with the last one */
void group_give_up(struct fallsfs_group *group);              /* for all: this rank cannot go on */

/* From here on, what this rank has to read without the daemon, which cannot reach its memory, is read before it asks
 * together with the others, not behind: whatever goes wrong then, it can tell them. */
void group_read_first(struct fallsfs_group *group);

/* -- words.c: what went wrong -- */

/* A group as far as it matters for that. */
struct words_group {
    int fd;
    uint64_t id, seq;
    uint32_t rank, nranks, timeout_ms;
};

/* Note why; give r back. */
int words_join(int r, const struct words_group *group, const struct fallsfs_ioc_join *join);
int words_hint(int r, const struct fallsfs_ioc_hints *hints);
int words_request(int r, const struct words_group *group, const struct wish *wish);
int words_ticket(int r, const struct words_group *group, const struct wish *wish);
int words_info(int r);
int words_view(int r);
__attribute__((format(printf, 2, 3))) int words(int r, const char *fmt, ...);

/* ioctl; again and again while signals interrupt it. */
int ioctl_once(int fd, unsigned long cmd, void *arg);
int call(int fd, unsigned long cmd, void *arg);

#endif

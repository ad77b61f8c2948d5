/* SPDX-License-Identifier: MIT */
/* What comes in through ioctl, checked: nothing of it is believed. And what a request wants, decoded once:
 *
 *     rows 0:49 of an array  ──┐
 *                              ├──>  struct wanted { nest of FALLS in file coordinates, or a list of pieces }
 *     "{(0,3,8,2)}" from 512 ──┤
 *     (0,2) (3,1) from 512   ──┘
 *
 * What is asked of a view counts the view's bytes: its lens tells where these are.
 *
 * Programs ask for the same again and again, so an open file remembers its last ones. */
#ifndef FALLSFS_IOCTL_REQUEST_H
#define FALLSFS_IOCTL_REQUEST_H

#include "ioctl/fad.h"
#include "ioctl/fallsfs_ioctl.h"

#include <pthread.h>
#include <stdatomic.h>

#define REQUEST_MIN_TIMEOUT 1000U /* ms that a group may wait for a rank */
#define REQUEST_MAX_TIMEOUT 3600000U

/* Through what an open file sees its file: the nest of a view. */
struct lens {
    const struct nest *nest; /* NULL: all of the file */
    size_t bytes;            /* of memory that the view takes */
    void *owner;
    void (*ref)(void *owner);
    void (*put)(void *owner);
};

/* The same bytes, wanted by any number of requests; never changes. */
struct wanted {
    atomic_uint refs;
    struct nest *nest;     /* NULL: it is a list */
    struct pieces *pieces; /* of the list, with a reference */
    struct list list;
    struct lens lens;   /* with a reference; none where the nest is in file coordinates */
    uint64_t array_end; /* where the array ends in the file; 0: no array was spoken of */
    size_t cost;        /* bytes of memory; pieces have somebody who pays for them */
    size_t key_len;
    uint8_t key[]; /* the request's own words */
};

struct wanted *wanted_ref(struct wanted *wanted);
void wanted_put(struct wanted *wanted);

bool wanted_equal(const struct wanted *a, const struct wanted *b);

/* The same to be asked; buf and what belongs to it is the asker's to fill in. */
static inline struct asked wanted_asked(const struct wanted *wanted)
{
    return (struct asked){ .nest = wanted->nest,
                           .list = wanted->nest == NULL ? &wanted->list : NULL,
                           .through = wanted->lens.nest };
}

static inline uint64_t wanted_size(const struct wanted *wanted)
{
    return wanted->nest != NULL ? wanted->nest->size : wanted->list.size;
}

#define WANTED_REMEMBERED       4
#define WANTED_REMEMBERED_BYTES (UINT64_C(4) << 20) /* of a list's pieces: of longer ones the last is remembered */

struct remembered_pieces {
    uint64_t id;
    struct pieces *pieces; /* NULL: none */
};

struct wanted_cache {
    struct lens lens; /* with a reference; of all that is asked for through this open file */
    pthread_mutex_t lock;
    struct wanted *last[WANTED_REMEMBERED];                 /* lock; NULL: none */
    uint32_t next;                                          /* lock; the one to be forgotten */
    struct remembered_pieces pieces[WANTED_REMEMBERED + 1]; /* lock; the last one is for what is longer */
    uint32_t next_pieces;                                   /* lock; those to be forgotten */
};

/* lens NULL: the open file is no view. */
void wanted_cache_init(struct wanted_cache *cache, const struct lens *lens);
void wanted_cache_done(struct wanted_cache *cache);

/* For want of room: no list is remembered. */
void wanted_cache_forget_lists(struct wanted_cache *cache);

/* Has what is wanted count the bytes of the view that the cache is of, if it is; -EOVERFLOW: behind those that it can
 * have. */
int wanted_look_through(const struct wanted_cache *cache, struct wanted *wanted);

/* With a reference. -EINVAL a malformed request, -ERANGE a bound outside its dimension, -EOVERFLOW, -E2BIG too
 * irregular, -ENOMEM. */
int wanted_section(struct wanted_cache *cache, const struct fallsfs_ioc_section *section, struct wanted **ret_wanted);
int wanted_falls(struct wanted_cache *cache, const struct fallsfs_ioc_falls *falls, struct wanted **ret_wanted);

/* The same. from is where the request says that its pieces are, and they have been found to be in that buffer; who pays
 * for what is made of them is said, too. As pieces_copy; -EINVAL, -EOVERFLOW also as list_init. */
int wanted_list(struct wanted_cache *cache, const struct fallsfs_ioc_list *list, const struct list_source *from,
                const struct payer *payer, struct wanted **ret_wanted);

/* 0, or -EINVAL: the version is another one, a reserved field is not 0, a value is none there is. */
int request_check(const struct fallsfs_ioc_request *request);
int request_check_list(const struct fallsfs_ioc_list *list);
int request_check_hint(const struct fallsfs_ioc_hint *hint);
int request_check_join(const struct fallsfs_ioc_join *join);
int request_check_buffer(const struct fallsfs_ioc_buffer *buffer);
int request_check_ticket(const struct fallsfs_ioc_ticket *ticket);
int request_check_leave(const struct fallsfs_ioc_leave *leave);
int request_check_stats(const struct fallsfs_ioc_stats *stats);
int request_check_groups(const struct fallsfs_ioc_groups *groups);
int request_check_board(const struct fallsfs_ioc_board *board);
int request_check_round(const struct fallsfs_ioc_round *round);
int request_check_view(const struct fallsfs_ioc_view *view);

#endif

/* SPDX-License-Identifier: MIT */
/* What comes in through ioctl, checked: nothing of it is believed. And what a request wants, decoded once:
 *
 *     rows 0:49 of an array  ──┐
 *                              ├──>  struct wanted { nest of FALLS in file coordinates }
 *     "{(0,3,8,2)}" from 512 ──┘
 *
 * Programs ask for the same again and again, so an open file remembers its last ones. */
#ifndef FALLSFS_IOCTL_REQUEST_H
#define FALLSFS_IOCTL_REQUEST_H

#include "ioctl/fallsfs_ioctl.h"
#include "layout/nest.h"

#include <pthread.h>
#include <stdatomic.h>

/* The same bytes, wanted by any number of requests; never changes. */
struct wanted {
    atomic_uint refs;
    struct nest *nest;
    uint64_t array_end; /* where the array ends in the file; 0: no array was spoken of */
    size_t cost;        /* bytes of memory */
    size_t key_len;
    uint8_t key[]; /* the request's own words */
};

struct wanted *wanted_ref(struct wanted *wanted);
void wanted_put(struct wanted *wanted);

bool wanted_equal(const struct wanted *a, const struct wanted *b);

#define WANTED_REMEMBERED 4

struct wanted_cache {
    pthread_mutex_t lock;
    struct wanted *last[WANTED_REMEMBERED]; /* lock; NULL: none */
    uint32_t next;                          /* lock; the one to be forgotten */
};

void wanted_cache_init(struct wanted_cache *cache);
void wanted_cache_done(struct wanted_cache *cache);

/* With a reference. -EINVAL a malformed request, -ERANGE a bound outside its dimension, -EOVERFLOW, -E2BIG too
 * irregular, -ENOMEM. */
int wanted_section(struct wanted_cache *cache, const struct fallsfs_ioc_section *section, struct wanted **ret_wanted);
int wanted_falls(struct wanted_cache *cache, const struct fallsfs_ioc_falls *falls, struct wanted **ret_wanted);

/* 0, or -EINVAL: the version is another one, a reserved field is not 0, a value is none there is. */
int request_check(const struct fallsfs_ioc_request *request);
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

/* SPDX-License-Identifier: MIT */
/* Groups on a clock of the test's own, with waiters that count their answers, for tests of groups. */
#ifndef FALLSFS_TEST_IOCTL_GROUP_WORLD_H
#define FALLSFS_TEST_IOCTL_GROUP_WORLD_H

#include "ioctl/group.h"

#define SECOND     UINT64_C(1000000000)
#define TIMEOUT    30000 /* ms */
#define MAX_PROBES 4096
#define PENDING    1 /* the state of a waiter that was not answered */

struct probe {
    struct waiter waiter;
    int n_answers;
};

struct world {
    struct groups *groups;
    uint64_t now;
    struct round *at_work[64];
    size_t n_at_work;
    uint64_t n_asks, n_dropped;
    char failed[256];
    struct wanted_cache cache;
    struct probe probe[MAX_PROBES];
    size_t n_probes;
};

/* A world without groups; limits may be NULL. */
struct world *world_new(const struct groups_limits *limits);

/* Ends work number i with a result. */
void world_finish(struct world *world, size_t i, int result);

/* Ends all work and closes all files: then nothing may be left, and nobody may still wait. */
void world_free(struct world *world, uint64_t n_handles);

/* Another waiter, whose answers are counted. */
struct probe *probe_new(struct world *world);

/* A request for n bytes from the start of the file; 0: for an empty section. */
struct ask *ask_new(struct world *world, bool write, uint64_t n);

/* The n-th caller, from 1: open file n of process 100 + n, which joins groups as rank n - 1. */
struct caller caller_of(uint64_t n);

/* Terms of so many ranks, which are otherwise always the same. */
struct group_terms terms_of(uint32_t nranks);

/* Handle n joins the group of the token as rank n - 1. */
int join(struct world *world, uint64_t n, uint32_t nranks, uint64_t *ret_group);

/* Handle n asks a group for its first bytes. */
struct probe *ask(struct world *world, uint64_t n, uint64_t group, uint64_t seq, bool ticket, bool write,
                  uint64_t bytes);

/* Handle n waits for a ticket, or, when it is not patient, asks whether the ticket is due. */
struct probe *wait_for(struct world *world, uint64_t n, uint64_t ticket, bool patient);

/* What a waiter was told; PENDING: nothing yet. */
int state_of(const struct probe *probe);

/* A group that handles 1 to nranks have joined. */
uint64_t group_of(struct world *world, uint32_t nranks);

/* A board with nothing on it. */
struct board *board_new(uint32_t nranks);

/* Handle n shows a board to its group, or asks for the one that was shown. */
int show_board(struct world *world, uint64_t n, uint64_t group, struct board *offered);

/* Handle n asks what all ranks are there for in a round. */
int gather(struct world *world, uint64_t n, uint64_t group, uint64_t seq, struct gathering *ret_gathering);

#define NOBODY UINT32_MAX

/* Handle n asks a group for all its ranks what each would ask for itself; rank odd_one, if there is one, writes when
 * the others read. */
struct probe *ask_all(struct world *world, uint64_t n, uint64_t group, uint64_t seq, const struct gathering *gathering,
                      uint32_t odd_one);

/* Whether ranks write in a round of that number. */
static inline bool writes(uint64_t seq)
{
    return seq % 3 == 0;
}

/* The token that all ranks join by. */
extern const uint8_t token[GROUP_TOKEN];

#endif

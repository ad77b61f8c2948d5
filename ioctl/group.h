/* SPDX-License-Identifier: MIT */
/* Who takes part in a collective, and when it begins. Ranks ask in rounds, each for its next one; a round that all have
 * asked in is worked on, one at a time, in order:
 *
 *                round 7        round 8        round 9
 *     rank 0     answered       asked          asked, ticket        rank 1 is behind: when it has not asked by the
 *     rank 1     answered       -              -                    deadline, or dies, the group has failed, for all
 *     rank 2     answered       asked          -                    and for good
 *
 * Nobody waits in here: who has to wait leaves a waiter, and is answered by a call, once, whatever happens. No lock is
 * held then. A waiter that is interrupted goes without its result; what it asked for stands, and asking for the same
 * round again is waiting for it again. Requests without a group are groups of one that end with their round; those
 * that are interrupted and have no ticket end it, and so does the death of all ranks. */
#ifndef FALLSFS_IOCTL_GROUP_H
#define FALLSFS_IOCTL_GROUP_H

#include "ioctl/board.h"
#include "ioctl/collective.h"
#include "ioctl/request.h"

#define GROUP_MAX_AHEAD 16 /* rounds a rank may ask for without having fetched the first one */
#define GROUP_CULPRITS  FALLSFS_MAX_CULPRITS
#define GROUP_TOKEN     16

struct groups;
struct group;
struct user;

/* Numbers that mean one thing each as long as the daemon runs. */
struct caller {
    uint64_t file, handle;
    uint64_t process; /* 0: cannot be told */
    uint32_t uid;
};

/* What a rank asks for. Whoever makes one has it dropped by groups_ops when nothing is done with it any more. */
struct ask {
    bool write;
    struct wanted *wanted;
    uint8_t *buf;
    memory_ready *ready; /* as struct asked has it */
    void *memory;
    struct collective_hints hints; /* of a request without group; else the group's count */
    struct ask *next;
};

/* Who waits for an answer: 0 or -errno, for how many bytes, with which ticket. */
struct waiter {
    void (*answer)(struct waiter *waiter);
    int result;
    uint64_t bytes, ticket;
    uint64_t file_size; /* as the round saw it, when that went well */
    bool accepted;      /* the request counts, whatever the result */

    /* of this module */
    uint64_t number;
    bool interrupted;
    struct entry *entry;
    struct waiter *next, *next_number;
};

struct group_stats {
    uint64_t calls, ns_wait;
    bool plan_reused;
    struct collective_stats last;
    uint64_t ns_plan;
    int error;           /* that the group has failed with; 0: it has not */
    uint32_t n_culprits; /* ranks that it failed for */
    uint32_t culprit[GROUP_CULPRITS];
};

struct entry {
    struct round *round;
    struct ask *ask; /* until it is dropped */
    struct waiter *waiter;
    uint64_t ticket; /* 0: none */
    uint64_t bytes;
    bool asked, fetched;
};

/* What has been planned for a group, for the next round that is the same. */
struct group_plan {
    struct collective_plan *plan;
    bool write;
    uint32_t n;
    struct wanted **wanted; /* the plan stands on their nests */
};

/* A round at work belongs to who does the work: reads its asks, notes what came of it. */
struct round {
    struct group *group;
    uint64_t seq;
    uint32_t n; /* ranks */
    bool write, alone;
    uint64_t bytes;     /* of all */
    uint64_t file_size; /* before it was read, or after it was written */
    const struct collective_hints *hints;
    struct group_plan *plan;
    struct group_stats stats;

    uint64_t deadline;    /* ns; of the asking, then of the work */
    bool no_deadline;     /* of either: the work has to make progress, no more; deadline is this module's then */
    atomic_ulong n_done;  /* windows of the work: its progress */
    atomic_bool unwanted; /* nobody is left who wants it done: it may end at any moment, with any result */

    /* of this module */
    enum { ROUND_OPEN, ROUND_READY, ROUND_AT_WORK, ROUND_OVER } state;
    int result;
    uint32_t n_asked, n_unfetched;
    uint64_t first_ask;
    atomic_bool running;
    unsigned long n_seen; /* of n_done, when the deadline was set */
    struct round *next;
    struct entry entry[];
};

struct groups_ops {
    uint64_t (*now)(void *ctx);                    /* ns, never back */
    void (*start)(void *ctx, struct round *round); /* all have asked: work, now or later, then groups_done */
    void (*drop)(void *ctx, struct ask *ask);      /* nobody needs it any more */
    void (*failed)(void *ctx, const char *why);    /* for the log: a group whose ranks did not all come */
};

/* Of one user; root has four times as much. */
struct groups_limits {
    uint32_t groups, ranks;
    uint32_t asks;     /* made and not yet fetched */
    size_t wanted;     /* bytes that descriptions of what they ask for may take */
    uint64_t patience; /* ns that work may take before who waits gets an error; 0: any */
};

extern const struct groups_limits groups_usual_limits;

int groups_new(const struct groups_ops *ops, void *ctx, const struct groups_limits *limits, struct groups **ret_groups);

/* All who wait are answered. No round is at work any more. */
void groups_free(struct groups *groups);

/* All ranks of a group come with the same ones. */
struct group_terms {
    uint32_t nranks;
    struct collective_hints hints;
    uint32_t timeout; /* ms */
};

/* -EACCES another user's or for another file, -EEXIST rank or open file have joined, -EPROTO other terms, -EUSERS too
 * many; or what the group has failed with. */
int groups_join(struct groups *groups, const struct caller *caller, const uint8_t token[GROUP_TOKEN], uint32_t rank,
                const struct group_terms *terms, uint64_t *ret_group);

/* Gives the waiter a number by which it can be interrupted, before it is known to anybody; a call that takes it has to
 * follow. */
uint64_t groups_expect(struct groups *groups, struct waiter *waiter);
void groups_interrupt(struct groups *groups, uint64_t number);

/* From here on, waiters are answered, also of errors: -EINVAL no such group of this open file, -EPERM another process's
 * rank, -EPROTO not what the others ask for, or not the next round, -EUSERS too much at once.
 *
 * ask is taken over. With ticket, the answer comes at once, and the ticket in it. */
void groups_ask(struct groups *groups, const struct caller *caller, uint64_t id, uint64_t seq, bool ticket,
                struct ask *ask, struct waiter *waiter);
void groups_ask_alone(struct groups *groups, const struct caller *caller, bool ticket, struct ask *ask,
                      struct waiter *waiter);

/* The group's board, with a reference; the one that is offered, whose reference is taken, if it has none yet. -ENOENT
 * it has none and gets none, -EINVAL, -EPERM. */
int groups_board(struct groups *groups, const struct caller *caller, uint64_t id, struct board *offered,
                 struct board **ret_board);

/* All ranks of a group, who wait for each other on their board. */
struct gathering {
    uint32_t n;
    uint64_t *handle; /* of each rank */
    struct board *board;
};

/* Who would ask together in the round; -EAGAIN: not all of them can. */
int groups_gather(struct groups *groups, const struct caller *caller, uint64_t id, uint64_t seq,
                  struct gathering *ret_gathering);
void gathering_done(struct gathering *gathering);

/* All of them ask; the asks are taken over. The waiter is the caller's; -EAGAIN, and nothing has happened: something is
 * not as it was found, or one of them would be refused. Each rank may ask for itself, then. */
void groups_ask_all(struct groups *groups, const struct caller *caller, uint64_t id, uint64_t seq,
                    const struct gathering *gathering, struct ask *const ask[], uint64_t ns_wait,
                    struct waiter *waiter);

/* Fetches a ticket's result; -EINVAL there is no such ticket. Without patience: -EAGAIN when it is at work. */
void groups_wait(struct groups *groups, const struct caller *caller, uint64_t ticket, bool patient,
                 struct waiter *waiter);

enum {
    GROUPS_NO_TICKETS,
    GROUPS_PENDING,
    GROUPS_READY, /* the result of a ticket can be fetched */
};

/* How the tickets of an open file stand. A waiter, if there is one, is answered when one of them becomes ready, with
 * 0; with -EAGAIN when another comes for the same file. */
int groups_poll(struct groups *groups, const struct caller *caller, struct waiter *waiter);

int groups_leave(struct groups *groups, const struct caller *caller, uint64_t id);

/* An open file was closed for good, a process has ended: ranks are gone, and what is still to come of their groups ends
 * with -ECANCELED. */
void groups_handle_gone(struct groups *groups, uint64_t handle);
void groups_process_gone(struct groups *groups, uint64_t process);

/* What the last round did that the caller has been told of, and what the group has failed with. */
int groups_stats(struct groups *groups, const struct caller *caller, uint64_t id, struct group_stats *ret_stats);

/* The first group after that one that the user may see; file: what its callers called it. False: there is no other. */
bool groups_show(struct groups *groups, uint32_t uid, uint64_t after, struct fallsfs_ioc_groups *ret_shown,
                 uint64_t *ret_file);

/* Memory and file are touched from round_begin on, if that says that the work is wanted, until groups_done; or until
 * round_rest, unless that says that it is no longer wanted and shall be done. */
bool round_begin(struct round *round);
bool round_rest(struct round *round);

/* The number of the group that a round is of. */
uint64_t round_group(const struct round *round);

/* The work of a round is over. */
void groups_done(struct groups *groups, struct round *round, int result);

/* Looks at the clock; when it is to look next, at the latest: ns, or UINT64_MAX. */
uint64_t groups_tick(struct groups *groups);

/* For want of room: plans of groups that nothing is worked on for are forgotten, and what they stand on with them. */
void groups_forget_plans(struct groups *groups);

/* What there is, for tests and for fallsctl: groups, ranks in them, asks, bytes of wanted. */
struct groups_count {
    uint64_t groups, ranks, asks, waiters, openers, users;
};

struct groups_count groups_count(struct groups *groups);

#endif

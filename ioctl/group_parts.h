/* SPDX-License-Identifier: MIT */
/* What groups are made of, for the files of that module alone.
 *
 *     groups ──> group ──> member (a rank)  <── opener (an open file)
 *                   └────> round ──> entry (what a rank asked for) <── waiter
 *
 * All of it under one lock; what must be done without the lock is collected meanwhile. */
#ifndef FALLSFS_IOCTL_GROUP_PARTS_H
#define FALLSFS_IOCTL_GROUP_PARTS_H

#include "ioctl/group.h"

#define GROUPS_BUCKETS 1024
#define GROUPS_ENDED   1024 /* that are remembered */

/* What one user has. It goes with the last of it. */
struct user {
    uint32_t uid, n_groups, n_ranks, n_asks;
    uint32_t refs; /* groups that point here, those of one included */
    size_t wanted;
    struct user *next;
};

struct member {
    struct group *group;
    struct opener *opener; /* NULL: nobody has this rank, or whoever had it is gone */
    uint64_t process, seq; /* the last round asked for */
    struct member *next;   /* of the same open file */
    bool was_here;
};

/* An open file that takes part in something. */
struct opener {
    uint64_t handle;
    struct member *members;
    struct waiter *poll;
    struct opener *next;
};

struct group {
    uint64_t id, file;
    uint8_t token[GROUP_TOKEN];
    bool alone; /* a request without a group */
    struct user *user;
    struct group_terms terms;
    uint32_t n_here; /* ranks that are taken and not gone */
    bool was_left;   /* by a rank that had been told what it wanted, or trusts that it is done */
    int error;       /* that it has failed with; 0: none */
    uint64_t until;  /* ns: when it has failed, for how long ranks that have not come are thought to be on their way */
    struct round *rounds;
    struct round *at_work;
    struct group_plan plan;
    struct group_stats stats;
    struct board *board; /* NULL: none */
    struct group *next, **at;
    struct member member[];
};

/* A group that failed and went before all of its ranks had come: those that still come, until then, are told why. */
struct ended {
    uint8_t token[GROUP_TOKEN];
    uint64_t file, until; /* ns */
    uint32_t uid;
    int error; /* 0: nothing is remembered here */
};

struct groups {
    struct groups_ops ops;
    void *ctx;
    struct groups_limits limits;
    uint64_t last_id, last_ticket; /* lock */
    uint64_t last_number;          /* lock */
    pthread_mutex_t lock;          /* a leaf; nothing is called with it but the clock */
    struct group *first;           /* lock, with all that follows */
    struct user *users;
    struct opener *opener[GROUPS_BUCKETS];
    struct waiter *waiter[GROUPS_BUCKETS];
    struct ended ended[GROUPS_ENDED]; /* a ring */
    uint32_t next_ended;
};

/* What is to be done without the lock, once it is released. */
struct todo {
    struct waiter *answered, **last_answered;
    struct ask *dropped;
    struct round *start;
    struct group *freed;
    char failed[256];
};

/* Every call goes from begin to finish: begin takes the lock, finish releases it and does what has come together. */
void groups_begin(struct groups *groups, struct todo *todo);
void groups_finish(struct groups *groups, struct todo *todo);

/* To be done then: an answer, the last that is heard of the waiter; an ask's end. */
void waiter_answer(struct groups *groups, struct todo *todo, struct waiter *waiter, int result);
void todo_drop(struct todo *todo, struct ask *ask);

/* All from here on with the lock. */

/* The user, new if need be, NULL without memory; forgotten when no group is the user's. */
struct user *user_find(struct groups *groups, uint32_t uid);
void user_forget(struct groups *groups, struct user *user);
uint32_t user_share(const struct user *user);

/* Where the opener of that number is, or NULL would be replaced; the opener, new if need be, NULL without memory;
 * forgotten when it takes part in nothing. */
struct opener **opener_at(struct groups *groups, uint64_t handle);
struct opener *opener_find(struct groups *groups, uint64_t handle);
void opener_forget(struct groups *groups, struct opener *opener);

/* A group that nobody is in, so far. */
struct group *group_new(struct groups *groups, const struct caller *caller, const struct group_terms *terms,
                        struct user *user);

/* Frees rounds that are over and fetched, and the group when it has neither rounds nor ranks; when all ranks have died,
 * nobody wants the others. Who changes any of that calls this last. */
void group_tidy(struct groups *groups, struct todo *todo, struct group *group);

/* Until when it is bearable that work which can begin now is not over. */
uint64_t groups_patience(const struct groups *groups);

/* The next round that all have asked in, if none is at work. */
void group_start(struct groups *groups, struct todo *todo, struct group *group);

/* Rounds that not all have asked in are over, with that error, and no other will begin. Blame comes first. */
void group_fail(struct groups *groups, struct todo *todo, struct group *group, int error);
void group_blame(struct group_stats *stats, uint32_t rank);
void group_late(struct groups *groups, struct todo *todo, struct group *group, struct round *round);

/* The caller's rank in a group. -EINVAL it has none, -EPERM it is another process's. */
int member_find(struct groups *groups, const struct caller *caller, uint64_t id, struct member **ret_member);
void member_come(struct member *member, struct opener *opener, uint64_t process);

/* What the rank has asked for goes on, if all others have asked, too; but it is not told. Tidies. */
void member_gone(struct groups *groups, struct todo *todo, struct member *member);
struct member *member_of(const struct entry *entry);

/* The group's next one; one of its rounds, or NULL. */
struct round *round_new(struct group *group, uint64_t seq);
struct round *round_find(const struct group *group, uint64_t seq);

/* Tells all. Those who are not there have it told when they come. */
void round_over(struct groups *groups, struct todo *todo, struct round *round, int result);

/* Tells the waiter what the round, which is over, came to. */
void entry_tell(struct groups *groups, struct todo *todo, struct entry *entry);

/* The result has been told, or nobody is left to be told. */
void entry_fetched(struct groups *groups, struct entry *entry);

#endif

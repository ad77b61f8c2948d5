/* SPDX-License-Identifier: MIT */
/* The daemon ends under programs that work, again and again; each cycle looks at what the one before has left.
 *
 *     daemon_start ──> begin ──> programs work ──> a random moment ──> doom, kill -9 ──> programs end ──> over
 *          └──> in some cycles the daemon is killed here, while it starts or recovers
 *
 * shutdown.c, where disks end, too, makes cycles of its own from these parts. */
#ifndef FALLSFS_TEST_MOUNT_CRASH_H
#define FALLSFS_TEST_MOUNT_CRASH_H

#include "test/support/rng.h"

#include <sys/types.h>

#define MAX_DISKS    8
#define MAX_PROGRAMS 8

void sleep_us(uint64_t us);

/* Zeros that this process and those it forks from now on share. Ends the program without memory. */
void *crash_share(size_t len);

/* -- the daemon -- */

struct daemon {
    char *fallsfs, *top;
    char *disk[MAX_DISKS];
    int n_disks;
};

/* layout as in -o. */
pid_t daemon_start(const struct daemon *daemon, const char *layout);

/* Until somebody serves the mount; false, said, when nobody does. */
bool daemon_wait(const struct daemon *daemon, pid_t pid);

void daemon_kill(pid_t pid);

/* -- programs -- */

/* Processes that each do their work and end with 0. */
struct programs {
    pid_t pid[MAX_PROGRAMS];
    unsigned n;
};

struct programs programs_start(unsigned n, void (*work)(unsigned program));

/* Whose daemon is dead hears of it at once. False, said, when a program hangs, or has ended otherwise. */
bool programs_end(const struct programs *programs);

/* -- cycles -- */

/* As many as the environment says (see rng.h), until one is false: how to have that one again is said then. */
bool crash_repeat(uint64_t n_cycles, bool (*cycle)(void *arg, struct rng *rng), void *arg);

struct crash_test {
    const char *const *layout; /* as in -o: each mount has one of them */
    size_t n_layouts;
    unsigned early; /* percent of the cycles in which the daemon is killed before anybody works */
    unsigned n_programs;

    /* On the mount, before programs work: whether the last cycle has left what it may leave. */
    bool (*begin)(const struct daemon *daemon, struct rng *rng);
    void (*work)(unsigned program); /* in a process of its own; returns once the daemon is gone */
    bool (*is_at_work)(void);       /* the moment of the kill is chosen from then on; NULL: at once */
    void (*doom)(void);             /* just before the kill: errors are no failures from now on */
    bool (*over)(void);             /* all programs have ended: whether they ended as they may */
};

/* What main does: TEST FALLSFS MOUNTPOINT DISK...; its exit status. */
int crash_main(int argc, char **argv, uint64_t n_cycles, const struct crash_test *test);

#endif

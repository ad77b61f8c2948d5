/* SPDX-License-Identifier: MIT */
/* The extended two-phase method on one page. Members of a group ask for sets of bytes of one file; the disks are read
 * or written once for all of them:
 *
 *     FAD         who asks for what: a nest of FALLS each, never a list of pieces (fad.h)
 *     domains     the covered range, divided among those who do the work (domain.h)
 *     FDAT        of a domain, from window to window: what is asked for there, by whom (fdat.h)
 *     sieve       how a window comes from the disks or goes to them (sieve.h)
 *     exchange    its bytes to and from the members' memory (exchange.h)
 *
 * Memory is bounded by a window for each thread that works, whatever is asked for. Knows layouts and a store, no FUSE,
 * starts no threads. */
#ifndef FALLSFS_IOCTL_COLLECTIVE_H
#define FALLSFS_IOCTL_COLLECTIVE_H

#include "ioctl/domain.h"
#include "ioctl/sieve.h"

#include <stdatomic.h>

#define COLLECTIVE_WINDOW      (UINT64_C(512) << 10) /* usually: it fits the second cache beside members' memory */
#define COLLECTIVE_MAX_WINDOW  (UINT64_C(4) << 20)
#define COLLECTIVE_MAX_WORKERS 64

/* All 0: what suits. */
struct collective_hints {
    enum domain_kind domains;
    uint32_t sieve;  /* enum sieve_mode, or FALLSFS_SIEVE_EACH of two */
    uint64_t window; /* bytes, up to COLLECTIVE_MAX_WINDOW */
    uint32_t workers;
    uint64_t max_window; /* whatever is wished for; 0: COLLECTIVE_MAX_WINDOW */
};

struct collective_stats {
    uint64_t asked;
    struct sieve_stats sieve; /* of all workers together */
    uint32_t workers;
    uint64_t ns_total;
};

/* Calls run(arg, i) for each i below n, on as many threads as it likes, and returns when all have. */
struct executor {
    void (*each)(void *ctx, uint32_t n, void (*run)(void *arg, uint32_t i), void *arg);
    void *ctx;
    uint32_t n_threads;         /* that are of use */
    uint64_t max_window;        /* bytes of memory that each may work in; 0: COLLECTIVE_MAX_WINDOW */
    const atomic_bool *may_end; /* set at any time: no other window is begun; NULL: all are done */
    atomic_ulong *n_done;       /* counts windows that are done; NULL: nobody wants to know */
};

struct collective_plan;

/* How the work is divided, worked out once for requests that come again: asked must select the same bytes each time.
 * array_end is where the array ends, for static domains; 0: where the last byte asked for does. */
int collective_plan_new(const struct asked asked[], uint32_t n_asked, bool writes, uint64_t array_end,
                        const struct collective_hints *hints, const struct store *store, uint32_t n_threads,
                        struct collective_plan **ret_plan);
void collective_plan_free(struct collective_plan *plan);

/* Reads or writes for all members, one run of a plan at a time. Where writers overlap, the highest wins. The error is
 * the first one, -EINTR when the executor might end; parts may be done then. */
int collective_run(struct collective_plan *plan, const struct asked asked[], const struct store *store,
                   const struct executor *executor, struct collective_stats *ret_stats);

#endif

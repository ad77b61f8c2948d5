/* SPDX-License-Identifier: MIT */
/* A file in memory for collectives to work on, and what a stricter world than the daemon's would say to them. */
#ifndef FALLSFS_TEST_IOCTL_MEMSTORE_H
#define FALLSFS_TEST_IOCTL_MEMSTORE_H

#include "ioctl/store.h"

#include <pthread.h>

#define MEMSTORE_LOCKS 64
#define MEMSTORE_DISKS 16 /* at most */

struct memstore {
    struct store store;
    uint8_t *bytes;
    uint64_t size, room;
    uint64_t stripe;      /* bytes to each disk in turn */
    uint64_t mapped;      /* pieces of which so many bytes are mapped, and the next so many not; 0: nothing is */
    pthread_mutex_t lock; /* all below */
    uint64_t locked_lo[MEMSTORE_LOCKS], locked_hi[MEMSTORE_LOCKS];
    unsigned n_locked;
    unsigned n_maps;  /* not given back */
    unsigned n_apart; /* writes without holes */
    uint64_t fail_at; /* the call that fails, from 1; 0: none */
    uint64_t n_calls;
    uint64_t sent_for; /* bytes that prefetch was told of before the first read, write or lock */
    bool wrong;        /* something was done that must not be */
};

void memstore_init(struct memstore *memstore, uint64_t room, uint32_t n_disks, uint64_t stripe);
void memstore_done(struct memstore *memstore);

#endif

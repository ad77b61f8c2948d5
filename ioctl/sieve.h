/* SPDX-License-Identifier: MIT */
/* How a window comes from the disks, or goes to them. What is in memory anyway is moved straight from there; for the
 * rest, pieces are read or written together with the holes between them, as long as that costs less than another call:
 *
 *     asked for     # # . # . . . . . . . . # . #
 *     pieces        |-------|               |---|        a hole that is written is first read, with the range locked
 *
 * A hole that other disks have is none for those that have the bytes: it is not read, nor need it be to write them.
 *
 *     disks         0 0 1 0 1 1 1 1 1 1 1 1 0 1 0        of disk 0 a request for five bytes in a row, of disk 1 none
 */
#ifndef FALLSFS_IOCTL_SIEVE_H
#define FALLSFS_IOCTL_SIEVE_H

#include "ioctl/fdat.h"

enum sieve_mode {
    SIEVE_AUTO,
    SIEVE_ON,  /* holes of any size */
    SIEVE_OFF, /* none */
};

struct sieve_stats {
    uint64_t disk_read, disk_written, mapped, reread;
    uint64_t windows, windows_mapped, windows_list, requests;
    uint64_t ns_io, ns_exchange;
};

struct sieve {
    const struct fad *fad;
    const struct store *store;
    enum sieve_mode mode;
    uint8_t *buf; /* as long as a window */

    /* Called before the first read of a window that is not all in memory: the disks of later windows can seek while
     * that read waits for its own. NULL: nobody wants to know. */
    void (*missed)(void *ctx);
    void *ctx;

    struct sieve_stats stats;
};

int sieve_read(struct sieve *sieve, const struct window *window);
int sieve_write(struct sieve *sieve, const struct window *window);

/* The window comes soon, to be read or written: what of it must be read can be on its way. */
void sieve_prefetch(struct sieve *sieve, const struct window *window, bool writes);

#endif

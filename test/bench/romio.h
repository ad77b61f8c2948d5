/* SPDX-License-Identifier: MIT */
/* The settings of MPI-IO that are measured. */
#ifndef FALLSFS_TEST_BENCH_ROMIO_H
#define FALLSFS_TEST_BENCH_ROMIO_H

enum romio_way {
    ROMIO_PLAIN,   /* each rank on its own, a system call for each piece */
    ROMIO_SIEVE,   /* each rank on its own, sieving in a buffer that fits the cache */
    ROMIO_DEFAULT, /* together, as it comes */
    ROMIO_ONE,     /* together, one rank does the work */
    ROMIO_FOUR,    /* four do */
    ROMIO_ALL,     /* all do, where it thinks that it pays */
    ROMIO_WAYS
};

#endif

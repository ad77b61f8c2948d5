/* SPDX-License-Identifier: MIT */
/* A walk through a file slab by slab: bench_slabs FILE MIB MEMORY-MIB HALO COMPUTE-US PREFETCH. The file is an array of
 * rows of 64 KiB; so many microseconds are computed on each slab, which looks at one byte of each page. Prints one
 * line: milliseconds of the walk, slabs, bytes asked of the file, and milliseconds waited for slabs. */
#include "layout/base.h"
#include "layout/clock.h"

#include <fallsfs_slabs.h>
#include <fcntl.h>
#include <stdio.h>

#define ROW  (UINT64_C(64) << 10)
#define PAGE 4096
#define NS   1000000

static uint64_t word(const char *text)
{
    return strtoull(text, NULL, 10);
}

static uint64_t compute(const struct fallsfs_slab *slab, uint64_t until)
{
    const uint8_t *bytes = slab->bytes;
    uint64_t sum = 0;

    for (uint64_t at = 0; at < slab->n[0] * ROW; at += PAGE)
        sum += bytes[at];
    while (clock_ns() < until) {
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct fallsfs_slabs_stats stats = { 0 };
    struct fallsfs_slabs *slabs;
    struct fallsfs_slab slab;
    uint64_t sum = 0, begun;
    int r, end;

    if (argc != 7) {
        fprintf(stderr, "usage: bench_slabs FILE MIB MEMORY-MIB HALO COMPUTE-US PREFETCH\n");
        return 2;
    }
    const struct fallsfs_array array = {
        .ndims = 2, .order = FALLSFS_ROW_MAJOR, .elem = 1, .size = { (word(argv[2]) << 20) / ROW, ROW }
    };
    const struct fallsfs_slabs_walk walk = { .axis = 0,
                                             .memory = word(argv[3]) << 20,
                                             .prefetch = word(argv[6]) > 0 ? (uint32_t) word(argv[6])
                                                                           : FALLSFS_SLABS_NO_PREFETCH };
    const struct fallsfs_slabs_array of = { .fd = open(argv[1], O_RDONLY | O_CLOEXEC),
                                            .access = FALLSFS_SLABS_READ,
                                            .array = &array,
                                            .halo = { { word(argv[4]), word(argv[4]) } } };
    begun = clock_ns();
    r = fallsfs_slabs_open(&walk, &of, 1, &slabs);
    if (r < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], fallsfs_strerror_last());
        return 1;
    }
    while ((r = fallsfs_slabs_next(slabs, &slab)) == 1)
        sum += compute(&slab, clock_ns() + word(argv[5]) * 1000);
    fallsfs_slabs_stats(slabs, &stats);
    end = fallsfs_slabs_close(slabs);
    if (r < 0 || end < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], fallsfs_strerror_last());
        return 1;
    }
    printf("%.3f %" PRIu64 " %" PRIu64 " %.3f %" PRIu64 "\n", (double) (clock_ns() - begun) / NS, stats.rounds,
           stats.bytes_read, (double) stats.waited_read_ns / NS, sum);
    return 0;
}

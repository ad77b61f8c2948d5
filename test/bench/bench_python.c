/* SPDX-License-Identifier: MIT */
/* The calls that Python is measured beside: bench_python FILE ROWS COLUMNS, a matrix of doubles. A line of its input is
 * a section and how often, "0 8191 2 0 99 1 20"; the answer is how many nanoseconds each call took, into memory that
 * nobody has touched. */
#include "ioctl/client/fallsfs.h"
#include "layout/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint64_t time_call(int fd, const struct fallsfs_array *matrix, const struct fallsfs_range section[])
{
    size_t len = fallsfs_section_bytes(matrix, section);
    uint64_t begun = clock_ns();
    void *fresh = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t ns;

    if (fresh == MAP_FAILED || fallsfs_read_section(fd, matrix, section, fresh) < 0) {
        fprintf(stderr, "bench_python: %s\n", fallsfs_strerror_last());
        exit(1);
    }
    ns = clock_ns() - begun;
    munmap(fresh, len);
    return ns;
}

int main(int argc, char **argv)
{
    struct fallsfs_array matrix = { .ndims = 2, .elem = sizeof(double) };
    struct fallsfs_range section[2];
    unsigned n;
    int fd = argc == 4 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0) {
        fputs("usage: bench_python FILE ROWS COLUMNS\n", stderr);
        return 1;
    }
    matrix.size[0] = strtoull(argv[2], NULL, 10);
    matrix.size[1] = strtoull(argv[3], NULL, 10);
    while (scanf("%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%u", &section[0].lower,
                 &section[0].upper, &section[0].stride, &section[1].lower, &section[1].upper, &section[1].stride,
                 &n) == 7) {
        for (unsigned i = 0; i < n; i++)
            printf("%" PRIu64 "%c", time_call(fd, &matrix, section), i + 1 < n ? ' ' : '\n');
        fflush(stdout);
    }
    return 0;
}

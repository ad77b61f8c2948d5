/* SPDX-License-Identifier: MIT */
/* A complete program: several processes write a matrix together, each a block of its columns, and read it back by rows.
 *
 *     cc example.c $(pkg-config --cflags --libs fallsfs) -o example
 *     ./example /fast/matrix 4
 *
 * The processes are forked here; with MPI, MPI_Bcast would hand the token round. */
#include <fallsfs.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIDE 1024 /* of the matrix */

static const struct fallsfs_array matrix = {
    .ndims = 2, .order = FALLSFS_ROW_MAJOR, .elem = sizeof(double), .size = { SIDE, SIDE }
};

static void check(int r, const char *what)
{
    if (r == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, fallsfs_strerror_last());
    exit(1);
}

/* What belongs at a place of the matrix. */
static double value(uint64_t row, uint64_t column)
{
    return (double) (row * SIDE + column);
}

static void write_columns(struct fallsfs_group *group, uint64_t first, uint64_t n, double *mine)
{
    const struct fallsfs_range columns[] = { { 0, SIDE - 1, 1 }, { first, first + n - 1, 1 } };

    for (uint64_t row = 0; row < SIDE; row++)
        for (uint64_t i = 0; i < n; i++)
            mine[row * n + i] = value(row, first + i);
    check(fallsfs_write_all(group, &matrix, columns, mine), "writing columns");
}

/* Gives 1 when every element is what it should be. */
static int read_rows(struct fallsfs_group *group, uint64_t first, uint64_t n, double *mine)
{
    const struct fallsfs_range rows[] = { { first, first + n - 1, 1 }, { 0, SIDE - 1, 1 } };
    int right = 1;

    check(fallsfs_read_all(group, &matrix, rows, mine), "reading rows");
    for (uint64_t i = 0; i < n * SIDE; i++)
        right &= mine[i] == value(first + i / SIDE, i % SIDE);
    return right;
}

static int be_rank(const char *path, const uint8_t token[16], uint32_t rank, uint32_t nranks)
{
    uint64_t first = (uint64_t) rank * SIDE / nranks, end = ((uint64_t) rank + 1) * SIDE / nranks;
    double *mine = fallsfs_alloc((end - first) * SIDE * sizeof *mine);
    int fd = open(path, O_RDWR | O_CREAT, 0666), right;
    struct fallsfs_group *group;

    if (fd < 0 || mine == NULL) {
        perror(path);
        return 1;
    }
    check(fallsfs_join(fd, token, rank, nranks, NULL, &group), "joining");
    write_columns(group, first, end - first, mine);
    right = read_rows(group, first, end - first, mine);
    printf("rank %u: rows %llu to %llu are %s\n", rank, (unsigned long long) first, (unsigned long long) end - 1,
           right ? "right" : "wrong");
    fallsfs_leave(group);
    fallsfs_free(mine);
    close(fd);
    return !right;
}

int main(int argc, char **argv)
{
    uint32_t nranks = argc > 2 ? (uint32_t) strtoul(argv[2], NULL, 10) : 0;
    uint8_t token[16];
    int status, failed = 0;

    if (nranks < 1 || nranks > SIDE) {
        fprintf(stderr, "usage: %s FILE RANKS, with a file on a fallsfs mount and 1 to %d ranks\n", argv[0], SIDE);
        return 2;
    }
    check(fallsfs_token(token), "making a token");
    for (uint32_t rank = 0; rank < nranks; rank++) {
        pid_t pid = fork();

        if (pid == 0)
            exit(be_rank(argv[1], token, rank, nranks));
        failed |= pid < 0;
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

/* SPDX-License-Identifier: MIT */
/* What programs of MPI do beside sections: mpi_cases CASE FILE WAY [DAEMON]. Prints what it measured, a name and a
 * number a line: medians of what the slowest rank took, in ms where nothing else is said.
 *
 *     pieces:N,LEAST,MOST    N pieces of so many bytes for each rank, in turn with the others', as models of the
 *                            climate have them: view, write, read; bytes and pieces of all, and the MiB that they
 *                            took, with the process DAEMON, beside what the program has itself
 *     block                  a block of a 4-dimensional array for each rank: the same
 *     rows:BYTES             64 rows of so many bytes, of which each rank has a part: a collective for each row, with
 *                            a view of its own as HDF5 has it; and the same written by each rank alone, all at once
 *     views                  microseconds of a view of a subarray that is new, and of one that is known
 *
 * WAY: default, or a setting of ROMIO's: sieve, one, all. */
#include "layout/base.h"

#include <mpi.h>
#include <stdio.h>

#define MAX_ROUNDS 15
#define MIN_ROUNDS 3
#define BUDGET     1500 /* ms, after which no other round is begun */

/* -- measuring -- */

static int rank, n_ranks;
static bool wrong; /* bytes, or a call that failed */

struct series {
    const char *name;
    unsigned n;
    double ms[MAX_ROUNDS];
};

static double start(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* What the slowest rank took. */
static double stop(struct series *series, double begun)
{
    double took = MPI_Wtime() - begun, most;

    MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    series->ms[series->n++] = most * 1e3;
    return most * 1e3;
}

static bool goes_on(const struct series *series, double spent)
{
    return series->n < MAX_ROUNDS && (series->n < MIN_ROUNDS || spent < BUDGET);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static void tell(const char *name, double value)
{
    if (rank == 0)
        printf("%s %.3f\n", name, value);
}

static void tell_median(struct series *series)
{
    qsort(series->ms, series->n, sizeof series->ms[0], compare);
    tell(series->name, series->ms[series->n / 2]);
}

static void want(int r)
{
    wrong = wrong || r != MPI_SUCCESS;
}

static void *take(size_t len)
{
    void *bytes = malloc(MAX(len, 1));

    if (bytes == NULL)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return bytes;
}

/* MiB of a process that are its own, shared ones in parts. */
static double memory_of(const char *process)
{
    char path[64], line[256];
    double sum = 0, kib;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", process);
    in = fopen(path, "re");
    if (in == NULL)
        return 0;
    while (fgets(line, sizeof line, in) != NULL)
        if (sscanf(line, "Pss_Anon: %lf", &kib) == 1 || sscanf(line, "Pss_Shmem: %lf", &kib) == 1)
            sum += kib / 1024;
    fclose(in);
    return sum;
}

/* Of all ranks, and of the daemon if there is one. */
static double memory_of_all(const char *daemon)
{
    double own = memory_of("self"), sum;

    if (rank == 0 && daemon != NULL)
        own += memory_of(daemon);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* -- the file -- */

static MPI_File open_file(const char *name, const char *way)
{
    char all[16];
    MPI_File file;
    MPI_Info info;

    MPI_Info_create(&info);
    snprintf(all, sizeof all, "%d", n_ranks);
    if (strcmp(way, "sieve") == 0) {
        MPI_Info_set(info, "romio_cb_read", "disable");
        MPI_Info_set(info, "romio_cb_write", "disable");
    } else if (strcmp(way, "default") != 0) {
        MPI_Info_set(info, "cb_config_list", "*:*");
        MPI_Info_set(info, "cb_nodes", strcmp(way, "one") == 0 ? "1" : all);
        MPI_Info_set(info, "cb_buffer_size", "4194304");
    }
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Info_free(&info);
    return file;
}

/* -- pieces and the block -- */

/* Tiles are made anew for each round, as programs do. */
struct shape {
    int n, *lengths;
    MPI_Aint *offs;
    int len; /* bytes of this rank */
    const char *daemon;
};

static MPI_Datatype make_tile(const struct shape *shape)
{
    enum {
        SIDE = 64,
        DEPTH = 16
    }; /* 64 x 64 x 64 x 16 doubles, each dimension in two parts where there are ranks for it */
    int sizes[4] = { SIDE, SIDE, SIDE, DEPTH }, parts[4], starts[4], grid[4] = { 0 };
    MPI_Datatype tile;

    if (shape->n > 0) {
        MPI_Type_create_hindexed(shape->n, shape->lengths, shape->offs, MPI_BYTE, &tile);
    } else {
        MPI_Dims_create(n_ranks, 4, grid);
        for (int d = 3, left = rank; d >= 0; left /= grid[d], d--) {
            parts[d] = sizes[d] / grid[d];
            starts[d] = left % grid[d] * parts[d];
        }
        MPI_Type_create_subarray(4, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &tile);
    }
    MPI_Type_commit(&tile);
    return tile;
}

static void move_tiles(MPI_File file, const struct shape *shape)
{
    struct series view = { .name = "view" }, write = { .name = "write" }, read = { .name = "read" };
    uint8_t *bytes = take((size_t) shape->len), *again = take((size_t) shape->len);
    double begun, spent = 0, before = 0, after = 0;

    memset(bytes, rank + 1, (size_t) shape->len);
    while (goes_on(&view, spent)) {
        MPI_Datatype tile = make_tile(shape);

        memset(again, 0, (size_t) shape->len);
        if (view.n == 0)
            before = memory_of_all(shape->daemon);
        begun = start();
        want(MPI_File_set_view(file, 0, MPI_BYTE, tile, "native", MPI_INFO_NULL));
        spent += stop(&view, begun);
        begun = start();
        want(MPI_File_write_at_all(file, 0, bytes, shape->len, MPI_BYTE, MPI_STATUS_IGNORE));
        spent += stop(&write, begun);
        begun = start();
        want(MPI_File_read_at_all(file, 0, again, shape->len, MPI_BYTE, MPI_STATUS_IGNORE));
        spent += stop(&read, begun);
        wrong = wrong || memcmp(bytes, again, (size_t) shape->len) != 0;
        if (view.n == MIN_ROUNDS)
            after = memory_of_all(shape->daemon);
        MPI_Type_free(&tile);
    }
    tell_median(&view);
    tell_median(&write);
    tell_median(&read);
    tell("memory", after - before);
    free(bytes);
    free(again);
}

static void pieces(MPI_File file, const char *words, const char *daemon)
{
    struct shape shape = { .daemon = daemon };
    int least, most;
    double bytes = 0;
    MPI_Aint at = 0;

    if (sscanf(words, "%d,%d,%d", &shape.n, &least, &most) != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    shape.lengths = take((size_t) shape.n * sizeof *shape.lengths);
    shape.offs = take((size_t) shape.n * sizeof *shape.offs);
    for (int i = 0; i < shape.n; i++)
        for (int of = 0; of < n_ranks; of++) {
            const int piece = least + (i * 7 + of * 13) % (most - least + 1);

            if (of == rank) {
                shape.lengths[i] = piece;
                shape.offs[i] = at;
                shape.len += piece;
            }
            at += piece;
            bytes += piece;
        }
    move_tiles(file, &shape);
    tell("bytes", bytes);
    tell("pieces", (double) shape.n * n_ranks);
    free(shape.lengths);
    free(shape.offs);
}

static void block(MPI_File file, const char *words, const char *daemon)
{
    struct shape shape = { .daemon = daemon };
    MPI_Datatype tile = make_tile(&shape);

    (void) words;
    MPI_Type_size(tile, &shape.len);
    MPI_Type_free(&tile);
    move_tiles(file, &shape);
    tell("bytes", (double) shape.len * n_ranks);
    tell("pieces", 0); /* it is a progression */
}

/* -- rows -- */

#define ROWS 64

static void write_together(MPI_File file, int row, const uint8_t *bytes)
{
    const int part = row / n_ranks, sizes[2] = { ROWS, row }, parts[2] = { 1, part };

    for (int i = 0; i < ROWS; i++) {
        const int starts[2] = { i, rank * part };
        MPI_Datatype tile;

        MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &tile);
        MPI_Type_commit(&tile);
        want(MPI_File_set_view(file, 0, MPI_BYTE, tile, "native", MPI_INFO_NULL));
        want(MPI_File_write_at_all(file, 0, bytes, part, MPI_BYTE, MPI_STATUS_IGNORE));
        want(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        MPI_Type_free(&tile);
    }
}

static void write_alone(MPI_File file, int row, const uint8_t *bytes)
{
    const int part = row / n_ranks;

    for (int i = 0; i < ROWS; i++)
        want(MPI_File_write_at(file, (MPI_Offset) i * row + (MPI_Offset) rank * part, bytes, part, MPI_BYTE,
                               MPI_STATUS_IGNORE));
}

static void rows(MPI_File file, const char *words, const char *daemon)
{
    struct series together = { .name = "together" }, alone = { .name = "alone" };
    const int row = (int) strtol(words, NULL, 10);
    uint8_t *bytes = take((size_t) row);
    double begun, spent = 0;

    (void) daemon;
    memset(bytes, rank + 1, (size_t) row);
    while (goes_on(&alone, spent)) {
        begun = start();
        write_together(file, row, bytes);
        spent += stop(&together, begun);
        begun = start();
        write_alone(file, row, bytes);
        spent += stop(&alone, begun);
    }
    tell_median(&together);
    tell_median(&alone);
    free(bytes);
}

/* -- views -- */

/* Each call is too short to be timed among ranks that share processors: this is one rank's. */
static void views(MPI_File file, const char *words, const char *daemon)
{
    enum { TIMES = 4000 };
    double *fresh = take(TIMES * sizeof *fresh), *known = take(TIMES * sizeof *known), begun;

    (void) words;
    (void) daemon;
    for (int i = 0; i < TIMES; i++) {
        const int sizes[3] = { 64 + i, 128, 96 }, parts[3] = { 32, 16, 8 }, starts[3] = { 1 + i % 7, 2, 3 };
        MPI_Datatype tile;

        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &tile);
        MPI_Type_commit(&tile);
        begun = MPI_Wtime();
        want(MPI_File_set_view(file, 0, MPI_DOUBLE, tile, "native", MPI_INFO_NULL));
        fresh[i] = (MPI_Wtime() - begun) * 1e6;
        want(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        begun = MPI_Wtime();
        want(MPI_File_set_view(file, 0, MPI_DOUBLE, tile, "native", MPI_INFO_NULL));
        known[i] = (MPI_Wtime() - begun) * 1e6;
        MPI_Type_free(&tile);
    }
    qsort(fresh, TIMES, sizeof *fresh, compare);
    qsort(known, TIMES, sizeof *known, compare);
    tell("fresh", fresh[TIMES / 2]);
    tell("known", known[TIMES / 2]);
    free(fresh);
    free(known);
}

/* -- all of them -- */

static const struct {
    const char *name;
    void (*run)(MPI_File file, const char *words, const char *daemon);
} cases[] = { { "pieces:", pieces }, { "block", block }, { "rows:", rows }, { "views", views } };

int main(int argc, char **argv)
{
    size_t i = 0;
    MPI_File file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    while (argc >= 4 && i < ARRAY_SIZE(cases) && strncmp(argv[1], cases[i].name, strlen(cases[i].name)) != 0)
        i++;
    if (argc < 4 || i == ARRAY_SIZE(cases)) {
        fprintf(stderr, "usage: mpi_cases CASE FILE WAY [DAEMON]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    file = open_file(argv[2], argv[3]);
    cases[i].run(file, argv[1] + strlen(cases[i].name), argc > 4 ? argv[4] : NULL);
    want(MPI_File_close(&file));
    if (wrong)
        fprintf(stderr, "rank %d: a call failed, or what was read is not what was written\n", rank);
    MPI_Finalize();
    return wrong;
}

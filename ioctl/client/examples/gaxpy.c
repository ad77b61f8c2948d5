/* SPDX-License-Identifier: MIT */
/* C = A B of matrices that do not fit into memory: the out-of-core GAXPY algorithm of Thakur and Choudhary, "An
 * extended two-phase method for accessing sections of out-of-core arrays", section 2.1.
 *
 *     cc gaxpy.c matrix.c team.c $(pkg-config --cflags --libs fallsfs) -o gaxpy
 *     ./gaxpy -p 8 1024 /fast/A /fast/B /fast/C
 *
 * The rows of A and C and the columns of B and C are cut into slabs. Of a slab of A each process has some columns; of
 * one of B the rows that meet them, so that each has a share of every sum of a slab's C:
 *
 *          A                      B                  C
 *     ┌──┬──┬──┬──┐        ┌────┬────────┐    ┌────┬────────┐
 *     │p0│p1│p2│p3│        │ p0 │        │    │0123│        │    each process writes some columns of it
 *     ├──┴──┴──┴──┤        ├────┤  next  │    ├────┘        │
 *     │ when all  │   x    │ p1 │        │  = │             │
 *     │ of B were │        ├────┤        │    │             │
 *     │ here      │        │ p2 │        │    │             │
 *     │           │        ├────┤        │    │             │
 *     └───────────┘        │ p3 │        │    │             │
 *                          └────┴────────┘    └─────────────┘
 */
#include "matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH    16 /* columns of C that are summed up between two meetings */
#define MAX_SIDE (1 << 20)

struct task {
    uint64_t side, n_slabs;
    bool only_io;
    struct team team;
    struct io *io;
    struct matrix a, b, c;
    float *sub_c;    /* a slab's part of C: of all, each writes its columns of it */
    float *share[2]; /* of the sums of a batch: of all, each has its own one; one is filled while one is read */
};

/* sum += the columns of a times the elements of b, one each. Four columns at a time, or most of the work would be
 * getting and putting sums. */
static void gaxpy(float *restrict sum, const float *restrict a, const float *restrict b, uint64_t n_rows, uint64_t n)
{
    uint64_t k = 0;

    for (; k + 4 <= n; k += 4, a += 4 * n_rows)
        for (uint64_t i = 0; i < n_rows; i++)
            sum[i] += (b[k] * a[i] + b[k + 1] * a[n_rows + i]) +
                      (b[k + 2] * a[2 * n_rows + i] + b[k + 3] * a[3 * n_rows + i]);
    for (; k < n; k++, a += n_rows)
        for (uint64_t i = 0; i < n_rows; i++)
            sum[i] += b[k] * a[i];
}

/* The global sum: all shares of elements that are one after the other, in the order of ranks. */
static void add_shares(float *restrict to, const float *restrict shares, uint64_t from, uint64_t end, uint64_t pace,
                       uint32_t n)
{
    for (uint64_t i = from; i < end; i++)
        to[i] = shares[i];
    for (uint32_t rank = 1; rank < n; rank++)
        for (uint64_t i = from; i < end; i++)
            to[i] += shares[rank * pace + i];
}

/* Fills sub_c; all processes come out of it when it is full. */
static void multiply(const struct task *task, uint32_t rank, uint64_t n_rows, uint64_t n_columns, const float *a,
                     const float *b, uint64_t n_mine)
{
    uint64_t pace = part_longest(task->side, task->n_slabs) * BATCH;

    for (uint64_t column = 0, turn = 0; column < n_columns; column += BATCH, turn ^= 1) {
        uint64_t n = n_columns - column < BATCH ? n_columns - column : BATCH;
        float *mine = task->share[turn] + rank * pace;

        memset(mine, 0, n * n_rows * sizeof *mine);
        for (uint64_t i = 0; i < n; i++)
            gaxpy(mine + i * n_rows, a, b + (column + i) * n_mine, n_rows, n_mine);
        team_meet(&task->team);
        add_shares(task->sub_c + column * n_rows, task->share[turn], part_begin(0, n * n_rows, rank, task->team.n),
                   part_begin(0, n * n_rows, rank + 1, task->team.n), pace, task->team.n);
    }
    team_meet(&task->team);
}

/* Rows row to row_end of C, of all columns. */
static void make_rows(const struct task *task, uint32_t rank, uint64_t row, uint64_t row_end, float *a, float *b)
{
    uint64_t mine = part_begin(0, task->side, rank, task->team.n);
    uint64_t mine_end = part_begin(0, task->side, rank + 1, task->team.n);

    matrix_read(&task->a, (struct block){ row, row_end, mine, mine_end }, a);
    for (uint64_t slab = 0; slab < task->n_slabs; slab++) {
        uint64_t column = part_begin(0, task->side, slab, task->n_slabs);
        uint64_t column_end = part_begin(0, task->side, slab + 1, task->n_slabs);
        uint64_t own = part_begin(column, column_end, rank, task->team.n);
        uint64_t own_end = part_begin(column, column_end, rank + 1, task->team.n);

        matrix_read(&task->b, (struct block){ mine, mine_end, column, column_end }, b);
        if (!task->only_io)
            multiply(task, rank, row_end - row, column_end - column, a, b, mine_end - mine);
        team_meet(&task->team);
        matrix_write(&task->c, (struct block){ row, row_end, own, own_end },
                     task->sub_c + (own - column) * (row_end - row));
    }
}

static void be_member(void *arg, uint32_t rank)
{
    struct task *task = arg;
    uint64_t n_mine = part_longest(task->side, task->team.n), n_slab = part_longest(task->side, task->n_slabs);
    float *a = matrix_alloc(n_mine * n_slab), *b = matrix_alloc(n_mine * n_slab);

    matrix_open(&task->a, rank, false);
    matrix_open(&task->b, rank, false);
    matrix_open(&task->c, rank, true);
    team_meet(&task->team);
    for (uint64_t slab = 0; slab < task->n_slabs; slab++)
        make_rows(task, rank, part_begin(0, task->side, slab, task->n_slabs),
                  part_begin(0, task->side, slab + 1, task->n_slabs), a, b);
    matrix_close(&task->a);
    matrix_close(&task->b);
    matrix_close(&task->c);
}

/* Bytes of a process: its blocks of A and B, its part of C, and its shares of sums. */
static uint64_t memory_of_process(const struct task *task)
{
    uint64_t n_mine = part_longest(task->side, task->team.n), n_slab = part_longest(task->side, task->n_slabs);

    return sizeof(float) * (2 * n_mine * n_slab + part_longest(n_slab * n_slab, task->team.n) + 2 * n_slab * BATCH);
}

static int run(struct task *task, bool direct, const char *before, char **path)
{
    uint64_t n_slab = part_longest(task->side, task->n_slabs), began;

    task->io = io_new(&task->team, direct, before, task->n_slabs * (1 + 2 * task->n_slabs));
    matrix_find(&task->a, task->io, path[0], task->side);
    matrix_find(&task->b, task->io, path[1], task->side);
    matrix_make(&task->c, task->io, path[2], task->side);
    task->sub_c = matrix_alloc(n_slab * n_slab);
    for (int i = 0; i < 2; i++)
        task->share[i] = team_share(task->team.n * n_slab * BATCH * sizeof *task->share[i]);
    began = team_now();
    if (team_run(&task->team, be_member, task) != 0)
        return 1;
    io_say(task->io, memory_of_process(task), (double) (team_now() - began) * 1e-6);
    return 0;
}

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [-d] [-i] [-c COMMAND] [-p PROCESSES] [-s SLABS] SIDE A B C\n"
            "C = A B; each is SIDE x SIDE 4-byte reals, column after column\n"
            "  -p  how many processes, 1 to %d; 4 unless told\n"
            "  -s  into how many slabs rows and columns are cut: more of them take less memory; 4 unless told\n"
            "  -d  each process reads and writes its pieces itself; the files may be anywhere then\n"
            "  -i  only input and output, for timing: what C becomes is nothing\n"
            "  -c  is run before each call, for timing: to empty caches\n",
            program, TEAM_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    unsigned long n_processes = 4;
    struct task task = { .n_slabs = 4 };
    const char *before = NULL;
    bool direct = false;
    int option;

    while ((option = getopt(argc, argv, "c:dip:s:")) != -1)
        switch (option) {
        case 'c':
            before = optarg;
            break;
        case 'd':
            direct = true;
            break;
        case 'i':
            task.only_io = true;
            break;
        case 'p':
            n_processes = strtoul(optarg, NULL, 10);
            break;
        case 's':
            task.n_slabs = strtoul(optarg, NULL, 10);
            break;
        default:
            return usage(argv[0]);
        }
    task.side = optind < argc ? strtoul(argv[optind], NULL, 10) : 0;
    if (argc - optind != 4 || task.side < 1 || task.side > MAX_SIDE || n_processes < 1 || n_processes > TEAM_MAX ||
        task.n_slabs < 1 || task.n_slabs > task.side)
        return usage(argv[0]);
    task.team = team_new((uint32_t) n_processes);
    return run(&task, direct, before, argv + optind + 1);
}

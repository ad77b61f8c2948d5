/* SPDX-License-Identifier: MIT */
/* Laplace's equation by Jacobi's iteration over an array that does not fit into memory: Thakur and Choudhary, "An
 * extended two-phase method for accessing sections of out-of-core arrays", section 2.2. Each element becomes the mean
 * of its four neighbours, but for the outermost rows and columns, which stay what they are.
 *
 *     cc laplace.c matrix.c team.c $(pkg-config --cflags --libs fallsfs) -o laplace
 *     ./laplace -p 4 -k 10 1024 /fast/old /fast/new
 *
 * The array is cut into blocks, which are dealt to the processes in turn, along rows; each has one of them in memory at
 * a time, as it was and as it becomes. Rows and columns around a block come out of the file, or, told to exchange them,
 * from the processes that have computed them:
 *
 *     ┌────┬────┬────┬────┐            ╎..........╎
 *     │ p0 │ p1 │ p0 │ p1 │         .  ┌──────────┐  .     up, down, left and right of a block
 *     ├────┼────┼────┼────┤         .  │  block   │  .
 *     │ p0 │ p1 │ p0 │ p1 │         .  └──────────┘  .
 *     └────┴────┴────┴────┘            ╎..........╎
 */
#include "matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MAX_SIDE  (1 << 20)

/* The edges of the block that others need, of each block; is_there: they were computed. */
struct task {
    uint64_t side, n_iterations, n_blocks, blocks_down, blocks_across;
    uint64_t most_rows, most_columns; /* of a block */
    double tolerance;                 /* -1: none */
    bool exchange, only_io;
    struct team team;
    struct io *io;
    struct matrix file[2]; /* what was, and what becomes: they change places in each iteration */
    float *edges[2];       /* of all blocks, likewise; all see them */
    double *change[2];     /* the largest of each process, likewise */
    uint64_t *n_done;      /* iterations */
    double *last_change;
};

static struct block block_at(const struct task *task, uint64_t i)
{
    uint64_t down = i / task->blocks_across, across = i % task->blocks_across;

    return (struct block){ part_begin(0, task->side, down, task->blocks_down),
                           part_begin(0, task->side, down + 1, task->blocks_down),
                           part_begin(0, task->side, across, task->blocks_across),
                           part_begin(0, task->side, across + 1, task->blocks_across) };
}

/* With one row and column more wherever the array has them. */
static struct block with_neighbours(const struct task *task, struct block block)
{
    return (struct block){ block.row - (block.row > 0), block.row_end + (block.row_end < task->side),
                           block.column - (block.column > 0), block.column_end + (block.column_end < task->side) };
}

/* -- edges -- */

/* A block and what surrounds it: column j begins at old + j * pace, its upper neighbour is up[j * row_pace]. Where the
 * array ends there is nothing around it, and nobody asks. */
struct old {
    const float *block, *up, *down, *left, *right;
    uint64_t pace, row_pace;
};

enum { LEFT, RIGHT, UP, DOWN };

/* Where the edge of a block is kept. */
static float *edge_at(const struct task *task, uint64_t iteration, uint64_t i, int edge)
{
    uint64_t size = 2 * (task->most_rows + task->most_columns);
    uint64_t at = edge < UP ? (uint64_t) edge * task->most_rows
                            : 2 * task->most_rows + (uint64_t) (edge - UP) * task->most_columns;

    return task->edges[iteration % 2] + i * size + at;
}

static void send_edges(const struct task *task, uint64_t iteration, uint64_t i, const float *new)
{
    struct block block = block_at(task, i);
    uint64_t n_rows = block_rows(block), n_columns = block_columns(block);
    float *up = edge_at(task, iteration, i, UP), *down = edge_at(task, iteration, i, DOWN);

    memcpy(edge_at(task, iteration, i, LEFT), new, n_rows * sizeof *new);
    memcpy(edge_at(task, iteration, i, RIGHT), new + (n_columns - 1) * n_rows, n_rows * sizeof *new);
    for (uint64_t j = 0; j < n_columns; j++) {
        up[j] = new[j * n_rows];
        down[j] = new[j * n_rows + n_rows - 1];
    }
}

/* What the neighbours' processes sent in the iteration before. */
static struct old receive_edges(const struct task *task, uint64_t iteration, uint64_t i, const float *block)
{
    uint64_t before = iteration - 1, down = i / task->blocks_across, across = i % task->blocks_across;

    return (struct old){
        .block = block,
        .up = down > 0 ? edge_at(task, before, i - task->blocks_across, DOWN) : NULL,
        .down = down + 1 < task->blocks_down ? edge_at(task, before, i + task->blocks_across, UP) : NULL,
        .left = across > 0 ? edge_at(task, before, i - 1, RIGHT) : NULL,
        .right = across + 1 < task->blocks_across ? edge_at(task, before, i + 1, LEFT) : NULL,
        .pace = block_rows(block_at(task, i)),
        .row_pace = 1,
    };
}

/* What was read with its neighbours. */
static struct old find_edges(struct block block, struct block around, const float *buf)
{
    uint64_t pace = block_rows(around), n_rows = block_rows(block);
    const float *first = buf + (block.column - around.column) * pace + (block.row - around.row);

    return (struct old){ .block = first,
                         .up = around.row < block.row ? first - 1 : NULL,
                         .down = around.row_end > block.row_end ? first + n_rows : NULL,
                         .left = around.column < block.column ? first - pace : NULL,
                         .right = around.column_end > block.column_end ? first + block_columns(block) * pace : NULL,
                         .pace = pace,
                         .row_pace = pace };
}

/* -- computing -- */

/* A column of a block between its neighbours; the mean is of (up + down) + (left + right). */
static void smooth_column(float *restrict new, const float *old, const float *left, const float *right, float up,
                          float down, uint64_t n_rows)
{
    new[0] = ((up + (n_rows > 1 ? old[1] : down)) + (left[0] + right[0])) * 0.25F;
    for (uint64_t i = 1; i + 1 < n_rows; i++)
        new[i] = ((old[i - 1] + old[i + 1]) + (left[i] + right[i])) * 0.25F;
    if (n_rows > 1)
        new[n_rows - 1] = ((old[n_rows - 2] + down) + (left[n_rows - 1] + right[n_rows - 1])) * 0.25F;
}

/* Gives the largest change. */
static double smooth(const struct old *old, struct block block, float *new)
{
    uint64_t n_rows = block_rows(block), n_columns = block_columns(block);
    float most = 0;

    for (uint64_t j = 0; j < n_columns; j++, new += n_rows) {
        const float *column = old->block + j * old->pace;
        const float *left = j > 0 ? column - old->pace : old->left;
        const float *right = j + 1 < n_columns ? column + old->pace : old->right;

        if (left == NULL || right == NULL) {
            memcpy(new, column, n_rows * sizeof *new);
            continue;
        }
        smooth_column(new, column, left, right, old->up != NULL ? old->up[j * old->row_pace] : 0,
                      old->down != NULL ? old->down[j * old->row_pace] : 0, n_rows);
        if (old->up == NULL)
            new[0] = column[0];
        if (old->down == NULL)
            new[n_rows - 1] = column[n_rows - 1];
        for (uint64_t i = 0; i < n_rows; i++)
            most = MAX(most, fabsf(new[i] - column[i]));
    }
    return most;
}

/* The first time nobody has computed edges yet. */
static bool reads_edges(const struct task *task, uint64_t iteration)
{
    return !task->exchange || iteration == 0;
}

/* Block i, or, where there is none, no block at all. Gives the largest change. */
static double work_on(const struct task *task, uint64_t iteration, uint64_t i, float *buf, float *new)
{
    const struct matrix *from = &task->file[iteration % 2], *to = &task->file[(iteration + 1) % 2];
    bool is_one = i < task->n_blocks;
    struct block block = is_one ? block_at(task, i) : (struct block){ 0 };
    struct block around = is_one && reads_edges(task, iteration) ? with_neighbours(task, block) : block;
    double change = 0;

    matrix_read(from, around, buf);
    if (is_one && !task->only_io) {
        struct old old =
            reads_edges(task, iteration) ? find_edges(block, around, buf) : receive_edges(task, iteration, i, buf);

        change = smooth(&old, block, new);
        if (task->exchange)
            send_edges(task, iteration, i, new);
    }
    matrix_write(to, block, new);
    return change;
}

/* The largest change of all, once all have ended the iteration: what becomes is whole then. */
static double meet_after(const struct task *task, uint64_t iteration, uint32_t rank, double change)
{
    double *all = task->change[iteration % 2];

    all[rank] = change;
    team_meet(&task->team);
    for (uint32_t i = 0; i < task->team.n; i++)
        change = MAX(change, all[i]);
    return change;
}

static void be_member(void *arg, uint32_t rank)
{
    struct task *task = arg;
    float *buf = matrix_alloc((task->most_rows + 2) * (task->most_columns + 2));
    float *new = matrix_alloc(task->most_rows * task->most_columns);
    double change = INFINITY;
    uint64_t k;

    for (int i = 0; i < 2; i++)
        matrix_open(&task->file[i], rank, true);
    team_meet(&task->team);
    for (k = 0; k < task->n_iterations && change > task->tolerance; k++) {
        change = 0;
        for (uint64_t i = rank; i < task->n_blocks + rank; i += task->team.n) {
            double here = work_on(task, k, i, buf, new);

            change = MAX(change, here);
        }
        change = meet_after(task, k, rank, change);
    }
    if (rank == 0) {
        *task->n_done = k;
        *task->last_change = change;
    }
    for (int i = 0; i < 2; i++)
        matrix_close(&task->file[i]);
}

/* Cuts the array into so many blocks, in both directions, and rather more across, since columns are what lies together
 * in the file. */
static void cut(struct task *task, uint64_t n_blocks)
{
    task->n_blocks = n_blocks;
    task->blocks_down = 1;
    for (uint64_t i = 1; i * i <= n_blocks; i++)
        if (n_blocks % i == 0)
            task->blocks_down = i;
    task->blocks_across = n_blocks / task->blocks_down;
    task->most_rows = part_longest(task->side, task->blocks_down);
    task->most_columns = part_longest(task->side, task->blocks_across);
}

static uint64_t edges_of_block(const struct task *task)
{
    return 2 * (task->most_rows + task->most_columns);
}

/* Bytes of a process: a block with its neighbours, the new one, and what it keeps of edges. */
static uint64_t memory_of_process(const struct task *task)
{
    uint64_t n = (task->most_rows + 2) * (task->most_columns + 2) + task->most_rows * task->most_columns;

    if (task->exchange)
        n += 2 * edges_of_block(task) * part_longest(task->n_blocks, task->team.n);
    return n * sizeof(float);
}

static int run(struct task *task, bool direct, const char *before, char **path)
{
    uint64_t began, n_calls = 2 * part_longest(task->n_blocks, task->team.n);

    task->io = io_new(&task->team, direct, before, task->n_iterations * n_calls);
    matrix_find(&task->file[0], task->io, path[0], task->side);
    matrix_make(&task->file[1], task->io, path[1], task->side);
    task->n_done = team_share(sizeof *task->n_done);
    task->last_change = team_share(sizeof *task->last_change);
    for (int i = 0; i < 2; i++) {
        task->change[i] = team_share(task->team.n * sizeof *task->change[i]);
        task->edges[i] = team_share(task->n_blocks * edges_of_block(task) * sizeof *task->edges[i]);
    }
    began = team_now();
    if (team_run(&task->team, be_member, task) != 0)
        return 1;
    io_say(task->io, memory_of_process(task), (double) (team_now() - began) * 1e-6);
    printf("iteration %" PRIu64 " changed elements by %.6g at most; it is in %s\n", *task->n_done, *task->last_change,
           task->file[*task->n_done % 2].path);
    return 0;
}

static int usage(const char *program)
{
    fprintf(
        stderr,
        "usage: %s [-d] [-i] [-x] [-c COMMAND] [-p PROCESSES] [-b BLOCKS] [-k ITERATIONS] [-t CHANGE] SIDE OLD NEW\n"
        "OLD and NEW are SIDE x SIDE 4-byte reals, column after column, and change places in each iteration\n"
        "  -p  how many processes, 1 to %d; 4 unless told\n"
        "  -b  how many blocks each has: more of them take less memory; 4 unless told\n"
        "  -k  how many iterations; 10 unless told\n"
        "  -t  no more of them once none changes an element by more than this\n"
        "  -x  processes give each other the edges of their blocks, which otherwise are read from the file\n"
        "  -d  each process reads and writes its pieces itself; the files may be anywhere then\n"
        "  -i  only input and output, for timing: what is computed is nothing\n"
        "  -c  is run before each call, for timing: to empty caches\n",
        program, TEAM_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    unsigned long n_processes = 4, n_blocks_each = 4, n_blocks;
    struct task task = { .n_iterations = 10, .tolerance = -1 };
    const char *before = NULL;
    bool direct = false;
    int option;

    while ((option = getopt(argc, argv, "b:c:dik:p:t:x")) != -1)
        switch (option) {
        case 'b':
            n_blocks_each = strtoul(optarg, NULL, 10);
            break;
        case 'c':
            before = optarg;
            break;
        case 'd':
            direct = true;
            break;
        case 'i':
            task.only_io = true;
            break;
        case 'k':
            task.n_iterations = strtoul(optarg, NULL, 10);
            break;
        case 'p':
            n_processes = strtoul(optarg, NULL, 10);
            break;
        case 't':
            task.tolerance = strtod(optarg, NULL);
            break;
        case 'x':
            task.exchange = true;
            break;
        default:
            return usage(argv[0]);
        }
    n_blocks = n_processes * n_blocks_each;
    if (argc - optind != 3 || n_processes > TEAM_MAX || n_blocks_each > MAX_SIDE || n_blocks < 1 ||
        task.n_iterations < 1)
        return usage(argv[0]);
    task.side = strtoul(argv[optind], NULL, 10);
    cut(&task, n_blocks);
    if (task.side > MAX_SIDE || task.blocks_across > task.side)
        return usage(argv[0]);
    task.team = team_new((uint32_t) n_processes);
    return run(&task, direct, before, argv + optind + 1);
}

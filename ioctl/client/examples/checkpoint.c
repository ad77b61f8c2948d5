/* SPDX-License-Identifier: MIT */
/* An array in the memory of several processes is kept in a file, and goes on in others, dealt out in another way:
 *
 *     checkpoint -k 100 start    /fast/state 600x400x200 '(block,block,*)' 3x2x1     6 processes, 100 steps
 *     checkpoint -k 50  continue /fast/state             '(*,*,cyclic(8))' 1x1x4     4 processes, steps 101 to 150
 *
 * A step makes of each element the next of a sequence, in the place of what a real program computes; what an element is
 * tells where it belongs and how many steps were made, so that every restart can be checked (-c).
 *
 *     0         40                     4096
 *     | heading | nothing              | array, row by row, 8-byte elements
 *
 * The heading says how many steps the array has had; user.falls.array, what it is. A checkpoint is written beside the
 * one before, synced, and takes its name then: whenever the machine stops, one of them is there and whole.
 *
 * The processes read and write together, or, to compare, directly (-d): each its own pieces by itself. */
#include "team.h"

#include <fallsfs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAGIC  "checkpoint 1\n"
#define HEADER 4096

struct heading {
    char magic[16];
    uint64_t steps;
};

/* How the processes divide a dimension: runs of so many indexes, to each of them in turn. */
struct deal {
    uint64_t run, n_parts;
};

struct task {
    const char *path;
    char *part_path; /* of the checkpoint that is being written */
    char layout[1024];
    struct fallsfs_array array;
    struct deal deal[FALLSFS_MAX_DIMS];
    uint64_t steps, steps_before;
    uint32_t n; /* processes */
    bool starts, checks, direct;
    uint8_t token_in[16], token_out[16];
};

static void check(int r, const char *path, const char *what)
{
    if (r < 0)
        team_fail("%s: %s: %s", path, what, fallsfs_strerror_last());
}

/* -- what is computed -- */

static uint64_t step(uint64_t x)
{
    return x * 6364136223846793005U + 1442695040888963407U;
}

/* What the element with this number, row by row, is after so many steps. */
static uint64_t after(uint64_t number, uint64_t steps)
{
    uint64_t x = number, factor = 6364136223846793005U, summand = 1442695040888963407U;

    for (; steps > 0; steps /= 2) { /* twice as many at a time */
        if (steps % 2 == 1)
            x = x * factor + summand;
        summand = (factor + 1) * summand;
        factor *= factor;
    }
    return x;
}

/* -- which process has what -- */

/* The next index, from this one on, that a part has of a dimension; the dimension's size when there is no other. */
static uint64_t own_index(const struct task *task, uint32_t dim, uint64_t part, uint64_t index)
{
    const struct deal *deal = &task->deal[dim];

    while (index < task->array.size[dim] && index / deal->run % deal->n_parts != part)
        index++;
    return index;
}

/* The elements that a process has, in the order that they have in memory: calls take with each number and place. */
static void each_own(const struct task *task, uint32_t rank, void (*take)(void *ctx, uint64_t number, uint64_t at),
                     void *ctx)
{
    const struct fallsfs_array *array = &task->array;
    uint64_t part[FALLSFS_MAX_DIMS], index[FALLSFS_MAX_DIMS], at = 0;
    uint32_t dim;

    for (dim = array->ndims; dim-- > 0; rank /= (uint32_t) task->deal[dim].n_parts)
        part[dim] = rank % task->deal[dim].n_parts;
    for (dim = 0; dim < array->ndims; dim++)
        if ((index[dim] = own_index(task, dim, part[dim], 0)) == array->size[dim])
            return;
    do {
        uint64_t number = 0;

        for (dim = 0; dim < array->ndims; dim++)
            number = number * array->size[dim] + index[dim];
        take(ctx, number, at++);
        /* The last dimension goes on; one that is at its end begins anew, and the one before it goes on. */
        for (dim = array->ndims; dim-- > 0;) {
            index[dim] = own_index(task, dim, part[dim], index[dim] + 1);
            if (index[dim] < array->size[dim])
                break;
            index[dim] = own_index(task, dim, part[dim], 0);
        }
    } while (dim < array->ndims);
}

static void set_first(void *ctx, uint64_t number, uint64_t at)
{
    uint64_t *mine = ctx;

    mine[at] = number;
}

struct expected {
    const struct task *task;
    const uint64_t *mine;
    uint64_t steps;
};

static void expect(void *ctx, uint64_t number, uint64_t at)
{
    const struct expected *expected = ctx;

    if (expected->mine[at] != after(number, expected->steps))
        team_fail("%s: element %" PRIu64 " is not what %" PRIu64 " steps make of it", expected->task->path, number,
                  expected->steps);
}

/* -- a process -- */

static void move_together(const struct task *task, uint32_t rank, uint64_t *mine, bool write, int fd, const char *path)
{
    struct fallsfs_group *group;

    check(fallsfs_join(fd, write ? task->token_out : task->token_in, rank, task->n, NULL, &group), path, "joining");
    check(write ? fallsfs_write_element_all(group, task->layout, rank, mine)
                : fallsfs_read_element_all(group, task->layout, rank, mine),
          path, write ? "writing" : "reading");
    check(fallsfs_leave(group), path, "leaving");
}

/* Elements that follow each other in the file as in memory, which are moved at once. */
struct piece {
    int fd;
    bool write;
    const char *path;
    uint64_t *mine, number, at, n;
};

static void move_piece(const struct piece *piece)
{
    char *mem = (char *) (piece->mine + piece->at);
    size_t left = piece->n * sizeof(uint64_t);
    off_t off = (off_t) (HEADER + piece->number * sizeof(uint64_t));

    while (left > 0) {
        ssize_t n = piece->write ? pwrite(piece->fd, mem, left, off) : pread(piece->fd, mem, left, off);

        if (n <= 0)
            team_fail("%s: %s", piece->path, n < 0 ? strerror(errno) : "ends too early");
        mem += n;
        off += n;
        left -= (size_t) n;
    }
}

static void add_to_piece(void *ctx, uint64_t number, uint64_t at)
{
    struct piece *piece = ctx;

    if (number != piece->number + piece->n) {
        move_piece(piece);
        piece->number = number;
        piece->at = at;
        piece->n = 0;
    }
    piece->n++;
}

static void move(const struct task *task, uint32_t rank, uint64_t *mine, bool write)
{
    const char *path = write ? task->part_path : task->path;
    struct piece piece = { .write = write, .path = path, .mine = mine };

    piece.fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (piece.fd < 0)
        team_fail("%s: %s", path, strerror(errno));
    if (task->direct) {
        each_own(task, rank, add_to_piece, &piece);
        move_piece(&piece);
    } else {
        move_together(task, rank, mine, write, piece.fd, path);
    }
    close(piece.fd);
}

static void be_process(void *ctx, uint32_t rank)
{
    const struct task *task = ctx;
    uint64_t bytes = fallsfs_element_bytes(task->layout, rank);
    uint64_t *mine = fallsfs_alloc(bytes > 0 ? bytes : 1);
    struct expected expected = { task, mine, task->steps_before + task->steps };

    if (mine == NULL)
        team_fail("no memory for %" PRIu64 " bytes", bytes);
    if (task->starts)
        each_own(task, rank, set_first, mine);
    else
        move(task, rank, mine, false);
    for (uint64_t i = 0; i < task->steps; i++)
        for (uint64_t k = 0; k < bytes / sizeof mine[0]; k++)
            mine[k] = step(mine[k]);
    if (task->checks)
        each_own(task, rank, expect, &expected);
    move(task, rank, mine, true);
    fallsfs_free(mine);
}

/* -- checkpoints -- */

static void read_heading(struct task *task)
{
    struct heading heading;
    int fd = open(task->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        team_fail("%s: %s", task->path, strerror(errno));
    if (pread(fd, &heading, sizeof heading, 0) != sizeof heading || strcmp(heading.magic, MAGIC) != 0)
        team_fail("%s: is no checkpoint", task->path);
    check(fallsfs_array_of(fd, &task->array, NULL), task->path, "what it holds");
    if (task->array.elem != sizeof(uint64_t) || task->array.header != HEADER || task->array.order != FALLSFS_ROW_MAJOR)
        team_fail("%s: holds another array than checkpoints do", task->path);
    task->steps_before = heading.steps;
    close(fd);
}

static void print_shape(const struct task *task, char *text, size_t size)
{
    size_t at = 0;

    for (uint32_t dim = 0; dim < task->array.ndims; dim++)
        at += (size_t) snprintf(text + at, size - at, "%s%" PRIu64, dim > 0 ? "x" : "", task->array.size[dim]);
}

/* Makes the file that the processes write into. */
static void begin_checkpoint(const struct task *task)
{
    char shape[FALLSFS_MAX_DIMS * 21], text[sizeof shape + 64];
    int fd = open(task->part_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    print_shape(task, shape, sizeof shape);
    snprintf(text, sizeof text, "shape=%s elem=8 type=u8 order=row header=%d", shape, HEADER);
    if (fd < 0 || fsetxattr(fd, "user.falls.array", text, strlen(text), 0) < 0)
        team_fail("%s: %s", task->part_path, strerror(errno));
    close(fd);
}

/* Once all have written: the heading, then all of it to the disks, then the name. */
static void end_checkpoint(const struct task *task)
{
    const struct heading heading = { MAGIC, task->steps_before + task->steps };
    int fd = open(task->part_path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || pwrite(fd, &heading, sizeof heading, 0) != sizeof heading || fsync(fd) < 0 || close(fd) < 0 ||
        rename(task->part_path, task->path) < 0)
        team_fail("%s: %s", task->part_path, strerror(errno));
}

/* -- command lines -- */

static int usage(void)
{
    fputs("usage: checkpoint [-cd] [-k STEPS] start FILE SHAPE DIST GRID\n"
          "       checkpoint [-cd] [-k STEPS] continue FILE DIST GRID\n"
          "       as in  checkpoint start /fast/state 600x400x200 '(block,cyclic(8),*)' 3x2x1\n",
          stderr);
    return 2;
}

/* Reads numbers with an x between them; how many, 0: they are none. */
static uint32_t read_numbers(const char *text, uint64_t number[])
{
    uint32_t n = 0;

    for (char *end;; text = end + 1) {
        if (n == FALLSFS_MAX_DIMS || *text < '0' || *text > '9')
            return 0;
        number[n] = strtoull(text, &end, 10);
        if (number[n++] == 0 || (*end != 'x' && *end != 0))
            return 0;
        if (*end == 0)
            return n;
    }
}

/* Reads (block,cyclic(8),*): how runs of indexes go to the parts. */
static bool read_dist(struct task *task, const char *dist, const uint64_t grid[])
{
    const char *at = dist;

    for (uint32_t dim = 0; dim < task->array.ndims; dim++) {
        uint64_t size = task->array.size[dim], run = 0;
        int len = 0;

        if (*at++ != (dim == 0 ? '(' : ','))
            return false;
        if (strncmp(at, "block", 5) == 0)
            run = (size + grid[dim] - 1) / grid[dim], len = 5;
        else if (*at == '*')
            run = grid[dim] == 1 ? size : 0, len = 1;
        else if (sscanf(at, "cyclic(%" SCNu64 ")%n", &run, &len) < 1 && strncmp(at, "cyclic", 6) == 0)
            run = 1, len = 6;
        if (run == 0 || len == 0)
            return false;
        task->deal[dim] = (struct deal){ run, grid[dim] };
        at += len;
    }
    return strcmp(at, ")") == 0;
}

/* Says for all how they divide the array; gives how many they are, 0: what was said makes no sense. */
static uint32_t divide(struct task *task, const char *dist, const char *grid_text)
{
    char shape[FALLSFS_MAX_DIMS * 21];
    uint64_t grid[FALLSFS_MAX_DIMS], n = 1;

    if (read_numbers(grid_text, grid) != task->array.ndims || !read_dist(task, dist, grid))
        return 0;
    for (uint32_t dim = 0; dim < task->array.ndims; dim++)
        if (grid[dim] > TEAM_MAX || (n *= grid[dim]) > TEAM_MAX)
            return 0;
    print_shape(task, shape, sizeof shape);
    if (snprintf(task->layout, sizeof task->layout, "array(shape=%s, elem=8, dist=%s, grid=%s) disp %d", shape, dist,
                 grid_text, HEADER) >= (int) sizeof task->layout)
        return 0;
    return (uint32_t) n;
}

int main(int argc, char **argv)
{
    struct task task = { .steps = 1, .array = { .elem = sizeof(uint64_t), .header = HEADER } };
    struct team team;
    int option;

    while ((option = getopt(argc, argv, "cdk:")) != -1)
        switch (option) {
        case 'c':
            task.checks = true;
            break;
        case 'd':
            task.direct = true;
            break;
        case 'k':
            task.steps = strtoull(optarg, NULL, 10);
            break;
        default:
            return usage();
        }
    argv += optind;
    argc -= optind;
    task.starts = argc == 5 && strcmp(argv[0], "start") == 0;
    if (!task.starts && (argc != 4 || strcmp(argv[0], "continue") != 0))
        return usage();
    task.path = argv[1];
    if (task.starts)
        task.array.ndims = read_numbers(argv[2], task.array.size);
    else
        read_heading(&task);
    task.n = task.array.ndims > 0 ? divide(&task, argv[argc - 2], argv[argc - 1]) : 0;
    if (task.n == 0)
        return usage();
    task.part_path = malloc(strlen(task.path) + sizeof ".part");
    if (task.part_path == NULL)
        team_fail("no memory");
    sprintf(task.part_path, "%s.part", task.path);
    check(fallsfs_token(task.token_in), task.path, "a token");
    check(fallsfs_token(task.token_out), task.path, "a token");
    begin_checkpoint(&task);
    team = team_new(task.n);
    if (team_run(&team, be_process, &task) != 0)
        return 1;
    end_checkpoint(&task);
    printf("%" PRIu64 " steps by %u processes: %s has had %" PRIu64 "\n", task.steps, task.n, task.path,
           task.steps_before + task.steps);
    free(task.part_path);
    return 0;
}

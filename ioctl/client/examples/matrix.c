/* SPDX-License-Identifier: MIT */
#include "matrix.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

uint64_t block_rows(struct block block)
{
    return block.row_end - block.row;
}

uint64_t block_columns(struct block block)
{
    return block.column_end - block.column;
}

uint64_t block_size(struct block block)
{
    return block_rows(block) * block_columns(block);
}

uint64_t part_begin(uint64_t begin, uint64_t end, uint64_t i, uint64_t n)
{
    return begin + (end - begin) * i / n;
}

uint64_t part_longest(uint64_t len, uint64_t n)
{
    return (len + n - 1) / n;
}

/* -- time -- */

/* A process in a call. */
struct stay {
    uint64_t came, left; /* ns */
};

/* stay has a line of all processes for each call, waited what STATS says of it. Each process writes its own only. */
struct io {
    struct team team;
    bool direct;
    const char *before;
    uint64_t max_calls;
    struct stay *stay;
    uint64_t *waited;
    struct {
        uint64_t n_calls, read, written;
    } * did; /* of each process */
};

struct io *io_new(const struct team *team, bool direct, const char *before, uint64_t max_calls)
{
    struct io *io = team_share(sizeof *io);

    *io = (struct io){ .team = *team,
                       .direct = direct,
                       .before = before,
                       .max_calls = max_calls,
                       .stay = team_share(max_calls * team->n * sizeof *io->stay),
                       .waited = team_share(max_calls * sizeof *io->waited),
                       .did = team_share(team->n * sizeof *io->did) };
    return io;
}

static void io_note(const struct matrix *matrix, struct stay stay)
{
    struct io *io = matrix->io;
    uint64_t call = io->did[matrix->rank].n_calls++;
    struct fallsfs_ioc_stats stats = { 0 };

    if (call >= io->max_calls)
        team_fail("%s: more calls than were foreseen", matrix->path);
    io->stay[call * io->team.n + matrix->rank] = stay;
    if (io->direct || matrix->rank != 0)
        return;
    if (fallsfs_stats(matrix->group, &stats, NULL) < 0)
        team_fail("%s: %s", matrix->path, fallsfs_strerror_last());
    io->waited[call] = stats.ns_wait;
}

/* Of those who ask together, when the last one came, whom STATS knows to have come so long after the first; of others,
 * who all come out of a meeting, when the first one began. */
static uint64_t when_it_began(const struct io *io, uint64_t call)
{
    const struct stay *stay = &io->stay[call * io->team.n];
    uint64_t first = UINT64_MAX, last = 0;

    for (uint32_t rank = 0; rank < io->team.n; rank++) {
        first = MIN(first, stay[rank].came);
        last = MAX(last, stay[rank].came);
    }
    return io->direct ? first : MAX(last, first + io->waited[call]);
}

/* How long it took until the last one had left. */
static uint64_t call_time(const struct io *io, uint64_t call)
{
    uint64_t began = when_it_began(io, call), ended = began;

    for (uint32_t rank = 0; rank < io->team.n; rank++)
        ended = MAX(ended, io->stay[call * io->team.n + rank].left);
    return ended - began;
}

/* Of a process, without what it waited for others to come. */
static uint64_t time_in_call(const struct io *io, uint64_t call, uint32_t rank)
{
    struct stay stay = io->stay[call * io->team.n + rank];
    uint64_t from = MAX(stay.came, when_it_began(io, call));

    return stay.left - MIN(from, stay.left);
}

struct io_time io_time(const struct io *io)
{
    struct io_time time = { 0 };

    for (uint64_t call = 0; call < io->did[0].n_calls; call++)
        time.elapsed += (double) call_time(io, call) * 1e-6;
    for (uint32_t rank = 0; rank < io->team.n; rank++) {
        uint64_t sum = 0;

        for (uint64_t call = 0; call < io->did[rank].n_calls; call++)
            sum += time_in_call(io, call, rank);
        time.in_calls = MAX(time.in_calls, (double) sum * 1e-6);
    }
    return time;
}

uint64_t io_bytes_read(const struct io *io)
{
    uint64_t sum = 0;

    for (uint32_t rank = 0; rank < io->team.n; rank++)
        sum += io->did[rank].read;
    return sum;
}

uint64_t io_bytes_written(const struct io *io)
{
    uint64_t sum = 0;

    for (uint32_t rank = 0; rank < io->team.n; rank++)
        sum += io->did[rank].written;
    return sum;
}

void io_say(const struct io *io, uint64_t memory, double ms)
{
    struct io_time time = io_time(io);

    printf("%s: %u processes of %.1f KiB, %.1f MiB read, %.1f MiB written, I/O %.3f ms, in calls %.3f ms, "
           "all %.3f ms\n",
           io->direct ? "direct" : "together", io->team.n, (double) memory / 1024,
           (double) io_bytes_read(io) / (1 << 20), (double) io_bytes_written(io) / (1 << 20), time.elapsed,
           time.in_calls, ms);
}

/* -- files -- */

void matrix_find(struct matrix *matrix, struct io *io, const char *path, uint64_t side)
{
    uint64_t len = side * side * sizeof(float);
    struct stat st;

    *matrix = (struct matrix){ .path = path, .side = side, .io = io, .fd = -1 };
    if (stat(path, &st) < 0)
        team_fail("%s: %s", path, strerror(errno));
    if ((uint64_t) st.st_size != len)
        team_fail("%s: has %" PRIu64 " bytes, but a matrix of %" PRIu64 " x %" PRIu64 " reals has %" PRIu64, path,
                  (uint64_t) st.st_size, side, side, len);
    if (fallsfs_token(matrix->token) < 0)
        team_fail("%s", fallsfs_strerror_last());
}

void matrix_make(struct matrix *matrix, struct io *io, const char *path, uint64_t side)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0 || ftruncate(fd, (off_t) (side * side * sizeof(float))) < 0)
        team_fail("%s: %s", path, strerror(errno));
    close(fd);
    matrix_find(matrix, io, path, side);
}

void matrix_open(struct matrix *matrix, uint32_t rank, bool writable)
{
    matrix->rank = rank;
    matrix->fd = open(matrix->path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (matrix->fd < 0)
        team_fail("%s: %s", matrix->path, strerror(errno));
    if (!matrix->io->direct &&
        fallsfs_join(matrix->fd, matrix->token, rank, matrix->io->team.n, NULL, &matrix->group) < 0)
        team_fail("%s: %s", matrix->path, fallsfs_strerror_last());
}

void matrix_close(struct matrix *matrix)
{
    if (matrix->group != NULL)
        (void) fallsfs_leave(matrix->group);
    close(matrix->fd);
}

float *matrix_alloc(uint64_t n_elements)
{
    uint64_t n = MAX(n_elements, 1);
    float *mem = fallsfs_alloc(n * sizeof *mem);

    if (mem == NULL)
        team_fail("no memory for %" PRIu64 " reals", n_elements);
    memset(mem, 0, n * sizeof *mem);
    return mem;
}

/* Memory that a block comes from, or goes to: the other one is NULL. */
struct memory {
    char *to;
    const char *from;
};

/* -- piece by piece -- */

static void move_piece(const struct matrix *matrix, struct memory memory, uint64_t len, uint64_t file_off)
{
    for (uint64_t done = 0; done < len;) {
        off_t off = (off_t) (file_off + done);
        ssize_t n = memory.to != NULL ? pread(matrix->fd, memory.to + done, len - done, off)
                                      : pwrite(matrix->fd, memory.from + done, len - done, off);

        if (n <= 0)
            team_fail("%s: byte %" PRIu64 ": %s", matrix->path, file_off + done,
                      n < 0 ? strerror(errno) : "the file has become shorter");
        done += (uint64_t) n;
    }
}

/* Whole columns lie one behind the other: they are one piece. */
static void move_direct(const struct matrix *matrix, struct block block, struct memory memory)
{
    bool whole = block_rows(block) == matrix->side;
    uint64_t n_pieces = whole ? block_size(block) > 0 : block_columns(block);
    uint64_t len = (whole ? block_size(block) : block_rows(block)) * sizeof(float);

    for (uint64_t i = 0; i < n_pieces; i++) {
        move_piece(matrix, memory, len, ((block.column + i) * matrix->side + block.row) * sizeof(float));
        if (memory.to != NULL)
            memory.to += len;
        else
            memory.from += len;
    }
}

/* -- together -- */

static struct fallsfs_range range_of(uint64_t begin, uint64_t end)
{
    return begin < end ? (struct fallsfs_range){ begin, end - 1, 1 } : (struct fallsfs_range){ 1, 0, 1 };
}

static void move_together(const struct matrix *matrix, struct block block, struct memory memory)
{
    const struct fallsfs_array array = {
        .ndims = 2, .order = FALLSFS_COLUMN_MAJOR, .elem = sizeof(float), .size = { matrix->side, matrix->side }
    };
    const struct fallsfs_range section[] = { range_of(block.row, block.row_end),
                                             range_of(block.column, block.column_end) };
    int r = memory.to != NULL ? fallsfs_read_all(matrix->group, &array, section, memory.to)
                              : fallsfs_write_all(matrix->group, &array, section, memory.from);

    if (r < 0)
        team_fail("%s: %s", matrix->path, fallsfs_strerror_last());
}

static void get_ready(const struct matrix *matrix)
{
    const struct io *io = matrix->io;

    if (io->before != NULL) {
        team_meet(&io->team);
        if (matrix->rank == 0 && system(io->before) != 0)
            team_fail("%s: this went wrong", io->before);
    }
    if (io->direct || io->before != NULL)
        team_meet(&io->team);
}

static void move(const struct matrix *matrix, struct block block, struct memory memory)
{
    struct stay stay;

    get_ready(matrix);
    stay.came = team_now();
    (matrix->io->direct ? move_direct : move_together)(matrix, block, memory);
    stay.left = team_now();
    io_note(matrix, stay);
}

void matrix_read(const struct matrix *matrix, struct block block, float *buf)
{
    move(matrix, block, (struct memory){ .to = (char *) buf });
    matrix->io->did[matrix->rank].read += block_size(block) * sizeof(float);
}

void matrix_write(const struct matrix *matrix, struct block block, const float *buf)
{
    move(matrix, block, (struct memory){ .from = (const char *) buf });
    matrix->io->did[matrix->rank].written += block_size(block) * sizeof(float);
}

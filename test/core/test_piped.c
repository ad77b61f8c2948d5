/* SPDX-License-Identifier: MIT */
/* Reading into a pipe: the bytes that come out of it, or else lie in the buffer, are the file's. */
#include "test/core/local.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define KIB  1024
#define SIZE (300 * KIB) /* bytes written, and one more at the end */
#define END  (500 * KIB)
#define ROOM (1 << 20)

static unsigned char expected[END], buf[ROOM], piped_bytes[ROOM];

struct piped_case {
    const char *what;
    uint64_t off;
    size_t len, n; /* len is asked for, n are there */
    size_t room;   /* of the pipe */
    bool piped;
};

/* The file is stripe(64K) on two disks: even stripes are on one, whose subfile ends at SIZE, odd ones on the other. */
static const struct piped_case cases[] = {
    { "a part of a stripe", 100, 40000, 40000, ROOM, true },
    { "a stripe", 64 * KIB, 64 * KIB, 64 * KIB, ROOM, true },
    { "two disks", 63 * KIB, 2 * KIB, 2 * KIB, ROOM, false },
    { "a pipe that is too small", 0, 64 * KIB, 64 * KIB, 4096, false },
    { "the last of what was written", 256 * KIB, 44 * KIB, 44 * KIB, ROOM, true },
    { "and some of the hole behind it", 256 * KIB, 64 * KIB, 64 * KIB, ROOM, false },
    { "only the hole", 384 * KIB, 20 * KIB, 20 * KIB, ROOM, false },
    { "a hole in a subfile", 330 * KIB, 20 * KIB, 20 * KIB, ROOM, true },
    { "the end of the file", 490 * KIB, 20 * KIB, 10 * KIB, ROOM, true },
    { "behind it", 500 * KIB, 20 * KIB, 0, ROOM, false },
    { "nothing", 0, 0, 0, ROOM, false },
};

static size_t drain(int from)
{
    size_t n = 0;
    ssize_t r;

    while ((r = read(from, piped_bytes + n, sizeof piped_bytes - n)) > 0)
        n += (size_t) r;
    return n;
}

static void try_case(const struct local *local, const struct piped_case *c)
{
    size_t piped;
    ssize_t n;
    int fd[2];

    cr_assert_eq(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
    cr_assert_geq(fcntl(fd[1], F_SETPIPE_SZ, (int) c->room), (int) c->room);
    memset(buf, 0xee, sizeof buf);
    n = file_read_piped(local->fs, local->file, buf, c->len, c->off, fd[1], &piped);
    cr_expect_eq(n, (ssize_t) c->n, "%s: %zd bytes", c->what, n);
    cr_expect_eq(drain(fd[0]), piped, "%s: what is in the pipe is told", c->what);
    cr_expect_eq(piped == c->n && piped > 0, c->piped, "%s: %zu of them in the pipe", c->what, piped);
    cr_expect_arr_eq(c->piped ? piped_bytes : buf, expected + c->off, c->n, "%s", c->what);
    close(fd[0]);
    close(fd[1]);
}

Test(piped, bytes_are_the_files)
{
    struct local local;

    local_init(&local, 2, "stripe(64K)");
    for (size_t i = 0; i < SIZE; i++)
        expected[i] = (unsigned char) (i * 2654435761U >> 13);
    cr_assert_eq(file_write(local.fs, local.file, expected, SIZE, 0), SIZE);
    expected[END - 1] = 1;
    cr_assert_eq(file_write(local.fs, local.file, expected + END - 1, 1, END - 1), 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        try_case(&local, &cases[i]);
    local_done(&local);
}

static ssize_t failing_to_pipe(void *ctx, int fd, uint64_t off, int pipe, size_t len)
{
    static int n_calls;

    return n_calls++ % 2 == 0 ? disk_local_ops.to_pipe(ctx, fd, off, pipe, len / 2) : -EIO;
}

/* When half of the bytes came through the pipe, and then an error, all of them are read into the buffer. */
Test(piped, what_fails_is_read)
{
    const struct piped_case c = { "half of it", 64 * KIB, 64 * KIB, 64 * KIB, ROOM, false };
    struct disk_ops ops = disk_local_ops;
    struct local local;

    local_init(&local, 1, "one");
    memset(expected, 7, SIZE);
    cr_assert_eq(file_write(local.fs, local.file, expected, SIZE, 0), SIZE);
    ops.to_pipe = failing_to_pipe;
    local.fs->volume->disk[0].ops = &ops;
    try_case(&local, &c);
    local.fs->volume->disk[0].ops = &disk_local_ops;
    local_done(&local);
}

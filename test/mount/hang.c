/* SPDX-License-Identifier: MIT */
/* Many processes do the same thing to a file at once; each must end as it should, when it should.
 *
 *     hang OP N MIN MAX ERRORS FILE OFF      MIN, MAX: milliseconds
 *
 * Process i reads or writes 4 KiB at OFF + i % 16 * 4 KiB, past the page cache; with a %u in FILE its file is its own.
 * It shall end with one of ERRORS, as in "ok" or "EIO" or "ok,EIO", after MIN to MAX ms. What check reads must be what
 * write wrote. OP can also be fsync, or anything else that may have to wait for a disk: see the table of others. */
#include "layout/base.h"
#include "layout/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LEN 4096

struct args {
    const char *op, *errors, *file;
    unsigned long n, min, max;
    off_t off;
};

static const char *error_name(int error)
{
    return error == 0 ? "ok" : strerrorname_np(error);
}

/* In a list with commas. */
static bool is_one_of(const char *name, const char *list)
{
    size_t len = strlen(name);

    while (list != NULL && *list != 0) {
        if (strncmp(list, name, len) == 0 && (list[len] == ',' || list[len] == 0))
            return true;
        list = strchr(list, ',');
        list = list != NULL ? list + 1 : NULL;
    }
    return false;
}

static const char *path_of(const struct args *args, unsigned i, char path[static 4096])
{
    const char *mark = strstr(args->file, "%u");

    if (mark == NULL)
        return args->file;
    snprintf(path, 4096, "%.*s%u%s", (int) (mark - args->file), args->file, i, mark + 2);
    return path;
}

static bool is_made_of(const uint8_t data[static LEN], uint8_t byte)
{
    return data[0] == byte && memcmp(data, data + 1, LEN - 1) == 0;
}

/* -- what is not reading and writing -- */

static int cut(const char *path, int fd, off_t off)
{
    (void) path;
    return ftruncate(fd, off + LEN / 2);
}

static int open_anew(const char *path, int fd, off_t off)
{
    int again = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    (void) fd, (void) off;
    return again < 0 ? again : close(again);
}

static int allocate(const char *path, int fd, off_t off)
{
    (void) path;
    return fallocate(fd, 0, off, LEN);
}

static int dig(const char *path, int fd, off_t off)
{
    (void) path;
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, LEN);
}

static int seek(const char *path, int fd, off_t off)
{
    (void) path;
    return lseek(fd, off, SEEK_DATA) < 0 ? -1 : 0;
}

static int copy(const char *path, int fd, off_t off)
{
    off_t to = off + (1 << 20);

    (void) path;
    return copy_file_range(fd, &off, fd, &to, LEN, 0) < 0 ? -1 : 0;
}

static int sync_one(const char *path, int fd, off_t off)
{
    (void) path, (void) off;
    return fsync(fd);
}

/* A text that no file has yet must go to all disks. */
static int lay_out(const char *path, int fd, off_t off)
{
    char text[64];
    int n = snprintf(text, sizeof text, "stripe(%d) on d2,d0", 512 * (getpid() % 1000 + 1));

    (void) path, (void) off;
    return fsetxattr(fd, "user.falls.layout", text, (size_t) n, 0);
}

/* Towards a layout that it has not: lengths of subfiles are asked for. */
static int migrate(const char *path, int fd, off_t off)
{
    (void) path, (void) off;
    return fsetxattr(fd, "user.falls.migrate", "stripe(8K) on d2,d1", 19, 0);
}

static const struct other {
    const char *op;
    int (*act)(const char *path, int fd, off_t off); /* -1 with errno */
} others[] = {
    { "cut", cut },   { "open", open_anew }, { "allocate", allocate }, { "dig", dig },       { "seek", seek },
    { "copy", copy }, { "layout", lay_out }, { "migrate", migrate },   { "sync", sync_one },
};

static const struct other *other_of(const char *op)
{
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(op, others[i].op) == 0)
            return &others[i];
    return NULL;
}

/* -- */

static int outcome(ssize_t n)
{
    return n < 0 ? errno : n == LEN ? 0 : EPROTO;
}

/* Does it; its errno, or 0. */
static int act(const struct args *args, unsigned i)
{
    static uint8_t data[LEN] __attribute__((aligned(LEN)));
    char path[4096];
    int fd = open(path_of(args, i, path), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    off_t off = args->off + (off_t) i % 16 * LEN;
    int error;

    if (fd < 0)
        return errno;
    if (other_of(args->op) != NULL) {
        error = other_of(args->op)->act(path_of(args, i, path), fd, off) < 0 ? errno : 0;
        (void) close(fd);
        return error;
    }
    memset(data, (int) (i & 0xff), sizeof data);
    error = outcome(*args->op == 'w' ? pwrite(fd, data, LEN, off) : pread(fd, data, LEN, off));
    if (*args->op == 'c' && error == 0 && !is_made_of(data, (uint8_t) i))
        error = EBADMSG;
    (void) close(fd);
    return error;
}

static bool one(const struct args *args, unsigned i)
{
    uint64_t begin = clock_ms(), took;
    const char *name = error_name(act(args, i));
    bool good;

    took = clock_ms() - begin;
    good = is_one_of(name, args->errors) && took >= args->min && took <= args->max;
    if (!good)
        printf("%s %u ended with %s after %" PRIu64 " ms, not %s after %lu to %lu\n", args->op, i, name, took,
               args->errors, args->min, args->max);
    return good;
}

/* fsync of a file with something to sync, by a descriptor that is there from before the disk hangs: a line is said when
 * it is, a line read before it goes on. Twice: what the first ends with is the caller's to choose; the second, after
 * another line, must work. */
static bool sync_it(const struct args *args)
{
    int fd = open(args->file, O_RDWR | O_CLOEXEC);
    char data[LEN] = "synced", line[8];
    uint64_t begin, took;
    int error;

    if (fd < 0 || pwrite(fd, data, LEN, args->off) != LEN) {
        printf("cannot write before: %s\n", error_name(errno));
        return false;
    }
    printf("ready\n");
    fflush(stdout);
    (void) !read(0, line, sizeof line);
    begin = clock_ms();
    error = fsync(fd) < 0 ? errno : 0;
    took = clock_ms() - begin;
    printf("first %s\n", error_name(error));
    fflush(stdout);
    if (!is_one_of(error_name(error), args->errors) || took < args->min || took > args->max) {
        printf("fsync ended with %s after %" PRIu64 " ms\n", error_name(error), took);
        return false;
    }
    (void) !read(0, line, sizeof line);
    error = fsync(fd) < 0 ? errno : 0;
    printf("second %s\n", error_name(error));
    return error == 0 && close(fd) == 0;
}

int main(int argc, char **argv)
{
    struct args args = { 0 };
    bool good = true;

    if (argc != 8) {
        fprintf(stderr, "usage: %s OP N MIN MAX ERRORS FILE OFF\n", argv[0]);
        return 2;
    }
    args = (struct args){ .op = argv[1],
                          .n = strtoul(argv[2], NULL, 10),
                          .min = strtoul(argv[3], NULL, 10),
                          .max = strtoul(argv[4], NULL, 10),
                          .errors = argv[5],
                          .file = argv[6],
                          .off = (off_t) strtoull(argv[7], NULL, 10) };
    if (strcmp(args.op, "fsync") == 0)
        return sync_it(&args) ? 0 : 1;
    for (unsigned i = 0; i < args.n; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            good = one(&args, i);
            fflush(stdout);
            _exit(good ? 0 : 1);
        }
        good = pid > 0 && good;
    }
    for (int status = 0; wait(&status) > 0;)
        good = good && status == 0;
    return good ? 0 : 1;
}

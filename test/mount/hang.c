/* SPDX-License-Identifier: MIT */
/* Many processes do the same thing to a file at once; each must end as it should, when it should.
 *
 *     hang OP N MIN MAX ERRORS FILE OFF      OP: read, check, write or fsync; MIN, MAX: milliseconds
 *
 * Process i reads or writes 4 KiB at OFF + i % 16 * 4 KiB, past the page cache; with a %u in FILE its file is its own.
 * It shall end with one of ERRORS, as in "ok" or "EIO" or "ok,EIO", after MIN to MAX ms. What check reads must be what
 * write wrote. */
#include "layout/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEN 4096

struct args {
    const char *op, *errors, *file;
    unsigned long n, min, max;
    off_t off;
};

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000 + (uint64_t) time.tv_nsec / 1000000;
}

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
    memset(data, (int) (i & 0xff), sizeof data);
    error = outcome(*args->op == 'w' ? pwrite(fd, data, LEN, off) : pread(fd, data, LEN, off));
    if (*args->op == 'c' && error == 0 && !is_made_of(data, (uint8_t) i))
        error = EBADMSG;
    (void) close(fd);
    return error;
}

static bool one(const struct args *args, unsigned i)
{
    uint64_t begin = now(), took;
    const char *name = error_name(act(args, i));
    bool good;

    took = now() - begin;
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
    begin = now();
    error = fsync(fd) < 0 ? errno : 0;
    took = now() - begin;
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
        fprintf(stderr, "usage: %s read|write|fsync N MIN MAX ERRORS FILE OFF\n", argv[0]);
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

/* SPDX-License-Identifier: MIT */
/* Works on a file, until it is killed:
 *
 *     slow_client anywhere FILE N LEN OFFSET    N processes read LEN bytes at OFFSET behind any multiple of LEN
 *     slow_client parts FILE N LEN              each of them reads its part of the file, LEN bytes after LEN bytes
 *     slow_client again FILE N LEN              each writes the first LEN bytes, again and again
 *     slow_client forget FILE...                has the kernel forget its pages of them, all the time */
#include "layout/base.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum work { ANYWHERE, PARTS, AGAIN };

struct worker {
    const char *path;
    enum work work;
    unsigned seed;
    uint64_t len, from, n; /* n pieces of len bytes, from there on */
};

static void require(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* For ever. */
static void work_on(struct worker worker)
{
    int fd = open(worker.path, O_RDWR | O_CLOEXEC);
    char *buf = calloc(1, worker.len);

    require(fd >= 0 && buf != NULL && worker.n > 0, worker.path);
    for (uint64_t i = 0;; i++) {
        uint64_t at = worker.work == ANYWHERE ? (uint64_t) rand_r(&worker.seed) % worker.n : i % worker.n;
        off_t off = (off_t) (worker.from + at * worker.len);
        ssize_t n = worker.work == AGAIN ? pwrite(fd, buf, worker.len, off) : pread(fd, buf, worker.len, off);

        if (n < 0)
            (void) usleep(1000); /* its disk has gone */
    }
}

/* For ever. */
static void forget(char **path, int n)
{
    int *fd = calloc((size_t) n, sizeof *fd);

    require(fd != NULL, "memory");
    for (int i = 0; i < n; i++) {
        fd[i] = open(path[i], O_RDONLY | O_CLOEXEC);
        require(fd[i] >= 0, path[i]);
    }
    for (int i = 0;; i = (i + 1) % n) {
        (void) posix_fadvise(fd[i], 0, 0, POSIX_FADV_DONTNEED);
        (void) usleep(i == 0 ? 1000 : 0);
    }
}

static uint64_t number(const char *word)
{
    return strtoull(word, NULL, 10);
}

static enum work work_of(const char *word)
{
    return strcmp(word, "anywhere") == 0 ? ANYWHERE : strcmp(word, "parts") == 0 ? PARTS : AGAIN;
}

int main(int argc, char **argv)
{
    uint64_t n = argc >= 5 ? number(argv[3]) : 0, len = argc >= 5 ? number(argv[4]) : 0, which = 0;
    struct worker worker;
    struct stat st;

    if (argc > 2 && strcmp(argv[1], "forget") == 0)
        forget(argv + 2, argc - 2);
    require(n > 0 && len > 0 && stat(argv[2], &st) == 0, "slow_client anywhere|parts|again FILE N LEN");
    for (uint64_t i = 1; which == 0 && i < n; i++) /* the process that was begun is the first of them */
        if (fork() == 0) {
            (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
            which = i;
        }
    worker = (struct worker){ argv[2], work_of(argv[1]), (unsigned) which, len, 0, (uint64_t) st.st_size / len };
    if (worker.work == ANYWHERE && argc > 5) {
        worker.from = number(argv[5]);
        worker.n--;
    } else if (worker.work == PARTS) {
        worker.from = (uint64_t) st.st_size / n * which;
        worker.n /= n;
    } else if (worker.work == AGAIN) {
        worker.n = 1;
    }
    work_on(worker);
    return 0;
}

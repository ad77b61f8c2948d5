/* SPDX-License-Identifier: MIT */
/* Processes that fork at the same moment, again and again, for strace to watch: forks FILE MAKERS ROUNDS.
 *
 *     maker 0 opens FILE, at 0      ── fork ──> reads 7 bytes where maker 0 stands; then maker 0 reads 5, and so on
 *     maker 1 opens FILE, at 1 MiB  ── fork ──> reads 7 bytes where maker 1 stands ...
 *
 * Each access is printed, "PID OFFSET LEN". */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART (1 << 20)

static atomic_int *arrived;
static int n_makers;

static void read_some(int fd, off_t at, size_t len)
{
    char buf[16];

    if (read(fd, buf, len) != (ssize_t) len)
        _exit(1);
    dprintf(STDOUT_FILENO, "%d %jd %zu\n", (int) getpid(), (intmax_t) at, len);
}

/* All makers are here. */
static void meet(int round)
{
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < (round + 1) * n_makers)
        sched_yield();
}

static void make(const char *path, int maker, int rounds)
{
    int fd = open(path, O_RDONLY), status;
    off_t at = (off_t) maker * APART;

    if (fd < 0 || lseek(fd, at, SEEK_SET) != at)
        _exit(1);
    for (int round = 0; round < rounds; round++) {
        pid_t pid;

        meet(round);
        pid = fork();
        if (pid == 0) {
            read_some(fd, at, 7);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            _exit(1);
        read_some(fd, at + 7, 5);
        at += 12;
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    int failed = argc != 4, status;

    if (failed)
        return 2;
    n_makers = atoi(argv[2]);
    arrived = mmap(NULL, sizeof *arrived, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arrived == MAP_FAILED || truncate(argv[1], (off_t) n_makers * APART) < 0)
        return 1;
    for (int maker = 0; maker < n_makers; maker++)
        if (fork() == 0)
            make(argv[1], maker, atoi(argv[3]));
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}

/* SPDX-License-Identifier: MIT */
/* Asynchronous writes with O_DIRECT beside readers through the kernel's pages: aio FILE TURNS read|map
 *
 * Processes read one part of the file after the other, again and again, through pages, while it is written anew. When a
 * write has ended, whoever reads it then must find what was written; so after each turn all of the file is compared. */
#include "layout/base.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART      (64 << 10)
#define N_PARTS   16
#define SIZE      (PART * N_PARTS)
#define PAGE      4096
#define N_READERS 3

_Noreturn static void die(const char *what)
{
    perror(what);
    exit(1);
}

static const char *map(int fd)
{
    const char *bytes = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

    if (bytes == MAP_FAILED)
        die("mmap");
    return bytes;
}

_Noreturn static void read_for_ever(const char *path, bool maps)
{
    static char buf[PART];
    int fd = open(path, O_RDONLY);
    const char *bytes = fd >= 0 && maps ? map(fd) : NULL;
    volatile char sink;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fd < 0)
        die(path);
    for (unsigned i = 0;; i++) {
        off_t off = (off_t) (i % N_PARTS) * PART;

        if (bytes == NULL && pread(fd, buf, PART, off) != PART)
            die("read");
        for (int at = 0; bytes != NULL && at < PART; at += PAGE)
            sink = bytes[off + at];
    }
    (void) sink;
}

static void write_all(aio_context_t context, int fd, char *bytes)
{
    struct iocb block[N_PARTS], *list[N_PARTS];
    struct io_event event[N_PARTS];
    long n = 0;

    memset(block, 0, sizeof block);
    for (int i = 0; i < N_PARTS; i++) {
        block[i].aio_lio_opcode = IOCB_CMD_PWRITE;
        block[i].aio_fildes = (uint32_t) fd;
        block[i].aio_buf = (uintptr_t) bytes + (uintptr_t) i * PART;
        block[i].aio_nbytes = PART;
        block[i].aio_offset = (int64_t) i * PART;
        list[i] = &block[i];
    }
    if (syscall(SYS_io_submit, context, N_PARTS, list) != N_PARTS)
        die("io_submit");
    while (n < N_PARTS) {
        long r = syscall(SYS_io_getevents, context, 1, N_PARTS, event, NULL);

        if (r < 0)
            die("io_getevents");
        for (long i = 0; i < r; i++)
            if (event[i].res != PART) {
                errno = (int) -event[i].res;
                die("a write");
            }
        n += r;
    }
}

/* Pages of the file that are not as they were written. */
static int count_stale(int fd, const char *mapped, const char *bytes)
{
    static char buf[SIZE];
    int n = 0;

    if (mapped == NULL && pread(fd, buf, SIZE, 0) != SIZE)
        die("read");
    for (int at = 0; at < SIZE; at += PAGE)
        n += memcmp((mapped != NULL ? mapped : buf) + at, bytes + at, PAGE) != 0;
    return n;
}

int main(int argc, char **argv)
{
    bool maps = argc == 4 && strcmp(argv[3], "map") == 0;
    int turns = argc == 4 ? atoi(argv[2]) : 0, n_stale = 0, n_turns = 0, out, in;
    aio_context_t context = 0;
    const char *mapped;
    pid_t reader[N_READERS];
    void *bytes;

    if (turns <= 0 || posix_memalign(&bytes, PAGE, SIZE) != 0 || syscall(SYS_io_setup, N_PARTS, &context) < 0) {
        fprintf(stderr, "usage: aio FILE TURNS read|map\n");
        return 1;
    }
    out = open(argv[1], O_WRONLY | O_CREAT | O_DIRECT, 0644);
    in = open(argv[1], O_RDONLY);
    if (out < 0 || in < 0)
        die(argv[1]);
    memset(bytes, 0, SIZE);
    write_all(context, out, bytes);
    mapped = maps ? map(in) : NULL;
    for (int i = 0; i < N_READERS; i++) {
        reader[i] = fork();
        if (reader[i] == 0)
            read_for_ever(argv[1], maps);
    }
    for (int turn = 1; turn <= turns; turn++) {
        int n;

        memset(bytes, turn, SIZE);
        write_all(context, out, bytes);
        n = count_stale(in, mapped, bytes);
        n_turns += n > 0;
        n_stale += n;
    }
    for (int i = 0; i < N_READERS; i++) {
        (void) kill(reader[i], SIGKILL);
        (void) waitpid(reader[i], NULL, 0);
    }
    free(bytes);
    printf("%d of %d turns left %d stale pages\n", n_turns, turns, n_stale);
    return n_stale > 0;
}

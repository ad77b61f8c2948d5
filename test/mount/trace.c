/* SPDX-License-Identifier: MIT */
/* A program that is traced: it accesses a file in all ways there are, and prints each access as trace.py prints what is
 * in a trace, "TGID HOW r|w OFFSET LEN RANK PATTERN".
 *
 *     trace_client plain FILE SEED N      so many reads and writes at random, by two threads
 *     trace_client sections FILE          a section, a set of FALLS and a list, read and written alone
 *     trace_client group FILE RANKS       the same by all ranks of a group, each a process
 *     trace_client tickets FILE           sections that are asked for and fetched later
 *     trace_client copy FILE              copies a part of it to another place in it
 *     trace_client unlinked FILE          goes on after its last name has gone
 *     trace_client exit FILE              a thread asks, while the one that the process began with has ended
 *     trace_client mapped FILE            by a mapping, of which it prints nothing */
#include <fallsfs.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIDE     64
#define MAX_LEN  40000
#define MAX_RANK 16

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s, %s\n", what, strerror(errno), fallsfs_strerror_last());
    exit(1);
}

static int open_file(const char *path)
{
    int fd = open(path, O_RDWR);

    if (fd < 0)
        fail(path);
    return fd;
}

static void print(const char *how, char direction, uint64_t off, uint64_t len, int rank, const char *pattern)
{
    char who[16] = "-";

    if (rank >= 0)
        snprintf(who, sizeof who, "%d", rank);
    printf("%d %s %c %" PRIu64 " %" PRIu64 " %s %s\n", (int) getpid(), how, direction, off, len, who, pattern);
}

/* -- reads and writes -- */

struct plain {
    const char *path;
    unsigned seed;
    int n;
};

static void *do_plain(void *arg)
{
    struct plain *plain = arg;
    int fd = open_file(plain->path);
    off_t size = lseek(fd, 0, SEEK_END);
    char *buf = calloc(1, MAX_LEN);

    for (int i = 0; buf != NULL && i < plain->n; i++) {
        off_t off = rand_r(&plain->seed) % (size - MAX_LEN);
        size_t len = 1 + (size_t) rand_r(&plain->seed) % (MAX_LEN - 1);
        char direction = rand_r(&plain->seed) % 2 == 0 ? 'r' : 'w';

        if ((direction == 'r' ? pread(fd, buf, len, off) : pwrite(fd, buf, len, off)) != (ssize_t) len)
            fail("reading or writing");
        print("plain", direction, (uint64_t) off, len, -1, "-");
    }
    free(buf);
    close(fd);
    return NULL;
}

static int plain(const char *path, unsigned seed, int n)
{
    struct plain one = { path, seed, n / 2 }, other = { path, seed + 1, n - n / 2 };
    pthread_t thread;

    if (pthread_create(&thread, NULL, do_plain, &one) != 0)
        fail("a thread");
    do_plain(&other);
    pthread_join(thread, NULL);
    return 0;
}

/* The first thread ends, and the process goes on with another one, after which nothing but the process is called. */
static void *go_on(void *arg)
{
    struct plain alone = { arg, 7, 20 };

    usleep(20000);
    do_plain(&alone);
    exit(0);
}

static int exit_first(char *path)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, go_on, path) != 0)
        fail("a thread");
    pthread_exit(NULL);
}

/* -- sections, FALLS, lists -- */

static const struct fallsfs_array matrix = {
    .ndims = 2, .order = FALLSFS_ROW_MAJOR, .elem = 8, .header = 16, .size = { SIDE, SIDE }
};

/* Rows of rank, and every second column. */
static void range_of(unsigned rank, struct fallsfs_range range[2], char text[static 200])
{
    range[0] = (struct fallsfs_range){ 2ULL * rank, 2ULL * rank + 1, 1 };
    range[1] = (struct fallsfs_range){ 1, SIDE - 1, 2 };
    snprintf(text, 200, "shape=%dx%d elem=8 order=row header=16 section=%u:%u:1,1:%d:2", SIDE, SIDE, 2 * rank,
             2 * rank + 1, SIDE - 1);
}

static const struct fallsfs_ioc_piece pieces[] = { { 0, 2 }, { 3, 1 } };

static struct fallsfs_list list_of(unsigned rank, char text[static 200])
{
    snprintf(text, 200, "disp=%u extent=6 skip=2 bytes=5 pieces=(0,2),(3,1)", 512 * (rank + 1));
    return (
        struct fallsfs_list){ .disp = 512 * (rank + 1), .pieces = pieces, .n = 2, .extent = 6, .skip = 2, .bytes = 5 };
}

#define SECTION_OFF(rank) (16 + 2ULL * (rank) *SIDE * 8 + 8)
#define SECTION_LEN       (2ULL * (SIDE / 2) * 8)

static int sections(const char *path)
{
    int fd = open_file(path);
    struct fallsfs_range range[2];
    char text[200];
    char *buf = fallsfs_alloc(1 << 16);
    struct fallsfs_list list = list_of(0, text);

    if (buf == NULL || fallsfs_read_list(fd, &list, buf) < 0 || fallsfs_write_list(fd, &list, buf) < 0)
        fail("a list");
    print("list", 'r', 515, 5, -1, text);
    print("list", 'w', 515, 5, -1, text);
    range_of(0, range, text);
    if (fallsfs_write_section(fd, &matrix, range, buf) < 0 || fallsfs_read_section(fd, &matrix, range, buf) < 0)
        fail("a section");
    print("section", 'w', SECTION_OFF(0), SECTION_LEN, -1, text);
    print("section", 'r', SECTION_OFF(0), SECTION_LEN, -1, text);
    if (fallsfs_write_falls(fd, 100, "{(0,3,8,2)}", buf) < 0 || fallsfs_read_falls(fd, 100, "{(1,3,8,2)}", buf) < 0)
        fail("FALLS");
    print("falls", 'w', 100, 8, -1, "disp=100 {(0,3,8,2)}");
    print("falls", 'r', 101, 6, -1, "disp=100 {(1,3,8,2)}");
    fallsfs_free(buf);
    close(fd);
    return 0;
}

static int tickets(const char *path)
{
    int fd = open_file(path);
    struct fallsfs_ticket *ticket[4];
    struct fallsfs_range range[2];
    char text[200];
    char *buf = fallsfs_alloc(1 << 16);

    for (unsigned i = 0; i < 4; i++) {
        range_of(i, range, text);
        if (buf == NULL || fallsfs_iread_section(fd, &matrix, range, buf + 4096 * i, &ticket[i]) < 0)
            fail("asking");
        print("section", 'r', SECTION_OFF(i), SECTION_LEN, -1, text);
    }
    for (unsigned i = 0; i < 4; i++)
        if (fallsfs_wait(ticket[i]) < 0)
            fail("waiting");
    fallsfs_free(buf);
    close(fd);
    return 0;
}

static void be_rank(const char *path, const uint8_t token[16], unsigned rank, unsigned n)
{
    int fd = open_file(path);
    char *buf = fallsfs_alloc(1 << 16);
    struct fallsfs_group *group;
    struct fallsfs_range range[2];
    struct fallsfs_list list;
    char text[200], falls[64];

    if (buf == NULL || fallsfs_join(fd, token, rank, n, NULL, &group) < 0)
        fail("joining");
    range_of(rank, range, text);
    for (int i = 0; i < 3; i++) {
        if (fallsfs_write_all(group, &matrix, range, buf) < 0 || fallsfs_read_all(group, &matrix, range, buf) < 0)
            fail("sections of all");
        print("section", 'w', SECTION_OFF(rank), SECTION_LEN, (int) rank, text);
        print("section", 'r', SECTION_OFF(rank), SECTION_LEN, (int) rank, text);
    }
    snprintf(falls, sizeof falls, "{(0,3,%u,2)}", 8 * n);
    if (fallsfs_read_falls_all(group, 8ULL * rank, falls, buf) < 0)
        fail("FALLS of all");
    snprintf(text, sizeof text, "disp=%u %s", 8 * rank, falls);
    print("falls", 'r', 8ULL * rank, 8, (int) rank, text);
    list = list_of(rank, text);
    if (fallsfs_read_list_all(group, &list, buf) < 0)
        fail("lists of all");
    print("list", 'r', list.disp + 3, 5, (int) rank, text);
    fallsfs_leave(group);
    fflush(stdout);
    fallsfs_free(buf);
    close(fd);
}

static int group(const char *path, unsigned n)
{
    uint8_t token[16];
    int status, wrong = 0;

    if (fallsfs_token(token) < 0)
        fail("a token");
    for (unsigned rank = 0; rank < n; rank++)
        if (fork() == 0) {
            be_rank(path, token, rank, n);
            _exit(0);
        }
    while (wait(&status) > 0)
        wrong |= status;
    return wrong != 0;
}

static int copy(const char *path)
{
    int fd = open_file(path);
    off_t from = 100, to = 200000;
    ssize_t n = copy_file_range(fd, &from, fd, &to, 50000, 0);

    if (n <= 0)
        fail("copying");
    print("plain", 'r', 100, (uint64_t) n, -1, "-");
    print("plain", 'w', 200000, (uint64_t) n, -1, "-");
    close(fd);
    return 0;
}

static int unlinked(const char *path)
{
    int fd = open_file(path);
    char byte = 0;

    if (unlink(path) < 0)
        fail("unlink");
    for (int i = 0; i < 10; i++) {
        if (pwrite(fd, &byte, 1, i) != 1 || pread(fd, &byte, 1, i) != 1)
            fail("a file without a name");
        print("plain", 'w', (uint64_t) i, 1, -1, "-");
        print("plain", 'r', (uint64_t) i, 1, -1, "-");
    }
    close(fd);
    return 0;
}

static int mapped(const char *path)
{
    int fd = open_file(path);
    char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        fail("mmap");
    at[4097] = (char) (at[1] + 1);
    if (msync(at, 8192, MS_SYNC) < 0)
        fail("msync");
    munmap(at, 8192);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";

    if (strcmp(what, "plain") == 0 && argc == 5)
        return plain(argv[2], (unsigned) atoi(argv[3]), atoi(argv[4]));
    if (strcmp(what, "copy") == 0)
        return copy(argv[2]);
    if (strcmp(what, "unlinked") == 0)
        return unlinked(argv[2]);
    if (strcmp(what, "exit") == 0)
        return exit_first(argv[2]);
    if (strcmp(what, "sections") == 0)
        return sections(argv[2]);
    if (strcmp(what, "tickets") == 0)
        return tickets(argv[2]);
    if (strcmp(what, "group") == 0 && argc == 4)
        return group(argv[2], (unsigned) atoi(argv[3]) % (MAX_RANK + 1));
    if (strcmp(what, "mapped") == 0)
        return mapped(argv[2]);
    fprintf(
        stderr,
        "trace_client plain FILE SEED N | sections, tickets, copy, unlinked, exit, mapped FILE | group FILE RANKS\n");
    return 2;
}

/* SPDX-License-Identifier: MIT */
/* parked DIRECTORY RANKS [DAEMON | FILE]: so many ranks of one process wait for the last one, which takes its time:
 * meanwhile the mount answers others. With the daemon's process number it is killed instead: they all hear of that at
 * once. With FILE, ranks 0 to 3 and 7 join but do not ask, and the last one does not even join, before there is that
 * file in DIRECTORY. */
#include "test/sections/ranks.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPT 100  /* ms, for what has nothing to do with it */
#define SOON   1000 /* ms */

static uint8_t token[16];
static uint32_t n_ranks;
static const char *signal_file; /* or NULL */
static atomic_uint n_asking, n_told;
static atomic_int results[FALLSFS_MAX_RANKS];

static int ask(struct fallsfs_group *group, uint32_t rank)
{
    const struct fallsfs_array array = { 1, FALLSFS_ROW_MAJOR, 1, 0, { FALLSFS_MAX_RANKS } };
    const struct fallsfs_range mine[] = { { rank, rank, 1 } };
    char byte;

    return fallsfs_write_all(group, &array, mine, memset(&byte, 'x', 1));
}

static int open_shared_file(void)
{
    return open("shared", O_RDWR | O_CREAT, 0644);
}

static struct fallsfs_group *join(int fd, uint32_t rank)
{
    const struct fallsfs_hints hints = { .timeout_ms = 600000 }; /* others hang meanwhile, and are waited for */
    struct fallsfs_group *group = NULL;
    int r = fallsfs_join(fd, token, rank, n_ranks, &hints, &group);

    if (r < 0)
        missed(__FILE__, __LINE__, fallsfs_strerror_last());
    return group;
}

static void until_signal(void)
{
    while (signal_file != NULL && access(signal_file, F_OK) < 0)
        pause_ms(5);
}

static void *be_rank(void *arg)
{
    uint32_t rank = (uint32_t) (uintptr_t) arg;
    struct fallsfs_group *group = join(open_shared_file(), rank);
    int r;

    atomic_fetch_add(&n_asking, 1);
    if (rank <= 3 || rank == 7)
        until_signal();
    r = ask(group, rank);
    (void) fallsfs_leave(group);
    atomic_store(&results[rank], r);
    atomic_fetch_add(&n_told, 1);
    return NULL;
}

static bool is_listed(const char *name)
{
    DIR *dir = opendir(".");
    const struct dirent *entry;
    bool found = false;

    EXPECT(dir != NULL);
    while ((entry = readdir(dir)) != NULL)
        found |= strcmp(entry->d_name, name) == 0;
    EXPECT(closedir(dir) == 0);
    return found;
}

static void others_go_on(void)
{
    struct stat st;

    for (int i = 0; i < 50; i++) {
        uint64_t since = now_ms();
        int fd = open("beside", O_RDWR | O_CREAT | O_TRUNC, 0644);

        EXPECT(fd >= 0 && pwrite(fd, "x", 1, 0) == 1 && close(fd) == 0);
        EXPECT(stat("beside", &st) == 0 && st.st_size == 1 && is_listed("beside") && unlink("beside") == 0);
        EXPECT(now_ms() - since < PROMPT);
    }
}

static void expect_all(bool dead)
{
    for (uint32_t i = 0; i + 1 < n_ranks; i++) {
        int r = atomic_load(&results[i]);

        errno = -r;
        EXPECT(dead ? r == -ENOTCONN || r == -ECONNABORTED : r == 0);
    }
}

int main(int argc, char **argv)
{
    pid_t daemon = argc > 3 ? (pid_t) strtol(argv[3], NULL, 10) : 0;
    struct rlimit files = { 65536, 65536 };
    pthread_attr_t small;
    pthread_t thread;
    struct fallsfs_group *last;
    uint64_t since;
    int fd;

    n_ranks = argc > 2 ? (uint32_t) strtoul(argv[2], NULL, 10) : 0;
    if (n_ranks < 2 || n_ranks > FALLSFS_MAX_RANKS || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY RANKS [DAEMON | FILE]\n", argv[0]);
        return 2;
    }
    if (argc > 3 && daemon == 0)
        signal_file = argv[3];
    (void) setrlimit(RLIMIT_NOFILE, &files);
    EXPECT(fallsfs_token(token) == 0);
    fd = open_shared_file(); /* now: it may have no name later */
    EXPECT(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536 * 4) == 0 &&
           pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED) == 0);
    for (uint32_t i = 0; i + 1 < n_ranks; i++)
        EXPECT(pthread_create(&thread, &small, be_rank, (void *) (uintptr_t) i) == 0);
    while (atomic_load(&n_asking) < n_ranks - 1)
        pause_ms(5);
    pause_ms(300);
    EXPECT(atomic_load(&n_told) == 0);
    others_go_on();
    until_signal();
    last = join(fd, n_ranks - 1);
    since = now_ms();
    if (daemon != 0)
        EXPECT(kill(daemon, SIGKILL) == 0);
    else
        EXPECT(ask(last, n_ranks - 1) == 0);
    (void) fallsfs_leave(last);
    while (atomic_load(&n_told) < n_ranks - 1 && now_ms() < since + 20 * SOON)
        pause_ms(2);
    EXPECT(atomic_load(&n_told) == n_ranks - 1 && now_ms() <= since + 2 * SOON);
    expect_all(daemon != 0);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* stalled DIRECTORY PID TIMEOUT: groups without a deadline, on a disk that belongs to that process and hangs while it
 * is stopped; the mount gives up on a disk after so many ms. */
#include "test/sections/ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK (64u << 10)
#define MOST  (UINT64_C(1) << 30)

static uint64_t timeout;
static pid_t disk;

/* Every other block is a rank's. */
static pid_t start_writer(struct stage *stage, uint32_t rank, uint64_t n_blocks)
{
    const struct fallsfs_array blocks = { 1, FALLSFS_ROW_MAJOR, BLOCK, 0, { n_blocks } };
    const struct fallsfs_range mine[] = { { rank, n_blocks - 1, 2 } };
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        struct fallsfs_group *group = join_as(stage, rank);
        uint8_t *buf = fallsfs_alloc(n_blocks / 2 * BLOCK);

        EXPECT(buf != NULL);
        memset(buf, (int) rank + 1, n_blocks / 2 * BLOCK);
        while (!atomic_load(&stage->go))
            pause_ms(1);
        atomic_fetch_add(&stage->n_asking, 1);
        tell(stage, rank, fallsfs_write_all(group, &blocks, mine, buf));
        _exit(0);
    }
    return pid;
}

static bool is_over(const struct stage *stage)
{
    return atomic_load(&stage->told[0].result) != NOT_YET && atomic_load(&stage->told[1].result) != NOT_YET;
}

static bool is_written(uint64_t n_blocks)
{
    static uint8_t block[BLOCK];
    int fd = open_shared(O_RDONLY);
    bool is = true;

    for (uint64_t i = 0; i < n_blocks && is; i++) {
        is = pread(fd, block, BLOCK, (off_t) (i * BLOCK)) == BLOCK;
        for (size_t k = 0; k < BLOCK && is; k++)
            is = block[k] == i % 2 + 1;
    }
    close(fd);
    return is;
}

/* A disk that moves on for a moment, now and then: how long the round took. It goes well, whatever that is. */
static uint64_t crawl(uint64_t n_blocks)
{
    struct stage *stage = stage_new(2, FALLSFS_TIMEOUT_NONE);
    pid_t rank[] = { start_writer(stage, 0, n_blocks), start_writer(stage, 1, n_blocks) };
    uint64_t begin;

    until_joined(stage, 2);
    begin = now_ms();
    EXPECT(kill(disk, SIGSTOP) == 0);
    atomic_store(&stage->go, true);
    pause_ms((unsigned) (timeout / 2));
    while (!is_over(stage)) {
        EXPECT(kill(disk, SIGCONT) == 0);
        pause_ms(1);
        EXPECT(kill(disk, SIGSTOP) == 0);
        pause_ms(60);
    }
    EXPECT(kill(disk, SIGCONT) == 0);
    for (int i = 0; i < 2; i++) {
        errno = -atomic_load(&stage->told[i].result);
        EXPECT(atomic_load(&stage->told[i].result) == 0);
        until_ended(rank[i]);
    }
    EXPECT(is_written(n_blocks));
    return atomic_load(&stage->told[0].when) - begin;
}

/* Twice as long as a disk may stand still, however fast it is in between. */
static void takes_long_and_goes_well(void)
{
    uint64_t n_blocks = 2048, took = 0;

    while (took < 2 * timeout && n_blocks * BLOCK <= MOST) {
        took = crawl(n_blocks);
        printf("%u MiB: %u ms\n", (unsigned) (n_blocks * BLOCK >> 20), (unsigned) took);
        n_blocks *= 2;
    }
    EXPECT(took >= 2 * timeout);
}

/* It does not move on: an error, not before the timeout, and not long behind it. */
static void stands_still_and_fails(void)
{
    struct stage *stage = stage_new(2, FALLSFS_TIMEOUT_NONE);
    pid_t rank[] = { start_writer(stage, 0, 256), start_writer(stage, 1, 256) };
    uint64_t begin;

    until_joined(stage, 2);
    begin = now_ms();
    EXPECT(kill(disk, SIGSTOP) == 0);
    atomic_store(&stage->go, true);
    for (int i = 0; i < 2; i++) {
        until_ended(rank[i]);
        errno = -atomic_load(&stage->told[i].result);
        EXPECT(atomic_load(&stage->told[i].result) == -EIO);
        EXPECT(atomic_load(&stage->told[i].when) - begin >= timeout / 2);
        EXPECT(atomic_load(&stage->told[i].when) - begin < 4 * timeout);
    }
}

/* A rank that dies is missed while the disk stands still. */
static void death_is_noticed(void)
{
    struct stage *stage = stage_new(2, FALLSFS_TIMEOUT_NONE);
    pid_t waits = start_writer(stage, 0, 256), dies;
    uint64_t begin;

    until_joined(stage, 1);
    atomic_store(&stage->go, true);
    until_asking(stage, 1);
    atomic_store(&stage->go, false);
    dies = start_writer(stage, 1, 256);
    until_joined(stage, 2);
    begin = now_ms();
    EXPECT(kill(dies, SIGKILL) == 0 && waitpid(dies, NULL, 0) == dies);
    until_ended(waits);
    EXPECT(atomic_load(&stage->told[0].result) == -ECANCELED);
    EXPECT(now_ms() - begin < 2 * timeout);
    EXPECT(kill(disk, SIGCONT) == 0);
}

int main(int argc, char **argv)
{
    if (argc != 4 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY PID TIMEOUT\n", argv[0]);
        return 2;
    }
    disk = (pid_t) strtol(argv[2], NULL, 10);
    timeout = strtoull(argv[3], NULL, 10);
    takes_long_and_goes_well();
    stands_still_and_fails();
    death_is_noticed();
    return 0;
}

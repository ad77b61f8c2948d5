/* SPDX-License-Identifier: MIT */
/* ended DIRECTORY: groups write a file that others have mapped and write, through the mapping and by calls, until that
 * fails: what they have changed is written back each time. Prints "ready", once; who started it then ends the daemon.
 * Fails when somebody is told anything but that. */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM (8u << 20)

static const struct fallsfs_array bytes = { 1, FALLSFS_ROW_MAJOR, 1, 0, { ROOM } };

static bool is_the_end(int r)
{
    return r == -ENOTCONN || r == -ECONNABORTED || r == -ECANCELED || r == -EIO;
}

static void be_rank(struct stage *stage, uint32_t rank, uint64_t lower, uint64_t step)
{
    const struct fallsfs_range section[] = { { lower, ROOM - 1, step } };
    struct fallsfs_group *group = join_as(stage, rank);
    uint8_t *buf = fallsfs_alloc(ROOM);
    int r = 0;

    EXPECT(buf != NULL);
    while (r == 0) {
        r = fallsfs_write_all(group, &bytes, section, buf);
        atomic_fetch_add(&stage->n_asking, 1);
    }
    errno = -r;
    EXPECT(is_the_end(r));
}

/* By system calls, which fail where the file is gone: an access to its memory would kill, and newer C libraries have a
 * getrandom that is one. Pages that are there outlive the
 * daemon. */
static void be_mapper(int fd)
{
    uint8_t *map = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct fallsfs_ioc_info info;

    EXPECT(map != MAP_FAILED);
    for (size_t at = 0; ioctl(fd, FALLSFS_IOC_INFO, &info) == 0;)
        for (int i = 0; i < 100 && syscall(SYS_getrandom, map + at, 64, 0) == 64; i++)
            at = (at + 4096 * 37) % ROOM;
}

static void be_writer(int fd)
{
    static uint8_t chunk[1 << 17];

    for (off_t at = 0; pwrite(fd, chunk, sizeof chunk, at) == (ssize_t) sizeof chunk;
         at = (at + (off_t) sizeof chunk) % ROOM)
        ;
}

static pid_t start(void (*be)(int fd), int fd)
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid > 0)
        return pid;
    be(fd);
    _exit(0);
}

int main(int argc, char **argv)
{
    struct stage *stage[2] = { stage_new(2, 0), stage_new(2, 0) };
    int fd, status, all = 0;

    if (argc != 2 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    fd = open_shared(O_RDWR);
    EXPECT(ftruncate(fd, ROOM) == 0);
    (void) start(be_mapper, fd);
    (void) start(be_writer, fd);
    for (uint32_t i = 0; i < 4; i++)
        if (fork() == 0) {
            if (i < 2)
                be_rank(stage[0], i, i, 3); /* much: by a worker */
            else
                be_rank(stage[1], i - 2, 3 * i - 4, 300); /* little: by a thread that serves */
            _exit(0);
        }
    while (atomic_load(&stage[0]->n_asking) < 4 || atomic_load(&stage[1]->n_asking) < 4)
        pause_ms(1);
    printf("ready\n");
    fflush(stdout);
    close(fd);
    while (wait(&status) > 0)
        all |= status;
    return all != 0;
}

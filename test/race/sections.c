/* SPDX-License-Identifier: MIT */
/* Groups that come, ask, die and leave, several at a time on the same few files, and processes beside them that read,
 * write, map and truncate those: race_sections DIRECTORY SECONDS. What may be seen of that is not checked, only that
 * calls end as they may, and that some work and some are told of a death; who watches is ThreadSanitizer, in the
 * daemon. */
#include "test/support/rng.h"

#include <fallsfs.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_TEAMS    4
#define N_BESIDE   3
#define MAX_RANKS  5
#define MAX_ROUNDS 8
#define SIDE       1024 /* of the square of ints: large requests go other ways than little ones */
#define MAX_SIZE   (5 << 20)
#define ROOM       (SIDE * SIDE * 4)

/* Shared by all processes. */
static struct {
    atomic_uint served, told, strange;
    char words[300]; /* of what is strange, as long as it is one */
} * seen;

static const struct fallsfs_array square = { 2, FALLSFS_COLUMN_MAJOR, 4, 0, { SIDE, SIDE } };

static void note(int r)
{
    if (r == 0) {
        atomic_fetch_add(&seen->served, 1);
    } else if (r == -ECANCELED || r == -ETIMEDOUT) {
        atomic_fetch_add(&seen->told, 1); /* late: who died had never come to this group, only to one before */
    } else {
        snprintf(seen->words, sizeof seen->words, "%s", fallsfs_strerror_last());
        atomic_fetch_add(&seen->strange, 1);
    }
}

static void random_section(struct rng *rng, struct fallsfs_range section[2])
{
    for (int d = 0; d < 2; d++) {
        section[d].lower = rng_below(rng, SIDE);
        section[d].upper = rng_between(rng, section[d].lower, SIDE - 1);
        section[d].stride = rng_chance(rng, 50) ? 1 : rng_between(rng, 1, 9);
    }
}

static int open_one(struct rng *rng)
{
    return open(rng_chance(rng, 50) ? "p" : "q", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

/* -- ranks -- */

static void fetch(struct rng *rng, int fd, struct fallsfs_ticket *ticket)
{
    struct pollfd polled = { fd, POLLIN, 0 };
    bool done = false;
    int r = 0;

    if (rng_chance(rng, 30))
        (void) poll(&polled, 1, 10);
    if (rng_chance(rng, 30))
        r = fallsfs_test(ticket, &done);
    note(done || r < 0 ? r : fallsfs_wait(ticket));
}

static int ask(struct rng *rng, int fd, struct fallsfs_group *group, bool write, void *buf)
{
    struct fallsfs_ticket *ticket;
    struct fallsfs_range section[2];
    int r;

    random_section(rng, section);
    if (rng_chance(rng, 70)) {
        r = write ? fallsfs_write_all(group, &square, section, buf) : fallsfs_read_all(group, &square, section, buf);
        note(r);
        return r;
    }
    r = write ? fallsfs_iwrite_all(group, &square, section, buf, &ticket)
              : fallsfs_iread_all(group, &square, section, buf, &ticket);
    if (r == 0)
        fetch(rng, fd, ticket);
    else
        note(r);
    return r;
}

static void ask_alone(struct rng *rng, int fd, void *buf)
{
    struct fallsfs_range section[2];

    random_section(rng, section);
    note(rng_chance(rng, 50) ? fallsfs_write_section(fd, &square, section, buf)
                             : fallsfs_read_section(fd, &square, section, buf));
}

/* What all ranks of a group must do alike. */
struct life {
    uint8_t token[16];
    const char *file;
    const char *view; /* that their descriptors are of it; NULL: of the file */
    uint32_t nranks, n_rounds;
    bool write[MAX_ROUNDS];
    struct fallsfs_hints hints;
};

static void live(struct rng *rng, const struct life *life, uint32_t rank)
{
    int fd = open(life->file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    void *buf = rng_chance(rng, 70) ? fallsfs_alloc(ROOM) : malloc(ROOM);
    struct fallsfs_group *group = NULL;
    int r = life->view != NULL ? fallsfs_view(fd, life->view) : 0;

    if (r == 0)
        r = fallsfs_join(fd, life->token, rank, life->nranks, &life->hints, &group);
    if (r < 0)
        note(r);
    for (uint32_t i = 0; r == 0 && i < life->n_rounds; i++) {
        if (rng_chance(rng, 2))
            (void) raise(SIGKILL);
        if (rng_chance(rng, 2))
            return; /* the file is closed at its end */
        if (rng_chance(rng, 20))
            ask_alone(rng, fd, buf);
        r = ask(rng, fd, group, life->write[i], buf);
    }
    if (group != NULL)
        (void) fallsfs_leave(group);
}

static const char *random_view(struct rng *rng)
{
    static const char *const views[] = { "stripe(4K,3) element 1", "stripe(7,2) disp 100 element 0",
                                         "array(shape=1024x1024, elem=4, dist=(*,cyclic(3)), grid=1x2) element 1" };

    return rng_chance(rng, 70) ? NULL : views[rng_below(rng, ARRAY_SIZE(views))];
}

static struct life random_life(struct rng *rng)
{
    struct life life = { .file = rng_chance(rng, 50) ? "p" : "q",
                         .view = random_view(rng),
                         .nranks = (uint32_t) rng_between(rng, 1, MAX_RANKS),
                         .n_rounds = (uint32_t) rng_between(rng, 1, MAX_ROUNDS),
                         .hints = { .domains = (uint32_t) rng_below(rng, 5),
                                    .sieve = (uint32_t) rng_below(rng, 3),
                                    .window = rng_chance(rng, 50) ? 0 : rng_between(rng, 4096, 50000),
                                    .workers = (uint32_t) rng_below(rng, 4),
                                    .timeout_ms = 1000 } };

    for (uint32_t i = 0; i < life.n_rounds; i++)
        life.write[i] = rng_chance(rng, 50);
    (void) fallsfs_token(life.token);
    return life;
}

/* Some die with the round begun by others: killed from outside, at any moment. */
static void run_team(struct rng *rng, time_t end)
{
    while (time(NULL) < end) {
        struct life life = random_life(rng);
        pid_t pid[MAX_RANKS] = { 0 };

        for (uint32_t i = 0; i < life.nranks; i++) {
            uint64_t seed = rng_u64(rng);

            pid[i] = fork();
            if (pid[i] == 0) {
                struct rng own = rng_from_seed(seed);

                live(&own, &life, i);
                _exit(0);
            }
        }
        if (rng_chance(rng, 20)) {
            const struct timespec moment = { 0, (long) rng_below(rng, 30000000) };

            nanosleep(&moment, NULL);
            if (pid[0] > 0)
                (void) kill(pid[0], SIGKILL);
        }
        for (uint32_t i = 0; i < life.nranks; i++)
            (void) waitpid(pid[i], NULL, 0);
    }
}

/* -- beside them -- */

/* Into memory that a system call fills: past the end of the file that fails, where a plain access would kill. */
static void touch_mapping(struct rng *rng, int fd)
{
    size_t len = 4096 * (1 + (size_t) rng_below(rng, 16));
    void *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED)
        return;
    (void) !getrandom(map, len, 0);
    (void) munmap(map, len);
}

static void run_beside(struct rng *rng, time_t end)
{
    static char buf[ROOM];

    while (time(NULL) < end) {
        int fd = open_one(rng);
        const char *view = random_view(rng);
        off_t off = (off_t) rng_below(rng, MAX_SIZE);
        size_t len = (size_t) rng_below(rng, ROOM);

        switch (rng_below(rng, 8)) {
        case 0:
        case 1:
            (void) !pread(fd, buf, len, off);
            break;
        case 2:
        case 3:
            (void) !pwrite(fd, buf, len, off);
            break;
        case 4:
            (void) !ftruncate(fd, off);
            break;
        case 5:
            (void) fsync(fd);
            break;
        case 6:
            touch_mapping(rng, fd);
            break;
        default:
            if (view != NULL)
                note(fallsfs_view(fd, view));
            ask_alone(rng, fd, buf);
        }
        (void) close(fd);
    }
}

static void start(unsigned number, time_t end)
{
    struct rng rng = rng_from_seed(number + 1);

    if (fork() != 0)
        return;
    if (number < N_TEAMS)
        run_team(&rng, end);
    else
        run_beside(&rng, end);
    _exit(0);
}

int main(int argc, char **argv)
{
    time_t end;
    int status, all = 0;

    if (argc != 3 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY SECONDS\n", argv[0]);
        return 2;
    }
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED)
        return 2;
    end = time(NULL) + strtol(argv[2], NULL, 10);
    for (unsigned i = 0; i < N_TEAMS + N_BESIDE; i++)
        start(i, end);
    while (wait(&status) > 0)
        all |= status;
    printf("%u requests served, %u told of a rank that is gone, %u strange: %s\n", atomic_load(&seen->served),
           atomic_load(&seen->told), atomic_load(&seen->strange), seen->words);
    return all != 0 || atomic_load(&seen->strange) > 0 || atomic_load(&seen->served) < 100 ||
           atomic_load(&seen->told) == 0;
}

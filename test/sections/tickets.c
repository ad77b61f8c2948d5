/* SPDX-License-Identifier: MIT */
/* Requests that nobody waits for, alone: on a mount, where the daemon works on them, and off it, where threads of the
 * library do. */
#include "test/sections/ranks.h"
#include "test/support/rng.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIDE  37 /* of the array, in elements of one byte */
#define TALL  29
#define BYTES ((size_t) WIDE * TALL)
#define MANY  40

static const struct fallsfs_array table = { 2, FALLSFS_ROW_MAJOR, 1, 0, { TALL, WIDE } };

/* A request of any form for a rectangle of the table, every so many columns, and where its bytes are. */
struct asking {
    struct fallsfs_range range[2];
    uint32_t at[BYTES], n;
    uint8_t buf[BYTES];
    struct fallsfs_ticket *ticket;
    int fd;
};

static void choose(struct asking *asking, struct rng *rng)
{
    uint64_t top = rng_below(rng, TALL), left = rng_below(rng, WIDE);
    struct fallsfs_range range[] = { { top, rng_between(rng, top, TALL - 1), rng_between(rng, 1, 3) },
                                     { left, rng_between(rng, left, WIDE - 1), rng_between(rng, 1, 4) } };

    memcpy(asking->range, range, sizeof range);
    asking->n = list_bytes(&table, range, asking->at);
}

/* What is asked for is forgotten before the answer comes. */
static int begin_section(struct asking *asking, bool write)
{
    struct fallsfs_array array = table;
    int r = write ? fallsfs_iwrite_section(asking->fd, &array, asking->range, asking->buf, &asking->ticket)
                  : fallsfs_iread_section(asking->fd, &array, asking->range, asking->buf, &asking->ticket);

    memset(&array, 0xA5, sizeof array);
    memset(asking->range, 0xA5, sizeof asking->range);
    return r;
}

static int begin_falls(struct asking *asking, bool write)
{
    const struct fallsfs_range *row = &asking->range[0], *column = &asking->range[1];
    uint64_t n_rows = (row->upper - row->lower) / row->stride + 1;
    uint64_t n_columns = (column->upper - column->lower) / column->stride + 1;
    char falls[200];
    int r;

    snprintf(falls, sizeof falls, "{(0,%d,%" PRIu64 ",%" PRIu64 ",{(0,0,%" PRIu64 ",%" PRIu64 ")})}", WIDE - 1,
             WIDE * row->stride, n_rows, column->stride, n_columns);
    r = write ? fallsfs_iwrite_falls(asking->fd, row->lower * WIDE + column->lower, falls, asking->buf, &asking->ticket)
              : fallsfs_iread_falls(asking->fd, row->lower * WIDE + column->lower, falls, asking->buf, &asking->ticket);
    memset(falls, 'x', sizeof falls);
    return r;
}

static int begin_list(struct asking *asking, bool write)
{
    struct fallsfs_ioc_piece *piece = calloc(asking->n, sizeof *piece);
    struct fallsfs_list list = { .pieces = piece, .n = asking->n, .bytes = asking->n };
    int r;

    EXPECT(piece != NULL);
    for (uint32_t i = 0; i < asking->n; i++)
        piece[i] = (struct fallsfs_ioc_piece){ asking->at[i], 1 };
    r = write ? fallsfs_iwrite_list(asking->fd, &list, asking->buf, &asking->ticket)
              : fallsfs_iread_list(asking->fd, &list, asking->buf, &asking->ticket);
    memset(piece, 0xA5, asking->n * sizeof *piece);
    free(piece);
    memset(&list, 0xA5, sizeof list);
    return r;
}

static void begin(struct asking *asking, bool write, struct rng *rng)
{
    static int (*const forms[])(struct asking *, bool) = { begin_section, begin_falls, begin_list };

    EXPECT(forms[rng_below(rng, ARRAY_SIZE(forms))](asking, write) == 0);
}

static void until_over(struct asking *asking)
{
    bool done = false;

    while (!done) {
        struct pollfd at = { .fd = fallsfs_ticket_fd(asking->ticket), .events = POLLIN };

        EXPECT(at.fd < 0 || poll(&at, 1, 10000) == 1);
        EXPECT(fallsfs_test(asking->ticket, &done) == 0);
    }
}

/* Waited for in some order, by either call. */
static void finish(struct asking asking[], uint32_t n, struct rng *rng)
{
    bool over[MANY] = { false };

    for (uint32_t left = n; left > 0; left--) {
        uint32_t i = (uint32_t) rng_below(rng, n);

        while (over[i])
            i = (i + 1) % n;
        over[i] = true;
        if (rng_chance(rng, 50))
            until_over(&asking[i]);
        else
            EXPECT(fallsfs_wait(asking[i].ticket) == 0);
    }
}

/* Many at once; those that write have no byte in common. */
static void many_at_once(void)
{
    static struct asking asking[MANY];
    static uint8_t model[BYTES], taken[BYTES], found[BYTES];
    int fds[3] = { open_shared(O_RDWR), open_shared(O_RDWR), open_shared(O_RDWR) };

    for (struct rng rng = rng_from_env(25); rng_next(&rng);) {
        uint32_t n = 0;

        for (size_t i = 0; i < BYTES; i++)
            model[i] = (uint8_t) rng_u64(&rng);
        EXPECT(pwrite(fds[0], model, BYTES, 0) == (ssize_t) BYTES);
        for (uint32_t i = 0; i < MANY; i++) {
            choose(&asking[i], &rng);
            asking[i].fd = fds[rng_below(&rng, 3)];
            begin(&asking[i], false, &rng);
        }
        finish(asking, MANY, &rng);
        for (uint32_t i = 0; i < MANY; i++)
            for (uint32_t k = 0; k < asking[i].n; k++)
                EXPECT(asking[i].buf[k] == model[asking[i].at[k]]);

        memset(taken, 0, sizeof taken);
        for (uint32_t tries = 0; tries < 200 && n < MANY; tries++) {
            bool is_free = true;

            choose(&asking[n], &rng);
            for (uint32_t k = 0; k < asking[n].n; k++)
                is_free &= taken[asking[n].at[k]] == 0;
            for (uint32_t k = 0; is_free && k < asking[n].n; k++) {
                taken[asking[n].at[k]] = 1;
                model[asking[n].at[k]] = asking[n].buf[k] = (uint8_t) rng_u64(&rng);
            }
            asking[n].fd = fds[rng_below(&rng, 3)];
            if (is_free)
                begin(&asking[n++], true, &rng);
        }
        finish(asking, n, &rng);
        EXPECT(pread(fds[1], found, BYTES, 0) == (ssize_t) BYTES && memcmp(found, model, BYTES) == 0);
    }
}

/* What came before the ticket is there, and the size is told of the one that was fetched last. */
static void sizes(void)
{
    int fd = open_shared(O_RDWR);
    struct fallsfs_ticket *ticket;
    uint8_t bytes[100];

    EXPECT(fallsfs_read_falls(fd, 1, "{(0,9,10,1)}", bytes) == 0 && fallsfs_size_last() == 0);
    EXPECT(pwrite(fd, "abc", 3, 0) == 3);
    EXPECT(fallsfs_iread_falls(fd, 1, "{(0,9,10,1)}", bytes, &ticket) == 0 && fallsfs_wait(ticket) == 0);
    EXPECT(fallsfs_size_last() == 3 && memcmp(bytes, "bc\0\0\0\0\0\0\0\0", 10) == 0);
    EXPECT(fallsfs_iwrite_falls(fd, 10, "{(0,0,10,3)}", "xyz", &ticket) == 0 && fallsfs_wait(ticket) == 0);
    EXPECT(fallsfs_size_last() == 31);
    EXPECT(fallsfs_iread_falls(fd, 0, "{}", bytes, &ticket) == 0 && fallsfs_wait(ticket) == 0);
    EXPECT(fallsfs_size_last() == 31);
}

/* What is refused leaves no ticket. */
static void refused_at_once(void)
{
    const struct fallsfs_range out[] = { { 0, TALL, 1 }, { 0, 0, 1 } };
    struct fallsfs_ticket *none = NULL, *ticket = NULL;
    int fd = open_shared(O_RDWR), reader = open_shared(O_RDONLY);
    uint8_t bytes[BYTES] = { 0 };

    EXPECT(fallsfs_iread_section(fd, &table, out, bytes, &none) == -ERANGE && none == NULL);
    EXPECT(strstr(fallsfs_strerror_last(), "reaches out of the array") != NULL);
    EXPECT(fallsfs_iread_falls(fd, 0, "{(0,3,2,2)}", bytes, &none) == -EINVAL && none == NULL);
    EXPECT(strstr(fallsfs_strerror_last(), "column") != NULL);
    EXPECT(fallsfs_iread_falls(-1, 0, "{(0,3,4,2)}", bytes, &none) == -EBADF && none == NULL);
    /* Off a mount that is found out when it is done. */
    if (fallsfs_iwrite_falls(reader, 0, "{(0,3,4,2)}", bytes, &ticket) == 0)
        EXPECT(fallsfs_wait(ticket) == -EBADF);
    EXPECT(strstr(fallsfs_strerror_last(), "not open for that") != NULL);
}

struct asker {
    pthread_t thread;
    int fd;
    uint64_t seed;
};

/* Each thread has rows of its own. */
static void *ask(void *arg)
{
    struct asker *asker = arg;
    struct rng rng = rng_from_seed(asker->seed);
    uint8_t row[WIDE], back[WIDE];
    struct fallsfs_range range[] = { { asker->seed, asker->seed, 1 }, { 0, WIDE - 1, 1 } };

    for (int i = 0; i < 60; i++) {
        struct fallsfs_ticket *ticket;

        for (size_t k = 0; k < WIDE; k++)
            row[k] = (uint8_t) rng_u64(&rng);
        EXPECT(fallsfs_iwrite_section(asker->fd, &table, range, row, &ticket) == 0 && fallsfs_wait(ticket) == 0);
        EXPECT(fallsfs_iread_section(asker->fd, &table, range, back, &ticket) == 0 && fallsfs_wait(ticket) == 0);
        EXPECT(memcmp(row, back, WIDE) == 0);
    }
    return NULL;
}

static void several_threads(void)
{
    struct asker asker[8];
    int fd = open_shared(O_RDWR);

    for (size_t i = 0; i < ARRAY_SIZE(asker); i++) {
        asker[i] = (struct asker){ .fd = fd, .seed = i };
        EXPECT(pthread_create(&asker[i].thread, NULL, ask, &asker[i]) == 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(asker); i++)
        EXPECT(pthread_join(asker[i].thread, NULL) == 0);
}

/* A rank that leaves with tickets: they are over in one way or the other, and can be freed. */
static void left_with_tickets(void)
{
    for (int i = 0; i < 20; i++) {
        struct stage *stage = stage_new(1, 0);
        struct fallsfs_group *group = join_as(stage, 0);
        struct fallsfs_ticket *ticket[3];
        static uint8_t bytes[3][BYTES];
        int r;

        for (int k = 0; k < 3; k++)
            EXPECT(fallsfs_iread_falls_all(group, 0, "{(0,0,3,200)}", bytes[k], &ticket[k]) == 0);
        EXPECT(fallsfs_leave(group) == 0);
        for (int k = 0; k < 3; k++) {
            r = fallsfs_wait(ticket[k]);
            EXPECT(r == 0 || (r == -EINVAL && strstr(fallsfs_strerror_last(), "no such ticket") != NULL));
        }
    }
}

/* The parent's tickets stay the parent's, and so do its ranks. */
static void forked(void)
{
    struct stage *stage = stage_new(1, 0);
    struct fallsfs_group *group = join_as(stage, 0);
    int fd = open_shared(O_RDWR);
    struct fallsfs_ticket *ticket;
    static uint8_t bytes[BYTES];
    pid_t pid;

    EXPECT(pwrite(fd, "falls", 5, 0) == 5);
    EXPECT(fallsfs_iread_falls(fd, 0, "{(0,0,2,500)}", bytes, &ticket) == 0);
    pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        uint8_t own[4];
        struct fallsfs_ticket *mine;

        EXPECT(fallsfs_read_falls_all(group, 0, "{(0,3,4,1)}", own) == -EPERM);
        EXPECT(strstr(fallsfs_strerror_last(), "belongs to another process") != NULL);

        EXPECT(fallsfs_iread_falls(fd, 0, "{(0,3,4,1)}", own, &mine) == 0 && fallsfs_wait(mine) == 0);
        EXPECT(memcmp(own, "fall", 4) == 0);
        _exit(0);
    }
    until_ended(pid);
    EXPECT(fallsfs_wait(ticket) == 0 && bytes[0] == 'f' && bytes[1] == 'l' && bytes[2] == 's' && bytes[3] == 0);
    EXPECT(fallsfs_read_falls_all(group, 0, "{(0,3,4,1)}", bytes) == 0 && fallsfs_leave(group) == 0);
}

const struct check checks_of_tickets[] = {
    { "many_at_once", many_at_once },
    { "sizes", sizes },
    { "refused_at_once", refused_at_once },
    { "several_threads", several_threads },
    { "left_with_tickets", left_with_tickets },
    { "forked", forked },
    { NULL, NULL },
};

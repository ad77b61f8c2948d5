/* SPDX-License-Identifier: MIT */
/* paper DIRECTORY SIDE HEADER RANKS...: the sections of the paper's tables, each read and written by that many
 * processes, with domains and sieving of all kinds. Each byte that is read, and the whole file after each write, is
 * what it should be. The paper's arrays are made smaller, SIDE x SIDE, and their sections with them:
 *
 *     SIDE 1024      (400:800:1,400+100p:800+100p:1) of 4096 x 4096  ->  (100:200:1,100+25p:200+25p:1)
 *
 * All kinds of domains with all kinds of sieving with FALLSFS_FULL, else one way of sieving for each kind of domains,
 * another one for the next section, and for twice as many processes. */
#include "ioctl/client/bench/paper.h"
#include "ioctl/client/bench/content.h"
#include "ioctl/client/bench/pieces.h"
#include "ioctl/client/bench/squad.h"
#include "layout/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE  60000 /* ms */
#define N_DOMAINS 4     /* static, dynamic, cyclic, disk */
#define N_SIEVES  3
#define PATH      "matrix"

/* -- a rank -- */

struct member {
    uint32_t rank, nranks;
    struct fallsfs_range section[FALLSFS_MAX_DIMS];
    uint64_t bytes;
    int fd;
    void *buf;
    struct fallsfs_group *group;
};

static int explain(int r, char why[static SQUAD_TEXT])
{
    if (r < 0)
        snprintf(why, SQUAD_TEXT, "%s", fallsfs_strerror_last());
    return r;
}

static void member_done(struct member *member)
{
    if (member->group != NULL)
        (void) fallsfs_leave(steal(member->group));
    fallsfs_free(steal(member->buf));
    if (member->fd >= 0)
        (void) close(member->fd);
    member->fd = -1;
}

/* What was there for the last order goes now, when all have been answered. */
static int prepare(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT])
{
    const struct fallsfs_hints hints = { .domains = FALLSFS_DOMAINS_STATIC + order->method % N_DOMAINS,
                                         .sieve = order->method / N_DOMAINS,
                                         .window = order->method % 2 == 0 ? 0 : 100000 };
    struct member *member = ctx;

    member_done(member);
    deal_section(&order->deal, &order->array, member->rank, member->nranks, member->section);
    member->bytes = pieces_bytes(&order->array, member->section);
    member->buf = fallsfs_alloc(MAX(member->bytes, 1));
    member->fd = open(PATH, order->write ? O_WRONLY | O_CLOEXEC : O_RDONLY | O_CLOEXEC);
    if (member->buf == NULL || member->fd < 0)
        return -errno;
    if (order->write)
        content_fill_section(member->buf, &order->array, member->section, order->generation);
    else
        memset(member->buf, 0xA5, member->bytes);
    return explain(fallsfs_join(member->fd, order->token, member->rank, member->nranks, &hints, &member->group), why);
}

static int act(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT])
{
    const struct member *member = ctx;

    return explain(order->write ? fallsfs_write_all(member->group, &order->array, member->section, member->buf)
                                : fallsfs_read_all(member->group, &order->array, member->section, member->buf),
                   why);
}

/* What was written is checked in the file. */
static int check(void *ctx, const struct squad_order *order, char why[static SQUAD_TEXT])
{
    const struct member *member = ctx;
    uint64_t wrong = order->write
                         ? UINT64_MAX
                         : content_check_section(member->buf, &order->array, member->section, order->generation);

    if (wrong == UINT64_MAX)
        return 0;
    snprintf(why, SQUAD_TEXT, "got a wrong byte for byte %" PRIu64 " of the file", wrong);
    return -EIO;
}

static void tell(void *ctx, const struct squad_order *order, struct fallsfs_ioc_stats *ret_stats)
{
    (void) ctx, (void) order;
    *ret_stats = (struct fallsfs_ioc_stats){ 0 };
}

static void be_member(void *ctx, struct squad *squad, uint32_t rank)
{
    struct member member = { .rank = rank, .nranks = squad_nranks(squad), .fd = -1 };
    const struct squad_duty duty = { prepare, act, check, tell, &member };

    (void) ctx;
    squad_obey(squad, rank, &duty);
    member_done(&member);
}

/* -- smaller sections of smaller arrays -- */

/* Steps of one stay, and what is from the first on. */
static uint64_t shrunk(uint64_t number, uint64_t by)
{
    return number == 0 ? 0 : MAX(number / by, 1);
}

static struct deal deal_of(const struct paper_case *c, uint64_t by)
{
    struct deal deal;
    const char *bad;

    if (deal_parse(c->section, &deal, &bad) < 0)
        abort();
    for (uint32_t d = 0; d < deal.ndims; d++) {
        struct deal_range *range = &deal.range[d];

        range->lower.at = shrunk(range->lower.at, by);
        range->lower.per_rank = shrunk(range->lower.per_rank, by);
        range->upper.at = shrunk(range->upper.at, by);
        range->upper.per_rank = shrunk(range->upper.per_rank, by);
    }
    return deal;
}

/* Tables 3 and 4, and 5 and 6, have the same sections: all are read and written here. */
static bool is_new(size_t i)
{
    for (size_t before = 0; before < i; before++)
        if (strcmp(paper_cases[before].section, paper_cases[i].section) == 0 &&
            (paper_cases[before].table == 8) == (paper_cases[i].table == 8))
            return false;
    return true;
}

/* -- all of them -- */

struct run {
    struct squad *squad;
    uint32_t nranks, side;
    uint64_t header;
    uint32_t n_orders, n_failed;
};

static void failed(struct run *run, const struct paper_case *c, const struct squad_order *order, const char *why)
{
    static const char *const domains[] = { "static", "dynamic", "cyclic", "disk" };
    static const char *const sieves[] = { "auto", "on", "off" };

    printf("%u/%s %s by %u, domains %s, sieve %s: %s\n", c->table, c->name, order->write ? "written" : "read",
           run->nranks, domains[order->method % N_DOMAINS], sieves[order->method / N_DOMAINS], why);
    run->n_failed++;
}

static int obey(struct run *run, const struct paper_case *c, struct squad_order *order)
{
    struct squad_result result;
    int r = fallsfs_token(order->token);

    if (r == 0) {
        squad_start(run->squad, order);
        r = squad_wait(run->squad, PATIENCE, &result);
    }
    run->n_orders++;
    if (r == 0 && (r = result.error) < 0)
        failed(run, c, order, result.why);
    else if (r < 0)
        failed(run, c, order, r == -EAGAIN ? "it hangs" : strerror(-r));
    return r;
}

static void check_file(struct run *run, const struct paper_case *c, const struct squad_order *order)
{
    uint64_t wrong = 0;
    int r = content_check_file(PATH, &order->array, &order->deal, run->nranks, order->generation, &wrong);
    char why[100];

    if (r == 0)
        return;
    snprintf(why, sizeof why, "%s at byte %" PRIu64 " of the file", strerror(-r), wrong);
    failed(run, c, order, why);
}

/* Read; written; and made as it was before by another write. */
static bool run_way(struct run *run, const struct paper_case *c, struct squad_order *order)
{
    order->check = true;
    order->write = false;
    order->generation = 0;
    if (obey(run, c, order) < 0)
        return false;
    order->write = true;
    order->generation = run->n_orders + 1;
    if (obey(run, c, order) < 0)
        return false;
    check_file(run, c, order);
    order->generation = 0;
    if (obey(run, c, order) < 0)
        return false;
    check_file(run, c, order);
    return true;
}

static struct fallsfs_array array_of(const struct run *run)
{
    return (struct fallsfs_array){ 2, FALLSFS_COLUMN_MAJOR, 4, run->header, { run->side, run->side } };
}

static uint32_t log2_of(uint32_t n)
{
    uint32_t log2 = 0;

    while (n >> (log2 + 1) != 0)
        log2++;
    return log2;
}

static bool run_case(struct run *run, size_t i)
{
    const struct paper_case *c = &paper_cases[i];
    uint64_t by = paper_array(c).size[0] / run->side;
    struct squad_order order = { .array = array_of(run), .deal = deal_of(c, MAX(by, 1)) };

    for (order.method = 0; order.method < N_DOMAINS * N_SIEVES; order.method++) {
        bool its_turn = (order.method / N_DOMAINS + order.method + i + log2_of(run->nranks)) % N_SIEVES == 0;

        if ((its_turn || getenv("FALLSFS_FULL") != NULL) && !run_way(run, c, &order))
            return false;
    }
    return true;
}

static int run_all(struct run *run)
{
    int r = squad_new(NULL, run->nranks, &run->squad);

    if (r == 0)
        r = squad_fork(run->squad, be_member, NULL);
    for (size_t i = 0; r == 0 && i < paper_n_cases; i++)
        if (is_new(i) && !run_case(run, i))
            r = -EIO;
    squad_free(steal(run->squad));
    printf("%u ranks: %u requests, %u wrong\n", run->nranks, run->n_orders, run->n_failed);
    return r < 0 || run->n_failed > 0 || run->n_orders == 0 ? -EIO : 0;
}

int main(int argc, char **argv)
{
    uint32_t side = argc > 4 ? (uint32_t) strtoul(argv[2], NULL, 10) : 0;
    int r = 0;

    if (side < 64 || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: %s DIRECTORY SIDE HEADER RANKS...\n", argv[0]);
        return 2;
    }
    for (int i = 4; r == 0 && i < argc; i++) {
        struct run run = { .nranks = (uint32_t) strtoul(argv[i], NULL, 10),
                           .side = side,
                           .header = strtoull(argv[3], NULL, 10) };
        struct fallsfs_array array = array_of(&run);

        r = content_make_file(PATH, &array);
        if (r < 0)
            printf("making the file: %s\n", strerror(-r));
        else
            r = run_all(&run);
    }
    return r < 0;
}

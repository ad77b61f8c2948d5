/* SPDX-License-Identifier: MIT */
#include "ioctl/client/bench/trial.h"

#include "ioctl/client/bench/content.h"
#include "layout/base.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define DEADLINE_MS 600000 /* what takes longer has hung */

static double cpu_of(pid_t pid)
{
    clockid_t clock;
    struct timespec t;

    if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
        return 0;
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

void trial_order(const struct trial *trial, uint32_t contender, bool check, struct squad_order *ret_order)
{
    const struct contender *c = &trial->contender[contender];

    *ret_order = (struct squad_order){ .task = trial->task,
                                       .method = c->method,
                                       .file = c->file,
                                       .generation = contender + 1,
                                       .write = trial->write,
                                       .check = check,
                                       .array = trial->array,
                                       .deal = trial->deal };
    memcpy(ret_order->token, c->token, sizeof c->token);
}

static int fail(struct contender *c, int error, const char *why)
{
    c->error = error;
    snprintf(c->why, sizeof c->why, "%s", why);
    return 0;
}

/* Of the first call only its seconds count, and only when they are as many as a contender gets. */
static int call(const struct trial *trial, uint32_t contender, bool first)
{
    struct contender *c = &trial->contender[contender];
    struct squad_order order;
    struct squad_result result;
    double cpu;
    int r;

    if (trial->before != NULL)
        trial->before(trial->ctx);
    cpu = cpu_of(c->daemon);
    trial_order(trial, contender, first, &order);
    squad_start(c->squad, &order);
    r = squad_wait(c->squad, DEADLINE_MS, &result);
    if (r < 0)
        return r == -EAGAIN ? -ETIMEDOUT : r;
    c->stats = result.stats;
    if (result.error < 0)
        return fail(c, result.error, result.why);
    c->spent += result.seconds;
    if (!first || c->spent >= trial->budget) {
        c->cpu[c->n_samples] = cpu_of(c->daemon) - cpu;
        c->seconds[c->n_samples++] = result.seconds;
    }
    return 0;
}

static int prove(const struct trial *trial, uint32_t contender)
{
    struct contender *c = &trial->contender[contender];
    uint64_t wrong = 0;
    char why[SQUAD_TEXT];
    int r = call(trial, contender, true);

    if (r < 0 || c->error < 0 || !trial->write)
        return r;
    r = content_check_file(c->path, &trial->array, &trial->deal, squad_nranks(c->squad), contender + 1, &wrong);
    if (r == -EIO)
        snprintf(why, sizeof why, "byte %" PRIu64 " of the file is wrong afterwards", wrong);
    else if (r < 0)
        snprintf(why, sizeof why, "the file cannot be checked: %s", strerror(-r));
    if (r < 0)
        c->n_samples = 0;
    return r < 0 ? fail(c, r, why) : 0;
}

static int restore(const struct trial *trial)
{
    int r = 0;

    for (uint32_t i = 0; trial->write && r == 0 && i < trial->n_contenders; i++) {
        bool is_done = false;

        for (uint32_t k = 0; k < i; k++)
            is_done = is_done || strcmp(trial->contender[k].path, trial->contender[i].path) == 0;
        if (!is_done)
            r = content_make_file(trial->contender[i].path, &trial->array);
    }
    return r;
}

uint32_t trial_turn(uint32_t n, uint32_t round, uint32_t i)
{
    if (n % 2 == 1 && round / n % 2 == 1)
        i = n - 1 - i;
    return ((i % 2 == 1 ? (i + 1) / 2 : n - i / 2) + round) % n;
}

int trial_run(struct trial *trial)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < trial->n_contenders; i++) {
        if (getrandom(trial->contender[i].token, sizeof trial->contender[i].token, 0) < 0)
            return -errno;
        r = prove(trial, i);
    }
    for (uint32_t round = 0; r == 0 && round < trial->n_rounds; round++)
        for (uint32_t i = 0; r == 0 && i < trial->n_contenders; i++) {
            uint32_t turn = trial_turn(trial->n_contenders, round, i);
            const struct contender *c = &trial->contender[turn];

            if (c->error == 0 && (c->n_samples == 0 || c->spent < trial->budget))
                r = call(trial, turn, false);
        }
    return r < 0 ? r : restore(trial);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Between two values as far as it is between their places. */
static double quantile(const double value[], uint32_t n, double q)
{
    double at = q * (n - 1);
    uint32_t i = (uint32_t) at, next = MIN(i + 1, n - 1);

    return value[i] + (at - i) * (value[next] - value[i]);
}

struct spread spread_of(const double value[], uint32_t n)
{
    double sorted[TRIAL_MAX_ROUNDS];

    if (n == 0)
        return (struct spread){ 0 };
    n = MIN(n, TRIAL_MAX_ROUNDS);
    memcpy(sorted, value, n * sizeof *value);
    qsort(sorted, n, sizeof *sorted, by_value);
    return (struct spread){ quantile(sorted, n, 0.25), quantile(sorted, n, 0.5), quantile(sorted, n, 0.75) };
}

/* SPDX-License-Identifier: MIT */
/* A round of two ranks and a request alone, with every one of their allocations failing, once and from there on: who
 * asks is told -ENOMEM, nothing is left, and the next time all goes well. Leaks are found by the sanitizer build. */
#include "ioctl/group.h"
#include "test/support/failmalloc.h"

#include <criterion/criterion.h>
#include <string.h>

static struct round *at_work;
static unsigned n_dropped;

static uint64_t now(void *ctx)
{
    (void) ctx;
    return 1;
}

static void start(void *ctx, struct round *round)
{
    (void) ctx;
    at_work = round;
}

static void drop(void *ctx, struct ask *ask)
{
    (void) ctx;
    wanted_put(ask->wanted);
    n_dropped++;
}

static void failed(void *ctx, const char *why)
{
    (void) ctx, (void) why;
}

static void note(struct waiter *waiter)
{
    waiter->ticket = UINT64_MAX; /* answered */
}

static const struct groups_ops ops = { now, start, drop, failed };

/* Makes a request, and does the round if that is complete; returns the first error. */
static int ask(struct groups *groups, struct wanted_cache *cache, uint64_t handle, uint64_t group)
{
    const struct fallsfs_ioc_falls falls = { .text = "{(0,3,8,2,{(0,0,2,2)})}" };
    const struct caller caller = { .file = 7, .handle = handle, .uid = 1000 };
    static struct ask asks[4];
    static struct waiter waiters[4];
    struct ask *mine = &asks[handle];
    struct waiter *waiter = &waiters[handle];
    int r;

    *mine = (struct ask){ .write = true };
    *waiter = (struct waiter){ .answer = note, .result = 1 };
    r = wanted_falls(cache, &falls, &mine->wanted);
    if (r < 0)
        return r;
    if (group == 0)
        groups_ask_alone(groups, &caller, false, mine, waiter);
    else
        groups_ask(groups, &caller, group, 1, false, mine, waiter);
    if (at_work != NULL) {
        struct round *round = at_work;

        at_work = NULL;
        groups_done(groups, round, 0);
    }
    return waiter->ticket == UINT64_MAX ? waiter->result : 0;
}

static int run(struct groups *groups, struct wanted_cache *cache)
{
    static const uint8_t token[GROUP_TOKEN] = "token";
    const struct group_terms terms = { .nranks = 2, .timeout = 1000 };
    uint64_t group = 0;
    int r = 0;

    for (uint64_t n = 1; n <= 2 && r == 0; n++) {
        const struct caller caller = { .file = 7, .handle = n, .uid = 1000 };

        r = groups_join(groups, &caller, token, (uint32_t) n - 1, &terms, &group);
    }
    for (uint64_t n = 1; n <= 2 && r == 0; n++)
        r = ask(groups, cache, n, group);
    return r == 0 ? ask(groups, cache, 3, 0) : r;
}

static int attempt(void)
{
    struct groups *groups;
    struct wanted_cache cache;
    struct groups_count count;
    int r = groups_new(&ops, NULL, &groups_usual_limits, &groups);

    if (r < 0)
        return r;
    wanted_cache_init(&cache, NULL);
    r = run(groups, &cache);
    for (uint64_t n = 1; n <= 3; n++)
        groups_handle_gone(groups, n);
    count = groups_count(groups);
    cr_assert_eq(count.groups + count.ranks + count.asks + count.waiters + count.openers + count.users, 0);
    groups_free(groups);
    wanted_cache_done(&cache);
    return r;
}

Test(group_malloc, survives, .timeout = 60)
{
    for (int persistent = 0; persistent < 2; persistent++) {
        unsigned n = 1;

        for (;; n++) {
            int r;

            failmalloc_arm(n, persistent);
            r = attempt();
            if (!failmalloc_disarm()) {
                cr_assert_eq(r, 0, "%d with no allocation failing", r);
                break;
            }
            cr_assert_eq(r, -ENOMEM, "%d with allocation %u failing", r, n);
        }
        cr_expect_gt(n, 8, "only %u allocations", n);
    }
    cr_expect_gt(n_dropped, 0);
}

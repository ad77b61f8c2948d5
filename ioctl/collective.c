/* SPDX-License-Identifier: MIT */
#include "ioctl/collective.h"

#include "ioctl/exchange.h"
#include "ioctl/fdat.h"
#include "ioctl/per_thread.h"
#include "layout/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Of lists, whose pieces pass through the caches as well: from each to its place in the next window takes longer than
 * what then lies further away. */
#define LIST_WINDOW (UINT64_C(2) << 20)

/* Less than this is not worth waking somebody for. */
#define DOMAIN_BYTES (UINT64_C(1) << 20)

/* Windows that are given to whoever is free: so many for each, that all are done at the same time, but not tiny ones.
 */
#define TURNS      8
#define MIN_WINDOW (UINT64_C(64) << 10)

/* Windows that are on their way from the disks while one is served. */
#define AHEAD 16

/* -- windows -- */

PER_THREAD(window_key, free)

/* Each thread has one that the largest window fits into: there are few threads, and any number of plans. It is the end
 * of that memory, so that the tools see who goes too far. */
static uint8_t *thread_window(uint64_t len)
{
    uint8_t *memory = pthread_getspecific(window_key);

    if (memory == NULL && (memory = malloc(COLLECTIVE_MAX_WINDOW)) != NULL &&
        pthread_setspecific(window_key, memory) != 0)
        free(steal(memory));
    return memory != NULL ? memory + (COLLECTIVE_MAX_WINDOW - len) : NULL;
}

/* -- plans -- */

/* A domain, and how far those who work on it have come. Several who share one go through the file side by side: disks
 * that seek have one place to be at, and who is done early takes what is next. */
struct share {
    struct domain domain;
    pthread_mutex_t lock; /* of the windows that are given out */
    struct fdat *fdat;    /* lock */
    atomic_ulong n_given;
    pthread_mutex_t ahead; /* of those that are on their way */
    struct fdat *scout;    /* ahead; NULL: all was in memory so far */
    uint64_t n_seen;       /* ahead */
};

struct worker {
    uint32_t share; /* the first */
    struct window window;
    struct ready *found; /* for each member */
    struct sieve_stats stats;
};

struct collective_plan {
    bool writes;
    uint32_t n_asked;
    enum sieve_mode sieve;
    uint64_t window;
    bool is_shared; /* who is done with a share helps with the others */
    uint32_t n_shares, n_workers;
    struct share *share;
    struct worker *worker;
};

static uint32_t workers_of_use(const struct fad *fad, const struct collective_hints *hints, uint32_t n_threads)
{
    uint64_t work = fad->total / DOMAIN_BYTES;

    if (hints->workers > 0)
        return MIN(hints->workers, COLLECTIVE_MAX_WORKERS);
    return (uint32_t) MIN(MAX(work, 1), MIN(MAX(n_threads, 1), COLLECTIVE_MAX_WORKERS));
}

static int make_shares(struct collective_plan *plan, const struct domain domain[])
{
    plan->share = calloc(MAX(plan->n_shares, 1), sizeof *plan->share);
    plan->worker = calloc(MAX(plan->n_workers, 1), sizeof *plan->worker);
    if (plan->share == NULL || plan->worker == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        plan->share[i].domain = domain[i];
        pthread_mutex_init(&plan->share[i].lock, NULL);
        pthread_mutex_init(&plan->share[i].ahead, NULL);
    }
    for (uint32_t i = 0; i < plan->n_workers; i++) {
        plan->worker[i].share = i % plan->n_shares;
        plan->worker[i].window.portion = calloc(plan->n_asked, sizeof(struct portion));
        plan->worker[i].found = calloc(plan->n_asked, sizeof(struct ready));
        if (plan->worker[i].window.portion == NULL || plan->worker[i].found == NULL)
            return -ENOMEM;
    }
    return 0;
}

static uint64_t default_window(const struct fad *fad)
{
    for (uint32_t i = 0; i < fad->n; i++)
        if (fad->asked[i].list != NULL)
            return LIST_WINDOW;
    return COLLECTIVE_WINDOW;
}

static uint64_t window_of(const struct fad *fad, const struct division *division, uint64_t most)
{
    uint64_t even = (fad->hi - fad->lo) / (division->n * (uint64_t) TURNS);

    return division->n > 1 ? MIN(most, MAX(even, MIN_WINDOW)) : most;
}

static int cut(struct collective_plan *plan, const struct fad *fad, struct division *division,
               const struct store *store)
{
    cleanup(freep) struct domain *domain = NULL;

    if (domains_are_fine(fad, division, store))
        division->kind = DOMAINS_DYNAMIC;
    plan->is_shared = domains_are_shared(division);
    if (plan->is_shared)
        plan->window = window_of(fad, division, plan->window);
    if (plan->is_shared && store->stripe >= AHEAD * plan->window)
        division->kind = DOMAINS_DISK; /* whoever goes through the file sees one disk for a long time */
    domain = calloc(domains_max(division, store), sizeof *domain);
    if (domain == NULL)
        return -ENOMEM;
    plan->n_shares = domains_cut(fad, division, store, domain);
    plan->n_workers = plan->n_shares;
    if (plan->is_shared && plan->n_shares > 0)
        plan->n_workers = MAX(division->n, plan->n_shares);
    return make_shares(plan, domain);
}

static enum sieve_mode sieve_of(uint32_t hint, bool writes)
{
    if (hint <= SIEVE_OFF)
        return (enum sieve_mode) hint;
    return (enum sieve_mode)((writes ? hint >> 4 : hint) & 3);
}

int collective_plan_new(const struct asked asked[], uint32_t n_asked, bool writes, uint64_t array_end,
                        const struct collective_hints *hints, const struct store *store, uint32_t n_threads,
                        struct collective_plan **ret_plan)
{
    struct fad fad = fad_of(asked, n_asked);
    uint64_t most = hints->max_window > 0 ? hints->max_window : COLLECTIVE_MAX_WINDOW;
    uint64_t window = MIN(hints->window > 0 ? hints->window : default_window(&fad), MIN(most, COLLECTIVE_MAX_WINDOW));
    struct division division = { .kind = hints->domains,
                                 .n = workers_of_use(&fad, hints, n_threads),
                                 .array_end = array_end,
                                 .chunk = MAX(window, store->stripe) };
    struct collective_plan *plan = calloc(1, sizeof *plan);
    int r;

    if (plan == NULL)
        return -ENOMEM;
    *plan = (struct collective_plan){
        .writes = writes, .n_asked = n_asked, .sieve = sieve_of(hints->sieve, writes), .window = window
    };
    r = cut(plan, &fad, &division, store);
    if (r < 0)
        collective_plan_free(plan);
    else
        *ret_plan = plan;
    return r;
}

void collective_plan_free(struct collective_plan *plan)
{
    if (plan == NULL)
        return;
    for (uint32_t i = 0; plan->worker != NULL && i < plan->n_workers; i++) {
        free(plan->worker[i].window.portion);
        free(plan->worker[i].found);
    }
    for (uint32_t i = 0; plan->worker != NULL && plan->share != NULL && i < plan->n_shares; i++) {
        pthread_mutex_destroy(&plan->share[i].lock);
        pthread_mutex_destroy(&plan->share[i].ahead);
    }
    free(plan->worker);
    free(plan->share);
    free(plan);
}

/* -- running them -- */

struct run {
    struct collective_plan *plan;
    struct fad fad;
    const struct store *store;
    const atomic_bool *may_end;
    atomic_ulong *n_done;
    atomic_int error;
};

static bool goes_on(const struct run *run)
{
    return atomic_load_explicit(&run->error, memory_order_relaxed) == 0 &&
           (run->may_end == NULL || !atomic_load_explicit(run->may_end, memory_order_relaxed));
}

static int open_share(const struct run *run, struct share *share)
{
    atomic_store_explicit(&share->n_given, 0, memory_order_relaxed);
    share->n_seen = 0;
    return fdat_new(&run->fad, &share->domain, run->store, run->plan->window, &share->fdat);
}

static void close_share(struct share *share)
{
    fdat_free(steal(share->scout));
    fdat_free(steal(share->fdat));
}

/* The next one that nobody has taken; false when there is none. */
static bool take_window(struct share *share, struct window *window)
{
    const struct window *next;

    pthread_mutex_lock(&share->lock);
    next = fdat_next(share->fdat);
    if (next != NULL) {
        struct portion *portion = window->portion;

        *window = *next;
        window->portion = portion;
        memcpy(portion, next->portion, next->n * sizeof *portion);
        atomic_fetch_add_explicit(&share->n_given, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&share->lock);
    return next != NULL;
}

/* A worker on its way through the windows of shares. */
struct walk {
    struct run *run;
    struct worker *worker;
    struct share *share; /* where it is now */
    bool has_sent;       /* for the window that it has */
    struct sieve sieve;
};

/* Sends for the window that is read now, and then for those that nobody has taken yet, unless somebody else does. A
 * disk that was asked for those first would be past this one when the read comes to it. */
static void look_ahead(void *arg)
{
    struct walk *walk = arg;
    const struct run *run = walk->run;
    struct share *share = walk->share;
    const struct window *window;

    if (pthread_mutex_trylock(&share->ahead) != 0)
        return;
    if (!walk->has_sent)
        sieve_prefetch(&walk->sieve, &walk->worker->window, run->plan->writes);
    walk->has_sent = true;
    if (share->scout == NULL) /* without memory nothing is sent for */
        (void) fdat_new(&run->fad, &share->domain, run->store, run->plan->window, &share->scout);
    while (share->scout != NULL &&
           share->n_seen < atomic_load_explicit(&share->n_given, memory_order_relaxed) + AHEAD &&
           (window = fdat_next(share->scout)) != NULL)
        if (++share->n_seen > atomic_load_explicit(&share->n_given, memory_order_relaxed))
            sieve_prefetch(&walk->sieve, window, run->plan->writes);
    pthread_mutex_unlock(&share->ahead);
}

static int run_windows(struct walk *walk)
{
    const struct run *run = walk->run;
    const struct window *window = &walk->worker->window;
    int r = 0;

    while (r == 0 && goes_on(run) && take_window(walk->share, &walk->worker->window)) {
        walk->has_sent = false;
        r = exchange_ready(&run->fad, window, walk->worker->found);
        if (r == 0)
            r = run->plan->writes ? sieve_write(&walk->sieve, window) : sieve_read(&walk->sieve, window);
        if (run->n_done != NULL)
            atomic_fetch_add_explicit(run->n_done, 1, memory_order_relaxed);
    }
    return r;
}

static int run_shares(struct walk *walk)
{
    const struct collective_plan *plan = walk->run->plan;
    uint32_t n = plan->is_shared ? plan->n_shares : 1, at = walk->worker->share;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        walk->share = &plan->share[at];
        r = run_windows(walk);
        at = at + 1 < plan->n_shares ? at + 1 : 0;
    }
    return r;
}

static void run_worker(void *arg, uint32_t i)
{
    struct run *run = arg;
    struct worker *worker = &run->plan->worker[i];
    struct walk walk = { .run = run,
                         .worker = worker,
                         .sieve = {
                             .fad = &run->fad, .store = run->store, .mode = run->plan->sieve, .missed = look_ahead } };
    int none = 0, r;

    walk.sieve.ctx = &walk;
    walk.sieve.buf = thread_window(run->plan->window);
    memset(worker->found, 0, run->fad.n * sizeof worker->found[0]);
    r = walk.sieve.buf != NULL ? run_shares(&walk) : -ENOMEM;
    worker->stats = walk.sieve.stats;
    if (r < 0)
        atomic_compare_exchange_strong(&run->error, &none, r);
}

static int run_all(struct run *run, const struct executor *executor)
{
    struct collective_plan *plan = run->plan;
    int r = 0;

    if (plan->writes && run->store->ops->will_write != NULL && run->fad.lo < run->fad.hi)
        r = run->store->ops->will_write(run->store->ctx, run->fad.lo, run->fad.hi - run->fad.lo);
    for (uint32_t i = 0; r == 0 && i < plan->n_shares; i++)
        r = open_share(run, &plan->share[i]);
    if (r == 0 && plan->n_workers == 1)
        run_worker(run, 0);
    else if (r == 0)
        executor->each(executor->ctx, plan->n_workers, run_worker, run);
    for (uint32_t i = 0; i < plan->n_shares; i++)
        close_share(&plan->share[i]);
    if (r == 0)
        r = atomic_load(&run->error);
    return r == 0 && !goes_on(run) ? -EINTR : r;
}

static void add(struct sieve_stats *sum, const struct sieve_stats *one)
{
    sum->disk_read += one->disk_read;
    sum->disk_written += one->disk_written;
    sum->mapped += one->mapped;
    sum->reread += one->reread;
    sum->windows += one->windows;
    sum->windows_mapped += one->windows_mapped;
    sum->windows_list += one->windows_list;
    sum->requests += one->requests;
    sum->ns_io += one->ns_io;
    sum->ns_exchange += one->ns_exchange;
}

int collective_run(struct collective_plan *plan, const struct asked asked[], const struct store *store,
                   const struct executor *executor, struct collective_stats *ret_stats)
{
    struct run run = {
        .plan = plan,
        .fad = fad_of(asked, plan->n_asked),
        .store = store,
        .may_end = executor->may_end,
        .n_done = executor->n_done,
    };
    uint64_t begin = clock_ns();
    int r = run_all(&run, executor);

    *ret_stats = (struct collective_stats){ .asked = run.fad.total, .workers = plan->n_workers };
    ret_stats->ns_total = clock_ns() - begin;
    for (uint32_t i = 0; i < plan->n_workers; i++)
        add(&ret_stats->sieve, &plan->worker[i].stats);
    return r;
}

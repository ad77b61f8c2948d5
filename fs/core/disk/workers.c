/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/workers.h"

#include "fs/core/disk/mutex.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_IDLE 8 /* threads that stay when there is nothing to do */

struct batch {
    uint32_t left; /* workers->lock */
};

struct workers {
    atomic_uint_least32_t max_threads;
    struct mutex lock;
    struct cond work, ended;
    struct chore *first, **last;         /* lock; queued chores of batches, which threads take first */
    struct chore *later, **later_last;   /* lock; queued later chores */
    uint32_t n_queued;                   /* lock; chores that nobody has begun */
    uint32_t n_threads, n_idle, n_later; /* lock; n_idle has those just started or woken, n_later those that run, too */
    uint32_t n_waiting;                  /* lock; those of n_later that have waits set */
    bool started, stop;                  /* lock */
};

int workers_new(uint32_t max_threads, struct workers **ret_workers)
{
    struct workers *workers = calloc(1, sizeof *workers);

    if (workers == NULL)
        return -ENOMEM;
    workers->max_threads = max_threads;
    mutex_init(&workers->lock);
    cond_init(&workers->work);
    cond_init(&workers->ended);
    workers->last = &workers->first;
    workers->later_last = &workers->later;
    *ret_workers = workers;
    return 0;
}

/* Takes the chore at *at out of its queue; *last is where the queue ends. */
static struct chore *take_at(struct workers *workers, struct chore **at, struct chore ***last) REQUIRES(workers->lock)
{
    struct chore *chore = *at;

    *at = chore->next;
    if (chore->next == NULL)
        *last = at;
    workers->n_queued--;
    return chore;
}

static struct chore *take(struct workers *workers) REQUIRES(workers->lock)
{
    if (workers->first != NULL)
        return take_at(workers, &workers->first, &workers->last);
    return workers->later != NULL ? take_at(workers, &workers->later, &workers->later_last) : NULL;
}

/* Counts a later chore that has ended, and wakes threads that wait for later chores when none of those is left, or only
 * those with waits set. */
static void later_ended(struct workers *workers, bool waits) REQUIRES(workers->lock)
{
    workers->n_later--;
    workers->n_waiting -= waits;
    if (workers->n_later == workers->n_waiting)
        cond_broadcast(&workers->ended);
}

/* Runs a chore of a batch under the errand of the thread that waits for the batch. The trace of that errand is left
 * out: no other thread may write into it. */
static void run_of_batch(struct chore *chore)
{
    cleanup(errand_leave) struct errand before = errand_at(chore->errand.nodeid, chore->errand.slot);

    chore->run(chore);
}

static void *work(void *arg)
{
    struct workers *workers = arg;
    struct chore *chore;

    mutex_lock(&workers->lock);
    workers->n_idle--;
    for (;;) {
        while ((chore = take(workers)) == NULL && !workers->stop && workers->n_idle < MAX_IDLE) {
            workers->n_idle++;
            cond_wait(&workers->work, &workers->lock);
            workers->n_idle--;
        }
        if (chore == NULL)
            break;
        struct batch *batch = chore->batch;
        bool waits = batch == NULL && chore->waits;

        mutex_unlock(&workers->lock);
        if (batch != NULL)
            run_of_batch(chore);
        else
            chore->run(chore); /* the chore has freed itself */
        errand = NO_ERRAND;
        mutex_lock(&workers->lock);
        if (batch == NULL)
            later_ended(workers, waits);
        else if (--batch->left == 0)
            cond_broadcast(&workers->ended);
    }
    workers->n_threads--;
    cond_broadcast(&workers->ended);
    mutex_unlock(&workers->lock);
    return NULL;
}

/* Starts one more thread; false when there may be no more, or none can be made. */
static bool start_thread(struct workers *workers) REQUIRES(workers->lock)
{
    pthread_attr_t attr;
    pthread_t thread;
    bool ok;

    if (workers->n_threads == workers->max_threads)
        return false;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    ok = pthread_create(&thread, &attr, work, workers) == 0;
    pthread_attr_destroy(&attr);
    workers->n_threads += ok;
    workers->n_idle += ok;
    return ok;
}

/* Counts n more chores as queued; wakes threads for them, and starts some when too few are idle. */
static void call_for_help(struct workers *workers, uint32_t n) REQUIRES(workers->lock)
{
    workers->n_queued += n;
    while (workers->started && workers->n_queued > workers->n_idle && start_thread(workers))
        ;
    for (uint32_t i = 0; i < n && i < workers->n_idle; i++)
        cond_signal(&workers->work);
}

/* Takes a chore of the batch that nobody has begun; NULL when there is none. */
static struct chore *take_of(struct workers *workers, const struct batch *batch) REQUIRES(workers->lock)
{
    for (struct chore **at = &workers->first; *at != NULL; at = &(*at)->next)
        if ((*at)->batch == batch)
            return take_at(workers, at, &workers->last);
    return NULL;
}

/* Waits until all chores of the batch have ended. Those that nobody has begun run here: all threads may be waiting, for
 * batches of their own. */
static void finish(struct workers *workers, struct batch *batch) REQUIRES(workers->lock)
{
    while (batch->left > 0) {
        struct chore *chore = take_of(workers, batch);

        if (chore == NULL) {
            cond_wait(&workers->ended, &workers->lock);
            continue;
        }
        mutex_unlock(&workers->lock);
        run_of_batch(chore);
        mutex_lock(&workers->lock);
        batch->left--;
    }
}

void workers_run(struct workers *workers, struct chore *const chore[], uint32_t n)
{
    struct batch batch = { 0 };

    if (n == 0)
        return;
    if (workers->max_threads > 0 && n > 1) {
        mutex_lock(&workers->lock);
        batch.left = n - 1;
        for (uint32_t i = 0; i + 1 < n; i++) {
            chore[i]->batch = &batch;
            chore[i]->errand = errand;
            chore[i]->next = NULL;
            *workers->last = chore[i];
            workers->last = &chore[i]->next;
        }
        call_for_help(workers, n - 1);
        /* When not one thread could be started, nobody would ever take the chores out of the queue. */
        if (workers->n_threads > 0) {
            mutex_unlock(&workers->lock);
            chore[n - 1]->run(chore[n - 1]);
            mutex_lock(&workers->lock);
            finish(workers, &batch);
            mutex_unlock(&workers->lock);
            return;
        }
        workers->first = NULL;
        workers->last = &workers->first;
        workers->n_queued -= n - 1;
        mutex_unlock(&workers->lock);
    }
    for (uint32_t i = 0; i < n; i++)
        chore[i]->run(chore[i]);
}

void workers_later(struct workers *workers, struct chore *chore)
{
    bool now;

    chore->batch = NULL;
    chore->next = NULL;
    mutex_lock(&workers->lock);
    call_for_help(workers, 1);
    now = workers->max_threads == 0 || (workers->started && workers->n_threads == 0);
    if (now) {
        workers->n_queued--;
    } else {
        workers->n_later++;
        workers->n_waiting += chore->waits;
        *workers->later_last = chore;
        workers->later_last = &chore->next;
        if (!chore->waits)
            cond_broadcast(&workers->ended); /* a thread in workers_wait_later may be the only one to run it */
    }
    mutex_unlock(&workers->lock);
    if (now)
        chore->run(chore);
}

void workers_start(struct workers *workers)
{
    mutex_lock(&workers->lock);
    workers->started = true;
    call_for_help(workers, 0);
    mutex_unlock(&workers->lock);
}

void workers_allow(struct workers *workers, uint32_t n_more)
{
    mutex_lock(&workers->lock);
    if (workers->max_threads > 0)
        workers->max_threads += n_more;
    mutex_unlock(&workers->lock);
}

/* Runs all queued chores in this thread if there are no others. */
static void do_it_all(struct workers *workers) REQUIRES(workers->lock)
{
    struct chore *chore;

    while (workers->n_threads == 0 && (chore = take(workers)) != NULL) {
        bool waits = chore->waits;

        mutex_unlock(&workers->lock);
        chore->run(chore);
        mutex_lock(&workers->lock);
        later_ended(workers, waits);
    }
}

void workers_drain(struct workers *workers)
{
    mutex_lock(&workers->lock);
    do_it_all(workers);
    while (workers->n_later > 0)
        cond_wait(&workers->ended, &workers->lock);
    mutex_unlock(&workers->lock);
}

/* Takes a later chore that nobody has begun and whose waits is not set; NULL when there is none. */
static struct chore *take_settled(struct workers *workers) REQUIRES(workers->lock)
{
    for (struct chore **at = &workers->later; *at != NULL; at = &(*at)->next)
        if (!(*at)->waits)
            return take_at(workers, at, &workers->later_last);
    return NULL;
}

/* Chores that nobody has begun run here: all threads may be waiting in this function. */
void workers_wait_later(struct workers *workers)
{
    mutex_lock(&workers->lock);
    while (workers->n_later > workers->n_waiting) {
        struct chore *chore = take_settled(workers);

        if (chore == NULL) {
            cond_wait(&workers->ended, &workers->lock);
            continue;
        }
        mutex_unlock(&workers->lock);
        chore->run(chore);
        mutex_lock(&workers->lock);
        later_ended(workers, false);
    }
    mutex_unlock(&workers->lock);
}

void workers_free(struct workers *workers)
{
    if (workers == NULL)
        return;
    workers_drain(workers);
    mutex_lock(&workers->lock);
    workers->stop = true;
    cond_broadcast(&workers->work);
    while (workers->n_threads > 0)
        cond_wait(&workers->ended, &workers->lock);
    mutex_unlock(&workers->lock);
    cond_done(&workers->work);
    cond_done(&workers->ended);
    mutex_done(&workers->lock);
    free(workers);
}

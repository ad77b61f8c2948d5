/* SPDX-License-Identifier: MIT */
#include "fs/core/workers.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_IDLE 8 /* threads that stay when there is nothing to do */

struct batch {
    uint32_t left; /* workers->lock */
};

struct workers {
    atomic_uint_least32_t max_threads;
    pthread_mutex_t lock;
    pthread_cond_t work, ended;
    struct job *first, **last; /* lock; batches before later jobs */
    struct job *later, **later_last;
    uint32_t n_queued;                   /* lock; jobs that nobody has begun */
    uint32_t n_threads, n_idle, n_later; /* lock; idle is who was just called, too; later those running, too */
    uint32_t n_settle;                   /* lock; of the later ones, those that may settle */
    bool started, stop;                  /* lock */
};

int workers_new(uint32_t max_threads, struct workers **ret_workers)
{
    struct workers *workers = calloc(1, sizeof *workers);

    if (workers == NULL)
        return -ENOMEM;
    workers->max_threads = max_threads;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->work, NULL);
    pthread_cond_init(&workers->ended, NULL);
    workers->last = &workers->first;
    workers->later_last = &workers->later;
    *ret_workers = workers;
    return 0;
}

/* Out of a queue, the end of which is at last. Called with the lock. */
static struct job *take_at(struct workers *workers, struct job **at, struct job ***last)
{
    struct job *job = *at;

    *at = job->next;
    if (job->next == NULL)
        *last = at;
    workers->n_queued--;
    return job;
}

static struct job *take(struct workers *workers)
{
    if (workers->first != NULL)
        return take_at(workers, &workers->first, &workers->last);
    return workers->later != NULL ? take_at(workers, &workers->later, &workers->later_last) : NULL;
}

/* What follows when a later job has ended. Called with the lock. */
static void later_ended(struct workers *workers, bool settles)
{
    workers->n_later--;
    workers->n_settle -= settles;
    if (workers->n_later == workers->n_settle)
        pthread_cond_broadcast(&workers->ended);
}

static void *work(void *arg)
{
    struct workers *workers = arg;
    struct job *job;

    pthread_mutex_lock(&workers->lock);
    workers->n_idle--;
    for (;;) {
        while ((job = take(workers)) == NULL && !workers->stop && workers->n_idle < MAX_IDLE) {
            workers->n_idle++;
            pthread_cond_wait(&workers->work, &workers->lock);
            workers->n_idle--;
        }
        if (job == NULL)
            break;
        struct batch *batch = job->batch;
        bool settles = batch == NULL && job->settles;

        pthread_mutex_unlock(&workers->lock);
        job->run(job); /* a later job is gone now */
        pthread_mutex_lock(&workers->lock);
        if (batch == NULL)
            later_ended(workers, settles);
        else if (--batch->left == 0)
            pthread_cond_broadcast(&workers->ended);
    }
    workers->n_threads--;
    pthread_cond_broadcast(&workers->ended);
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* False when there cannot be another thread. Called with the lock. */
static bool start_thread(struct workers *workers)
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

/* So many jobs more: wakes threads, or starts some when all are busy. Called with the lock. */
static void call_for_help(struct workers *workers, uint32_t n)
{
    workers->n_queued += n;
    while (workers->started && workers->n_queued > workers->n_idle && start_thread(workers))
        ;
    for (uint32_t i = 0; i < n && i < workers->n_idle; i++)
        pthread_cond_signal(&workers->work);
}

/* A job of the batch that nobody has begun; NULL when there is none. Called with the lock. */
static struct job *take_of(struct workers *workers, const struct batch *batch)
{
    for (struct job **at = &workers->first; *at != NULL; at = &(*at)->next)
        if ((*at)->batch == batch)
            return take_at(workers, at, &workers->last);
    return NULL;
}

/* Waits for the batch. A job that no thread was free for is done here: all threads may be waiting, for batches of their
 * own. Called with the lock. */
static void finish(struct workers *workers, struct batch *batch)
{
    while (batch->left > 0) {
        struct job *job = take_of(workers, batch);

        if (job == NULL) {
            pthread_cond_wait(&workers->ended, &workers->lock);
            continue;
        }
        pthread_mutex_unlock(&workers->lock);
        job->run(job);
        pthread_mutex_lock(&workers->lock);
        batch->left--;
    }
}

void workers_run(struct workers *workers, struct job *const job[], uint32_t n)
{
    struct batch batch = { 0 };

    if (n == 0)
        return;
    if (workers->max_threads > 0 && n > 1) {
        pthread_mutex_lock(&workers->lock);
        batch.left = n - 1;
        for (uint32_t i = 0; i + 1 < n; i++) {
            job[i]->batch = &batch;
            job[i]->next = NULL;
            *workers->last = job[i];
            workers->last = &job[i]->next;
        }
        call_for_help(workers, n - 1);
        /* Without a single thread nobody would ever come. */
        if (workers->n_threads > 0) {
            pthread_mutex_unlock(&workers->lock);
            job[n - 1]->run(job[n - 1]);
            pthread_mutex_lock(&workers->lock);
            finish(workers, &batch);
            pthread_mutex_unlock(&workers->lock);
            return;
        }
        workers->first = NULL;
        workers->last = &workers->first;
        workers->n_queued -= n - 1;
        pthread_mutex_unlock(&workers->lock);
    }
    for (uint32_t i = 0; i < n; i++)
        job[i]->run(job[i]);
}

void workers_later(struct workers *workers, struct job *job)
{
    bool now;

    job->batch = NULL;
    job->next = NULL;
    pthread_mutex_lock(&workers->lock);
    call_for_help(workers, 1);
    now = workers->max_threads == 0 || (workers->started && workers->n_threads == 0);
    if (now) {
        workers->n_queued--;
    } else {
        workers->n_later++;
        workers->n_settle += job->settles;
        *workers->later_last = job;
        workers->later_last = &job->next;
        if (!job->settles)
            pthread_cond_broadcast(&workers->ended); /* who settles may be the only one to do it */
    }
    pthread_mutex_unlock(&workers->lock);
    if (now)
        job->run(job);
}

void workers_start(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->started = true;
    call_for_help(workers, 0);
    pthread_mutex_unlock(&workers->lock);
}

void workers_allow(struct workers *workers, uint32_t n_more)
{
    pthread_mutex_lock(&workers->lock);
    if (workers->max_threads > 0)
        workers->max_threads += n_more;
    pthread_mutex_unlock(&workers->lock);
}

/* Without threads, what waits is done here. */
static void do_it_all(struct workers *workers)
{
    struct job *job;

    while (workers->n_threads == 0 && (job = take(workers)) != NULL) {
        bool settles = job->settles;

        pthread_mutex_unlock(&workers->lock);
        job->run(job);
        pthread_mutex_lock(&workers->lock);
        later_ended(workers, settles);
    }
}

void workers_drain(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    do_it_all(workers);
    while (workers->n_later > 0)
        pthread_cond_wait(&workers->ended, &workers->lock);
    pthread_mutex_unlock(&workers->lock);
}

/* A later job that nobody has begun and that does not settle; NULL when there is none. Called with the lock. */
static struct job *take_settled(struct workers *workers)
{
    for (struct job **at = &workers->later; *at != NULL; at = &(*at)->next)
        if (!(*at)->settles)
            return take_at(workers, at, &workers->later_last);
    return NULL;
}

/* What no thread was free for is done here: all of them may be settling. */
void workers_settle(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    while (workers->n_later > workers->n_settle) {
        struct job *job = take_settled(workers);

        if (job == NULL) {
            pthread_cond_wait(&workers->ended, &workers->lock);
            continue;
        }
        pthread_mutex_unlock(&workers->lock);
        job->run(job);
        pthread_mutex_lock(&workers->lock);
        later_ended(workers, false);
    }
    pthread_mutex_unlock(&workers->lock);
}

void workers_free(struct workers *workers)
{
    if (workers == NULL)
        return;
    workers_drain(workers);
    pthread_mutex_lock(&workers->lock);
    workers->stop = true;
    pthread_cond_broadcast(&workers->work);
    while (workers->n_threads > 0)
        pthread_cond_wait(&workers->ended, &workers->lock);
    pthread_mutex_unlock(&workers->lock);
    pthread_cond_destroy(&workers->work);
    pthread_cond_destroy(&workers->ended);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

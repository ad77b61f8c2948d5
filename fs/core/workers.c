/* SPDX-License-Identifier: MIT */
#include "fs/core/workers.h"

#include <pthread.h>

struct batch {
    uint32_t left; /* workers->lock */
};

struct workers {
    uint32_t max_threads;
    pthread_mutex_t lock;
    pthread_cond_t work, ended;
    struct job *first, **last; /* lock; batches before later jobs */
    struct job *later, **later_last;
    uint32_t n_threads, n_idle, n_later; /* lock; n_later counts those running, too */
    bool started, stop;                  /* lock */
    pthread_t *thread;
};

int workers_new(uint32_t max_threads, struct workers **ret_workers)
{
    struct workers *workers = calloc(1, sizeof *workers);

    if (workers == NULL)
        return -ENOMEM;
    workers->max_threads = max_threads;
    workers->thread = calloc(MAX(max_threads, 1), sizeof *workers->thread);
    if (workers->thread == NULL) {
        free(workers);
        return -ENOMEM;
    }
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->work, NULL);
    pthread_cond_init(&workers->ended, NULL);
    workers->last = &workers->first;
    workers->later_last = &workers->later;
    *ret_workers = workers;
    return 0;
}

static struct job *take(struct workers *workers)
{
    struct job *job = workers->first;

    if (job != NULL) {
        workers->first = job->next;
        if (workers->first == NULL)
            workers->last = &workers->first;
        return job;
    }
    job = workers->later;
    if (job != NULL) {
        workers->later = job->next;
        if (workers->later == NULL)
            workers->later_last = &workers->later;
    }
    return job;
}

static void *work(void *arg)
{
    struct workers *workers = arg;
    struct job *job;

    pthread_mutex_lock(&workers->lock);
    for (;;) {
        while ((job = take(workers)) == NULL && !workers->stop) {
            workers->n_idle++;
            pthread_cond_wait(&workers->work, &workers->lock);
            workers->n_idle--;
        }
        if (job == NULL)
            break;
        struct batch *batch = job->batch;

        pthread_mutex_unlock(&workers->lock);
        job->run(job); /* a later job is gone now */
        pthread_mutex_lock(&workers->lock);
        if (batch != NULL ? --batch->left == 0 : --workers->n_later == 0)
            pthread_cond_broadcast(&workers->ended);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Wakes a thread, or starts one when all are busy. Called with the lock. */
static void call_for_help(struct workers *workers, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < workers->n_idle; i++)
        pthread_cond_signal(&workers->work);
    for (uint32_t i = workers->n_idle; workers->started && i < n && workers->n_threads < workers->max_threads; i++)
        if (pthread_create(&workers->thread[workers->n_threads], NULL, work, workers) == 0)
            workers->n_threads++;
        else
            break;
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
            while (batch.left > 0)
                pthread_cond_wait(&workers->ended, &workers->lock);
            pthread_mutex_unlock(&workers->lock);
            return;
        }
        workers->first = NULL;
        workers->last = &workers->first;
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
    if (!now) {
        workers->n_later++;
        *workers->later_last = job;
        workers->later_last = &job->next;
    }
    pthread_mutex_unlock(&workers->lock);
    if (now)
        job->run(job);
}

void workers_start(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->started = true;
    call_for_help(workers, MIN(workers->n_later, workers->max_threads));
    pthread_mutex_unlock(&workers->lock);
}

/* Without threads, what waits is done here. */
static void do_it_all(struct workers *workers)
{
    struct job *job;

    while (workers->n_threads == 0 && (job = take(workers)) != NULL) {
        pthread_mutex_unlock(&workers->lock);
        job->run(job);
        pthread_mutex_lock(&workers->lock);
        workers->n_later--;
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

void workers_free(struct workers *workers)
{
    if (workers == NULL)
        return;
    workers_drain(workers);
    pthread_mutex_lock(&workers->lock);
    workers->stop = true;
    pthread_cond_broadcast(&workers->work);
    pthread_mutex_unlock(&workers->lock);
    for (uint32_t i = 0; i < workers->n_threads; i++)
        pthread_join(workers->thread[i], NULL);
    pthread_cond_destroy(&workers->work);
    pthread_cond_destroy(&workers->ended);
    pthread_mutex_destroy(&workers->lock);
    free(workers->thread);
    free(workers);
}

/* SPDX-License-Identifier: MIT */
/* The threads that work for a volume. A test that hangs is one that fails: ctest and Criterion have a time limit. */
#include "fs/core/workers.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#define WIDTH 3

struct node {
    struct job job;
    struct workers *workers;
    unsigned depth;
    atomic_uint *n_done;
};

/* Runs a batch, whose jobs run batches. */
static void run_node(struct job *job)
{
    struct node *node = (struct node *) job, inner[WIDTH];
    struct job *jobs[WIDTH];

    for (unsigned i = 0; i < WIDTH && node->depth > 0; i++) {
        inner[i] = *node;
        inner[i].depth--;
        jobs[i] = &inner[i].job;
    }
    if (node->depth > 0)
        workers_run(node->workers, jobs, WIDTH);
    atomic_fetch_add(node->n_done, 1);
}

static void run_tree(uint32_t max_threads)
{
    struct workers *workers;
    atomic_uint n_done = 0;
    struct node root = { .job = { .run = run_node }, .depth = 4, .n_done = &n_done };
    struct job *job = &root.job;

    cr_assert_eq(workers_new(max_threads, &workers), 0);
    workers_start(workers);
    root.workers = workers;
    workers_run(workers, &job, 1);
    cr_assert_eq(atomic_load(&n_done), 1 + 3 + 9 + 27 + 81);
    workers_free(workers);
}

/* More callers wait than there are threads. */
Test(workers, batches_in_batches, .timeout = 60)
{
    for (uint32_t max_threads = 0; max_threads <= 8; max_threads++)
        run_tree(max_threads);
}

struct gate {
    struct job job;
    pthread_mutex_t *lock;
    pthread_cond_t *opened;
    bool *open;
};

static void wait_at_gate(struct job *job)
{
    struct gate *gate = (struct gate *) job;

    pthread_mutex_lock(gate->lock);
    while (!*gate->open)
        pthread_cond_wait(gate->opened, gate->lock);
    pthread_mutex_unlock(gate->lock);
}

static void open_gate(struct job *job)
{
    struct gate *gate = (struct gate *) job;

    pthread_mutex_lock(gate->lock);
    *gate->open = true;
    pthread_cond_broadcast(gate->opened);
    pthread_mutex_unlock(gate->lock);
}

/* A job that waits, for a disk that hangs, does not keep the next one from being done. */
Test(workers, one_that_waits_holds_up_nobody, .timeout = 60)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
    struct workers *workers;

    cr_assert_eq(workers_new(2, &workers), 0);
    workers_start(workers);
    for (int round = 0; round < 200; round++) {
        bool open = false;
        struct gate waits = { .job = { .run = wait_at_gate }, .lock = &lock, .opened = &opened, .open = &open };
        struct gate opens = { .job = { .run = open_gate }, .lock = &lock, .opened = &opened, .open = &open };

        workers_later(workers, &waits.job);
        workers_later(workers, &opens.job);
        workers_drain(workers);
        cr_assert(open);
    }
    workers_free(workers);
}

static void count(struct job *job)
{
    atomic_fetch_add(((struct node *) job)->n_done, 1);
}

/* What comes before the threads waits for them. */
Test(workers, later_jobs_wait_for_the_start, .timeout = 60)
{
    struct node node[50];
    struct workers *workers;
    atomic_uint n_done = 0;

    cr_assert_eq(workers_new(4, &workers), 0);
    for (size_t i = 0; i < ARRAY_SIZE(node); i++) {
        node[i] = (struct node){ .job = { .run = count }, .n_done = &n_done };
        workers_later(workers, &node[i].job);
    }
    cr_assert_eq(atomic_load(&n_done), 0);
    workers_start(workers);
    workers_drain(workers);
    cr_assert_eq(atomic_load(&n_done), ARRAY_SIZE(node));
    workers_free(workers);
}

/* Settles, itself and in the jobs of a batch, when others like it do. */
static void settle(struct job *job)
{
    struct node *node = (struct node *) job, inner[WIDTH];
    struct job *jobs[WIDTH];

    for (unsigned i = 0; i < WIDTH && node->depth > 0; i++) {
        inner[i] = (struct node){ .job = { .run = settle }, .workers = node->workers, .n_done = node->n_done };
        jobs[i] = &inner[i].job;
    }
    if (node->depth > 0)
        workers_run(node->workers, jobs, WIDTH);
    workers_settle(node->workers);
    atomic_fetch_add(node->n_done, 1);
}

/* A group at work finds a disk full, and waits for what was removed to be gone. */
Test(workers, who_settles_does_not_wait_for_itself, .timeout = 60)
{
    for (uint32_t max_threads = 1; max_threads <= 8; max_threads++) {
        struct node node[20];
        struct workers *workers;
        atomic_uint n_done = 0, n_counted = 0;

        cr_assert_eq(workers_new(max_threads, &workers), 0);
        workers_start(workers);
        for (size_t i = 0; i < ARRAY_SIZE(node); i++) {
            bool settles = i % 2 == 0;

            node[i] = (struct node){ .job = { .run = settles ? settle : count, .settles = settles },
                                     .workers = workers,
                                     .depth = 1,
                                     .n_done = settles ? &n_done : &n_counted };
            workers_later(workers, &node[i].job);
        }
        workers_settle(workers);
        cr_assert_eq(atomic_load(&n_counted), ARRAY_SIZE(node) / 2);
        workers_drain(workers);
        cr_assert_eq(atomic_load(&n_done), ARRAY_SIZE(node) / 2 * (1 + WIDTH));
        workers_free(workers);
    }
}

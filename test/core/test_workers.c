/* SPDX-License-Identifier: MIT */
/* The threads that work for a volume. A test that hangs fails: ctest and Criterion have a time limit. */
#include "fs/core/disk/workers.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#define WIDTH 3

struct node {
    struct chore chore;
    struct workers *workers;
    unsigned depth;
    atomic_uint *n_done;
};

/* Runs a batch of chores that run batches themselves, down to depth 0. */
static void run_node(struct chore *chore)
{
    struct node *node = (struct node *) chore, inner[WIDTH];
    struct chore *chores[WIDTH];

    for (unsigned i = 0; i < WIDTH && node->depth > 0; i++) {
        inner[i] = *node;
        inner[i].depth--;
        chores[i] = &inner[i].chore;
    }
    if (node->depth > 0)
        workers_run(node->workers, chores, WIDTH);
    atomic_fetch_add(node->n_done, 1);
}

static void run_tree(uint32_t max_threads)
{
    struct workers *workers;
    atomic_uint n_done = 0;
    struct node root = { .chore = { .run = run_node }, .depth = 4, .n_done = &n_done };
    struct chore *chore = &root.chore;

    cr_assert_eq(workers_new(max_threads, &workers), 0);
    workers_start(workers);
    root.workers = workers;
    workers_run(workers, &chore, 1);
    cr_assert_eq(atomic_load(&n_done), 1 + 3 + 9 + 27 + 81);
    workers_free(workers);
}

/* Batches in batches end, also when more callers wait than there are threads. */
Test(workers, batches_in_batches, .timeout = 60)
{
    for (uint32_t max_threads = 0; max_threads <= 8; max_threads++)
        run_tree(max_threads);
}

struct gate {
    struct chore chore;
    pthread_mutex_t *lock;
    pthread_cond_t *opened;
    bool *open;
};

static void wait_at_gate(struct chore *chore)
{
    struct gate *gate = (struct gate *) chore;

    pthread_mutex_lock(gate->lock);
    while (!*gate->open)
        pthread_cond_wait(gate->opened, gate->lock);
    pthread_mutex_unlock(gate->lock);
}

static void open_gate(struct chore *chore)
{
    struct gate *gate = (struct gate *) chore;

    pthread_mutex_lock(gate->lock);
    *gate->open = true;
    pthread_cond_broadcast(gate->opened);
    pthread_mutex_unlock(gate->lock);
}

/* A chore that waits, as for a disk that hangs, does not keep the next one from being done. */
Test(workers, one_that_waits_holds_up_nobody, .timeout = 60)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
    struct workers *workers;

    cr_assert_eq(workers_new(2, &workers), 0);
    workers_start(workers);
    for (int round = 0; round < 200; round++) {
        bool open = false;
        struct gate waits = { .chore = { .run = wait_at_gate }, .lock = &lock, .opened = &opened, .open = &open };
        struct gate opens = { .chore = { .run = open_gate }, .lock = &lock, .opened = &opened, .open = &open };

        workers_later(workers, &waits.chore);
        workers_later(workers, &opens.chore);
        workers_drain(workers);
        cr_assert(open);
    }
    workers_free(workers);
}

static void count(struct chore *chore)
{
    atomic_fetch_add(((struct node *) chore)->n_done, 1);
}

/* Chores that come before the threads are started wait for them. */
Test(workers, later_jobs_wait_for_the_start, .timeout = 60)
{
    struct node node[50];
    struct workers *workers;
    atomic_uint n_done = 0;

    cr_assert_eq(workers_new(4, &workers), 0);
    for (size_t i = 0; i < ARRAY_SIZE(node); i++) {
        node[i] = (struct node){ .chore = { .run = count }, .n_done = &n_done };
        workers_later(workers, &node[i].chore);
    }
    cr_assert_eq(atomic_load(&n_done), 0);
    workers_start(workers);
    workers_drain(workers);
    cr_assert_eq(atomic_load(&n_done), ARRAY_SIZE(node));
    workers_free(workers);
}

/* Waits for later chores, as one that meets a full disk does: itself, and in the chores of a batch. */
static void wait_for_others(struct chore *chore)
{
    struct node *node = (struct node *) chore, inner[WIDTH];
    struct chore *chores[WIDTH];

    for (unsigned i = 0; i < WIDTH && node->depth > 0; i++) {
        inner[i] =
            (struct node){ .chore = { .run = wait_for_others }, .workers = node->workers, .n_done = node->n_done };
        chores[i] = &inner[i].chore;
    }
    if (node->depth > 0)
        workers_run(node->workers, chores, WIDTH);
    workers_wait_later(node->workers);
    atomic_fetch_add(node->n_done, 1);
}

/* A chore that waits until later chores are done, as a group does that finds a disk full, does not wait for itself. */
Test(workers, who_settles_does_not_wait_for_itself, .timeout = 60)
{
    for (uint32_t max_threads = 1; max_threads <= 8; max_threads++) {
        struct node node[20];
        struct workers *workers;
        atomic_uint n_done = 0, n_counted = 0;

        cr_assert_eq(workers_new(max_threads, &workers), 0);
        workers_start(workers);
        for (size_t i = 0; i < ARRAY_SIZE(node); i++) {
            bool waits = i % 2 == 0;

            node[i] = (struct node){ .chore = { .run = waits ? wait_for_others : count, .waits = waits },
                                     .workers = workers,
                                     .depth = 1,
                                     .n_done = waits ? &n_done : &n_counted };
            workers_later(workers, &node[i].chore);
        }
        workers_wait_later(workers);
        cr_assert_eq(atomic_load(&n_counted), ARRAY_SIZE(node) / 2);
        workers_drain(workers);
        cr_assert_eq(atomic_load(&n_done), ARRAY_SIZE(node) / 2 * (1 + WIDTH));
        workers_free(workers);
    }
}

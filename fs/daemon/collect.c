/* SPDX-License-Identifier: MIT */
#include "fs/daemon/collect.h"

#include "fs/core/file_store.h"
#include "fs/daemon/mount.h"
#include "fs/daemon/sections.h"
#include "ioctl/round.h"

#include <unistd.h>

#define LITTLE   (UINT64_C(2) << 20) /* bytes */
#define AT_ONCE  8                   /* workers must be left for files, which what we wait for is done through */
#define MAX_HERE 8

struct turn {
    struct job job;
    struct collect *collect;
    struct groups *groups;
    struct round *round;
    struct turn *next;
};

struct collect {
    struct fs *fs;
    struct executor executor;
    uint32_t max_here;
    atomic_uint n_here;
    atomic_bool closed;
    pthread_mutex_t lock;
    uint32_t n_at_work;         /* lock; of workers */
    struct turn *first, **last; /* lock; those who wait for their turn */
    struct turn *stalled;       /* lock; and for a disk */
};

/* -- on the workers' threads -- */

struct piece {
    struct job job;
    void (*run)(void *arg, uint32_t i);
    void *arg;
    uint32_t i;
};

static void run_piece(struct job *job)
{
    struct piece *piece = (struct piece *) job;

    piece->run(piece->arg, piece->i);
}

static void run_each(void *ctx, uint32_t n, void (*run)(void *arg, uint32_t i), void *arg)
{
    const struct fs *fs = ctx;
    cleanup(freep) struct piece *piece = calloc(n, sizeof *piece);
    cleanup(freep) struct job **jobs = calloc(n, sizeof(struct job *));

    if (piece == NULL || jobs == NULL) {
        for (uint32_t i = 0; i < n; i++)
            run(arg, i);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        piece[i] = (struct piece){ .job = { .run = run_piece }, .run = run, .arg = arg, .i = i };
        jobs[i] = &piece[i].job;
    }
    workers_run(fs->workers, jobs, n);
}

/* -- a round -- */

static const struct collect_ask *ask_of(const struct round *round, uint32_t rank)
{
    return (const struct collect_ask *) round->entry[rank].ask;
}

/* Before any of them writes; each has rights of its own. */
static int drop_privileges_of(const struct round *round)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < round->n; i++) {
        const struct collect_ask *ask = ask_of(round, i);

        if (ask->ask.wanted->nest->size > 0)
            r = drop_privileges(ask->handle, &ask->cred);
    }
    return r;
}

static int run(struct collect *collect, struct round *round)
{
    const struct collect_ask *first = ask_of(round, 0);
    const struct handle *handle = first->handle;
    cleanup(file_store_done) struct file_store file_store = { .fs = collect->fs, .file = handle->file };
    struct store store = file_store_of(&file_store);
    uint64_t lo, hi;
    int r = 0;

    if (!round_range(round, &lo, &hi))
        return 0; /* all sections are empty */
    if (atomic_load(&handle->inode->n_read_write) > 0)
        forget_cached(handle, lo, hi);
    if (round->write)
        r = drop_privileges_of(round);
    if (r == 0)
        r = round_run(round, &store, &collect->executor);
    if (round->write)
        forget_cached(handle, lo, hi);
    else if (r == 0)
        tree_note_read(collect->fs, handle->inode);
    return r;
}

static void end_round(struct groups *groups, struct round *round, int result)
{
    const struct collect_ask *first = ask_of(round, 0);

    if (round->alone)
        sections_note_alone(atomic_load(&first->handle->sections), &round->stats);
    groups_done(groups, round, result);
}

/* False when a disk is stalled: another time, unless that has been so for too long. */
static bool work(struct collect *collect, struct groups *groups, struct round *round)
{
    int r = round_begin(round) ? run(collect, round) : -EINTR;

    if (r == -ETIMEDOUT && watch_now() * 1000000 < round->deadline && round_rest(round))
        return false;
    end_round(groups, round, r == -ETIMEDOUT ? -EIO : r); /* no rank is missing */
    return true;
}

/* -- taking turns -- */

static void put_aside(struct collect *collect, struct turn *turn)
{
    pthread_mutex_lock(&collect->lock);
    turn->next = collect->stalled;
    collect->stalled = turn;
    pthread_mutex_unlock(&collect->lock);
}

static void take_turns(struct job *job)
{
    struct turn *turn = (struct turn *) job;
    struct collect *collect = turn->collect;

    while (turn != NULL) {
        if (work(collect, turn->groups, turn->round))
            free(turn);
        else
            put_aside(collect, turn);
        pthread_mutex_lock(&collect->lock);
        turn = collect->first;
        if (turn != NULL)
            collect->first = turn->next;
        else
            collect->n_at_work--;
        if (collect->first == NULL)
            collect->last = &collect->first;
        pthread_mutex_unlock(&collect->lock);
    }
}

/* False when no round begins any more. */
static bool queue(struct collect *collect, struct turn *turn)
{
    bool now, closed;

    turn->next = NULL;
    pthread_mutex_lock(&collect->lock);
    closed = atomic_load(&collect->closed);
    now = !closed && collect->n_at_work < AT_ONCE;
    if (now) {
        collect->n_at_work++;
    } else if (!closed) {
        *collect->last = turn;
        collect->last = &turn->next;
    }
    pthread_mutex_unlock(&collect->lock);
    if (now)
        workers_later(collect->fs->workers, &turn->job);
    return !closed;
}

static void refuse(struct turn *turn)
{
    end_round(turn->groups, turn->round, -ENOTCONN);
    free(turn);
}

static void queue_or_refuse(struct collect *collect, struct turn *turn)
{
    if (!queue(collect, turn))
        refuse(turn);
}

static struct turn *take_stalled(struct collect *collect)
{
    struct turn *turn;

    pthread_mutex_lock(&collect->lock);
    turn = steal(collect->stalled);
    pthread_mutex_unlock(&collect->lock);
    return turn;
}

void collect_retry(struct collect *collect)
{
    for (struct turn *turn = take_stalled(collect), *next; turn != NULL; turn = next) {
        next = turn->next;
        queue_or_refuse(collect, turn);
    }
}

void collect_close(struct collect *collect)
{
    struct turn *turn;

    pthread_mutex_lock(&collect->lock);
    atomic_store(&collect->closed, true);
    turn = steal(collect->first);
    collect->last = &collect->first;
    pthread_mutex_unlock(&collect->lock);
    while (turn != NULL) {
        struct turn *next = turn->next;

        refuse(turn);
        turn = next;
    }
}

/* Who works here says so before looking whether that may be. */
bool collect_is_idle(struct collect *collect)
{
    bool idle;

    pthread_mutex_lock(&collect->lock);
    idle = collect->n_at_work == 0 && atomic_load(&collect->n_here) == 0;
    pthread_mutex_unlock(&collect->lock);
    return idle;
}

/* A round that ends may begin another one. */
void collect_give_up(struct collect *collect)
{
    struct turn *turn;

    workers_drain(collect->fs->workers);
    while ((turn = take_stalled(collect)) != NULL) {
        while (turn != NULL) {
            struct turn *next = turn->next;

            end_round(turn->groups, turn->round, -EIO);
            free(turn);
            turn = next;
        }
        workers_drain(collect->fs->workers);
    }
}

/* Most threads that serve the kernel must be free to serve what we wait for. */
static bool may_work_here(struct collect *collect, const struct round *round)
{
    if (round->bytes >= LITTLE)
        return false;
    if (atomic_fetch_add(&collect->n_here, 1) < collect->max_here)
        return true;
    atomic_fetch_sub(&collect->n_here, 1);
    return false;
}

static bool work_here(struct collect *collect, struct groups *groups, struct round *round)
{
    bool done;

    if (!may_work_here(collect, round))
        return false;
    done = !atomic_load(&collect->closed) && work(collect, groups, round);
    atomic_fetch_sub(&collect->n_here, 1);
    return done;
}

void collect_start(struct collect *collect, struct groups *groups, struct round *round)
{
    struct turn *turn;

    if (work_here(collect, groups, round))
        return;
    turn = calloc(1, sizeof *turn);
    if (turn == NULL) {
        end_round(groups, round, -ENOMEM);
        return;
    }
    *turn = (struct turn){
        .job = { .run = take_turns, .settles = true }, .collect = collect, .groups = groups, .round = round
    };
    queue_or_refuse(collect, turn);
}

void collect_drop(struct ask *ask)
{
    struct collect_ask *mine = (struct collect_ask *) ask;

    wanted_put(ask->wanted);
    buffer_put(mine->buffer);
    handle_put(mine->handle);
    free(mine);
}

/* -- life -- */

int collect_new(struct fs *fs, uint32_t serving_threads, uint64_t max_window, struct collect **ret_collect)
{
    struct collect *collect = calloc(1, sizeof *collect);
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (collect == NULL)
        return -ENOMEM;
    collect->fs = fs;
    collect->executor = (struct executor){
        .each = run_each, .ctx = fs, .n_threads = (uint32_t) MAX(n_cores, 1), .max_window = max_window
    };
    collect->max_here = MIN(serving_threads / 4, MAX_HERE);
    collect->last = &collect->first;
    pthread_mutex_init(&collect->lock, NULL);
    *ret_collect = collect;
    return 0;
}

void collect_free(struct collect *collect)
{
    if (collect == NULL)
        return;
    pthread_mutex_destroy(&collect->lock);
    free(collect);
}

/* SPDX-License-Identifier: MIT */
#include "fs/daemon/group/collect.h"

#include "fs/core/file/file_store.h"
#include "fs/daemon/group/sections.h"
#include "fs/daemon/serve/figures.h"
#include "fs/daemon/serve/kernel_cache.h"
#include "fs/daemon/serve/mount.h"
#include "ioctl/round.h"

#include <unistd.h>

#define LITTLE   (UINT64_C(2) << 20) /* bytes */
#define AT_ONCE  8                   /* workers must be left for files, which what we wait for is done through */
#define MAX_HERE 8

struct turn {
    struct chore chore;
    struct collect *collect;
    struct groups *groups;
    struct round *round;
    struct turn *next;
};

struct collect {
    struct fs *fs;
    struct executor executor;
    collect_ended *ended;
    uint32_t max_here;
    atomic_uint n_here;
    atomic_bool closed;
    struct mutex lock;
    uint32_t n_at_work;         /* lock; of workers */
    struct turn *first, **last; /* lock; those who wait for their turn */
    struct turn *stalled;       /* lock; and for a disk */
};

/* -- on the workers' threads -- */

struct piece {
    struct chore chore;
    void (*run)(void *arg, uint32_t i);
    void *arg;
    uint32_t i;
};

static void run_piece(struct chore *chore)
{
    struct piece *piece = (struct piece *) chore;

    piece->run(piece->arg, piece->i);
}

static void run_each(void *ctx, uint32_t n, void (*run)(void *arg, uint32_t i), void *arg)
{
    const struct fs *fs = ctx;
    cleanup(freep) struct piece *piece = calloc(n, sizeof *piece);
    cleanup(freep) struct chore **chores = calloc(n, sizeof(struct chore *));

    if (piece == NULL || chores == NULL) {
        for (uint32_t i = 0; i < n; i++)
            run(arg, i);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        piece[i] = (struct piece){ .chore = { .run = run_piece }, .run = run, .arg = arg, .i = i };
        chores[i] = &piece[i].chore;
    }
    workers_run(fs->workers, chores, n);
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

        if (wanted_size(ask->ask.wanted) > 0)
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

    if (!round_range(round, &lo, &hi)) {
        round->file_size = file_size(handle->file);
        return 0; /* all sections are empty */
    }
    if (atomic_load(&handle->inode->pages.n_read_write) > 0)
        forget_cached(handle, lo, hi);
    round->file_size = file_size(handle->file);
    if (round->write)
        r = drop_privileges_of(round);
    if (r == 0)
        r = round_run(round, &store, &collect->executor);
    if (round->write) {
        kernel_learns_end(handle, MIN(hi, file_size(handle->file)));
        forget_cached(handle, lo, hi);
        round->file_size = file_size(handle->file);
    } else if (r == 0) {
        tree_note_read(collect->fs, handle->inode);
    }
    return r;
}

/* Counts what a round has moved, with the open files of its ranks. */
static void count_ranks(const struct round *round)
{
    for (uint32_t i = 0; i < round->n; i++) {
        const struct collect_ask *ask = ask_of(round, i);
        uint64_t bytes = wanted_size(ask->ask.wanted);

        if (bytes > 0 && round->write)
            handle_note_write(ask->handle, bytes);
        else if (bytes > 0)
            handle_note_read(ask->handle, bytes);
    }
}

/* Counts a round that was worked on, before its ranks are answered. */
static void count_round(const struct round *round, uint64_t began, int result)
{
    const struct sieve_stats *sieve = &round->stats.last.sieve;
    struct tally *tally = &figures.round[!round->alone][round->write];
    struct file *file = ask_of(round, 0)->handle->file;

    tally_note(tally, clock_ns() - began, result == 0 ? round->bytes : 0);
    if (result < 0)
        tally_note_error(tally);
    else
        count_ranks(round);
    if (round->write) /* then all that is read is */
        atomic_fetch_add_explicit(&file->reread, sieve->disk_read, memory_order_relaxed);
    figures_add(&figures.work[WORK_DISK_READ], sieve->disk_read);
    figures_add(&figures.work[WORK_DISK_WRITTEN], sieve->disk_written);
    figures_add(&figures.work[WORK_MAPPED], sieve->mapped);
    figures_add(&figures.work[WORK_REREAD], sieve->reread);
    figures_add(&figures.work[WORK_WINDOWS], sieve->windows);
}

static void end_round(const struct collect *collect, struct groups *groups, struct round *round, int result)
{
    const struct collect_ask *first = ask_of(round, 0);

    for (uint32_t i = 0; i < round->n; i++)
        collect->ended(ask_of(round, i), round, i, result);
    if (round->alone)
        sections_note_alone(atomic_load(&first->handle->sections), &round->stats);
    groups_done(groups, round, result);
}

/* False when a disk is stalled: another time, unless that has been so for too long. */
static bool work(struct collect *collect, struct groups *groups, struct round *round)
{
    uint64_t began = clock_ns();
    int r = round_begin(round) ? run(collect, round) : -EINTR;

    if (r == -ETIMEDOUT && (round->no_deadline || clock_ms() * 1000000 < round->deadline) && round_rest(round))
        return false;               /* when the disk is dead, that is -EIO the next time */
    r = r == -ETIMEDOUT ? -EIO : r; /* no rank is missing */
    count_round(round, began, r);
    end_round(collect, groups, round, r);
    return true;
}

/* -- taking turns -- */

static void put_aside(struct collect *collect, struct turn *turn)
{
    mutex_lock(&collect->lock);
    turn->next = collect->stalled;
    collect->stalled = turn;
    mutex_unlock(&collect->lock);
}

static void take_turns(struct chore *chore)
{
    struct turn *turn = (struct turn *) chore;
    struct collect *collect = turn->collect;

    while (turn != NULL) {
        if (work(collect, turn->groups, turn->round))
            free(turn);
        else
            put_aside(collect, turn);
        mutex_lock(&collect->lock);
        turn = collect->first;
        if (turn != NULL)
            collect->first = turn->next;
        else
            collect->n_at_work--;
        if (collect->first == NULL)
            collect->last = &collect->first;
        mutex_unlock(&collect->lock);
    }
}

/* False when no round begins any more. */
static bool queue(struct collect *collect, struct turn *turn)
{
    bool now, closed;

    turn->next = NULL;
    mutex_lock(&collect->lock);
    closed = atomic_load(&collect->closed);
    now = !closed && collect->n_at_work < AT_ONCE;
    if (now) {
        collect->n_at_work++;
    } else if (!closed) {
        *collect->last = turn;
        collect->last = &turn->next;
    }
    mutex_unlock(&collect->lock);
    if (now)
        workers_later(collect->fs->workers, &turn->chore);
    return !closed;
}

static void refuse(struct turn *turn)
{
    end_round(turn->collect, turn->groups, turn->round, -ENOTCONN);
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

    mutex_lock(&collect->lock);
    turn = steal(collect->stalled);
    mutex_unlock(&collect->lock);
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

    mutex_lock(&collect->lock);
    atomic_store(&collect->closed, true);
    turn = steal(collect->first);
    collect->last = &collect->first;
    mutex_unlock(&collect->lock);
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

    mutex_lock(&collect->lock);
    idle = collect->n_at_work == 0 && atomic_load(&collect->n_here) == 0;
    mutex_unlock(&collect->lock);
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

            end_round(collect, turn->groups, turn->round, -EIO);
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
        end_round(collect, groups, round, -ENOMEM);
        return;
    }
    *turn = (struct turn){
        .chore = { .run = take_turns, .waits = true }, .collect = collect, .groups = groups, .round = round
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

int collect_new(struct fs *fs, uint32_t serving_threads, uint64_t max_window, collect_ended *ended,
                struct collect **ret_collect)
{
    struct collect *collect = calloc(1, sizeof *collect);
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (collect == NULL)
        return -ENOMEM;
    collect->fs = fs;
    collect->ended = ended;
    collect->executor = (struct executor){
        .each = run_each, .ctx = fs, .n_threads = (uint32_t) MAX(n_cores, 1), .max_window = max_window
    };
    collect->max_here = MIN(serving_threads / 4, MAX_HERE);
    collect->last = &collect->first;
    mutex_init(&collect->lock);
    *ret_collect = collect;
    return 0;
}

void collect_free(struct collect *collect)
{
    if (collect == NULL)
        return;
    mutex_done(&collect->lock);
    free(collect);
}

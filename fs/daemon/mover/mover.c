/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mover/mover.h"

#include "fs/daemon/mover/kinds.h"
#include "fs/daemon/say/log.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_KEPT 8 /* orders that are told of */

int mover_new(struct fs *fs, struct mover **ret_mover)
{
    struct mover *mover = calloc(1, sizeof *mover);

    if (mover == NULL)
        return -ENOMEM;
    mover->fs = fs;
    mutex_init(&mover->lock);
    cond_init(&mover->changed);
    *ret_mover = mover;
    return 0;
}

void mover_free(struct mover *mover)
{
    if (mover == NULL)
        return;
    mutex_lock(&mover->lock);
    mover->stop = true;
    cond_broadcast(&mover->changed);
    while (mover->now != NULL)
        cond_wait(&mover->changed, &mover->lock);
    mutex_unlock(&mover->lock);
    while (mover->first != NULL) {
        struct moving *moving = mover->first;

        mover->first = moving->next;
        moving_free(moving);
    }
    cond_done(&mover->changed);
    mutex_done(&mover->lock);
    free(mover);
}

/* -- an order's thread -- */

static const char *kind_name(const struct moving *moving)
{
    static const char *const name[] = {
        [MOVE_BELOW] = "the files below a directory", [MOVE_BALANCE] = "balance", [MOVE_LEAVE] = "a disk is to leave"
    };

    return name[moving->order.kind];
}

static void end(struct moving *moving, int r)
{
    struct mover *mover = moving->mover;
    struct job_view *job = &moving->view.job;

    mutex_lock(&mover->lock);
    job->ms = clock_ms() - moving->began;
    job->error = r < 0 ? r : job->error;
    job->state = moving->is_cancelled || (mover->stop && r == -ECANCELED) ? JOB_CANCELLED
                 : job->error < 0                                         ? JOB_FAILED
                                                                          : JOB_DONE;
    if (moving->order.kind == MOVE_LEAVE && !moving->order.is_plan && job->state == JOB_FAILED)
        log_warning("a disk that is to leave does not: %s",
                    moving->result[0] != 0 ? moving->result : "files stay there");
    mover->now = NULL;
    cond_broadcast(&mover->changed);
    mutex_unlock(&mover->lock);
}

static int carry_out(struct moving *moving)
{
    switch (moving->order.kind) {
    case MOVE_BELOW:
        return move_below(moving);
    case MOVE_BALANCE:
        return move_balance(moving);
    case MOVE_LEAVE:
        break;
    }
    return move_leave(moving);
}

static void *run(void *arg)
{
    struct moving *moving = arg;
    int r = carry_out(moving);

    if (!moving_wait(moving, 0) && r == 0)
        r = -ECANCELED;
    end(moving, r);
    return NULL;
}

/* -- from outside -- */

/* The last order for a directory; NULL: there was none. */
static struct moving *find(const struct mover *mover, const struct inode *dir) REQUIRES(mover->lock)
{
    struct moving *moving = mover->first;

    while (moving != NULL && (moving->order.kind != MOVE_BELOW || moving->dir != dir))
        moving = moving->next;
    return moving;
}

/* Takes the oldest order, which is over, out of the list when there are many. */
static struct moving *take_old(struct mover *mover) REQUIRES(mover->lock)
{
    struct moving **at = &mover->first;

    if (mover->n <= MAX_KEPT)
        return NULL;
    while ((*at)->next != NULL)
        at = &(*at)->next;
    struct moving *old = *at;

    *at = NULL;
    mover->n--;
    return old;
}

static int start_thread(struct moving *moving)
{
    pthread_attr_t attr;
    pthread_t thread;
    int r;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &attr, run, moving);
    pthread_attr_destroy(&attr);
    return -r;
}

/* Whether the order that goes on does what is asked for. The lock is held. */
static bool is_same(const struct moving *now, const struct moving *asked)
{
    if (now->order.kind != asked->order.kind || now->order.is_plan != asked->order.is_plan || now->is_cancelled)
        return false;
    if (now->order.kind == MOVE_BELOW)
        return now->dir == asked->dir && now->order.user == asked->order.user && strcmp(now->word, asked->word) == 0;
    return now->order.disk == asked->order.disk || now->order.disk == UINT32_MAX;
}

/* Puts an order into the list and begins its thread. 1: it goes on already; *ret_old: an order to be freed, or NULL. */
static int enlist(struct mover *mover, struct moving *moving, struct moving **ret_old,
                  char ret_why[static LAST_ERROR_SIZE])
{
    struct moving *now;
    int r = 0;

    mutex_lock(&mover->lock);
    now = mover->now;
    if (now != NULL && is_same(now, moving)) {
        now->limit = moving->order.limit;
        r = 1;
    } else if (now != NULL) {
        snprintf(
            ret_why, LAST_ERROR_SIZE,
            "files are being moved already (%s%s, for user %u): one such order goes on at a time. Wait until it is "
            "over, which user.falls.jobs.json tells, or stop it",
            kind_name(now), now->order.is_plan ? ", a look at it" : "", now->order.user);
        r = -EBUSY;
    } else if (mover->stop) {
        snprintf(ret_why, LAST_ERROR_SIZE, "the mount is ending");
        r = -EBUSY;
    }
    if (r == 0)
        r = start_thread(moving); /* which waits for the lock before it tells of itself */
    if (r == 0) {
        moving->view.number = ++mover->n_orders;
        moving->next = mover->first;
        mover->first = mover->now = moving;
        mover->n++;
        *ret_old = take_old(mover);
    }
    mutex_unlock(&mover->lock);
    return r;
}

int mover_start(struct mover *mover, const struct move_order *order, char ret_why[static LAST_ERROR_SIZE])
{
    struct moving *moving = calloc(1, sizeof *moving), *old = NULL;
    int r;

    if (moving == NULL) {
        free(order->ctx);
        return -ENOMEM;
    }
    moving->mover = mover;
    moving->dir = order->kind == MOVE_BELOW ? order->dir : inodes_root(mover->fs->inodes);
    inode_ref(mover->fs->inodes, moving->dir);
    moving->word = strdup(order->word != NULL ? order->word : "");
    moving->order = *order;
    moving->limit = order->limit;
    moving->began = clock_ms();
    moving->view.job = (struct job_view){ .state = JOB_RUNS, .limit = order->limit };
    moving->n_loads = mover->fs->volume->n_disks;
    moving->load = calloc(moving->n_loads, sizeof moving->load[0]);
    r = moving->word == NULL || moving->load == NULL ? -ENOMEM : enlist(mover, moving, &old, ret_why);
    if (r != 0)
        moving_free(moving);
    if (old != NULL)
        moving_free(old);
    return MIN(r, 0);
}

void mover_resume(struct mover *mover)
{
    const struct move_order order = { .kind = MOVE_LEAVE, .disk = UINT32_MAX, .user = geteuid() };
    char why[LAST_ERROR_SIZE];
    bool any = false;

    for (uint32_t i = 0; i < mover->fs->volume->n_disks; i++)
        any |= mover->fs->volume->disk[i].standing == DISK_LEAVING;
    if (any && !mover->fs->read_only && mover_start(mover, &order, why) < 0)
        log_warning("a disk is to leave, but nothing moves what lies there: 'fallsctl disk drain' begins anew");
}

int mover_order(struct mover *mover, const struct inode *dir, enum job_order order)
{
    bool any;

    mutex_lock(&mover->lock);
    any = mover->now != NULL && mover->now->order.kind == MOVE_BELOW && mover->now->dir == dir;
    if (any)
        moving_order(mover->now, order);
    mutex_unlock(&mover->lock);
    return any ? 0 : -ENOENT;
}

static bool is_of_kind(const struct moving *moving, enum move_kind kind)
{
    return moving != NULL && (moving->order.kind == kind || (kind != MOVE_BELOW && moving->order.is_plan));
}

bool mover_stop(struct mover *mover, enum move_kind kind)
{
    uint64_t number = 0;

    mutex_lock(&mover->lock);
    if (is_of_kind(mover->now, kind)) {
        number = mover->now->view.number;
        moving_order(mover->now, JOB_CANCEL);
    }
    while (number > 0 && mover->now != NULL && mover->now->view.number == number)
        cond_wait(&mover->changed, &mover->lock);
    mutex_unlock(&mover->lock);
    return number > 0;
}

bool mover_of(struct mover *mover, const struct inode *dir, struct move_view *ret_view)
{
    const struct moving *moving;

    mutex_lock(&mover->lock);
    moving = find(mover, dir);
    if (moving != NULL)
        moving_look(moving, ret_view);
    mutex_unlock(&mover->lock);
    return moving != NULL;
}

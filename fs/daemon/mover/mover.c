/* SPDX-License-Identifier: MIT */
#include "fs/daemon/mover/mover.h"

#include "fs/daemon/mover/kinds.h"
#include "fs/daemon/say/log.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_LOOKS 8  /* that go on at a time */
#define MAX_USERS 64 /* whose orders for directories go on at a time */
#define KEEP      8  /* orders of root that are over and told of */
#define KEEP_USER 2  /* likewise, of one other user */
#define KEEP_ALL  32 /* likewise, of all of them */

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
    for (struct moving *moving = mover->first; moving != NULL;)
        if (moving->goes_on) {
            cond_wait(&mover->changed, &mover->lock);
            moving = mover->first;
        } else {
            moving = moving->next;
        }
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
    moving->goes_on = false;
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

/* Whether an order that is over counts among those that are kept for this one's user: of root's, and of the others'. */
static bool is_kept_with(const struct moving *moving, const struct moving *with, bool of_all)
{
    return !moving->goes_on && moving_is_of_root(moving) == moving_is_of_root(with) &&
           (of_all || moving->order.user == with->order.user);
}

/* Takes the oldest of those out of the list when there are more than most of them; NULL: there are not. */
static struct moving *take_oldest(struct mover *mover, const struct moving *with, bool of_all, uint32_t most)
    REQUIRES(mover->lock)
{
    struct moving **oldest = NULL, *old;
    uint32_t n = 0;

    for (struct moving **at = &mover->first; *at != NULL; at = &(*at)->next)
        if (is_kept_with(*at, with, of_all)) {
            oldest = at;
            n++;
        }
    if (n <= most)
        return NULL;
    old = *oldest;
    *oldest = old->next;
    return old;
}

/* Takes an order out of the list that is over and need not be told of any more, now that this one has begun. NULL: all
 * are still told of. Who gives many orders makes nobody else's forgotten. */
static struct moving *take_old(struct mover *mover, const struct moving *moving) REQUIRES(mover->lock)
{
    struct moving *old;

    if (moving_is_of_root(moving))
        return take_oldest(mover, moving, true, KEEP);
    old = take_oldest(mover, moving, false, KEEP_USER);
    return old != NULL ? old : take_oldest(mover, moving, true, KEEP_ALL);
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

/* Whether two orders cannot go on at a time: both move files for the sake of disks, or both are for a directory, of one
 * user or the same one. */
static bool exclude(const struct moving *now, const struct moving *asked)
{
    if (now->order.kind == MOVE_BELOW && asked->order.kind == MOVE_BELOW)
        return now->dir == asked->dir || now->order.user == asked->order.user;
    return moving_is_about_disks(now) && moving_is_about_disks(asked);
}

static int refuse_beside(const struct moving *now, char ret_why[static LAST_ERROR_SIZE])
{
    snprintf(
        ret_why, LAST_ERROR_SIZE,
        "files are being moved already (%s, for user %u): one such order goes on at a time. Wait until it is over, "
        "or stop it: 'fallsctl jobs' shows it as %" PRIu64,
        kind_name(now), now->order.user, now->view.number);
    return -EBUSY;
}

/* What there are too many of, all users' together, for one more; NULL: nothing. */
static const char *find_too_many(const struct mover *mover, const struct moving *asked) REQUIRES(mover->lock)
{
    uint32_t n_looks = 0, n_users = 0;

    for (const struct moving *moving = mover->first; moving != NULL; moving = moving->next) {
        n_looks += moving->goes_on && moving->order.is_plan;
        n_users += moving->goes_on && moving->order.kind == MOVE_BELOW && !moving_is_of_root(moving);
    }
    if (asked->order.is_plan && n_looks >= MAX_LOOKS)
        return "plans";
    return asked->order.kind == MOVE_BELOW && !moving_is_of_root(asked) && n_users >= MAX_USERS ? "users" : NULL;
}

/* Decides whether an order may begin. 1: it goes on already. */
static int admit(struct mover *mover, const struct moving *asked, char ret_why[static LAST_ERROR_SIZE])
    REQUIRES(mover->lock)
{
    const char *too_many = find_too_many(mover, asked);

    for (struct moving *now = mover->first; now != NULL; now = now->next)
        if (now->goes_on && is_same(now, asked)) {
            now->limit = asked->order.limit;
            return 1;
        } else if (now->goes_on && exclude(now, asked)) {
            return refuse_beside(now, ret_why);
        }
    if (mover->stop)
        snprintf(ret_why, LAST_ERROR_SIZE, "the mount is ending");
    else if (too_many != NULL)
        snprintf(ret_why, LAST_ERROR_SIZE,
                 "the files of as many %s are being moved, or looked at, as may be: try again later", too_many);
    return mover->stop || too_many != NULL ? -EBUSY : 0;
}

/* Puts an order into the list and begins its thread. 1: it goes on already; *ret_old: an order to be freed, or NULL. */
static int enlist(struct mover *mover, struct moving *moving, struct moving **ret_old,
                  char ret_why[static LAST_ERROR_SIZE])
{
    int r;

    mutex_lock(&mover->lock);
    r = admit(mover, moving, ret_why);
    if (r == 0)
        r = start_thread(moving); /* which waits for the lock before it tells of itself */
    if (r == 0) {
        moving->view.number = jobs_take_number(mover->fs->jobs);
        moving->goes_on = true;
        moving->next = mover->first;
        mover->first = moving;
        *ret_old = take_old(mover, moving);
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
    struct moving *moving;
    bool any;

    mutex_lock(&mover->lock);
    moving = find(mover, dir);
    any = moving != NULL && moving->goes_on;
    if (any)
        moving_order(moving, order);
    mutex_unlock(&mover->lock);
    return any ? 0 : -ENOENT;
}

/* Finds the order with this number that goes on; NULL: none does. */
static struct moving *find_number(const struct mover *mover, uint64_t number) REQUIRES(mover->lock)
{
    struct moving *moving = mover->first;

    while (moving != NULL && (!moving->goes_on || moving->view.number != number))
        moving = moving->next;
    return moving;
}

int mover_order_number(struct mover *mover, uint64_t number, enum job_order order, uid_t user)
{
    struct moving *moving;
    int r = 0;

    mutex_lock(&mover->lock);
    moving = find_number(mover, number);
    if (moving == NULL)
        r = -ENOENT;
    else if (user != 0 && user != geteuid() && user != moving->order.user)
        r = -EPERM;
    else
        moving_order(moving, order);
    mutex_unlock(&mover->lock);
    return r;
}

/* The newest order about disks that goes on, up to this number, and is of this kind or only looks; NULL: none is. */
static struct moving *find_of_kind(const struct mover *mover, enum move_kind kind, uint64_t up_to) REQUIRES(mover->lock)
{
    struct moving *moving = mover->first;

    while (moving != NULL && (!moving->goes_on || moving->view.number > up_to || moving->order.kind == MOVE_BELOW ||
                              (moving->order.kind != kind && !moving->order.is_plan)))
        moving = moving->next;
    return moving;
}

bool mover_stop(struct mover *mover, enum move_kind kind)
{
    uint64_t up_to = 0;
    struct moving *moving;

    mutex_lock(&mover->lock);
    moving = find_of_kind(mover, kind, UINT64_MAX);
    if (moving != NULL)
        up_to = moving->view.number;
    while (up_to > 0 && (moving = find_of_kind(mover, kind, up_to)) != NULL) {
        uint64_t number = moving->view.number;

        moving_order(moving, JOB_CANCEL);
        while (find_number(mover, number) != NULL)
            cond_wait(&mover->changed, &mover->lock);
    }
    mutex_unlock(&mover->lock);
    return up_to > 0;
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

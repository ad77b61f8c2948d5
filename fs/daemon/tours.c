/* SPDX-License-Identifier: MIT */
#include "fs/daemon/tours.h"

#include "fs/core/tree.h"
#include "fs/core/walk.h"
#include "fs/daemon/virtual.h"

#include <pthread.h>
#include <string.h>

#define MAX_TOURS 16 /* that go on */
#define MAX_KEPT  64 /* with those that are over and still told of */
#define MOST_JOBS 32 /* that one has begun and that are not over */
#define PAUSE     20 /* ms between two looks at them */

struct tour {
    struct tours *tours;
    struct inode *dir; /* with a reference */
    struct virtual_call call;
    char why[REASON_SIZE];
    char *word;
    uint64_t limit, began;
    tours_begin_one *begin;
    struct inode *open[MOST_JOBS]; /* tours->lock; with references; whose jobs are not over */
    uint32_t n_open;               /* tours->lock */
    struct tour_view view;         /* tours->lock; of those that are over */
    bool is_paused, is_cancelled;  /* tours->lock */
    struct tour *next;             /* tours->lock */
};

struct tours {
    struct fs *fs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct tour *first;  /* lock; the newest */
    uint32_t n, n_going; /* lock */
    bool stop;           /* lock */
};

int tours_new(struct fs *fs, struct tours **ret_tours)
{
    struct tours *tours = calloc(1, sizeof *tours);
    pthread_condattr_t attr;

    if (tours == NULL)
        return -ENOMEM;
    tours->fs = fs;
    pthread_mutex_init(&tours->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&tours->changed, &attr);
    pthread_condattr_destroy(&attr);
    *ret_tours = tours;
    return 0;
}

static void tour_free(struct tour *tour)
{
    for (uint32_t i = 0; i < tour->n_open; i++)
        inode_unref(tour->tours->fs->inodes, tour->open[i]);
    inode_unref(tour->tours->fs->inodes, tour->dir);
    free(tour->word);
    free(tour);
}

void tours_free(struct tours *tours)
{
    if (tours == NULL)
        return;
    pthread_mutex_lock(&tours->lock);
    tours->stop = true;
    pthread_cond_broadcast(&tours->changed);
    while (tours->n_going > 0)
        pthread_cond_wait(&tours->changed, &tours->lock);
    pthread_mutex_unlock(&tours->lock);
    while (tours->first != NULL) {
        struct tour *tour = tours->first;

        tours->first = tour->next;
        tour_free(tour);
    }
    pthread_cond_destroy(&tours->changed);
    pthread_mutex_destroy(&tours->lock);
    free(tours);
}

/* -- its jobs; the lock is held -- */

static void add_job(struct tour_view *view, const struct job_view *job)
{
    view->job.done += job->done;
    view->job.total += job->total;
    if (job->state == JOB_FAILED) {
        view->failed++;
        view->job.error = job->error;
    }
}

/* What is over is counted and let go; the references are the caller's to give back, without the lock. */
static uint32_t take_over(struct tour *tour, struct inode *ret_over[static MOST_JOBS])
{
    uint32_t n_over = 0, n = 0;

    for (uint32_t i = 0; i < tour->n_open; i++) {
        struct job_view job = { .state = JOB_DONE };

        if (jobs_of(tour->tours->fs->jobs, tour->open[i], &job) && !job_is_over(&job)) {
            tour->open[n++] = tour->open[i];
            continue;
        }
        add_job(&tour->view, &job);
        ret_over[n_over++] = tour->open[i];
    }
    tour->n_open = n;
    return n_over;
}

static void wait_a_while(struct tours *tours)
{
    struct timespec until;

    (void) clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PAUSE * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void) pthread_cond_timedwait(&tours->changed, &tours->lock, &until);
}

static bool shall_end(const struct tour *tour)
{
    return tour->is_cancelled || tour->tours->stop;
}

/* -- on the way -- */

/* Until so few jobs are not over; false: it shall end. */
static bool wait_for_jobs(struct tour *tour, uint32_t most)
{
    struct tours *tours = tour->tours;
    struct inode *over[MOST_JOBS];
    bool go_on;

    pthread_mutex_lock(&tours->lock);
    for (;;) {
        uint32_t n = take_over(tour, over);

        if (n > 0) {
            pthread_mutex_unlock(&tours->lock);
            for (uint32_t i = 0; i < n; i++)
                inode_unref(tours->fs->inodes, over[i]);
            pthread_mutex_lock(&tours->lock);
        }
        go_on = !shall_end(tour);
        if (!go_on || (!tour->is_paused && tour->n_open <= most))
            break;
        wait_a_while(tours);
    }
    pthread_mutex_unlock(&tours->lock);
    return go_on;
}

/* Takes the reference to the file. */
static void begin_one(struct tour *tour, struct inode *inode)
{
    struct virtual_call call = tour->call;
    struct job_view before = { 0 }, job = { 0 };
    bool is_new;
    int r;

    call.inode = inode;
    call.why = tour->why;
    (void) jobs_of(tour->tours->fs->jobs, inode, &before);
    r = tour->begin(&call, tour->word, tour->limit);
    is_new = r == 0 && jobs_of(tour->tours->fs->jobs, inode, &job) && job.number != before.number;
    pthread_mutex_lock(&tour->tours->lock);
    tour->view.files++;
    if (r < 0) {
        tour->view.failed++;
        tour->view.job.error = r;
    }
    if (is_new)
        tour->open[tour->n_open++] = steal(inode);
    pthread_mutex_unlock(&tour->tours->lock);
    if (inode != NULL)
        inode_unref(tour->tours->fs->inodes, inode);
}

/* A file by its path below the directory; NULL: it is not there any more. With a reference. */
static struct inode *find(struct tour *tour, const char *path)
{
    cleanup(freep) char *copy = strdup(path);
    struct fs *fs = tour->tours->fs;
    struct inode *inode = tour->dir, *next;
    char *rest = copy, *name;
    struct stat st;

    if (copy == NULL)
        return NULL;
    inode_ref(fs->inodes, inode);
    while ((name = strsep(&rest, "/")) != NULL) {
        int r = tree_lookup(fs, inode, name, &next, &st);

        inode_unref(fs->inodes, inode);
        if (r < 0)
            return NULL;
        inode = next;
    }
    return inode;
}

static void go_through(struct tour *tour, int dir)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    struct inode *inode;

    if (walk_new(fs_home(tour->tours->fs), dir, &walk) < 0)
        return;
    while (wait_for_jobs(tour, MOST_JOBS - 1) && walk_next(walk, &entry) > 0) {
        if (entry.error != 0 || !S_ISREG(entry.st.st_mode) || (inode = find(tour, entry.path)) == NULL)
            continue;
        if (inode->fmt == S_IFREG)
            begin_one(tour, inode);
        else
            inode_unref(tour->tours->fs->inodes, inode);
    }
}

static void *run(void *arg)
{
    struct tour *tour = arg;
    struct tours *tours = tour->tours;
    int dir, r = inode_open(tours->fs->inodes, tour->dir, &dir);

    if (r == 0) {
        go_through(tour, dir);
        inode_close(tours->fs->inodes, tour->dir);
        (void) wait_for_jobs(tour, 0);
    }
    pthread_mutex_lock(&tours->lock);
    tour->view.job.ms = watch_now() - tour->began;
    tour->view.job.error = r < 0 ? r : tour->view.job.error;
    tour->view.job.state = tour->is_cancelled ? JOB_CANCELLED : tour->view.job.error < 0 ? JOB_FAILED : JOB_DONE;
    tours->n_going--;
    pthread_cond_broadcast(&tours->changed);
    pthread_mutex_unlock(&tours->lock);
    return NULL;
}

/* -- from outside -- */

static bool is_going(const struct tour *tour)
{
    return !job_is_over(&tour->view.job);
}

/* The lock is held. NULL: the directory has had none. */
static struct tour *find_tour(const struct tours *tours, const struct inode *dir)
{
    struct tour *tour = tours->first;

    while (tour != NULL && tour->dir != dir)
        tour = tour->next;
    return tour;
}

/* Takes it out of the list when it is over: the directory has another one, or there are many. The lock is held. */
static struct tour *take_old(struct tours *tours, const struct inode *dir)
{
    struct tour **old = NULL;

    for (struct tour **at = &tours->first; *at != NULL; at = &(*at)->next)
        if (!is_going(*at) && ((*at)->dir == dir || tours->n >= MAX_KEPT))
            old = at; /* the last is the oldest */
    if (old == NULL)
        return NULL;
    struct tour *tour = *old;

    *old = tour->next;
    tours->n--;
    return tour;
}

static int start_thread(struct tour *tour)
{
    pthread_attr_t attr;
    pthread_t thread;
    int r;

    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    r = pthread_create(&thread, &attr, run, tour);
    pthread_attr_destroy(&attr);
    return -r;
}

static int enlist(struct tours *tours, struct tour *tour, struct tour **ret_old)
{
    struct tour *same;
    int r = 0;

    pthread_mutex_lock(&tours->lock);
    same = find_tour(tours, tour->dir);
    if (tours->stop || tours->n_going >= MAX_TOURS || (same != NULL && is_going(same)))
        r = -EBUSY;
    if (r == 0)
        r = start_thread(tour); /* which waits for the lock before it tells of itself */
    if (r == 0) {
        *ret_old = take_old(tours, tour->dir);
        tour->next = tours->first;
        tours->first = tour;
        tours->n++;
        tours->n_going++;
    }
    pthread_mutex_unlock(&tours->lock);
    return r;
}

int tours_start(struct tours *tours, const struct virtual_call *call, const char *word, uint64_t limit,
                tours_begin_one *begin)
{
    struct tour *tour = calloc(1, sizeof *tour), *old = NULL;
    int r;

    if (tour == NULL)
        return -ENOMEM;
    tour->tours = tours;
    tour->dir = call->inode;
    inode_ref(tours->fs->inodes, tour->dir);
    tour->call = *call;
    tour->word = strdup(word);
    tour->limit = limit;
    tour->began = watch_now();
    tour->begin = begin;
    tour->view.job = (struct job_view){ .state = JOB_RUNS, .limit = limit };
    r = tour->word == NULL ? -ENOMEM : enlist(tours, tour, &old);
    if (r < 0)
        tour_free(tour);
    if (old != NULL)
        tour_free(old);
    return r;
}

int tours_order(struct tours *tours, const struct inode *dir, enum job_order order)
{
    struct tour *tour;
    int r = -ENOENT;

    pthread_mutex_lock(&tours->lock);
    tour = find_tour(tours, dir);
    if (tour != NULL && is_going(tour)) {
        tour->is_cancelled |= order == JOB_CANCEL;
        tour->is_paused = order == JOB_PAUSE;
        for (uint32_t i = 0; i < tour->n_open; i++) {
            struct job_view job;

            if (jobs_of(tours->fs->jobs, tour->open[i], &job))
                (void) jobs_order(tours->fs->jobs, job.number, order);
        }
        pthread_cond_broadcast(&tours->changed);
        r = 0;
    }
    pthread_mutex_unlock(&tours->lock);
    return r;
}

bool tours_of(struct tours *tours, const struct inode *dir, struct tour_view *ret_view)
{
    struct tour *tour;

    pthread_mutex_lock(&tours->lock);
    tour = find_tour(tours, dir);
    if (tour != NULL) {
        *ret_view = tour->view;
        if (is_going(tour)) {
            ret_view->job.state = tour->is_paused ? JOB_PAUSED : JOB_RUNS;
            ret_view->job.ms = watch_now() - tour->began;
        }
        for (uint32_t i = 0; i < tour->n_open; i++) {
            struct job_view job;

            if (jobs_of(tours->fs->jobs, tour->open[i], &job)) {
                add_job(ret_view, &job);
                ret_view->job.rate += job.state == JOB_RUNS ? job.rate : 0;
            }
        }
    }
    pthread_mutex_unlock(&tours->lock);
    return tour != NULL;
}

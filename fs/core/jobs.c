/* SPDX-License-Identifier: MIT */
#include "fs/core/jobs.h"

#include "fs/core/copy.h"
#include "fs/core/journal.h"
#include "fs/core/migrate.h"
#include "fs/core/space.h"
#include "fs/core/tree.h"

#include <string.h>
#include <time.h>

#define MAX_OVER 64                   /* jobs that are over and still told of */
#define MAX_RUNS 8                    /* jobs with a limit that have begun and are not over */
#define LATER    250                  /* ms until what a disk refused is tried again */
#define QUIET    10                   /* ms between two looks whether users still want the disks */
#define LOW      (UINT64_C(64) << 20) /* bytes: a disk that has no more is full, for who was just refused */
#define YIELD    4                    /* so many times as long as a step took, users have the disks to themselves */

struct task {
    struct job_view view; /* lock */
    struct inode *inode;  /* with a reference */
    uint64_t before;      /* number of the job that its file had last; 0: none */
    struct record record; /* of the file when it was last looked at: its id */
    struct file *file;    /* in use as long as the job is not over; NULL: not yet */
    struct migration migration;
    bool *fills;                /* lock; for each disk: it writes there */
    bool is_busy;               /* lock; somebody works on it */
    bool shall_pause;           /* lock */
    bool shall_end;             /* lock */
    int why;                    /* lock; it shall; 0: somebody wants it so */
    uint64_t not_before;        /* watch_now; a disk has refused */
    uint64_t rests_until;       /* lock; watch_now; else it would be faster than its limit */
    uint64_t began, began_with; /* when it first ran in this mount, and what was done by then */
};

struct jobs {
    struct fs *fs;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is something to do, or less than before */
    struct task **task;     /* lock; by number */
    uint32_t n, room;       /* lock */
    uint32_t n_over;        /* lock; of them */
    uint32_t n_runs;        /* lock; in state JOB_RUNS */
    uint64_t n_jobs;        /* lock; so far */
    bool has_thread, stop;  /* lock */
};

int jobs_new(struct fs *fs, struct jobs **ret_jobs)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    pthread_condattr_t attr;

    if (jobs == NULL)
        return -ENOMEM;
    jobs->fs = fs;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs->changed, &attr);
    pthread_condattr_destroy(&attr);
    *ret_jobs = jobs;
    return 0;
}

static void free_task(struct jobs *jobs, struct task *task)
{
    migration_done(&task->migration);
    free(task->fills);
    if (task->file != NULL)
        file_put(jobs->fs, task->file);
    inode_unref(jobs->fs->inodes, task->inode);
    free(task);
}

void jobs_free(struct jobs *jobs)
{
    if (jobs == NULL)
        return;
    for (uint32_t i = 0; i < jobs->n; i++)
        free_task(jobs, jobs->task[i]);
    free(jobs->task);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

/* -- the list -- */

static bool is_over(const struct task *task)
{
    return job_is_over(&task->view);
}

/* The lock is held. */
static void set_state(struct jobs *jobs, struct task *task, enum job_state state, int error)
{
    jobs->n_over -= is_over(task);
    jobs->n_runs -= task->view.state == JOB_RUNS;
    task->view.state = state;
    task->view.error = error;
    jobs->n_over += is_over(task);
    jobs->n_runs += state == JOB_RUNS;
}

/* The first with a higher number; jobs->n: none. The lock is held. */
static uint32_t find_after(const struct jobs *jobs, uint64_t number)
{
    uint32_t lo = 0, hi = jobs->n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (jobs->task[mid]->view.number > number)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* The lock is held. NULL: there is none. */
static struct task *find_number(const struct jobs *jobs, uint64_t number)
{
    uint32_t i = number > 0 ? find_after(jobs, number - 1) : jobs->n;

    return i < jobs->n && jobs->task[i]->view.number == number ? jobs->task[i] : NULL;
}

/* The lock is held. */
static int enlist(struct jobs *jobs, struct task *task)
{
    if (jobs->n == jobs->room) {
        uint32_t room = MAX(2 * jobs->room, 16);
        struct task **more = realloc(jobs->task, room * sizeof(struct task *));

        if (more == NULL)
            return -ENOMEM;
        jobs->task = more;
        jobs->room = room;
    }
    task->view.number = ++jobs->n_jobs;
    task->before = task->inode->job != NULL ? task->inode->job->view.number : 0;
    jobs->task[jobs->n++] = task;
    task->inode->job = task;
    return 0;
}

/* The lock is held. */
static void take_from_list(struct jobs *jobs, struct task *task)
{
    uint32_t i = find_after(jobs, task->view.number - 1);

    set_state(jobs, task, JOB_WAITS, 0);
    memmove(&jobs->task[i], &jobs->task[i + 1], (--jobs->n - i) * sizeof(struct task *));
    if (task->inode->job == task)
        task->inode->job = find_number(jobs, task->before); /* what did not begin is forgotten, not what was before */
}

/* When there are many that are over, the first of them goes. */
static void forget_oldest(struct jobs *jobs)
{
    struct task *oldest = NULL;

    pthread_mutex_lock(&jobs->lock);
    for (uint32_t i = 0; jobs->n_over > MAX_OVER && oldest == NULL; i++)
        if (is_over(jobs->task[i]))
            oldest = jobs->task[i];
    if (oldest != NULL)
        take_from_list(jobs, oldest);
    pthread_mutex_unlock(&jobs->lock);
    if (oldest != NULL)
        free_task(jobs, oldest);
}

/* Lists a job that somebody is busy with. Takes the reference on the inode; -EBUSY: it has one. */
static int list_task(struct jobs *jobs, struct inode *inode, uint64_t limit, struct task **ret_task)
{
    struct task *task = calloc(1, sizeof *task);
    int r = 0;

    if (task == NULL) {
        inode_unref(jobs->fs->inodes, inode);
        return -ENOMEM;
    }
    *task = (struct task){ .inode = inode, .is_busy = true, .view = { .limit = limit } };
    pthread_mutex_lock(&jobs->lock);
    if (jobs->stop || (inode->job != NULL && !is_over(inode->job)))
        r = -EBUSY;
    if (r == 0)
        r = enlist(jobs, task);
    pthread_mutex_unlock(&jobs->lock);
    if (r < 0)
        free_task(jobs, task);
    else
        *ret_task = task;
    return r;
}

static void unlist(struct jobs *jobs, struct task *task)
{
    pthread_mutex_lock(&jobs->lock);
    take_from_list(jobs, task);
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    free_task(jobs, task);
}

/* The next one may work on it. */
static void let_go(struct jobs *jobs, struct task *task)
{
    pthread_mutex_lock(&jobs->lock);
    task->is_busy = false;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

/* -- beginning -- */

/* Without memory it fills none, as far as anybody knows. */
static void note_fills(struct jobs *jobs, struct task *task, const struct file_layout *layout, uint16_t rotate)
{
    const struct volume *volume = jobs->fs->volume;
    bool *fills = calloc(STAMP_MAX_DISKS, sizeof *fills);

    for (uint32_t slot = 0; fills != NULL && slot < file_layout_slots(layout); slot++)
        fills[file_layout_disk(layout, volume->home, rotate, slot)] = true;
    pthread_mutex_lock(&jobs->lock);
    task->fills = fills;
    pthread_mutex_unlock(&jobs->lock);
}

static void look_at_record(struct task *task)
{
    pthread_mutex_lock(&task->file->meta);
    task->record = task->file->record;
    pthread_mutex_unlock(&task->file->meta);
}

static bool has_room(struct jobs *jobs, const struct task *task, const struct laying *to)
{
    uint64_t bytes = MIN(task->record.size, file_blocks(task->file) * 512);
    struct record record;
    struct file_layout *layout = file_look(jobs->fs, task->file, &record);
    const struct laying from = { layout, record.rotate };
    bool has = space_has_room(jobs->fs, &from, to, bytes);

    layouts_put(jobs->fs->layouts, layout);
    return has;
}

/* Whether the file is on its way to just this layout, or has it since a moment ago. */
static bool is_target(struct jobs *jobs, struct file *file, const struct file_layout *layout, bool rotates)
{
    struct file_layout *target;
    struct record record;
    bool migrates, is;

    pthread_mutex_lock(&file->meta);
    record = file->record;
    pthread_mutex_unlock(&file->meta);
    migrates = record_migrates(&record);
    if ((record.target_flags & TARGET_GIVEN_UP) != 0 ||
        (migrates ? record.target_rotate : record.rotate) != file_layout_rotate(layout, rotates, record.id) ||
        layouts_get(jobs->fs->layouts, migrates ? record.target_layout : record.layout, &target) < 0)
        return false;
    is = file_layout_equals(target, layout);
    layouts_put(jobs->fs->layouts, target);
    return is;
}

/* For the next mount: it is stored with how far the job got. */
static void tell_limit(struct file *file, uint64_t limit)
{
    pthread_mutex_lock(&file->meta);
    if (record_migrates(&file->record))
        file->record.target_limit = record_pack_limit(limit);
    pthread_mutex_unlock(&file->meta);
}

/* Somebody asks again for what is being done: the limit is the new one. -EBUSY it is something else. */
static int add_again(struct jobs *jobs, struct inode *inode, const struct file_layout *layout, bool rotates,
                     uint64_t limit, uint64_t *ret_number)
{
    struct file *file;
    int r = -EBUSY;

    if (file_get(jobs->fs, inode, &file) < 0)
        return r;
    if (is_target(jobs, file, layout, rotates)) {
        pthread_mutex_lock(&jobs->lock);
        if (inode->job != NULL && !is_over(inode->job) && !inode->job->shall_end) {
            if (inode->job->view.limit != limit)
                inode->job->rests_until = 0;
            inode->job->view.limit = limit;
            *ret_number = inode->job->view.number;
            pthread_cond_broadcast(&jobs->changed);
            r = 0;
        }
        pthread_mutex_unlock(&jobs->lock);
        if (r == 0)
            tell_limit(file, limit);
    }
    file_put(jobs->fs, file);
    return r;
}

int jobs_add(struct jobs *jobs, struct inode *inode, const struct file_layout *layout, bool rotates, uint64_t limit,
             uint64_t *ret_number)
{
    struct task *task;
    struct laying to;
    int r;

    inode_ref(jobs->fs->inodes, inode);
    r = list_task(jobs, inode, limit, &task);
    if (r < 0)
        return r == -EBUSY ? add_again(jobs, inode, layout, rotates, limit, ret_number) : r;
    r = file_get(jobs->fs, inode, &task->file);
    if (r == 0) {
        look_at_record(task);
        migration_init(&task->migration, jobs->fs, task->file);
        to = (struct laying){ layout, file_layout_rotate(layout, rotates, task->record.id) };
        task->migration.limit = limit;
        if (has_room(jobs, task, &to))
            r = migration_begin(&task->migration, layout, rotates);
        else
            r = -ENOSPC;
    }
    if (r != 0) {
        unlist(jobs, task);
        return r;
    }
    look_at_record(task);
    note_fills(jobs, task, layout, to.rotate);
    *ret_number = task->view.number;
    task->view.total = task->record.size;
    let_go(jobs, task);
    forget_oldest(jobs);
    return 0;
}

static int take_up(void *arg, struct inode *inode)
{
    struct jobs *jobs = arg;
    struct task *task;
    int r = list_task(jobs, inode, 0, &task);

    if (r == 0)
        let_go(jobs, task);
    return r == -EBUSY ? 0 : r;
}

int jobs_find(struct jobs *jobs)
{
    return journal_visit(jobs->fs, take_up, jobs);
}

void jobs_note(struct jobs *jobs, struct inode *inode)
{
    if (atomic_load(&inode->is_listed))
        return;
    inode_ref(jobs->fs->inodes, inode);
    (void) take_up(jobs, inode);
}

/* -- working -- */

/* Follows a path from the root: whoever is found on the way is known by these names. */
static void look_up(struct fs *fs, char *path)
{
    struct inode *inode = inodes_root(fs->inodes), *next;
    char *rest = path, *name;
    struct stat st;

    inode_ref(fs->inodes, inode);
    while ((name = strsep(&rest, "/")) != NULL && tree_lookup(fs, inode, name, &next, &st) == 0) {
        inode_unref(fs->inodes, inode);
        inode = next;
    }
    inode_unref(fs->inodes, inode);
}

/* The journal knows no names; the copy of the record does, if it has not been moved since. */
static void learn_name(struct fs *fs, struct task *task)
{
    cleanup(copy_done) struct copy copy = { 0 };
    cleanup(freep) char *path = NULL;

    if (inode_path(fs->inodes, task->inode, &path) == -ESTALE && copy_find(fs, task->file, &copy) == 0)
        look_up(fs, copy.path);
}

static int load(struct jobs *jobs, struct task *task)
{
    struct file_layout *layout;
    int r = file_get(jobs->fs, task->inode, &task->file);

    if (r < 0)
        return r;
    learn_name(jobs->fs, task);
    migration_init(&task->migration, jobs->fs, task->file);
    look_at_record(task);
    if (record_migrates(&task->record) && layouts_get(jobs->fs->layouts, task->record.target_layout, &layout) == 0) {
        note_fills(jobs, task, layout, task->record.target_rotate);
        layouts_put(jobs->fs->layouts, layout);
    }
    if (!atomic_load(&task->inode->is_listed))
        (void) journal_add(jobs->fs, task->file);
    pthread_mutex_lock(&jobs->lock);
    task->view.total = task->record.size;
    task->view.limit = record_unpack_limit((uint16_t) task->record.target_limit);
    if ((task->record.target_flags & TARGET_GIVEN_UP) != 0)
        task->shall_end = true;
    else if ((task->record.target_flags & TARGET_PAUSED) != 0)
        task->shall_pause = true;
    pthread_mutex_unlock(&jobs->lock);
    return 0;
}

/* With nothing left to be done the journal forgets it; or the next mount looks at it again. */
static void end(struct jobs *jobs, struct task *task, enum job_state state, int error)
{
    bool over = false;

    migration_done(&task->migration);
    if (task->file != NULL) {
        look_at_record(task);
        over = !record_migrates(&task->record) && task->record.oldest_gen == task->record.gen;
        file_put(jobs->fs, task->file);
        task->file = NULL;
    }
    if (over && !inode_is_gone(jobs->fs->inodes, task->inode))
        (void) journal_drop(jobs->fs, task->inode, &task->record);
    pthread_mutex_lock(&jobs->lock);
    set_state(jobs, task, state, error);
    pthread_mutex_unlock(&jobs->lock);
}

static void note(struct jobs *jobs, struct task *task, enum job_state state, int error)
{
    uint64_t before = task->view.done, ms, done, total;

    migration_progress(&task->migration, &done, &total);
    if (task->began == 0) {
        task->began = watch_now();
        task->began_with = done;
    }
    ms = watch_now() - task->began;
    pthread_mutex_lock(&jobs->lock);
    set_state(jobs, task, state, error);
    task->view.done = MAX(done, MIN(before, total));
    task->view.total = total;
    task->view.ms = ms;
    task->view.rate = ms > 0 ? (done - MIN(task->began_with, done)) * 1000 / ms : 0;
    pthread_mutex_unlock(&jobs->lock);
}

static void try_later(struct task *task)
{
    task->not_before = watch_now() + LATER;
}

static void give_up(struct jobs *jobs, struct task *task, int why)
{
    int r = migration_give_up(&task->migration);

    if (r == 0) {
        end(jobs, task, why == 0 ? JOB_CANCELLED : JOB_FAILED, why);
        return;
    }
    note(jobs, task, JOB_ENDS, r);
    pthread_mutex_lock(&jobs->lock);
    task->shall_end = true;
    task->why = why;
    pthread_mutex_unlock(&jobs->lock);
    try_later(task);
}

static bool is_for_later(int error)
{
    return error == -ETIMEDOUT || error == -EAGAIN;
}

static void step(struct jobs *jobs, struct task *task)
{
    int r;

    if (task->began == 0)
        note(jobs, task, JOB_RUNS, 0);
    r = migration_step(&task->migration);

    if (r == 0) {
        note(jobs, task, JOB_RUNS, 0);
        end(jobs, task, JOB_DONE, 0);
    } else if (is_for_later(r)) {
        note(jobs, task, JOB_RUNS, r);
        try_later(task);
    } else if (r < 0) {
        give_up(jobs, task, r);
    } else {
        note(jobs, task, JOB_RUNS, 0);
    }
}

/* One that is paused says so in its record, for the next mount. */
static void pause_or_go_on(struct jobs *jobs, struct task *task, bool shall_pause)
{
    int r = migration_pause(&task->migration, shall_pause);

    if (r == 0 && shall_pause)
        r = MIN(migration_confirm(&task->migration), 0);
    note(jobs, task, shall_pause ? JOB_PAUSED : JOB_RUNS, r);
    look_at_record(task);
}

static void work_on(struct jobs *jobs, struct task *task)
{
    bool shall_pause, shall_end, is_paused;
    int why, r = task->file == NULL ? load(jobs, task) : 0;

    if (r < 0 && !file_is_lost(r)) {
        try_later(task);
        return;
    }
    if (r < 0) {
        end(jobs, task, JOB_FAILED, r);
        return;
    }
    pthread_mutex_lock(&jobs->lock);
    shall_pause = task->shall_pause;
    shall_end = task->shall_end;
    why = task->why;
    pthread_mutex_unlock(&jobs->lock);
    is_paused = (task->record.target_flags & TARGET_PAUSED) != 0;
    if (inode_is_gone(jobs->fs->inodes, task->inode)) {
        (void) migration_give_up(&task->migration); /* or it goes with the rest of the file */
        end(jobs, task, JOB_CANCELLED, 0);
    } else if (shall_end)
        give_up(jobs, task, why);
    else if (shall_pause != is_paused || (shall_pause && task->view.state != JOB_PAUSED))
        pause_or_go_on(jobs, task, shall_pause);
    else
        step(jobs, task);
}

/* Somebody has given it an order. The lock is held. */
static bool is_to_change(const struct task *task)
{
    return (task->shall_end && task->view.state != JOB_ENDS) || task->shall_pause != (task->view.state == JOB_PAUSED);
}

/* While those that have begun rest or wait for a disk, others may begin: there is always a place for who has no limit.
 */
static uint32_t most_runs(const struct task *task)
{
    return task->view.limit > 0 ? MAX_RUNS : 2 * MAX_RUNS;
}

/* The lock is held. */
static bool has_work(struct jobs *jobs, const struct task *task, uint64_t now)
{
    if (is_over(task) || task->is_busy || now < task->not_before)
        return false;
    if (is_to_change(task))
        return true;
    if (now < task->rests_until || (task->view.state == JOB_WAITS && jobs->n_runs >= most_runs(task)))
        return false;
    return task->view.state != JOB_PAUSED || task->shall_end || !task->shall_pause ||
           inode_is_gone(jobs->fs->inodes, task->inode);
}

/* Busy from now on. One that runs goes first. */
static struct task *take(struct jobs *jobs)
{
    uint64_t now = watch_now();
    struct task *found = NULL;
    uint32_t n_runs = 0; /* seen so far */

    for (uint32_t i = 0; i < jobs->n && (found == NULL || n_runs < jobs->n_runs); i++) {
        struct task *task = jobs->task[i];

        n_runs += task->view.state == JOB_RUNS;
        if (has_work(jobs, task, now) &&
            (found == NULL || (task->view.state == JOB_RUNS) > (found->view.state == JOB_RUNS)))
            found = task;
    }
    if (found != NULL)
        found->is_busy = true;
    return found;
}

bool jobs_step(struct jobs *jobs)
{
    struct task *task;

    pthread_mutex_lock(&jobs->lock);
    task = take(jobs);
    pthread_mutex_unlock(&jobs->lock);
    if (task == NULL)
        return false;
    work_on(jobs, task);
    let_go(jobs, task);
    return true;
}

/* -- the thread -- */

static struct timespec in_ms(uint64_t ms)
{
    struct timespec when;

    clock_gettime(CLOCK_MONOTONIC, &when);
    when.tv_sec += (time_t) (ms / 1000);
    when.tv_nsec += (long) (ms % 1000) * 1000000;
    when.tv_sec += when.tv_nsec / 1000000000;
    when.tv_nsec %= 1000000000;
    return when;
}

/* False: it is time to stop. The lock is held. */
static bool wait_a_while(struct jobs *jobs, uint64_t ms)
{
    struct timespec when = in_ms(ms);

    if (!jobs->stop)
        (void) pthread_cond_timedwait(&jobs->changed, &jobs->lock, &when);
    return !jobs->stop;
}

static bool users_work(const struct fs *fs, uint64_t n_io)
{
    return atomic_load(&fs->n_io) != n_io || atomic_load(&fs->n_io_over) != n_io;
}

/* Users come first: as long as they want something of the disks, a job has them for a part of the time. */
static void yield_to_users(struct jobs *jobs, uint64_t took)
{
    uint64_t until = watch_now() + MAX(YIELD * took, 1);
    bool go_on = true;

    pthread_mutex_lock(&jobs->lock);
    while (go_on && watch_now() < until) {
        uint64_t n_io = atomic_load(&jobs->fs->n_io);

        go_on = wait_a_while(jobs, QUIET) && users_work(jobs->fs, n_io);
    }
    pthread_mutex_unlock(&jobs->lock);
}

/* So that it does not become faster than its limit; others may go on. */
static void rest(struct jobs *jobs, struct task *task, uint64_t limit, uint64_t bytes, uint64_t took)
{
    uint64_t ms = (uint64_t) ((double) bytes * 1000 / (double) limit);

    pthread_mutex_lock(&jobs->lock);
    task->rests_until = watch_now() + (ms > took ? ms - took : 0);
    pthread_mutex_unlock(&jobs->lock);
}

/* How long nobody has work, for all that is known. The lock is held. */
static uint64_t until_next(const struct jobs *jobs)
{
    uint64_t now = watch_now(), ms = LATER;
    uint32_t n_runs = 0;

    for (uint32_t i = 0; i < jobs->n && n_runs < jobs->n_runs; i++) {
        const struct task *task = jobs->task[i];

        n_runs += task->view.state == JOB_RUNS;
        if (task->view.state == JOB_RUNS && task->rests_until > now)
            ms = MIN(ms, task->rests_until - now);
    }
    return ms;
}

static void *work(void *arg)
{
    struct jobs *jobs = arg;
    bool go_on = true;

    while (go_on) {
        uint64_t began = watch_now(), n_io = atomic_load(&jobs->fs->n_io), bytes, took, limit = 0;
        struct task *task;

        pthread_mutex_lock(&jobs->lock);
        task = jobs->stop ? NULL : take(jobs);
        if (task == NULL)
            go_on = wait_a_while(jobs, until_next(jobs));
        else
            limit = task->view.limit;
        pthread_mutex_unlock(&jobs->lock);
        if (task == NULL)
            continue;
        bytes = task->view.done;
        work_on(jobs, task);
        bytes = task->view.done - MIN(bytes, task->view.done);
        took = watch_now() - began;
        if (limit > 0)
            rest(jobs, task, limit, bytes, took);
        let_go(jobs, task);
        if (limit == 0 && bytes > 0 && users_work(jobs->fs, n_io))
            yield_to_users(jobs, took);
    }
    return NULL;
}

int jobs_start(struct jobs *jobs)
{
    int r;

    if (jobs->fs->read_only)
        return 0;
    r = pthread_create(&jobs->thread, NULL, work, jobs);
    jobs->has_thread = r == 0;
    return -r;
}

void jobs_stop(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->stop = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->has_thread)
        pthread_join(jobs->thread, NULL);
    while (jobs->n > 0) {
        struct task *task = jobs->task[jobs->n - 1];

        take_from_list(jobs, task);
        if (task->file != NULL)
            (void) migration_confirm(&task->migration); /* else the next mount does more than it would have to */
        free_task(jobs, task);
    }
}

/* -- from outside -- */

int jobs_order(struct jobs *jobs, uint64_t number, enum job_order order)
{
    struct task *task;
    int r = -ENOENT;

    pthread_mutex_lock(&jobs->lock);
    task = find_number(jobs, number);
    if (task != NULL && !is_over(task)) {
        if (order == JOB_CANCEL)
            task->shall_end = true;
        else
            task->shall_pause = order == JOB_PAUSE;
        pthread_cond_broadcast(&jobs->changed);
        r = 0;
    }
    pthread_mutex_unlock(&jobs->lock);
    return r;
}

bool jobs_of(struct jobs *jobs, const struct inode *inode, struct job_view *ret_view)
{
    const struct task *task;

    pthread_mutex_lock(&jobs->lock);
    task = inode->job;
    if (task != NULL)
        *ret_view = task->view;
    pthread_mutex_unlock(&jobs->lock);
    return task != NULL;
}

bool jobs_next(struct jobs *jobs, uint64_t after, struct job_view *ret_view, struct inode **ret_inode)
{
    const struct task *task;
    uint32_t i;

    pthread_mutex_lock(&jobs->lock);
    i = find_after(jobs, after);
    task = i < jobs->n ? jobs->task[i] : NULL;
    if (task != NULL) {
        *ret_view = task->view;
        *ret_inode = task->inode;
        inode_ref(jobs->fs->inodes, task->inode);
    }
    pthread_mutex_unlock(&jobs->lock);
    return task != NULL;
}

/* Which disks have hardly any room; NULL: none, or nobody knows. */
static bool *find_full(const struct fs *fs)
{
    cleanup(freep) bool *full = calloc(STAMP_MAX_DISKS, sizeof *full);
    bool any = false;

    for (uint32_t i = 0; full != NULL && i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];
        struct statvfs st;

        full[i] = disk_is_present(disk) && watch_is_prompt(disk->watch) &&
                  disk_call(disk, statfs, disk->root, &st) == 0 && st.f_bavail * st.f_frsize < LOW;
        any |= full[i];
    }
    return any ? steal(full) : NULL;
}

static bool fills_one_of(const struct jobs *jobs, const struct task *task, const bool full[])
{
    for (uint32_t i = 0; task->fills != NULL && i < jobs->fs->volume->n_disks; i++)
        if (full[i] && task->fills[i])
            return true;
    return false;
}

/* The lock is held. Whether any is still to end. */
static bool end_all(struct jobs *jobs, const bool full[])
{
    bool any = false;

    for (uint32_t i = 0; i < jobs->n; i++) {
        struct task *task = jobs->task[i];

        if (!is_over(task) && task->view.state != JOB_ENDS && fills_one_of(jobs, task, full)) {
            task->why = task->shall_end ? task->why : -ENOSPC;
            task->shall_end = any = true;
        }
    }
    return any;
}

static void wait_for_end(struct jobs *jobs, const bool full[])
{
    uint64_t until = watch_now() + WATCH_STALL;
    bool go_on;

    pthread_mutex_lock(&jobs->lock);
    go_on = end_all(jobs, full);
    pthread_cond_broadcast(&jobs->changed);
    while (go_on && end_all(jobs, full) && watch_now() < until)
        go_on = wait_a_while(jobs, LATER);
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_make_room(struct jobs *jobs)
{
    cleanup(freep) bool *full = NULL;
    bool any;

    pthread_mutex_lock(&jobs->lock);
    any = jobs->n > jobs->n_over;
    pthread_mutex_unlock(&jobs->lock);
    if (any)
        full = find_full(jobs->fs);
    if (full != NULL && jobs->has_thread)
        wait_for_end(jobs, full);
}

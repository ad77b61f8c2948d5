/* SPDX-License-Identifier: MIT */
#include "fs/core/change/job_step.h"

#include "fs/core/file/file.h"
#include "fs/core/file/file_copy.h"
#include "fs/core/stub/journal.h"
#include "fs/core/tree/tree.h"

#include <string.h>

#define MAX_FILES 16 /* jobs that have their files in use, to be worked on */

/* Follows a path from the root: the inodes that it finds on the way are known by these names from then on. */
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

/* Finds the name of a job's file, which the journal does not know. The copy of the record does, unless the file has
 * been moved since. */
static void learn_name(struct fs *fs, struct job *job)
{
    cleanup(copy_done) struct copy copy = { 0 };
    cleanup(freep) char *path = NULL;

    if (inode_path(fs->inodes, job->inode, &path) == -ESTALE && file_copy_find(fs, job->file, &copy) == 0)
        look_up(fs, copy.path);
}

/* Notes what the record says of a job that an earlier mount has begun; what was ordered since counts more. */
static void note_record(struct jobs *jobs, struct job *job)
{
    mutex_lock(&jobs->lock);
    job->is_known = true;
    job->view.total = job->record.size;
    if (!job->view.is_hurried)
        job->view.limit = record_unpack_limit((uint16_t) job->record.target_limit);
    if ((job->record.target_flags & TARGET_GIVEN_UP) != 0)
        job->shall_end = true;
    else if ((job->record.target_flags & TARGET_PAUSED) != 0)
        job->shall_pause = !job->view.is_hurried;
    mutex_unlock(&jobs->lock);
}

/* Looks at a job that nobody has looked at in this mount. */
static void look_at(struct jobs *jobs, struct job *job)
{
    struct file_layout *layout;

    learn_name(jobs->fs, job);
    if (record_migrates(&job->record) && layouts_get(jobs->fs->layouts, job->record.target_layout, &layout) == 0) {
        job_note_fills(jobs, job, layout, job->record.target_rotate);
        layouts_put(jobs->fs->layouts, layout);
    }
    if (!atomic_load(&job->inode->is_listed))
        (void) journal_add(jobs->fs, job->inode, &job->record);
    note_record(jobs, job);
}

/* Takes the file of a job into use, and finds out what its record says of the migration. */
static int load(struct jobs *jobs, struct job *job)
{
    const uint64_t limit = job->migration.limit;
    int r = file_get(jobs->fs, job->inode, &job->file);

    if (r < 0)
        return r;
    migration_init(&job->migration, jobs->fs, job->file);
    job->migration.limit = limit;
    job_look_at_record(job);
    if (!job->is_known)
        look_at(jobs, job);
    return 0;
}

/* -- descriptors -- */

uint32_t job_fds(struct file *file, const struct file_layout *layout)
{
    return 1 + file_slots(file) + file_layout_slots(layout);
}

/* Counts the descriptors of a job; 0: it has none any more. */
static void count_fds(struct jobs *jobs, struct job *job, uint32_t n) REQUIRES(jobs->lock)
{
    jobs->n_files += (n > 0 ? 1U : 0U) - (job->n_fds > 0 ? 1U : 0U);
    jobs->n_fds += n - job->n_fds;
    job->n_fds = n;
}

void job_release(struct jobs *jobs, struct job *job)
{
    if (job->file != NULL && job->n_fds > 0)
        (void) migration_rest(&job->migration);
    migration_done(&job->migration);
    if (job->file != NULL)
        file_put(jobs->fs, steal(job->file));
    mutex_lock(&jobs->lock);
    count_fds(jobs, job, 0);
    mutex_unlock(&jobs->lock);
}

/* Finds the job that has descriptors and rests for longest, and makes it busy; NULL: none rests. */
static struct job *take_resting(struct jobs *jobs) REQUIRES(jobs->lock)
{
    struct job *found = NULL;

    for (uint32_t i = 0; i < jobs->n; i++) {
        struct job *job = jobs->job[i];

        if (job->n_fds > 0 && !job->is_busy &&
            (found == NULL || MAX(job->rests_until, job->not_before) > MAX(found->rests_until, found->not_before)))
            found = job;
    }
    if (found != NULL)
        found->is_busy = true;
    return found;
}

/* Whether a job may have so many descriptors beside those that others have. */
static bool fits(const struct jobs *jobs, uint32_t n) REQUIRES(jobs->lock)
{
    return jobs->n_files < MAX_FILES && n <= jobs->max_fds - jobs->n_fds;
}

/* Has a job have so many descriptors. Others that rest give up theirs. false: they are too many. */
static bool reserve(struct jobs *jobs, struct job *job, uint32_t n)
{
    struct job *other;
    bool is_done;

    do {
        mutex_lock(&jobs->lock);
        is_done = fits(jobs, n);
        if (is_done)
            count_fds(jobs, job, n);
        other = is_done ? NULL : take_resting(jobs);
        mutex_unlock(&jobs->lock);
        if (other != NULL) {
            job_release(jobs, other);
            job_let_go(jobs, other);
        }
    } while (other != NULL);
    return is_done;
}

/* Lets a job have the descriptors that copying takes. -EMFILE: they are more than all jobs may have: another mount,
 * with a higher limit, was to make this layout. */
static int take_fds(struct jobs *jobs, struct job *job)
{
    struct file_layout *layout;
    uint32_t n;

    if (job->n_fds > 0 || !record_migrates(&job->record) ||
        layouts_get(jobs->fs->layouts, job->record.target_layout, &layout) < 0)
        return 0; /* nothing is left to be copied, or nobody knows where to: the step says so */
    n = job_fds(job->file, layout);
    layouts_put(jobs->fs->layouts, layout);
    return reserve(jobs, job, n) ? 0 : -EMFILE;
}

/* Lets go of what a job does not need until it is worked on again. Those that run keep their files as long as nobody
 * else needs the descriptors, but no memory while they rest. */
static void rest(struct jobs *jobs, struct job *job)
{
    bool is_limited;

    mutex_lock(&jobs->lock);
    is_limited = job->view.limit > 0;
    mutex_unlock(&jobs->lock);
    if (job->view.state != JOB_RUNS || job->n_fds == 0)
        job_release(jobs, job);
    else if (is_limited)
        migration_done(&job->migration);
}

/* Ends a job. The journal forgets its file where nothing is left to be done; else the next mount looks at it again. */
static void end(struct jobs *jobs, struct job *job, enum job_state state, int error)
{
    cleanup(errand_leave) struct errand before = errand_at(job->inode->nodeid, NO_SUBFILE);
    bool over = false;

    if (job->file != NULL) {
        job_look_at_record(job);
        over = !record_migrates(&job->record) && job->record.oldest_gen == job->record.gen;
    }
    job_release(jobs, job);
    if (over && !inode_is_gone(jobs->fs->inodes, job->inode))
        (void) journal_drop(jobs->fs, job->inode, &job->record);
    mutex_lock(&jobs->lock);
    job_set_state(jobs, job, state, error);
    mutex_unlock(&jobs->lock);
    if (state == JOB_FAILED)
        (void) trouble_tell(fs_home(jobs->fs), TROUBLE_JOB, error);
}

/* Notes how far a job is, for who looks. */
static void note(struct jobs *jobs, struct job *job, enum job_state state, int error)
{
    uint64_t before = job->view.done, ms, done, total;

    migration_progress(&job->migration, &done, &total);
    if (job->began == 0) {
        job->began = clock_ms();
        job->began_with = done;
    }
    ms = clock_ms() - job->began;
    mutex_lock(&jobs->lock);
    job_set_state(jobs, job, state, error);
    job->view.done = MAX(done, MIN(before, total));
    job->view.total = total;
    job->view.ms = ms;
    job->view.rate = ms > 0 ? (done - MIN(job->began_with, done)) * 1000 / ms : 0;
    mutex_unlock(&jobs->lock);
}

static void try_later(struct job *job)
{
    job->not_before = clock_ms() + JOB_LATER;
}

/* Ends a job that leaves something on a read-only disk: that goes when the disk can be written again, or with the next
 * mount. */
static void end_with_rest(struct jobs *jobs, struct job *job, enum job_state state, int error)
{
    mutex_lock(&jobs->lock);
    job->has_left = true;
    mutex_unlock(&jobs->lock);
    end(jobs, job, state, error);
}

/* Takes back what a job has done; why 0: somebody wants it so. */
static void give_up(struct jobs *jobs, struct job *job, int why)
{
    int r = migration_give_up(&job->migration);

    if (r == 0) {
        end(jobs, job, why == 0 ? JOB_CANCELLED : JOB_FAILED, why);
        return;
    }
    if (r == -EROFS && migration_is_given_up(&job->migration)) {
        end_with_rest(jobs, job, why == 0 ? JOB_CANCELLED : JOB_FAILED, why);
        return;
    }
    note(jobs, job, JOB_ENDS, r);
    mutex_lock(&jobs->lock);
    job->shall_end = true;
    job->why = why;
    mutex_unlock(&jobs->lock);
    try_later(job);
}

static bool is_for_later(int error)
{
    return error == -ETIMEDOUT || error == -EAGAIN || error == -EMFILE || error == -ENFILE;
}

/* Copies a window, or ends the migration after the last one. */
static void step(struct jobs *jobs, struct job *job)
{
    int r = take_fds(jobs, job);

    if (r < 0) {
        note(jobs, job, JOB_WAITS, r);
        try_later(job);
        return;
    }
    if (job->began == 0)
        note(jobs, job, JOB_RUNS, 0);
    r = migration_step(&job->migration);

    if (r == 0) {
        note(jobs, job, JOB_RUNS, 0);
        end(jobs, job, JOB_DONE, 0);
    } else if ((r == -EROFS || r == -EIO) && migration_has_switched(&job->migration)) {
        note(jobs, job, JOB_RUNS, 0);
        end_with_rest(jobs, job, JOB_DONE, r);
    } else if (is_for_later(r)) {
        note(jobs, job, JOB_RUNS, r);
        try_later(job);
    } else if (r < 0) {
        give_up(jobs, job, r);
    } else {
        note(jobs, job, JOB_RUNS, 0);
    }
}

/* Pauses a job, or lets it go on. The record of its file says so, for the next mount. */
static void pause_or_go_on(struct jobs *jobs, struct job *job, bool shall_pause)
{
    int r = migration_pause(&job->migration, shall_pause);

    if (r == 0 && shall_pause)
        r = MIN(migration_confirm(&job->migration), 0);
    note(jobs, job, shall_pause ? JOB_PAUSED : JOB_RUNS, r);
    job_look_at_record(job);
}

/* What becomes of a job whose file cannot be taken into use. */
static void fail_to_load(struct jobs *jobs, struct job *job, int error)
{
    if (inode_is_gone(jobs->fs->inodes, job->inode))
        end(jobs, job, JOB_CANCELLED, 0); /* it went with the rest of the file */
    else if (file_is_lost(error))
        end(jobs, job, JOB_FAILED, error);
    else
        try_later(job);
}

static void work_on_loaded(struct jobs *jobs, struct job *job)
{
    bool shall_pause, shall_end, is_paused, has_place;
    int why;

    mutex_lock(&jobs->lock);
    has_place = job->view.state != JOB_WAITS || job_has_place(job); /* what its limit is may be known since now */
    shall_pause = job->shall_pause;
    shall_end = job->shall_end;
    why = job->why;
    mutex_unlock(&jobs->lock);
    is_paused = (job->record.target_flags & TARGET_PAUSED) != 0;
    if (inode_is_gone(jobs->fs->inodes, job->inode)) {
        (void) migration_give_up(&job->migration); /* or it goes with the rest of the file */
        end(jobs, job, JOB_CANCELLED, 0);
    } else if (shall_end)
        give_up(jobs, job, why);
    else if (shall_pause != is_paused || (shall_pause && job->view.state != JOB_PAUSED))
        pause_or_go_on(jobs, job, shall_pause);
    else if (has_place)
        step(jobs, job);
}

void job_work_on(struct jobs *jobs, struct job *job)
{
    int r = job->file == NULL ? load(jobs, job) : 0;

    if (r < 0) {
        fail_to_load(jobs, job, r);
        return;
    }
    work_on_loaded(jobs, job);
    rest(jobs, job);
}

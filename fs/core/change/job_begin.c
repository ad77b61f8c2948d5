/* SPDX-License-Identifier: MIT */
/* How jobs begin: somebody asks for one, the journal lists a file, or a record tells of a migration. */
#include "fs/core/change/job_step.h"
#include "fs/core/change/room_watch.h"
#include "fs/core/disk/random.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"
#include "fs/core/volume/room.h"

#include <string.h>

/* Chooses the place of the list where a file starts: over the same disks, so that what lies right already stays. */
static int choose_start(const struct jobs *jobs, const struct placed_layout *from, const struct file_layout *layout,
                        uint32_t start, uint16_t *ret_rotate)
{
    uint64_t bits;
    int r = 0;

    if (start != JOB_START_DRAWN) {
        *ret_rotate = (uint16_t) (start % layout->n_list);
    } else if (from->layout->n_list == layout->n_list &&
               memcmp(from->layout->list, layout->list, layout->n_list * sizeof layout->list[0]) == 0) {
        *ret_rotate = from->rotate;
    } else {
        r = random_bytes(&bits, sizeof bits);
        if (r == 0)
            *ret_rotate = room_draw_start(jobs->fs->volume, layout, bits);
    }
    return r;
}

/* Finds how the file of a job will lie. -ENOSPC: there is no room for that; -EROFS: a disk is read-only. */
static int find_place(struct jobs *jobs, const struct job *job, const struct file_layout *layout, uint32_t start,
                      struct placed_layout *ret_to)
{
    uint64_t bytes = MIN(job->record.size, file_blocks(job->file) * 512);
    struct record record;
    struct file_layout *now = file_look(jobs->fs, job->file, &record);
    const struct placed_layout from = { now, record.rotate };
    int r;

    ret_to->layout = layout;
    r = choose_start(jobs, &from, layout, start, &ret_to->rotate);
    if (r == 0)
        r = room_check(jobs->fs->room, &from, ret_to, bytes);
    layouts_put(jobs->fs->layouts, now);
    return r;
}

/* Whether the file is on its way to just this layout, or has it since a moment ago. */
static bool is_target(struct jobs *jobs, struct file *file, const struct file_layout *layout, uint32_t start)
{
    struct file_layout *target;
    struct record record;
    bool migrates, is;

    mutex_lock(&file->meta);
    record = *file_record(file);
    mutex_unlock(&file->meta);
    migrates = record_migrates(&record);
    if ((record.target_flags & TARGET_GIVEN_UP) != 0 ||
        (start != JOB_START_DRAWN && (migrates ? record.target_rotate : record.rotate) != start % layout->n_list) ||
        layouts_get(jobs->fs->layouts, migrates ? record.target_layout : record.layout, &target) < 0)
        return false;
    is = file_layout_equals(target, layout);
    layouts_put(jobs->fs->layouts, target);
    return is;
}

/* Notes the limit of a job in the record of its file, for the next mount: it is stored with how far the job got. */
static void tell_limit(struct file *file, uint64_t limit)
{
    mutex_lock(&file->meta);
    if (record_migrates(&file->record))
        file->record.target_limit = record_pack_limit(limit);
    mutex_unlock(&file->meta);
}

/* Gives a job that is not over a new limit. *limit is then the one that it has: one that root waits for becomes no
 * slower. */
static void set_limit(struct jobs *jobs, struct job *job, uint64_t *limit) REQUIRES(jobs->lock)
{
    if (job->view.is_hurried && *limit > 0 && (job->view.limit == 0 || job->view.limit > *limit))
        *limit = job->view.limit;
    if (job->view.limit != *limit)
        job->rests_until = 0;
    job->view.limit = *limit;
    cond_broadcast(&jobs->changed);
}

/* Gives the job that a file has the new limit, when somebody asks again for what it does. -EBUSY: it does something
 * else. */
static int add_again(struct jobs *jobs, struct inode *inode, const struct file_layout *layout, uint32_t start,
                     uint64_t limit, uint64_t *ret_number)
{
    struct file *file;
    int r = -EBUSY;

    if (file_get(jobs->fs, inode, &file) < 0)
        return r;
    if (is_target(jobs, file, layout, start)) {
        mutex_lock(&jobs->lock);
        if (inode->job != NULL && !job_has_ended(inode->job) && !inode->job->shall_end) {
            set_limit(jobs, inode->job, &limit);
            *ret_number = inode->job->view.number;
            r = 0;
        }
        mutex_unlock(&jobs->lock);
        if (r == 0)
            tell_limit(file, limit);
    }
    file_put(jobs->fs, file);
    return r;
}

int jobs_add(struct jobs *jobs, struct inode *inode, const struct file_layout *layout, uint32_t start, uint64_t limit,
             const struct job_asker *asker, uint64_t *ret_number)
{
    struct job *job;
    struct placed_layout to;
    int r;

    inode_ref(jobs->fs->inodes, inode);
    r = job_list(jobs, inode, limit, asker, &job);
    if (r < 0)
        return r == -EBUSY ? add_again(jobs, inode, layout, start, limit, ret_number) : r;
    mutex_lock(&jobs->lock);
    job->is_known = true;
    mutex_unlock(&jobs->lock);
    r = file_get(jobs->fs, inode, &job->file);
    if (r == 0 && job_fds(job->file, layout) > jobs->max_fds)
        r = -EMFILE;
    if (r == 0) {
        job_look_at_record(job);
        migration_init(&job->migration, jobs->fs, job->file);
        job->migration.limit = limit;
        r = find_place(jobs, job, layout, start, &to);
    }
    if (r == 0)
        r = migration_begin(&job->migration, layout, to.rotate);
    if (r != 0) {
        job_unlist(jobs, job);
        return r;
    }
    job_look_at_record(job);
    job_note_fills(jobs, job, layout, to.rotate);
    *ret_number = job->view.number;
    mutex_lock(&jobs->lock);
    job->view.total = job->record.size;
    mutex_unlock(&jobs->lock);
    job_release(jobs, job);
    job_let_go(jobs, job);
    return 0;
}

/* Lists a job for what a record tells of, however many there are of this user. Takes the reference on the inode. */
static int take_up(struct jobs *jobs, struct inode *inode, uid_t uid)
{
    const struct job_asker asker = { uid, UINT64_MAX };
    struct job *job;
    int r = job_list(jobs, inode, 0, &asker, &job);

    if (r == 0)
        job_let_go(jobs, job);
    return r == -EBUSY ? 0 : r;
}

int jobs_take_up(struct jobs *jobs, const char *name, const struct stat *st)
{
    struct inode *inode;
    int r = inodes_enter_todo(jobs->fs->inodes, name, st, &inode);

    if (r < 0)
        return r;
    atomic_store(&inode->is_listed, true);
    return take_up(jobs, inode, st->st_uid);
}

/* Finds the inode of a job that has something left on a disk, with a reference; NULL: none has. */
static struct inode *take_left(struct jobs *jobs, uid_t *ret_uid)
{
    struct inode *inode = NULL;

    mutex_lock(&jobs->lock);
    for (uint32_t i = 0; inode == NULL && i < jobs->n; i++)
        if (jobs->job[i]->has_left && job_has_ended(jobs->job[i])) {
            jobs->job[i]->has_left = false;
            inode = jobs->job[i]->inode;
            *ret_uid = jobs->job[i]->user->uid;
            inode_ref(jobs->fs->inodes, inode);
        }
    mutex_unlock(&jobs->lock);
    return inode;
}

void jobs_retry(struct jobs *jobs)
{
    struct inode *inode;
    uid_t uid;

    while ((inode = take_left(jobs, &uid)) != NULL)
        (void) take_up(jobs, inode, uid);
}

void jobs_note(struct jobs *jobs, struct inode *inode)
{
    struct stat st;

    if (atomic_load(&inode->is_listed))
        return;
    inode_ref(jobs->fs->inodes, inode);
    (void) take_up(jobs, inode, tree_stat(jobs->fs, inode, &st) == 0 ? st.st_uid : 0);
}

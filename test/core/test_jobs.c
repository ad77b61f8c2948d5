/* SPDX-License-Identifier: MIT */
/* What jobs take of the daemon, and whose turn it is, on simulated disks. */
#include "fs/core/change/job_list.h"
#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"
#include "test/core/world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MANY 40
#define SIZE 1000

static struct inode *make_file(struct world *world, const char *name)
{
    static const struct cred cred = { .umask = 022 };
    char bytes[SIZE];
    struct inode *inode;
    struct file *file;
    struct stat st;

    memset(bytes, 'x', sizeof bytes);
    cr_assert_eq(tree_create(world->fs, inodes_root(world->fs->inodes), name, 0644, &cred, &inode, &st, &file), 0);
    cr_assert_eq(file_write(world->fs, file, bytes, sizeof bytes, 0), SIZE);
    file_put(world->fs, file);
    return inode;
}

static uint64_t migrated(struct file *file)
{
    uint64_t bytes;

    mutex_lock(&file->meta);
    bytes = file->record.migrated;
    mutex_unlock(&file->meta);
    return bytes;
}

/* Makes a file, lets go of it, and begins a job for it. */
static struct inode *begin_job(struct world *world, const char *name, const char *text, uint64_t limit,
                               const struct job_asker *asker, int *ret_r)
{
    struct layout_error error;
    struct chosen_layout choice;
    struct inode *inode;
    uint64_t number;

    inode = make_file(world, name);
    cr_assert_eq(layouts_add(world->fs->layouts, text, &choice.layout, &choice.rotates, &error), 0, "%s", error.why);
    *ret_r = jobs_add(world->fs->jobs, inode, choice.layout, 0, limit, asker, &number);
    layouts_put(world->fs->layouts, choice.layout);
    return inode;
}

static unsigned count_in_use(struct inode *const inode[], unsigned n)
{
    unsigned in_use = 0;

    for (unsigned i = 0; i < n; i++)
        in_use += inode[i]->file != NULL;
    return in_use;
}

/* Jobs that wait have no file in use, those that rest a few, and those that are paused none: each file has descriptors.
 */
Test(jobs, few_files_are_in_use_however_many_jobs_there_are)
{
    static struct world world;
    struct inode *inode[MANY];
    char name[16];
    int r;

    cr_assert_eq(world_init(&world, 2, "one on d0", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "file%u", i);
        inode[i] = begin_job(&world, name, "stripe(64)", i % 2 == 0 ? 0 : UINT64_C(1) << 40, &world_asker, &r);
        cr_assert_eq(r, 0);
    }
    cr_expect_eq(count_in_use(inode, MANY), 0, "those that wait");
    for (unsigned i = 0; i < 12; i++) {
        cr_assert(jobs_step(world.fs->jobs));
        cr_expect_leq(count_in_use(inode, MANY), 16, "those that are worked on");
    }
    for (unsigned i = 0; i < MANY; i++)
        if (!job_is_over(&inode[i]->job->view))
            cr_assert_eq(jobs_order(world.fs->jobs, inode[i]->job->view.number, JOB_PAUSE), 0);
    world_finish_jobs(&world);
    cr_expect_eq(count_in_use(inode, MANY), 0, "those that are paused");
    for (unsigned i = 0; i < MANY; i++)
        if (!job_is_over(&inode[i]->job->view))
            cr_assert_eq(jobs_order(world.fs->jobs, inode[i]->job->view.number, JOB_RESUME), 0);
    world_finish_jobs(&world);
    for (unsigned i = 0; i < MANY; i++) {
        cr_expect_eq(inode[i]->job->view.state, JOB_DONE, "%u is %s", i, job_state_name(inode[i]->job->view.state));
        inode_unref(world.fs->inodes, inode[i]);
    }
    world_abandon(&world);
    world_done(&world);
}

/* Jobs that rest give their descriptors to others, and lose nothing of what they have copied. One that takes more than
 * there are for all is not begun; if an earlier mount has begun it, it waits, and can be cancelled. */
Test(jobs, jobs_share_the_descriptors_there_are)
{
    static struct world world;
    struct inode *inode[3];
    static const char *const names[] = { "A", "B", "C" };
    char found[SIZE + 1] = "";
    int r;

    cr_assert_eq(world_init(&world, 2, "one on d0", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    world.fs->jobs->max_fds = 1 + 1 + 2;
    inode[0] = begin_job(&world, "big", "stripe(8,8)", 0, &world_asker, &r);
    cr_expect_eq(r, -EMFILE, "more than there are");
    cr_expect_null(inode[0]->job);
    cr_expect_null(inode[0]->file);
    inode_unref(world.fs->inodes, inode[0]);
    for (unsigned i = 0; i < 3; i++) {
        inode[i] = begin_job(&world, names[i], "stripe(64)", UINT64_C(1) << 40, &world_asker, &r);
        cr_assert_eq(r, 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned n = 0; n < 3; n++)
            cr_assert(jobs_step(world.fs->jobs));
        cr_expect_eq(count_in_use(inode, 3), 1, "one at a time");
        inode[i]->job->rests_until = UINT64_MAX;
        cr_expect_gt(inode[i]->job->view.done, 0, "%s has begun", names[i]);
    }
    inode[2]->job->rests_until = 0;
    world_finish_jobs(&world);
    cr_assert_eq(inode[2]->job->view.state, JOB_DONE);
    inode[0]->job->rests_until = inode[1]->job->rests_until = 0;
    world.fs->jobs->max_fds = 3;
    world_finish_jobs(&world);
    for (unsigned i = 0; i < 2; i++) {
        cr_expect_eq(inode[i]->job->view.error, -EMFILE, "it waits, and says why");
        cr_expect_not(job_is_over(&inode[i]->job->view));
        inode[i]->job->not_before = 0;
    }
    cr_assert_eq(jobs_order(world.fs->jobs, inode[0]->job->view.number, JOB_CANCEL), 0);
    cr_assert(jobs_step(world.fs->jobs));
    cr_expect_eq(inode[0]->job->view.state, JOB_CANCELLED);
    world.fs->jobs->max_fds = 4;
    world_finish_jobs(&world);
    for (unsigned i = 0; i < 3; i++) {
        struct file *file;

        cr_expect_eq(inode[i]->job->view.state, i == 0 ? JOB_CANCELLED : JOB_DONE);
        cr_assert_eq(file_get(world.fs, inode[i], &file), 0);
        cr_expect_eq(file_read(world.fs, file, found, SIZE + 1, 0), SIZE);
        cr_expect_eq(strspn(found, "x"), SIZE, "with its bytes");
        file_put(world.fs, file);
        inode_unref(world.fs->inodes, inode[i]);
    }
    world_abandon(&world);
    world_done(&world);
}

/* What is written while a job is paused is in the file when the job is done, though nobody had the target at hand. */
Test(jobs, what_is_written_during_a_pause_is_copied)
{
    static struct world world;
    struct inode *inode;
    struct file *file;
    char found[1000];
    int r;

    cr_assert_eq(world_init(&world, 2, "one on d0", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    inode = begin_job(&world, "A", "stripe(64)", 0, &world_asker, &r);
    cr_assert_eq(r, 0);
    for (unsigned n = 0; n < 4; n++)
        cr_assert(jobs_step(world.fs->jobs), "some of it is copied");
    cr_assert_eq(file_get(world.fs, inode, &file), 0);
    cr_assert_eq(jobs_order(world.fs->jobs, inode->job->view.number, JOB_PAUSE), 0);
    world_finish_jobs(&world);
    cr_expect_null(file->next, "nothing of the target is open");
    cr_expect_gt(migrated(file), 200, "the record tells what is copied");
    cr_assert_eq(file_write(world.fs, file, "new", 3, 100), 3);
    cr_expect_leq(migrated(file), 100, "and what no more");
    cr_assert_eq(file_truncate(world.fs, file, 900), 0);
    cr_assert_eq(jobs_order(world.fs->jobs, inode->job->view.number, JOB_RESUME), 0);
    world_finish_jobs(&world);
    cr_expect_eq(inode->job->view.state, JOB_DONE);
    cr_assert_eq(file_read(world.fs, file, found, sizeof found, 0), 900);
    cr_expect_arr_eq(found + 99, "xnewx", 5);
    file_put(world.fs, file);
    inode_unref(world.fs->inodes, inode);
    world_abandon(&world);
    world_done(&world);
}

/* A user has so many jobs at most. What a mount before has left is taken up all the same, and counts. */
Test(jobs, a_user_has_so_many_jobs_at_most)
{
    static const struct job_asker asker = { 1000, 5 }, other = { 1001, 5 };
    static struct world world;
    struct inode *inode;
    char name[16];
    int r;

    cr_assert_eq(world_init(&world, 2, "one on d0", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "file%u", i);
        inode = begin_job(&world, name, "stripe(64)", 0, i < 5 ? &asker : &world_asker, &r);
        cr_assert_eq(r, 0);
        inode_unref(world.fs->inodes, inode);
    }
    inode = begin_job(&world, "more", "stripe(64)", 0, &asker, &r);
    cr_expect_eq(r, -EUSERS);
    inode_unref(world.fs->inodes, inode);
    inode = begin_job(&world, "another's", "stripe(64)", 0, &other, &r);
    cr_expect_eq(r, 0);
    inode_unref(world.fs->inodes, inode);
    world_unmount(&world);
    cr_assert_eq(world_mount(&world), 0);
    cr_expect_eq(world.fs->jobs->n, 13, "none is lost");
    world_finish_jobs(&world);
    cr_expect_eq(world.fs->jobs->n, world.fs->jobs->n_over);
    for (uint32_t i = 0; i < world.fs->jobs->n; i++)
        cr_expect_eq(world.fs->jobs->job[i]->view.state, JOB_DONE);
    world_abandon(&world);
    world_done(&world);
}

/* Users take turns, and root has every other turn: nobody waits for all that another one has asked for. */
Test(jobs, users_take_turns)
{
    static const struct job_asker greedy = { 1000, 100 }, modest = { 1001, 100 };
    static struct world world;
    struct inode *inode[MANY];
    char name[16];
    int r;

    cr_assert_eq(world_init(&world, 2, "one on d0", 0, 1), 0);
    cr_assert_eq(world_mount(&world), 0);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "file%u", i);
        inode[i] = begin_job(&world, name, "stripe(64)", i < 20 ? 1 : 0,
                             i < MANY - 2    ? &greedy
                             : i == MANY - 2 ? &modest
                                             : &world_asker,
                             &r);
        cr_assert_eq(r, 0);
    }
    for (unsigned n = 0; n < 40 && !job_is_over(&inode[MANY - 2]->job->view); n++)
        cr_assert(jobs_step(world.fs->jobs));
    cr_expect_eq(inode[MANY - 2]->job->view.state, JOB_DONE, "though the other one has asked for much before");
    cr_expect_eq(inode[MANY - 1]->job->view.state, JOB_DONE, "root is done before");
    for (unsigned i = 0; i < MANY; i++)
        inode_unref(world.fs->inodes, inode[i]);
    world_abandon(&world);
    world_done(&world);
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/copier.h"

#include "fs/core/copy.h"

struct due {
    struct inode *inode; /* with a reference */
    struct due *next;
};

struct copier {
    struct fs *fs;
    pthread_mutex_t lock;
    struct due *first, **last; /* lock */
    bool at_work;              /* lock */
};

struct copier_job {
    struct job job;
    struct copier *copier;
};

int copier_new(struct fs *fs, struct copier **ret_copier)
{
    struct copier *copier = calloc(1, sizeof *copier);

    if (copier == NULL)
        return -ENOMEM;
    copier->fs = fs;
    copier->last = &copier->first;
    pthread_mutex_init(&copier->lock, NULL);
    *ret_copier = copier;
    return 0;
}

void copier_free(struct copier *copier)
{
    if (copier == NULL)
        return;
    pthread_mutex_destroy(&copier->lock);
    free(copier);
}

/* A file that goes takes its copy with it; one that went while its copy was written leaves that to us. */
static void copy_one(struct fs *fs, struct inode *inode)
{
    struct file_layout *layout;
    struct record record;
    struct file *file;

    if (inode_is_gone(fs->inodes, inode) || file_get(fs, inode, &file) < 0)
        return;
    (void) copy_write(fs, file); /* an older copy, or none, is all that is lost */
    layout = file_look(fs, file, &record);
    if (inode_is_gone(fs->inodes, inode))
        (void) copy_remove(fs->volume, &record, layout);
    layouts_put(fs->layouts, layout);
    file_put(fs, file);
}

static struct due *next(struct copier *copier)
{
    struct due *due;

    pthread_mutex_lock(&copier->lock);
    due = copier->first;
    if (due != NULL && (copier->first = due->next) == NULL)
        copier->last = &copier->first;
    copier->at_work = due != NULL;
    pthread_mutex_unlock(&copier->lock);
    return due;
}

static void run(struct job *job)
{
    struct copier *copier = ((struct copier_job *) job)->copier;
    struct due *due;

    while ((due = next(copier)) != NULL) {
        atomic_store(&due->inode->copy_is_due, false);
        copy_one(copier->fs, due->inode);
        inode_unref(copier->fs->inodes, due->inode);
        free(due);
    }
    free(job);
}

void copier_take(struct copier *copier, struct inode *inode)
{
    struct due *due;
    struct copier_job *job;
    bool at_work;

    if (atomic_exchange(&inode->copy_is_due, true))
        return;
    due = calloc(1, sizeof *due);
    job = calloc(1, sizeof *job);
    if (due == NULL || job == NULL) {
        atomic_store(&inode->copy_is_due, false);
        free(due);
        free(job);
        return;
    }
    due->inode = inode;
    inode_ref(copier->fs->inodes, inode);
    *job = (struct copier_job){ .job = { .run = run }, .copier = copier };
    pthread_mutex_lock(&copier->lock);
    *copier->last = due;
    copier->last = &due->next;
    at_work = copier->at_work;
    copier->at_work = true;
    pthread_mutex_unlock(&copier->lock);
    if (at_work)
        free(job);
    else
        workers_later(copier->fs->workers, &job->job);
}

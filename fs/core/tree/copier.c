/* SPDX-License-Identifier: MIT */
#include "fs/core/tree/copier.h"

#include "fs/core/file/file_copy.h"

struct due {
    struct inode *inode; /* with a reference */
    struct due *next;
};

struct copier {
    struct fs *fs;
    struct mutex lock;
    struct due *first, **last; /* lock */
    bool at_work;              /* lock */
};

struct copier_job {
    struct chore chore;
    struct copier *copier;
};

int copier_new(struct fs *fs, struct copier **ret_copier)
{
    struct copier *copier = calloc(1, sizeof *copier);

    if (copier == NULL)
        return -ENOMEM;
    copier->fs = fs;
    copier->last = &copier->first;
    mutex_init(&copier->lock);
    *ret_copier = copier;
    return 0;
}

void copier_free(struct copier *copier)
{
    if (copier == NULL)
        return;
    mutex_done(&copier->lock);
    free(copier);
}

/* Writes the copy of one file's record. A file that goes takes its copy with it; where it went while the copy was
 * written, the copy is removed here. */
static void copy_one(struct fs *fs, struct inode *inode)
{
    struct file_layout *layout;
    struct record record;
    struct file *file;

    if (inode_is_gone(fs->inodes, inode) || file_get(fs, inode, &file) < 0)
        return;
    if (file_copy_write(fs, file) == -ESTALE) /* other errors cost no more than that the copy is old, or missing */
        atomic_store(&inode->copy.lacks_name, true);
    layout = file_look(fs, file, &record);
    if (inode_is_gone(fs->inodes, inode))
        (void) copy_remove(fs->volume, &record, layout);
    layouts_put(fs->layouts, layout);
    file_put(fs, file);
}

static struct due *next(struct copier *copier)
{
    struct due *due;

    mutex_lock(&copier->lock);
    due = copier->first;
    if (due != NULL && (copier->first = due->next) == NULL)
        copier->last = &copier->first;
    copier->at_work = due != NULL;
    mutex_unlock(&copier->lock);
    return due;
}

static void run(struct chore *chore)
{
    struct copier *copier = ((struct copier_job *) chore)->copier;
    struct due *due;

    while ((due = next(copier)) != NULL) {
        atomic_store(&due->inode->copy.is_due, false);
        copy_one(copier->fs, due->inode);
        inode_unref(copier->fs->inodes, due->inode);
        free(due);
    }
    free(chore);
}

void copier_take(struct copier *copier, struct inode *inode)
{
    struct due *due;
    struct copier_job *chore;
    bool at_work;

    if (atomic_exchange(&inode->copy.is_due, true))
        return;
    due = calloc(1, sizeof *due);
    chore = calloc(1, sizeof *chore);
    if (due == NULL || chore == NULL) {
        atomic_store(&inode->copy.is_due, false);
        free(due);
        free(chore);
        return;
    }
    due->inode = inode;
    inode_ref(copier->fs->inodes, inode);
    *chore = (struct copier_job){ .chore = { .run = run }, .copier = copier };
    mutex_lock(&copier->lock);
    *copier->last = due;
    copier->last = &due->next;
    at_work = copier->at_work;
    copier->at_work = true;
    mutex_unlock(&copier->lock);
    if (at_work)
        free(chore);
    else
        workers_later(copier->fs->workers, &chore->chore);
}

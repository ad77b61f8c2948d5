/* SPDX-License-Identifier: MIT */
#include "fs/core/defaults.h"

#include "fs/core/tree.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define TEXT_NAME "layout"

/* What was typed, and what it means for now. */
struct wish {
    char *match; /* of a rule; NULL: the mount's */
    char *text;
    struct choice choice; /* lock */
};

struct defaults {
    pthread_mutex_t lock;
    uint32_t n_rules;
    struct wish wish[]; /* the rules, then the mount's */
};

/* -- the mount's -- */

static int plan(struct fs *fs, const struct wish *wish, struct choice *ret_choice, struct volume_error *error)
{
    const char *what = wish->match != NULL ? "layout of a rule" : "default layout";
    struct layout_error why;
    int r = layouts_add(fs->layouts, wish->text, &ret_choice->layout, &ret_choice->rotates, &why);

    if (r == -EINVAL || r == -ERANGE || r == -E2BIG || r == -EOVERFLOW || r == -ENODEV)
        return volume_fail(error, r, "%s '%s', column %zu: %s", what, wish->text, why.column, why.why);
    return r < 0 ? volume_fail(error, r, "cannot store the %s '%s': %s", what, wish->text, strerror(-r)) : 0;
}

static int add(struct fs *fs, const char *match, const char *text, struct wish *ret_wish, struct volume_error *error)
{
    ret_wish->match = match != NULL ? strdup(match) : NULL;
    ret_wish->text = strdup(text);
    if ((match != NULL && ret_wish->match == NULL) || ret_wish->text == NULL)
        return volume_fail(error, -ENOMEM, "out of memory");
    return plan(fs, ret_wish, &ret_wish->choice, error);
}

int defaults_new(struct fs *fs, const struct fs_options *options, struct defaults **ret_defaults,
                 struct volume_error *ret_error)
{
    struct defaults *defaults = calloc(1, sizeof *defaults + (options->n_rules + 1) * sizeof defaults->wish[0]);
    int r;

    if (defaults == NULL)
        return volume_fail(ret_error, -ENOMEM, "out of memory");
    pthread_mutex_init(&defaults->lock, NULL);
    defaults->n_rules = options->n_rules;
    r = add(fs, NULL, options->layout, &defaults->wish[options->n_rules], ret_error);
    for (uint32_t i = 0; r == 0 && i < options->n_rules; i++)
        r = add(fs, options->rule[i].match, options->rule[i].layout, &defaults->wish[i], ret_error);
    if (r < 0) {
        defaults_free(fs, defaults);
        return r;
    }
    *ret_defaults = defaults;
    return 0;
}

void defaults_free(struct fs *fs, struct defaults *defaults)
{
    if (defaults == NULL)
        return;
    for (uint32_t i = 0; i <= defaults->n_rules; i++) {
        layouts_put(fs->layouts, defaults->wish[i].choice.layout);
        free(defaults->wish[i].match);
        free(defaults->wish[i].text);
    }
    pthread_mutex_destroy(&defaults->lock);
    free(defaults);
}

static struct choice choose_by_name(struct fs *fs, struct defaults *defaults, const char *name)
{
    struct choice choice;
    uint32_t i = 0;

    while (i < defaults->n_rules && (name == NULL || fnmatch(defaults->wish[i].match, name, 0) != 0))
        i++;
    pthread_mutex_lock(&defaults->lock);
    choice = defaults->wish[i].choice;
    (void) layouts_ref(fs->layouts, choice.layout);
    pthread_mutex_unlock(&defaults->lock);
    return choice;
}

/* -- directories' own -- */

int defaults_get(struct fs *fs, struct inode *dir, char **ret_text)
{
    return tree_get_text(fs, dir, TEXT_NAME, ret_text);
}

/* A text that is none, is for other disks than there are, or cannot be read by an ordinary user's daemon counts as if
 * it were not there: names can be made all the same. */
static bool counts_as_none(int r)
{
    return r == -ENODATA || r == -EINVAL || r == -ERANGE || r == -E2BIG || r == -EOVERFLOW || r == -ENODEV ||
           r == -EUCLEAN || r == -EACCES;
}

static int load_locked(struct fs *fs, struct inode *dir)
{
    cleanup(freep) char *text = NULL;
    struct choice own = { 0 };
    struct layout_error why;
    int r = defaults_get(fs, dir, &text);

    if (r == 0)
        r = layouts_add(fs->layouts, text, &own.layout, &own.rotates, &why);
    if (r < 0 && !counts_as_none(r))
        return r;
    inode_know_own(fs->inodes, dir, &own);
    return 0;
}

static int load(struct fs *fs, struct inode *dir)
{
    int r;

    pthread_mutex_lock(&dir->lock);
    r = load_locked(fs, dir);
    pthread_mutex_unlock(&dir->lock);
    return r;
}

/* The nearest that has one, at dir or above, with a reference to it; NULL: none has. */
static int find_nearest(struct fs *fs, struct inode *dir, struct choice *ret_choice, struct inode **ret_origin)
{
    for (;;) {
        struct inode *found = inode_nearest_own(fs->inodes, dir, ret_choice);
        int r;

        if (found == NULL || ret_choice->layout != NULL) {
            *ret_origin = found;
            return 0;
        }
        r = load(fs, found);
        inode_unref(fs->inodes, found);
        if (r < 0)
            return r;
    }
}

int defaults_choose(struct fs *fs, struct inode *dir, const char *name, struct choice *ret_choice)
{
    struct inode *origin;
    int r = find_nearest(fs, dir, ret_choice, &origin);

    if (r < 0 || origin != NULL) {
        inode_unref(fs->inodes, r < 0 ? NULL : origin);
        return r;
    }
    *ret_choice = choose_by_name(fs, fs->defaults, name);
    return 0;
}

int defaults_origin(struct fs *fs, struct inode *dir, struct inode **ret_origin)
{
    struct choice choice = { 0 };
    int r = find_nearest(fs, dir, &choice, ret_origin);

    if (r == 0)
        layouts_put(fs->layouts, choice.layout);
    return r;
}

static int store(struct fs *fs, struct inode *dir, const char *text, struct choice *own)
{
    int r;

    pthread_mutex_lock(&dir->lock);
    r = tree_set_text(fs, dir, TEXT_NAME, text);
    if (r == 0)
        inode_know_own(fs->inodes, dir, own);
    else
        layouts_put(fs->layouts, own->layout);
    pthread_mutex_unlock(&dir->lock);
    return r;
}

int defaults_set(struct fs *fs, struct inode *dir, const char *text, struct layout_error *ret_error)
{
    struct file_layout *planned = NULL;
    struct choice own;
    int r = layouts_plan(fs->layouts, text, &planned, &own.rotates, ret_error);

    if (r == 0)
        r = layouts_keep_if_there(fs->layouts, planned, &own.layout, ret_error);
    return r < 0 ? r : store(fs, dir, text, &own);
}

int defaults_remove(struct fs *fs, struct inode *dir)
{
    struct choice none = { 0 };
    int r;

    pthread_mutex_lock(&dir->lock);
    r = tree_set_text(fs, dir, TEXT_NAME, NULL);
    if (r == 0 || r == -ENODATA)
        inode_know_own(fs->inodes, dir, &none);
    pthread_mutex_unlock(&dir->lock);
    return r;
}

/* -- other disks -- */

/* Who is finding out holds the lock, and finds what was so before. */
static void forget_own(void *arg, struct inode *inode)
{
    struct fs *fs = arg;

    if (inode->fmt != S_IFDIR)
        return;
    pthread_mutex_lock(&inode->lock);
    inode_forget_own(fs->inodes, inode);
    pthread_mutex_unlock(&inode->lock);
}

int defaults_refresh(struct fs *fs, struct volume_error *ret_error)
{
    struct defaults *defaults = fs->defaults;
    int first = 0;

    for (uint32_t i = 0; i <= defaults->n_rules; i++) {
        struct volume_error error;
        struct choice fresh, old;
        int r = plan(fs, &defaults->wish[i], &fresh, &error);

        if (r < 0) {
            if (first == 0)
                *ret_error = error;
            first = MIN(first, r);
            continue;
        }
        pthread_mutex_lock(&defaults->lock);
        old = defaults->wish[i].choice;
        defaults->wish[i].choice = fresh;
        pthread_mutex_unlock(&defaults->lock);
        layouts_put(fs->layouts, old.layout);
    }
    inodes_visit(fs->inodes, forget_own, fs);
    return first;
}

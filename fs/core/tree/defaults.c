/* SPDX-License-Identifier: MIT */
#include "fs/core/tree/defaults.h"

#include "fs/core/tree/tree.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define TEXT_NAME "layout"

struct wish {
    char *match; /* names that the rule is for; NULL: it is no rule but the mount's default */
    char *where; /* file and line where the text stands; NULL: the command line */
    struct want *want;
};

struct defaults {
    uint32_t n_rules;
    struct wish wish[]; /* the rules, then the mount's default */
};

/* -- the mount's -- */

static int refuse(const struct wish *wish, const char *text, int r, const struct layout_error *why,
                  struct volume_error *error)
{
    const char *what = wish->match != NULL ? "layout of a rule" : "default layout";
    const char *where = wish->where != NULL ? wish->where : "", *colon = wish->where != NULL ? ": " : "";

    if (r == -EINVAL || r == -ERANGE || r == -E2BIG || r == -EOVERFLOW || r == -ENODEV)
        return volume_fail(error, r, "%s%s%s '%s', column %zu: %s", where, colon, what, text, why->column, why->why);
    return r < 0 ? volume_fail(error, r, "%s%scannot store the %s '%s': %s", where, colon, what, text, strerror(-r))
                 : 0;
}

static int add(struct fs *fs, const struct layout_rule *rule, struct wish *ret_wish, struct volume_error *error)
{
    const char *text = rule->layout;
    struct layout_error why;

    ret_wish->match = rule->match != NULL ? strdup(rule->match) : NULL;
    ret_wish->where = rule->where != NULL ? strdup(rule->where) : NULL;
    if ((rule->match != NULL && ret_wish->match == NULL) || (rule->where != NULL && ret_wish->where == NULL))
        return volume_fail(error, -ENOMEM, "out of memory");
    return refuse(ret_wish, text, want_new(fs->layouts, text, &ret_wish->want, &why), &why, error);
}

int defaults_new(struct fs *fs, const struct layout_rule *whole, const struct layout_rule *rule, uint32_t n_rules,
                 struct defaults **ret_defaults, struct volume_error *ret_error)
{
    struct defaults *defaults = calloc(1, sizeof *defaults + (n_rules + 1) * sizeof defaults->wish[0]);
    int r;

    if (defaults == NULL)
        return volume_fail(ret_error, -ENOMEM, "out of memory");
    defaults->n_rules = n_rules;
    r = add(fs, whole, &defaults->wish[n_rules], ret_error);
    for (uint32_t i = 0; r == 0 && i < n_rules; i++)
        r = add(fs, &rule[i], &defaults->wish[i], ret_error);
    if (r < 0) {
        defaults_free(defaults);
        return r;
    }
    *ret_defaults = defaults;
    return 0;
}

void defaults_free(struct defaults *defaults)
{
    if (defaults == NULL)
        return;
    for (uint32_t i = 0; i <= defaults->n_rules; i++) {
        want_put(defaults->wish[i].want);
        free(defaults->wish[i].match);
        free(defaults->wish[i].where);
    }
    free(defaults);
}

static struct want *find_by_name(const struct defaults *defaults, const char *name)
{
    uint32_t i = 0;

    while (i < defaults->n_rules && (name == NULL || fnmatch(defaults->wish[i].match, name, 0) != 0))
        i++;
    return defaults->wish[i].want;
}

/* -- directories' own -- */

int defaults_get(struct fs *fs, struct inode *dir, char **ret_text)
{
    return tree_get_text(fs, dir, TEXT_NAME, ret_text);
}

/* Whether a directory passes for one without a layout of its own after this error: its text means nothing, is for other
 * disks than there are, or cannot be read by an ordinary user's daemon. That keeps nobody from making files there. */
static bool counts_as_none(int r)
{
    return r == -ENODATA || r == -EINVAL || r == -ERANGE || r == -E2BIG || r == -EOVERFLOW || r == -ENODEV ||
           r == -EUCLEAN || r == -EACCES;
}

static int load_locked(struct fs *fs, struct inode *dir, struct want **ret_own) REQUIRES(dir->lock)
{
    cleanup(freep) char *text = NULL;
    struct want *own = NULL;
    struct layout_error why;
    int r = defaults_get(fs, dir, &text);

    if (r == 0)
        r = want_new(fs->layouts, text, &own, &why);
    if (r < 0 && !counts_as_none(r))
        return r;
    *ret_own = want_ref(own);
    inode_know_own(fs->inodes, dir, own);
    return 0;
}

/* Finds out whether a directory has a layout of its own, with a reference; NULL: it has none. */
static int load(struct fs *fs, struct inode *dir, struct want **ret_own)
{
    int r;

    mutex_lock(&dir->lock);
    r = load_locked(fs, dir, ret_own);
    mutex_unlock(&dir->lock);
    return r;
}

/* Finds the nearest directory, from dir upwards, that has a layout of its own, with a reference to both; NULL for both:
 * there is none. */
static int find_nearest(struct fs *fs, struct inode *dir, struct want **ret_want, struct inode **ret_origin)
{
    for (;;) {
        struct inode *found = inode_nearest_own(fs->inodes, dir, ret_want);
        int r;

        r = found != NULL && *ret_want == NULL ? load(fs, found, ret_want) : 0;
        if (r == 0 && (found == NULL || *ret_want != NULL)) {
            *ret_origin = found;
            return 0;
        }
        inode_unref(fs->inodes, found);
        if (r < 0)
            return r;
    }
}

static int find_want(struct fs *fs, struct inode *dir, const char *name, struct want **ret_want)
{
    struct inode *origin;
    int r = find_nearest(fs, dir, ret_want, &origin);

    if (r < 0)
        return r;
    inode_unref(fs->inodes, origin);
    if (*ret_want == NULL)
        *ret_want = want_ref(find_by_name(fs->defaults, name));
    return 0;
}

int defaults_choose(struct fs *fs, struct inode *dir, const char *name, struct chosen_layout *ret_choice)
{
    struct want *want;
    int r = find_want(fs, dir, name, &want);

    if (r < 0)
        return r;
    r = want_choose(want, ret_choice);
    want_put(want);
    return r;
}

int defaults_plan(struct fs *fs, struct inode *dir, struct chosen_layout *ret_choice)
{
    struct want *want;
    int r = find_want(fs, dir, NULL, &want);

    if (r < 0)
        return r;
    r = want_plan(want, ret_choice);
    want_put(want);
    return r;
}

int defaults_origin(struct fs *fs, struct inode *dir, struct inode **ret_origin)
{
    struct want *want;
    int r = find_nearest(fs, dir, &want, ret_origin);

    if (r == 0)
        want_put(want);
    return r;
}

static int store(struct fs *fs, struct inode *dir, const char *text, struct want *own)
{
    int r;

    mutex_lock(&dir->lock);
    r = tree_set_text(fs, dir, TEXT_NAME, text);
    if (r == 0)
        inode_know_own(fs->inodes, dir, own);
    else
        want_put(own);
    mutex_unlock(&dir->lock);
    return r;
}

static int find_own(struct fs *fs, const char *text, uint32_t turn, struct want **ret_want, struct layout_error *error)
{
    struct file_layout *planned = NULL;
    struct chosen_layout choice;
    int r = layouts_plan(fs->layouts, text, &planned, &choice.rotates, error);

    if (r == 0)
        r = layouts_keep_if_there(fs->layouts, planned, &choice.layout, error);
    return r < 0 ? r : want_of(fs->layouts, text, turn, &choice, ret_want);
}

/* Has the disks asked for their room; true: a text that names no disks means others now than it did in that turn, as
 * one has become full or read-only since all were asked. */
static bool means_others(struct fs *fs, uint32_t turn)
{
    fs->calls->ask_room(fs);
    return layouts_turn(fs->layouts) != turn;
}

int defaults_set(struct fs *fs, struct inode *dir, const char *text, struct layout_error *ret_error)
{
    uint32_t turn = layouts_turn(fs->layouts);
    struct want *own = NULL;
    int r = find_own(fs, text, turn, &own, ret_error);

    if ((r == -ENOSPC || r == -EDQUOT || r == -EROFS) && means_others(fs, turn))
        r = find_own(fs, text, layouts_turn(fs->layouts), &own, ret_error);
    return r < 0 ? r : store(fs, dir, text, own);
}

int defaults_remove(struct fs *fs, struct inode *dir)
{
    int r;

    mutex_lock(&dir->lock);
    r = tree_set_text(fs, dir, TEXT_NAME, NULL);
    if (r == 0 || r == -ENODATA)
        inode_know_own(fs->inodes, dir, NULL);
    mutex_unlock(&dir->lock);
    return r;
}

/* -- other disks -- */

/* Forgets what layout a directory has of its own. A thread that is finding that out holds inode->lock: what it finds is
 * what was so before, and is forgotten after it. */
static void forget_own(void *arg, struct inode *inode)
{
    struct fs *fs = arg;

    if (inode->fmt != S_IFDIR)
        return;
    mutex_lock(&inode->lock);
    inode_forget_own(fs->inodes, inode);
    mutex_unlock(&inode->lock);
}

int defaults_refresh(struct fs *fs, struct volume_error *ret_error)
{
    struct defaults *defaults = fs->defaults;
    int first = 0;

    for (uint32_t i = 0; i <= defaults->n_rules; i++) {
        const struct wish *wish = &defaults->wish[i];
        struct volume_error error;
        struct layout_error why;
        int r = refuse(wish, want_text(wish->want), want_renew(wish->want, &why), &why, &error);

        if (r < 0 && first == 0)
            *ret_error = error;
        first = MIN(first, r);
    }
    inodes_visit(fs->inodes, forget_own, fs);
    return first;
}

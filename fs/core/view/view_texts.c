/* SPDX-License-Identifier: MIT */
#include "fs/core/view/view_texts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TEXT_NAME "views"

/* The text kept with a file has of each view: its name, AFTER_NAME, its text, AFTER_TEXT. */
#define AFTER_NAME '\x1f'
#define AFTER_TEXT '\x1e'

/* Held by whoever reads a file's text of views to write it back. */
static struct mutex lock = MUTEX_INITIALIZER;

bool view_name_is_valid(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char) name[i]) && strchr("._-+=@,:", name[i]) == NULL)
            return false;
    return len > 0 && len <= VIEW_MAX_NAME && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Takes the next view off a text, which it cuts up; false at its end. */
static bool next(char **rest, const char **ret_name, const char **ret_text)
{
    char *name = *rest, *text = strchr(name, AFTER_NAME), *end = text != NULL ? strchr(text, AFTER_TEXT) : NULL;

    if (end == NULL)
        return false;
    *text = 0;
    *end = 0;
    *rest = end + 1;
    *ret_name = name;
    *ret_text = text + 1;
    return true;
}

int view_texts_get(struct fs *fs, struct inode *inode, const char *name, char **ret_text)
{
    cleanup(freep) char *all = NULL;
    const char *found, *text;
    char *rest;
    int r = tree_get_text(fs, inode, TEXT_NAME, &all);

    if (r < 0)
        return r;
    for (rest = all; next(&rest, &found, &text);)
        if (strcmp(found, name) == 0) {
            *ret_text = strdup(text);
            return *ret_text != NULL ? 0 : -ENOMEM;
        }
    return -ENODATA;
}

/* Prints all views but the one of that name; true: there was one. */
static bool copy_others(char *all, const char *name, FILE *out)
{
    const char *found, *text;
    bool was_there = false;
    char *rest = all;

    while (next(&rest, &found, &text)) {
        bool is_it = strcmp(found, name) == 0;

        was_there |= is_it;
        if (!is_it)
            fprintf(out, "%s%c%s%c", found, AFTER_NAME, text, AFTER_TEXT);
    }
    return was_there;
}

static int set(struct fs *fs, struct inode *inode, const char *name, const char *text) REQUIRES(lock)
{
    cleanup(freep) char *all = NULL;
    cleanup(freep) char *changed = NULL;
    bool was_there = false;
    size_t len;
    FILE *out;
    int r = tree_get_text(fs, inode, TEXT_NAME, &all);

    if (r < 0 && r != -ENODATA)
        return r;
    out = open_memstream(&changed, &len);
    if (out == NULL)
        return -ENOMEM;
    if (r == 0)
        was_there = copy_others(all, name, out);
    if (text != NULL)
        fprintf(out, "%s%c%s%c", name, AFTER_NAME, text, AFTER_TEXT);
    if (fclose(out) != 0)
        return -ENOMEM;
    if (text == NULL && !was_there)
        return -ENODATA;
    return tree_set_text(fs, inode, TEXT_NAME, len > 0 ? changed : NULL);
}

int view_texts_set(struct fs *fs, struct inode *inode, const char *name, const char *text)
{
    int r;

    mutex_lock(&lock);
    r = set(fs, inode, name, text);
    mutex_unlock(&lock);
    return r;
}

int view_texts_visit(struct fs *fs, struct inode *inode, bool (*visit)(void *arg, const char *name), void *arg)
{
    cleanup(freep) char *all = NULL;
    const char *name, *text;
    char *rest;
    int r = tree_get_text(fs, inode, TEXT_NAME, &all);

    if (r < 0)
        return r;
    for (rest = all; next(&rest, &name, &text);)
        if (!visit(arg, name))
            break;
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* user.falls.array: what the bytes of a file mean. It is kept with the file, or with a directory for all below that
 * have none of their own, and moves no bytes. */
#include "fs/core/tree/tree.h"
#include "fs/daemon/attr/virtual_rows.h"

#define TEXT_NAME "array"

/* Gives the text of the nearest directory above that has one. -ENODATA: none has. */
static int get_from_above(const struct virtual_call *call, char **ret_text)
{
    struct inodes *inodes = call->fs->inodes;
    struct inode *at = inode_parent(inodes, call->inode);
    int r = -ENODATA;

    while (at != NULL && r == -ENODATA) {
        struct inode *above;

        r = tree_get_text(call->fs, at, TEXT_NAME, ret_text);
        above = inode_parent(inodes, at);
        inode_unref(inodes, at);
        at = above;
    }
    inode_unref(inodes, at);
    return r;
}

/* A file without a text of its own shows its directory's; a directory shows its own alone, so that who copies
 * attributes of directories copies no inherited ones. */
int array_get(const struct virtual_call *call, FILE *out)
{
    cleanup(freep) char *text = NULL;
    int r = tree_get_text(call->fs, call->inode, TEXT_NAME, &text);

    if (r == -ENODATA && call->inode->fmt == S_IFREG)
        r = get_from_above(call, &text);
    if (r == 0)
        fputs(text, out);
    return r;
}

bool array_is_listed(const struct virtual_call *call)
{
    cleanup(freep) char *text = NULL;

    return tree_get_text(call->fs, call->inode, TEXT_NAME, &text) == 0;
}

int array_set(const struct virtual_call *call, const char *value, size_t len)
{
    char type[LAYOUT_MAX_TYPE];
    struct layout_error error = { 0 };
    struct array array;
    int r = virtual_check_owner(call);

    if (r < 0)
        return r;
    r = layout_parse_array(value, len, &array, type, &error);
    if (r < 0)
        return virtual_refuse_text(call, r, &error);
    r = tree_set_text(call->fs, call->inode, TEXT_NAME, value);
    return r == -E2BIG
               ? virtual_refuse(call, r, "the home disk has no room for %zu bytes of attributes: shorten it", len)
               : r;
}

int array_remove(const struct virtual_call *call)
{
    int r = virtual_check_owner(call);

    return r < 0 ? r : tree_set_text(call->fs, call->inode, TEXT_NAME, NULL);
}

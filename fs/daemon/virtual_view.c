/* SPDX-License-Identifier: MIT */
/* user.falls.view.NAME: a part of a file that is a file of its own, .falls/views/PATH/NAME. */
#include "fs/core/view.h"
#include "fs/core/view_texts.h"
#include "fs/daemon/virtual.h"

int view_get(const struct virtual_call *call, FILE *out)
{
    cleanup(freep) char *text = NULL;
    int r = view_texts_get(call->fs, call->inode, call->rest, &text);

    if (r == 0)
        fputs(text, out);
    return r;
}

/* What ends a line in a terminal, or a text where it is kept, is no notation. */
static int check_characters(const struct virtual_call *call, const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) value[i] < ' ' && value[i] != '\n' && value[i] != '\t')
            return virtual_refuse(call, -EINVAL, "column %zu: a control character: this is no text", i + 1);
    return 0;
}

int view_set(const struct virtual_call *call, const char *value, size_t len)
{
    struct layout_error error = { 0 };
    struct view *view;
    int r = virtual_check_owner(call);

    if (r == 0 && !view_name_is_valid(call->rest))
        r = virtual_refuse(call, -EINVAL, "a view's name has letters, digits and ._-+=@,: alone");
    if (r == 0)
        r = check_characters(call, value, len);
    if (r < 0)
        return r;
    r = view_parse(value, len, call->fs->volume->n_disks, &view, &error);
    if (r < 0)
        return virtual_refuse_text(call, r, &error);
    view_put(view);
    r = view_texts_set(call->fs, call->inode, call->rest, value);
    return r == -E2BIG ? virtual_refuse(call, r,
                                        "the home disk has no room for so many attributes: remove a view with setfattr "
                                        "-x, or write this one shorter, as with array(...)")
                       : r;
}

int view_remove(const struct virtual_call *call)
{
    int r = virtual_check_owner(call);

    return r < 0 ? r : view_texts_set(call->fs, call->inode, call->rest, NULL);
}

/* SPDX-License-Identifier: MIT */
/* user.falls.view.NAME: a part of a file that is a file of its own, .falls/views/PATH/NAME. */
#include "fs/core/view/view.h"
#include "fs/core/view/view_texts.h"
#include "fs/daemon/attr/virtual_rows.h"

#include <stdarg.h>
#include <string.h>

int view_get(const struct virtual_call *call, FILE *out)
{
    cleanup(freep) char *text = NULL;
    int r = view_texts_get(call->fs, call->inode, call->rest, &text);

    if (r == 0)
        fputs(text, out);
    return r;
}

/* Refuses control characters other than newline and tab: no layout's text has them, and shown on a terminal they would
 * do harm. */
static int check_characters(const struct virtual_call *call, const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) value[i] < ' ' && value[i] != '\n' && value[i] != '\t')
            return virtual_refuse(call, -EINVAL, "column %zu: a control character: this is no text", i + 1);
    return 0;
}

/* Gives the text that is kept for a view. One that leaves the number of elements to the volume is kept with the disks
 * there are now, so that it means the same when disks join or leave. Copies are left out there: no view depends on
 * where its bytes lie. */
static int pin(const struct view *view, uint32_t n_disks, const char *value, char **ret_text)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(freep) char *text = NULL;
    struct layout_error error;
    bool leaves_open = layout_parse(view->layout->text, strlen(view->layout->text), 0, &layout, &error) == 0 &&
                       layout->pattern == NULL;
    char disks[32];

    if (!leaves_open) {
        *ret_text = strdup(value);
        return *ret_text != NULL ? 0 : -ENOMEM;
    }
    snprintf(disks, sizeof disks, " on d0-d%" PRIu32, n_disks - 1);
    layout->copies = 1;
    text = layout_with_disks(layout, disks);
    return text == NULL || asprintf(ret_text, "%s element %" PRIu32, text, view->element) < 0 ? -ENOMEM : 0;
}

int view_set(const struct virtual_call *call, const char *value, size_t len)
{
    cleanup(freep) char *text = NULL;
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
    r = pin(view, call->fs->volume->n_disks, value, &text);
    view_put(view);
    if (r == 0)
        r = view_texts_set(call->fs, call->inode, call->rest, text);
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

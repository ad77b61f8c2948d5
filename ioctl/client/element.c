/* SPDX-License-Identifier: MIT */
/* Elements of layouts as sets of FALLS: what a rank has of an array that is dealt out in any way that layouts know. */
#include "ioctl/client/element.h"

#include "ioctl/client/client.h"

#include <stdio.h>
#include <string.h>

int element_find(const char *text, uint32_t element, struct layout **ret_layout)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;
    int r = layout_parse(text, strlen(text), 0, &layout, &error);

    if (r < 0)
        return words(r, "column %zu of the layout: %s", error.column, error.why);
    if (layout->pattern == NULL)
        return words(-EINVAL, "the layout leaves open how many elements it has: say so, as in stripe(64K,4)");
    if (element >= layout->pattern->n_elements)
        return words(-ENOENT, "the layout has %u elements, numbered from 0: there is no element %u",
                     layout->pattern->n_elements, element);
    *ret_layout = steal(layout);
    return 0;
}

/* As the daemon takes it. */
static int print(const struct nest *nest, char **ret_falls)
{
    cleanup(freep) char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return words(-ENOMEM, "there is not enough memory");
    nest_print(out, nest);
    if (fclose(out) != 0)
        return words(-ENOMEM, "there is not enough memory");
    *ret_falls = steal(text);
    return 0;
}

static int transfer(struct fallsfs_group *group, const char *text, uint32_t element, bool write, void *buf)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(freep) char *falls = NULL;
    int r = element_find(text, element, &layout);

    if (r == 0)
        r = print(layout->pattern->element[element].once, &falls);
    if (r == 0) {
        const struct wish wish = {
            .fd = group_fd(group), .group = group, .write = write, .disp = layout->disp, .falls = falls, .buf = buf
        };

        r = wish_run(&wish);
    }
    return r;
}

int fallsfs_read_element_all(struct fallsfs_group *group, const char *layout, uint32_t element, void *buf)
{
    return transfer(group, layout, element, false, buf);
}

int fallsfs_write_element_all(struct fallsfs_group *group, const char *layout, uint32_t element, const void *buf)
{
    return transfer(group, layout, element, true, drop_const(buf));
}

uint64_t fallsfs_element_bytes(const char *layout, uint32_t element)
{
    cleanup(layout_freep) struct layout *found = NULL;

    return element_find(layout, element, &found) == 0 ? found->pattern->element[element].once->size : 0;
}

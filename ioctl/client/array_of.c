/* SPDX-License-Identifier: MIT */
/* What the bytes of a file mean, as its attribute says. */
#include "ioctl/client/client.h"
#include "layout/layout.h"

#include <string.h>
#include <sys/xattr.h>

#define ATTRIBUTE "user.falls.array"

_Static_assert(FALLSFS_TYPE_SIZE == LAYOUT_MAX_TYPE && FALLSFS_MAX_DIMS == ARRAY_MAX_DIMS, "the layout's limits");

static int words_none(int r)
{
    switch (r) {
    case -ENODATA:
        return words(
            r, "nobody has said what array this is: fallsctl array set FILE reads it from headers, or set " ATTRIBUTE
               ", as in shape=8192x8192 type=f8");
    case -EOPNOTSUPP:
        return words(r, "this is no regular file of a file system that keeps attributes, so that nobody can have said "
                        "what array it is");
    case -ERANGE:
        return words(r, ATTRIBUTE " has more than %u bytes, which no array needs", FALLS_MAX_TEXT);
    default:
        return words(r, ATTRIBUTE " cannot be read: %s", strerror(-r));
    }
}

int fallsfs_array_of(int fd, struct fallsfs_array *ret_array, char ret_type[FALLSFS_TYPE_SIZE])
{
    cleanup(freep) char *text = malloc(FALLS_MAX_TEXT);
    ssize_t len = text != NULL ? fgetxattr(fd, ATTRIBUTE, text, FALLS_MAX_TEXT) : -1;
    struct layout_error error;
    char type[LAYOUT_MAX_TYPE];
    struct array array = { 0 };
    int r;

    if (text == NULL)
        return words(-ENOMEM, "there is not enough memory here");
    if (len < 0)
        return words_none(-errno);
    r = layout_parse_array(text, (size_t) len, &array, type, &error);
    if (r < 0)
        return words(r, "column %zu of " ATTRIBUTE ": %s", error.column, error.why);
    *ret_array = (struct fallsfs_array){ array.ndims, (uint32_t) array.order, array.elem, array.header, { 0 } };
    memcpy(ret_array->size, array.size, sizeof array.size);
    if (ret_type != NULL)
        memcpy(ret_type, type, sizeof type);
    return 0;
}

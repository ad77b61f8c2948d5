/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/section_read.h"

#include "layout/layout.h"

bool section_read_range(char *text, struct range *ret_range)
{
    uint64_t value[3] = { 0, 0, 1 };
    size_t n = 0;

    while (text != NULL && n < ARRAY_SIZE(value))
        if (layout_parse_size(strsep(&text, ":"), &value[n++]) < 0)
            return false;
    *ret_range = (struct range){ value[0], value[1], value[2] };
    return text == NULL && n >= 2;
}

int section_read(const char *text, const struct array *array, const char *array_text, struct nest **ret_nest,
                 char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *copy = strdup(text);
    struct range section[ARRAY_MAX_DIMS];
    char *rest = copy;
    uint32_t n = 0;
    int r;

    while (rest != NULL && n < ARRAY_MAX_DIMS)
        if (!section_read_range(strsep(&rest, ","), &section[n++]))
            return attrs_refuse(ret_why, -EINVAL, "--section %s is not L:U:S in each dimension, as in 0:7:1,0:0", text);
    if (n != array->ndims || rest != NULL)
        return attrs_refuse(ret_why, -EINVAL, "--section %s: the array has %" PRIu32 " dimensions: %s", text,
                            array->ndims, array_text);
    r = section_new(array, section, ret_nest);
    if (r == -ERANGE)
        return attrs_refuse(ret_why, r, "--section %s reaches outside the array: %s", text, array_text);
    return r < 0 ? attrs_refuse(ret_why, r, "--section %s: %s", text,
                                r == -EINVAL ? "a stride is at least 1" : strerror(-r))
                 : 0;
}

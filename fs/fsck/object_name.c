/* SPDX-License-Identifier: MIT */
#include "fs/fsck/object_name.h"

#include <limits.h>
#include <string.h>

static bool read_number(const char **at, uint64_t max, uint64_t *ret)
{
    const char *start = *at;
    char *end;

    if (*start < '0' || *start > '9' || (*start == '0' && start[1] >= '0' && start[1] <= '9'))
        return false;
    errno = 0;
    *ret = strtoull(start, &end, 10);
    *at = end;
    return errno == 0 && *ret <= max;
}

bool object_name_parse(const char *name, struct object_name *ret)
{
    uint64_t slot;

    *ret = (struct object_name){ 0 };
    if (strnlen(name, 2 * ID_SIZE + 2) < 2 * ID_SIZE + 2 || hex_parse(name, ID_SIZE, ret->id) < 0 ||
        name[2 * ID_SIZE] != '.')
        return false;
    name += 2 * ID_SIZE + 1;
    ret->is_copy = strcmp(name, "m") == 0;
    ret->is_fresh = strcmp(name, "m.new") == 0;
    if (ret->is_copy || ret->is_fresh)
        return true;
    if (!read_number(&name, UINT64_MAX, &ret->gen) || *name++ != '.')
        return false;
    ret->is_header = strcmp(name, "h") == 0;
    if (ret->is_header)
        return true;
    if (!read_number(&name, UINT32_MAX - 2, &slot) || *name != 0)
        return false;
    ret->slot = (uint32_t) slot;
    return true;
}

bool object_name_parse_lost(const char *name, struct object_name *ret)
{
    const char *dot = strrchr(name, '.'), *number = dot != NULL ? dot + 1 : NULL;
    char first[NAME_MAX + 1];
    uint64_t any;

    if (object_name_parse(name, ret))
        return true;
    if (number == NULL || !read_number(&number, UINT64_MAX, &any) || *number != 0 || dot - name > NAME_MAX)
        return false;
    memcpy(first, name, (size_t) (dot - name));
    first[dot - name] = 0;
    return object_name_parse(first, ret);
}

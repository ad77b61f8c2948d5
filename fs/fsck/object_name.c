/* SPDX-License-Identifier: MIT */
#include "fs/fsck/object_name.h"

#include "fs/core/volume/file_layouts.h"

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

/* Moves *at behind a word; false: it does not begin with that. */
static bool read_word(const char **at, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(*at, word, len) != 0)
        return false;
    *at += len;
    return true;
}

/* Reads what tells whose subfile it is, a generation or the number of a replica. */
static bool read_origin(const char **at, struct object_name *ret)
{
    uint64_t number;

    if (!read_word(at, "r"))
        return read_number(at, REPLICA_GEN - 1, &ret->gen);
    ret->kind = OBJECT_REPLICA;
    if (!read_number(at, UINT32_MAX - 1, &number))
        return false;
    ret->replica = (uint32_t) number;
    return true;
}

static bool read_slot(const char **at, struct object_name *ret)
{
    uint64_t slot;

    ret->is_header = read_word(at, "h");
    if (ret->is_header)
        return true;
    if (!read_number(at, UINT32_MAX - 2, &slot))
        return false;
    ret->slot = (uint32_t) slot;
    return true;
}

/* Reads what stands behind the id and a dot, but for the end. */
static bool read_rest(const char **at, struct object_name *ret)
{
    if (read_word(at, "m")) {
        ret->kind = OBJECT_COPY;
        return true;
    }
    if ((*at)[0] == 'r' && ((*at)[1] < '0' || (*at)[1] > '9')) {
        ret->kind = OBJECT_MAP;
        return read_word(at, "r");
    }
    return read_origin(at, ret) && read_word(at, ".") && read_slot(at, ret);
}

bool object_name_parse(const char *name, struct object_name *ret)
{
    *ret = (struct object_name){ 0 };
    if (strnlen(name, 2 * ID_SIZE + 2) < 2 * ID_SIZE + 2 || hex_parse(name, ID_SIZE, ret->id) < 0 ||
        name[2 * ID_SIZE] != '.')
        return false;
    name += 2 * ID_SIZE + 1;
    if (!read_rest(&name, ret))
        return false;
    ret->is_fresh = read_word(&name, ".new");
    return *name == 0;
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

/* SPDX-License-Identifier: MIT */
#include "fs/core/disk/disk_list.h"

#include <stdio.h>
#include <string.h>

static bool is_special(char c)
{
    return c == ':' || c == '\\';
}

static size_t printed_len(const char *path)
{
    size_t len = 0;

    for (; *path != 0; path++)
        len += is_special(*path) ? 2 : 1;
    return len;
}

char *disk_list_print(char *const path[], uint32_t n, size_t max)
{
    cleanup(freep) char *list = NULL;
    size_t len;
    FILE *out = open_memstream(&list, &len);

    if (out == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            fputc(':', out);
        if (i > 0 && (size_t) ftell(out) + printed_len(path[i]) > max) {
            fputs(DISK_LIST_MORE, out);
            break;
        }
        for (const char *at = path[i]; *at != 0; at++)
            fprintf(out, is_special(*at) ? "\\%c" : "%c", *at);
    }
    return fclose(out) == 0 ? steal(list) : NULL;
}

int disk_list_next(const char **at, char **ret_path)
{
    const char *from = *at + strspn(*at, ":");
    char *path, *to;

    if (*from == 0) {
        *at = from;
        return 0;
    }
    path = to = malloc(strlen(from) + 1);
    if (path == NULL)
        return -ENOMEM;
    for (; *from != 0 && *from != ':'; from++) {
        if (from[0] == '\\' && is_special(from[1]))
            from++;
        *to++ = *from;
    }
    *to = 0;
    *at = from;
    *ret_path = path;
    return 1;
}

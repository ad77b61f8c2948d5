/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/attrs.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define FUSE_MAGIC 0x65735546
#define MAX_VALUE  65536

static void full_name(const char *name, char ret_name[static 256])
{
    snprintf(ret_name, 256, "user.falls.%s", name);
}

const char *attrs_strerror(int r)
{
    if (r == -ENOTCONN)
        return "its daemon is gone: unmount it and mount it again";
    if (r == -EROFS)
        return "the mount is read-only: unmount it and mount it again without -o ro";
    return strerror(-r);
}

int attrs_get(const char *path, const char *name, char **ret_text)
{
    cleanup(freep) char *text = malloc(MAX_VALUE + 1);
    char full[256];
    ssize_t n;

    if (text == NULL)
        return -ENOMEM;
    full_name(name, full);
    n = getxattr(path, full, text, MAX_VALUE);
    if (n < 0)
        return -errno;
    text[n] = 0;
    *ret_text = steal(text);
    return 0;
}

/* Appends the lines of user.falls.map from subfile first on, as many as one value has room for, and counts them. */
static int add_part(const char *path, FILE *out, uint64_t first, uint64_t *ret_n)
{
    cleanup(freep) char *part = NULL;
    char name[64];
    int r;

    snprintf(name, sizeof name, "map.%" PRIu64, first);
    r = attrs_get(path, name, &part);
    if (r < 0)
        return r;
    fputs(part, out);
    *ret_n = 0;
    for (const char *at = part; (at = strchr(at, '\n')) != NULL; at++)
        (*ret_n)++;
    return 0;
}

int attrs_get_map(const char *path, char **ret_text)
{
    char *text = NULL;
    uint64_t first = 0, n = 1;
    int r = attrs_get(path, "map", ret_text);
    size_t len;
    FILE *out;

    if (r != -E2BIG)
        return r;
    out = open_memstream(&text, &len);
    if (out == NULL)
        return -ENOMEM;
    for (r = 0; r == 0 && n > 0; first += n)
        r = add_part(path, out, first, &n);
    if (fclose(out) != 0)
        r = -ENOMEM;
    if (r == 0)
        *ret_text = text;
    else
        free(text);
    return r;
}

int attrs_set(const char *path, const char *name, const char *text, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *why = NULL;
    char full[256];
    int r;

    full_name(name, full);
    if (text != NULL)
        r = setxattr(path, full, text, strlen(text), 0) < 0 ? -errno : 0;
    else
        r = removexattr(path, full) < 0 ? -errno : 0;
    if (r == 0)
        return 0;
    if (r != -ENODATA && attrs_get(path, "lasterror", &why) == 0)
        snprintf(ret_why, ATTRS_WHY, "%s", why);
    else
        snprintf(ret_why, ATTRS_WHY, "%s", attrs_strerror(r));
    return r;
}

int attrs_check(const char *path, char **ret_json, char ret_why[static ATTRS_WHY])
{
    struct statfs st;
    int r = statfs(path, &st) < 0 ? -errno : 0;

    if (r == 0)
        r = st.f_type == FUSE_MAGIC ? attrs_get(path, "layout.json", ret_json) : -ENODATA;
    if (r == -ENODATA || r == -EOPNOTSUPP)
        snprintf(ret_why, ATTRS_WHY, "is no file or directory in a mounted fallsfs; 'fallsctl status' lists those");
    else if (r < 0)
        snprintf(ret_why, ATTRS_WHY, "%s", attrs_strerror(r));
    return r;
}

int attrs_refuse(char ret_why[static ATTRS_WHY], int r, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(ret_why, ATTRS_WHY, fmt, list);
    va_end(list);
    return r;
}

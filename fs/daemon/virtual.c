/* SPDX-License-Identifier: MIT */
#include "fs/daemon/virtual.h"

#include "fs/core/tree.h"

#include <stdarg.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PREFIX    "user.falls."
#define MAX_VALUE 65536 /* the kernel's limit for a value */

static int lasterror_get(const struct virtual_call *call, FILE *out)
{
    const struct asker asker = { call->cred.uid, call->cred.pid, call->inode->ino };
    char why[REASON_SIZE];

    if (!reasons_find(call->reasons, &asker, why))
        return -ENODATA;
    fputs(why, out);
    return 0;
}

static const struct virtual_attr table[] = {
    { "layout", ON_FILE | ON_DIRECTORY, layout_get, layout_set, layout_remove, layout_is_listed },
    { "layout.json", ON_FILE | ON_DIRECTORY, .get = layout_json_get },
    { "array", ON_FILE | ON_DIRECTORY, array_get, array_set, array_remove, array_is_listed },
    { "view.", ON_FILE, .get = view_get, .set = view_set, .remove = view_remove },
    { "map", ON_FILE, .get = map_get },
    { "map.", ON_FILE, .get = map_get_from },
    { "at.", ON_FILE, .get = at_get },
    { "migrate", ON_FILE | ON_DIRECTORY, .get = migrate_get, .set = migrate_set },
    { "leave.", ON_FILE, .get = leave_get },
    { "disks", ON_DIRECTORY, .get = disks_get, .set = disks_set },
    { "jobs", ON_DIRECTORY, .set = jobs_set },
    { "jobs.", ON_DIRECTORY, .get = jobs_get },
    { "lasterror", ON_FILE | ON_DIRECTORY, .get = lasterror_get },
};

/* -- finding the row -- */

static bool is_on(const struct virtual_attr *attr, const struct inode *inode)
{
    unsigned kind = inode->fmt == S_IFREG ? ON_FILE : inode->fmt == S_IFDIR ? ON_DIRECTORY : 0;

    return (attr->on & kind) != 0;
}

/* The row for a name, and in the call what of the name is behind it. */
static const struct virtual_attr *find(struct virtual_call *call, const char *name)
{
    name += strlen(PREFIX);
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        size_t len = strlen(table[i].name);
        bool is_prefix = table[i].name[len - 1] == '.';

        if (strncmp(name, table[i].name, len) != 0 || is_prefix == (name[len] == 0) || !is_on(&table[i], call->inode))
            continue;
        call->rest = name + len;
        return &table[i];
    }
    return NULL;
}

bool virtual_is(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

/* -- refusing -- */

int virtual_refuse(const struct virtual_call *call, int r, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(call->why, REASON_SIZE, fmt, list);
    va_end(list);
    return r;
}

int virtual_check_owner(const struct virtual_call *call)
{
    struct stat st;
    int r = call->cred.uid == 0 ? 0 : tree_stat(call->fs, call->inode, &st);

    if (r == 0 && call->cred.uid != 0 && st.st_uid != call->cred.uid)
        r = virtual_refuse(call, -EPERM, "only the owner, user %u, and root may set this: ask them", st.st_uid);
    return r;
}

int virtual_check_may_lay_out(const struct virtual_call *call)
{
    bool is_admin = call->cred.uid == 0 || call->cred.uid == geteuid();

    if (!is_admin && (call->allow == ALLOW_ADMIN || (call->allow == ALLOW_GROUP && !call->in_group)))
        return virtual_refuse(
            call, -EPERM,
            call->allow == ALLOW_ADMIN
                ? "only root and who mounted may give layouts here: layout.allow of the configuration says so"
                : "you are not in the group that may give layouts here: layout.gid of the "
                  "configuration names it");
    return virtual_check_owner(call);
}

int virtual_refuse_text(const struct virtual_call *call, int r, const struct layout_error *error)
{
    char line[32] = "";

    if (error->line > 0)
        snprintf(line, sizeof line, "line %zu, ", error->line);
    switch (r) {
    case -EINVAL:
    case -ERANGE: /* a gap or an overlap; of getxattr it means something else */
    case -EOVERFLOW:
        return virtual_refuse(call, -EINVAL, "%scolumn %zu: %s", line, error->column, error->why);
    case -E2BIG:
    case -ENODEV:
        return virtual_refuse(call, r, "%scolumn %zu: %s", line, error->column, error->why);
    case -ENXIO:
        return virtual_refuse(call, r, "%s", error->why);
    default:
        return r;
    }
}

/* What nobody has found words for. */
static void explain(const struct virtual_call *call, const char *name, int r)
{
    if (call->why[0] != 0)
        return;
    if (r == -EROFS)
        virtual_refuse(call, r, "%s: the volume is mounted read-only", name);
    else
        virtual_refuse(call, r, "%s: %s", name, strerror(-r));
}

/* Every order ends here. */
static int finish(struct virtual_call *call, const char *name, int r)
{
    const struct asker asker = { call->cred.uid, call->cred.pid, call->inode->ino };

    if (r == 0) {
        reasons_clear(call->reasons, &asker);
    } else {
        explain(call, name, r);
        reasons_note(call->reasons, &asker, call->why);
    }
    return r;
}

/* -- the calls -- */

static ssize_t get(const struct virtual_attr *attr, const struct virtual_call *call, char **ret_value)
{
    cleanup(freep) char *value = NULL;
    size_t len = 0;
    FILE *out;
    int r;

    if (attr->get == NULL)
        return -ENODATA;
    out = open_memstream(&value, &len);
    if (out == NULL)
        return -ENOMEM;
    r = attr->get(call, out);
    if (fclose(out) != 0)
        r = -ENOMEM;
    if (r == 0 && len > MAX_VALUE)
        r = -E2BIG;
    if (r < 0)
        return r;
    *ret_value = steal(value);
    return (ssize_t) len;
}

ssize_t virtual_get(struct virtual_call *call, const char *name, char **ret_value)
{
    const struct virtual_attr *attr = find(call, name);

    return attr != NULL ? get(attr, call, ret_value) : -ENODATA;
}

/* XATTR_CREATE and XATTR_REPLACE ask whether there is a value. */
static int check_flags(const struct virtual_attr *attr, const struct virtual_call *call, int flags)
{
    cleanup(freep) char *value = NULL;
    ssize_t n;

    if (flags == 0)
        return 0;
    n = get(attr, call, &value);
    if (n < 0 && n != -ENODATA)
        return (int) n;
    if ((flags & XATTR_CREATE) != 0 && n >= 0)
        return -EEXIST;
    return (flags & XATTR_REPLACE) != 0 && n < 0 ? -ENODATA : 0;
}

static int set(const struct virtual_attr *attr, const struct virtual_call *call, const char *name, const char *value,
               size_t len, int flags)
{
    cleanup(freep) char *copy = NULL;
    int r;

    if (attr->set == NULL)
        return virtual_refuse(call, -EPERM, "%s can only be read", name);
    if (call->fs->read_only)
        return -EROFS;
    r = check_flags(attr, call, flags);
    if (r < 0)
        return r;
    copy = strndup(value, len);
    if (copy == NULL)
        return -ENOMEM;
    if (strlen(copy) != len)
        return virtual_refuse(call, -EINVAL, "column %zu: a zero byte: this is no text", strlen(copy) + 1);
    return attr->set(call, copy, len);
}

int virtual_set(struct virtual_call *call, const char *name, const char *value, size_t len, int flags)
{
    const struct virtual_attr *attr = find(call, name);
    int r = attr != NULL ? set(attr, call, name, value, len, flags)
                         : virtual_refuse(call, -ENODATA, "%s: there is no such attribute here", name);

    return finish(call, name, r);
}

int virtual_remove(struct virtual_call *call, const char *name)
{
    const struct virtual_attr *attr = find(call, name);
    int r = -ENODATA;

    if (attr == NULL)
        return r;
    if (attr->remove != NULL)
        r = call->fs->read_only ? -EROFS : attr->remove(call);
    else
        r = virtual_refuse(call, -EPERM, "%s cannot be removed", name);
    return finish(call, name, r);
}

size_t virtual_list(struct virtual_call *call, char *list, size_t len, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        size_t n = strlen(PREFIX) + strlen(table[i].name) + 1;

        if (table[i].is_listed == NULL || !is_on(&table[i], call->inode) || !table[i].is_listed(call))
            continue;
        if (len + n <= size)
            snprintf(list + len, n, PREFIX "%s", table[i].name);
        len += n;
    }
    return len;
}

/* SPDX-License-Identifier: MIT */
#include "fs/daemon/attr/virtual.h"

#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/serve/requests.h"

#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX_VALUE 65536 /* the kernel's limit for a value */

enum {
    ON_FILE = 1,
    ON_DIRECTORY = 2,
};

/* A row of the table: one attribute, or all whose names begin alike. A function that is NULL means that the attribute
 * does not allow that. */
struct virtual_attr {
    const char *name; /* behind user.falls.; with a dot at the end: whatever begins so */
    unsigned on;
    int (*get)(const struct virtual_call *call, FILE *out);
    int (*set)(const struct virtual_call *call, const char *value, size_t len); /* value[len] is 0 */
    int (*remove)(const struct virtual_call *call);
    bool (*is_listed)(const struct virtual_call *call); /* NULL: never, so that nobody copies it */
};

static int lasterror_get(const struct virtual_call *call, FILE *out)
{
    const struct asker asker = { call->cred.uid, call->cred.pid, call->inode->ino };
    char why[LAST_ERROR_SIZE];

    if (!last_errors_find(call->last_errors, &asker, why))
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
    { "replicas", ON_FILE, .get = replicas_get, .set = replicas_set },
    { "replicas.json", ON_FILE, .get = replicas_json_get },
    { "replicas.cost.", ON_FILE, .get = replicas_cost_get },
    { "replicas.map", ON_FILE, .get = replicas_map_get },
    { "leave.", ON_FILE, .get = leave_get },
    { "disks", ON_DIRECTORY, .get = disks_get, .set = disks_set },
    { "disks.json", ON_DIRECTORY, .get = disks_json_get },
    { "layouts", ON_DIRECTORY, .get = layouts_get_count, .set = layouts_set_order },
    { "jobs", ON_DIRECTORY, .set = jobs_set },
    { "jobs.json", ON_DIRECTORY, .get = jobs_get_orders },
    { "jobs.", ON_DIRECTORY, .get = jobs_get },
    { "stats", ON_FILE, .get = counts_get },
    { "trace", ON_FILE | ON_DIRECTORY, .get = trace_get, .set = trace_set },
    { "lasterror", ON_FILE | ON_DIRECTORY, .get = lasterror_get },
};

/* -- finding the row -- */

static bool is_on(const struct virtual_attr *attr, const struct inode *inode)
{
    unsigned kind = inode->fmt == S_IFREG ? ON_FILE : inode->fmt == S_IFDIR ? ON_DIRECTORY : 0;

    return (attr->on & kind) != 0;
}

/* Finds the row for a name, and sets call->rest to what of the name is behind the row's. NULL: there is no such row. */
static const struct virtual_attr *find(struct virtual_call *call, const char *name)
{
    name += strlen(VIRTUAL_PREFIX);
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

/* Says why an order failed, where the row's function has not done so itself. */
static void explain(const struct virtual_call *call, const char *name, int r)
{
    if (call->why[0] != 0)
        return;
    if (r == -EROFS && call->fs->read_only)
        virtual_refuse(call, r, "%s: the volume is mounted read-only", name);
    else
        virtual_refuse(call, r, "%s: %s", name, strerror(-r));
}

/* Ends an order, whatever came of it: user.falls.lasterror has the reason afterwards, or nothing after a success. */
static int finish(struct virtual_call *call, const char *name, int r)
{
    const struct asker asker = { call->cred.uid, call->cred.pid, call->inode->ino };

    if (r == -ETIMEDOUT)
        return r; /* the request is parked, not refused yet */
    if (r == 0) {
        last_errors_clear(call->last_errors, &asker);
    } else {
        if (call->why[0] != 0)
            request_is_explained();
        explain(call, name, r);
        last_errors_note(call->last_errors, &asker, call->why);
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

/* Checks what XATTR_CREATE and XATTR_REPLACE demand: that the attribute has no value yet, or that it has one. */
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
        size_t n = strlen(VIRTUAL_PREFIX) + strlen(table[i].name) + 1;

        if (table[i].is_listed == NULL || !is_on(&table[i], call->inode) || !table[i].is_listed(call))
            continue;
        if (len + n <= size)
            snprintf(list + len, n, VIRTUAL_PREFIX "%s", table[i].name);
        len += n;
    }
    return len;
}

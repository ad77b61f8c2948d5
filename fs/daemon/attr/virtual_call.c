/* SPDX-License-Identifier: MIT */
#include "fs/daemon/attr/virtual_call.h"

#include "fs/core/file/file.h"
#include "fs/core/tree/tree.h"
#include "fs/daemon/serve/handle.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define LIMIT "limit="

bool virtual_is(const char *name)
{
    return strncmp(name, VIRTUAL_PREFIX, strlen(VIRTUAL_PREFIX)) == 0;
}

int virtual_refuse(const struct virtual_call *call, int r, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(call->why, LAST_ERROR_SIZE, fmt, list);
    va_end(list);
    return r;
}

int virtual_read_limit(const struct virtual_call *call, const char **word, uint64_t *ret_limit)
{
    cleanup(freep) char *size = NULL;
    size_t len;

    *ret_limit = 0;
    if (strncmp(*word, LIMIT, strlen(LIMIT)) != 0)
        return 0;
    *word += strlen(LIMIT);
    len = strcspn(*word, " ");
    size = strndup(*word, len);
    if (size == NULL)
        return -ENOMEM;
    if (layout_parse_size(size, ret_limit) < 0)
        return virtual_refuse(call, -EINVAL, "column %zu: a limit is bytes a second, as limit=100M", strlen(LIMIT) + 1);
    *word += len + strspn(*word + len, " ");
    return 0;
}

int virtual_keep_layout(const struct virtual_call *call, const char *text, struct file_layout **ret_layout,
                        bool *ret_rotates)
{
    struct layout_error error = { 0 };
    struct file_layout *planned;
    int r = layouts_plan(call->fs->layouts, text, &planned, ret_rotates, &error);

    if (r == 0)
        r = layouts_keep_if_there(call->fs->layouts, planned, ret_layout, &error);
    return r < 0 ? virtual_refuse_text(call, r, &error) : 0;
}

int virtual_charge(const struct virtual_call *call, struct file *file, const struct file_layout *layout)
{
    int r = handles_recharge(call->handles, call->inode, file_weight(file) + file_layout_weight(layout));

    if (r == -ENFILE)
        return virtual_refuse(call, r,
                              "who has the file open may not take as many descriptors of the daemon as it would with "
                              "both layouts, one for each subfile, or for each 2 KiB of memory that a layout takes: "
                              "close it, or ask for more, limits.descriptors in fallsfs.conf");
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
    case -ERANGE: /* a gap or an overlap; from an attribute's call ERANGE would mean a short buffer */
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

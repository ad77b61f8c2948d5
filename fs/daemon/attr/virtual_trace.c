/* SPDX-License-Identifier: MIT */
/* user.falls.trace: whether accesses to a file, or to what is below a directory, are recorded.
 *
 *     setfattr -n user.falls.trace -v start FILE            those that the kernel's cache does not answer itself
 *     setfattr -n user.falls.trace -v 'start every' FILE    all, of what is opened from now on
 *     setfattr -n user.falls.trace -v stop FILE
 *     getfattr -n user.falls.trace --only-values FILE       state=on how=every open=0 records=17 dropped=0
 */
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/trace/tracing.h"

int trace_get(const struct virtual_call *call, FILE *out)
{
    struct tracing_state state;
    int r = tracing_state(call->tracing, call->inode, call->cred.uid, &state);

    if (r == 0)
        fprintf(out, "state=%s how=%s open=%" PRIu32 " records=%" PRIu64 " dropped=%" PRIu64 "\n",
                state.is_on ? "on" : "off", state.every ? "every" : "cache", state.n_open, state.count.records,
                state.count.dropped);
    return r;
}

static int start(const struct virtual_call *call, bool every)
{
    int r = tracing_start(call->tracing, call->inode, call->cred.uid, every);

    if (r == -EOPNOTSUPP)
        return virtual_refuse(call, r,
                              "this kernel maps nothing that is read past its cache, so that programs would fail: "
                              "'start' records what comes through the cache; .falls/kernel has what is missing");
    if (r == -EUSERS)
        return virtual_refuse(call, r, "this user traces as many files and directories as he may: stop one");
    return r;
}

int trace_set(const struct virtual_call *call, const char *value, size_t len)
{
    bool every = strcmp(value, "start every") == 0;
    int r = call->inode->fmt == S_IFREG ? virtual_check_owner(call) : 0;

    (void) len;
    if (r < 0)
        return r;
    if (every || strcmp(value, "start") == 0)
        return start(call, every);
    if (strcmp(value, "stop") != 0)
        return virtual_refuse(call, -EINVAL, "say 'start', 'start every' or 'stop'");
    r = tracing_stop(call->tracing, call->inode, call->cred.uid);
    return r == -ENOENT ? virtual_refuse(call, -EINVAL, "you have begun no trace here") : r;
}

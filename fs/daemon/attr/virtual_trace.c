/* SPDX-License-Identifier: MIT */
/* user.falls.trace: whether accesses to a file, or to what is below a directory, are recorded.
 *
 *     setfattr -n user.falls.trace -v start FILE            those that the kernel's cache does not answer itself
 *     setfattr -n user.falls.trace -v 'start every' FILE    all, of what is opened from now on
 *     setfattr -n user.falls.trace -v 'start sample=100' FILE    one of 100
 *     setfattr -n user.falls.trace -v stop FILE
 *     getfattr -n user.falls.trace --only-values FILE       state=on how=every open=0 records=17 dropped=0 sample=1
 */
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/trace/tracing.h"

int trace_get(const struct virtual_call *call, FILE *out)
{
    struct tracing_state state;
    int r = tracing_state(call->tracing, call->inode, call->cred.uid, &state);

    if (r == 0)
        fprintf(out, "state=%s how=%s open=%" PRIu32 " records=%" PRIu64 " dropped=%" PRIu64 " sample=%u\n",
                state.is_on ? "on" : "off", state.every ? "every" : "cache", state.n_open, state.count.records,
                state.count.dropped, state.sample);
    return r;
}

/* Reads "start", then " every" and " sample=N", each at most once. False: it says something else. */
static bool read_start(const char *value, bool *ret_every, uint16_t *ret_sample)
{
    static const char every[] = " every", sample[] = " sample=";
    const char *at = value + strlen("start");
    unsigned long n = 1;
    char *end;

    if (strncmp(value, "start", strlen("start")) != 0)
        return false;
    *ret_every = strncmp(at, every, strlen(every)) == 0;
    if (*ret_every)
        at += strlen(every);
    if (strncmp(at, sample, strlen(sample)) == 0) {
        at += strlen(sample);
        n = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || n == 0 || n > UINT16_MAX)
            return false;
        at = end;
    }
    *ret_sample = (uint16_t) n;
    return *at == 0;
}

static int start(const struct virtual_call *call, bool every, uint16_t sample)
{
    int r = tracing_start(call->tracing, call->inode, call->cred.uid, every, sample);

    if (r == -EOPNOTSUPP)
        return virtual_refuse(call, r,
                              "this kernel maps nothing that is read past its cache, so that programs would fail: "
                              "'start' records what comes through the cache; .falls/kernel has what is missing");
    if (r == -EUSERS)
        return virtual_refuse(call, r, "this user traces as many files and directories as he may: stop one");
    return r;
}

/* Says that there is no trace of this to be ended, or that there is one of a directory above. */
static int refuse_stop(const struct virtual_call *call)
{
    cleanup(freep) char *path = NULL;
    struct inode *above = tracing_above(call->tracing, call->inode, call->cred.uid);
    int r;

    if (above == NULL)
        return virtual_refuse(call, -EINVAL, "you have begun no trace here");
    r = inode_path(call->fs->inodes, above, &path);
    inode_unref(call->fs->inodes, above);
    if (r < 0 || path[0] == 0)
        return virtual_refuse(call, -EINVAL, "it is traced with all of the mount: stop that, by the mount point");
    return virtual_refuse(call, -EINVAL, "it is traced with all that is in %s of this mount: stop that", path);
}

int trace_set(const struct virtual_call *call, const char *value, size_t len)
{
    bool every;
    uint16_t sample;
    int r = call->inode->fmt == S_IFREG ? virtual_check_owner(call) : 0;

    (void) len;
    if (r < 0)
        return r;
    if (read_start(value, &every, &sample))
        return start(call, every, sample);
    if (strcmp(value, "stop") != 0)
        return virtual_refuse(
            call, -EINVAL,
            "say 'start', 'start every' or 'stop'; with ' sample=N' behind a start, N from 1 to 65535, "
            "one access of N is recorded");
    r = tracing_stop(call->tracing, call->inode, call->cred.uid);
    return r == -ENOENT ? refuse_stop(call) : r;
}

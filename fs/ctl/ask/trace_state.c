/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/trace_state.h"

#include "fs/ctl/ask/mounts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool trace_order_sample(struct trace_order *order, const char *sample)
{
    unsigned long n = 1;
    char *end;

    if (sample != NULL) {
        n = strtoul(sample, &end, 10);
        if (*sample < '0' || *sample > '9' || *end != 0 || n == 0 || n > UINT16_MAX)
            return false;
    }
    order->sample = (unsigned) n;
    return true;
}

/* Says who may give orders, where it is the kernel that refuses: it lets nobody order what he may not write to. */
static int refuse_order(const char *path, int r, char why[static ATTRS_WHY])
{
    struct stat st;

    if (stat(path, &st) < 0)
        return r;
    if (st.st_uid == geteuid())
        return attrs_refuse(why, r, "it is yours, but its mode does not let you write to it: 'chmod u+w' does");
    if (S_ISDIR(st.st_mode))
        return attrs_refuse(why, r,
                            "only who may write to a directory, as its owner, and root begin and end traces of it: ask "
                            "them, or name files that are yours");
    return attrs_refuse(why, r, "only its owner and root begin and end traces of it: ask them");
}

static int give(const char *path, const char *what, char why[static ATTRS_WHY])
{
    struct stat st;
    int r = attrs_set(path, "trace", what, why);

    /* The daemon itself refuses with EPERM, of files, and has said who may. */
    if (r == -EACCES || (r == -EPERM && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return refuse_order(path, r, why);
    return r;
}

int trace_order_give(const struct trace_order *order, const char *path, char ret_why[static ATTRS_WHY])
{
    char what[32];
    int r;

    snprintf(what, sizeof what, "start%s sample=%u", order->every ? " every" : "", order->sample);
    r = give(path, what, ret_why);
    return r == -EROFS
               ? attrs_refuse(ret_why, r,
                              "the mount is read-only, so that no trace can begin: mounted with -o ro,trace all "
                              "is traced from the start")
               : r;
}

int trace_order_end(const char *path, char ret_why[static ATTRS_WHY])
{
    return give(path, "stop", ret_why);
}

bool trace_order_is_met(const struct trace_order *order, const struct trace_state *state)
{
    return state->is_on && (state->every || !order->every) && state->sample <= order->sample;
}

int trace_state_get(const char *path, struct trace_state *ret_state, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *json = NULL, *text = NULL;
    char state[8], how[8];
    struct trace_state found = { 0 };
    int r = attrs_check(path, &json, ret_why);

    if (r < 0)
        return r;
    r = attrs_get(path, "trace", &text);
    if (r == -ENODATA)
        return attrs_refuse(ret_why, r, "the daemon of this mount is older than traces");
    if (r < 0)
        return attrs_refuse(ret_why, r, "%s", attrs_strerror(r));
    if (sscanf(text, "state=%7s how=%7s open=%" SCNu64 " records=%" SCNu64 " dropped=%" SCNu64 " sample=%u", state, how,
               &found.n_open, &found.records, &found.dropped, &found.sample) != 6)
        return attrs_refuse(ret_why, -EPROTO, "the mount says of its trace what this fallsctl does not know");
    found.is_on = strcmp(state, "on") == 0;
    found.every = strcmp(how, "every") == 0;
    *ret_state = found;
    return 0;
}

int trace_state_stream(const char *path, char **ret_stream, char **ret_below, char ret_why[static ATTRS_WHY])
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(freep) char *full = NULL, *stream = NULL, *name = NULL;
    const struct mount_place *place = NULL;
    const char *below;
    int r = mounts_read(&mounts);

    if (r == 0)
        r = mounts_resolve(&mounts, path, &full);
    if (r < 0)
        return attrs_refuse(ret_why, r, "%s", attrs_strerror(r));
    place = mounts_around(&mounts, full, &below);
    if (place == NULL)
        return attrs_refuse(ret_why, -ENODATA, "lies in no mounted fallsfs; 'fallsctl status' lists those");
    name = strdup(below);
    if (name == NULL || asprintf(&stream, "%s/.falls/trace", place->target) < 0)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    *ret_stream = steal(stream);
    if (ret_below != NULL)
        *ret_below = steal(name);
    return 0;
}

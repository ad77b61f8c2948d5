/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/trace_state.h"

#include "fs/ctl/ask/mounts.h"

#include <stdio.h>
#include <string.h>

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

int trace_order_give(const struct trace_order *order, const char *path, char ret_why[static ATTRS_WHY])
{
    char what[32];

    snprintf(what, sizeof what, "start%s sample=%u", order->every ? " every" : "", order->sample);
    return attrs_set(path, "trace", what, ret_why);
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

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/trace_tap.h"

#include "fs/ctl/ask/trace_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (1 << 20)

int trace_tap_add(struct trace_tap *tap, const char *path, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *copy = strdup(path);
    struct trace_state state = { .is_on = false };
    int r = copy != NULL ? trace_state_get(path, &state, ret_why) : attrs_refuse(ret_why, -ENOMEM, "out of memory");

    if (r < 0)
        return r;
    if (!array_grow(tap->path, tap->n_paths) || !array_grow(tap->joined, tap->n_joined))
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    if (state.is_on) {
        tap->joined[tap->n_joined++] = steal(copy);
        return 0;
    }
    r = attrs_set(path, "trace", "start", ret_why);
    if (r == -EACCES || r == -EPERM)
        return attrs_refuse(ret_why, r, "it would have to be traced, which its owner and root alone may do");
    if (r == 0)
        tap->path[tap->n_paths++] = steal(copy);
    return r;
}

static void stop_traces(struct trace_tap *tap)
{
    char ignored[ATTRS_WHY];

    for (uint32_t i = 0; i < tap->n_paths; i++) {
        (void) attrs_set(tap->path[i], "trace", "stop", ignored); /* somebody else may have */
        free(tap->path[i]);
    }
    for (uint32_t i = 0; i < tap->n_joined; i++) {
        struct trace_state state;

        tap->was_stopped |= trace_state_get(tap->joined[i], &state, ignored) == 0 && !state.is_on;
        free(tap->joined[i]);
    }
    free(tap->path);
    free(tap->joined);
    tap->path = tap->joined = NULL;
    tap->n_paths = tap->n_joined = 0;
}

static int keep(const struct trace_tap *tap, const char *buf, size_t n, char why[static ATTRS_WHY])
{
    for (size_t at = 0; at < n;) {
        ssize_t done = write(tap->kept, buf + at, n - at);

        if (done < 0 && errno != EINTR)
            return attrs_refuse(why, -errno, "keeping the trace: %s", strerror(errno));
        at += (size_t) MAX(done, 0);
    }
    return 0;
}

int trace_tap_take(struct trace_tap *tap, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *buf = malloc(PIECE);
    int r = buf != NULL ? 0 : attrs_refuse(ret_why, -ENOMEM, "out of memory");

    while (r == 0) {
        ssize_t n = read(tap->from, buf, PIECE);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return attrs_refuse(ret_why, -errno, "reading the trace: %s", strerror(errno));
        if (n == 0)
            break;
        r = keep(tap, buf, (size_t) n, ret_why);
    }
    return r;
}

/* Reads all that was kept so far. */
static int load(const struct trace_tap *tap, struct trace *ret_trace, char why[static ATTRS_WHY])
{
    char reason[TRACE_WHY];
    int fd = dup(tap->kept), r;
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (in == NULL) {
        r = attrs_refuse(why, -errno, "the trace: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return r;
    }
    rewind(in);
    r = trace_load(in, ret_trace, reason);
    fclose(in);
    (void) lseek(tap->kept, 0, SEEK_END); /* both descriptors have one place */
    return r < 0 ? attrs_refuse(why, r, "the trace %s", reason) : 0;
}

int trace_tap_begin(struct trace_tap *tap, const char *path, char ret_why[static ATTRS_WHY])
{
    cleanup(trace_done) struct trace before = { 0 };
    cleanup(freep) char *stream = NULL;
    int r = trace_state_stream(path, &stream, NULL, ret_why);

    if (r < 0)
        return r;
    tap->is_open = true;
    tap->from = open(stream, O_RDONLY | O_CLOEXEC);
    tap->kept = memfd_create("trace", MFD_CLOEXEC);
    if (tap->from < 0 || tap->kept < 0)
        return attrs_refuse(ret_why, -errno, "%s: %s", stream,
                            errno == EUSERS ? "too many read it already" : strerror(errno));
    r = trace_tap_take(tap, ret_why);
    if (r == 0)
        r = load(tap, &before, ret_why);
    tap->n_before = before.n_accesses;
    return r;
}

int trace_tap_end(struct trace_tap *tap, struct trace *ret_trace, char ret_why[static ATTRS_WHY])
{
    struct trace trace = { 0 };
    int r;

    stop_traces(tap);
    r = trace_tap_take(tap, ret_why);
    if (r == 0)
        r = load(tap, &trace, ret_why);
    if (r < 0)
        return r;
    trace.n_accesses -= tap->n_before;
    if (trace.n_accesses > 0)
        memmove(trace.access, trace.access + tap->n_before, trace.n_accesses * sizeof trace.access[0]);
    *ret_trace = trace;
    return 0;
}

void trace_tap_done(struct trace_tap *tap)
{
    stop_traces(tap);
    if (tap->is_open && tap->from >= 0)
        close(tap->from);
    if (tap->is_open && tap->kept >= 0)
        close(tap->kept);
    *tap = (struct trace_tap){ .is_open = false };
}

/* SPDX-License-Identifier: MIT */
/* fallsctl trace: begins and ends that a mount records who reads and writes what, and says how that stands. */
#include "fs/ctl/ask/trace_state.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <stdio.h>

static const char help[] = "usage: fallsctl trace start | stop | status | export | record ...\n"
                           "       fallsctl trace VERB --help\n"
                           "\n"
                           "  start     a mount records who reads and writes what of a file, or below a directory\n"
                           "  stop      it does so no more\n"
                           "  status    whether it does, and how much it has\n"
                           "  export    writes what it has to a file, which fallsfs-trace(5) tells of\n"
                           "  record    the same while a program runs, so that nothing is lost\n"
                           "\n"
                           "examples:\n"
                           "  fallsctl trace start --every /fast/matrix\n"
                           "  fallsctl trace export -o matrix.trace /fast/matrix\n"
                           "  fallsctl trace record -o run.trace /fast/run7 -- mpirun -n 4 solver /fast/run7\n";

static const char start_help[] =
    "usage: fallsctl trace start [--every] [--sample N] [--json] PATH...\n"
    "\n"
    "Has the mount record accesses: to a file, for its owner and root; to files below a directory that are your own, or,\n"
    "for root and who mounted, to all below it: the mount point stands for all of the mount. What was recorded before is\n"
    "told no more, if no trace went on.\n"
    "\n"
    "Without --every, what the kernel's page cache answers itself is not seen, and reads are as long as the kernel reads\n"
    "ahead. With it, what you open from now on, and for root whoever does, is read and written past the cache: slower,\n"
    "and every access is seen. Mappings work, and are seen by pages.\n"
    "\n"
    "With --sample, one access is recorded of N in a row through each open file, at a random place among them: for long\n"
    "runs. It stands for N; which bytes several processes share, and in what patterns, it cannot tell well.\n"
    "\n"
    "  --every      every access of what is opened from now on\n"
    "  --sample N   one access of N, up to 65535\n"
    "  --json       machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl trace start /fast/run7\n"
    "  fallsctl trace start --sample 100 /fast\n"
    "  fallsctl trace start --every /fast/matrix\n"
    "  fallsctl trace start --json /fast | jq '.files[].open'\n";

static const char stop_help[] =
    "usage: fallsctl trace stop [--json] PATH...\n"
    "\n"
    "Ends the trace of a file or directory that you have begun; on the mount point, all that you have. Root, and who\n"
    "mounted, end what anybody has begun. What was recorded stays, until you begin another trace or the mount ends.\n"
    "\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl trace stop /fast/matrix\n"
    "  fallsctl trace stop /fast\n";

static const char status_help[] =
    "usage: fallsctl trace status [--json] PATH...\n"
    "\n"
    "Says whether a file or directory is traced, and of all that is traced in its mount, not of this file alone, how many\n"
    "accesses that you may see are kept, and how many have been dropped, since later ones took their place.\n"
    "\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl trace status /fast/matrix\n"
    "  fallsctl trace status --json /fast | jq '.files[].dropped'\n";

static void tell_in_words(const char *path, const struct trace_state *state)
{
    utf8_print_line(stdout, path, false);
    if (!state->is_on)
        printf(": not traced");
    else if (state->every)
        printf(": traced, every access of what is opened since");
    else
        printf(": traced, through the cache: what the kernel's page cache answers itself is not seen");
    if (state->is_on && state->sample > 1)
        printf("; one access of %u is recorded", state->sample);
    if (state->is_on && state->n_open > 0)
        printf("; %" PRIu64 " handles were open already: theirs may be missing", state->n_open);
    printf("; of all that is traced in this mount, %" PRIu64 " accesses kept, %" PRIu64 " dropped\n", state->records,
           state->dropped);
}

static void tell(struct paths *paths, const char *path)
{
    struct trace_state state;
    char why[ATTRS_WHY];

    if (trace_state_get(path, &state, why) < 0) {
        paths_fail(paths, path, "%s", why);
        return;
    }
    paths->done++;
    if (!paths->as_json) {
        tell_in_words(path, &state);
        return;
    }
    json_open(&paths->json, NULL, '{');
    json_string(&paths->json, "file", path);
    json_bool(&paths->json, "traced", state.is_on);
    json_bool(&paths->json, "every", state.is_on && state.every);
    json_u64(&paths->json, "sample", state.sample);
    json_u64(&paths->json, "open", state.n_open);
    json_u64(&paths->json, "records", state.records);
    json_u64(&paths->json, "dropped", state.dropped);
    json_close(&paths->json, '}');
}

/* What is to be done with the traces of paths. */
struct doing {
    bool stops;
    const struct trace_order *begins; /* NULL: it does not */
};

/* Gives the mount an order for a path, where there is one, and tells how the path's trace stands then. */
static void order(struct paths *paths, const char *path, const struct doing *doing)
{
    cleanup(freep) char *ignored = NULL;
    char why[ATTRS_WHY];
    int r = doing->stops || doing->begins != NULL ? attrs_check(path, &ignored, why) : 0;

    if (r == 0 && doing->stops)
        r = trace_order_end(path, why);
    else if (r == 0 && doing->begins != NULL)
        r = trace_order_give(doing->begins, path, why);
    if (r < 0)
        paths_fail(paths, path, "%s", why);
    else
        tell(paths, path);
}

static enum ctl_status order_all(struct args *args, bool as_json, const struct doing *doing)
{
    struct paths paths = { 0 };

    if (args->n == 0)
        return args_complain(args->verb, "which file or directory?", NULL);
    paths_begin(&paths, as_json);
    for (int i = 0; i < args->n; i++)
        order(&paths, args->word[i], doing);
    return paths_end(&paths);
}

static enum ctl_status start(int argc, char **argv)
{
    bool as_json = false;
    const char *sample = NULL;
    struct trace_order begins = { .every = false };
    const struct arg arg[] = { { .name = "--every", .set = &begins.every },
                               { .name = "--sample", .value = &sample },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "trace start", .help = start_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (!trace_order_sample(&begins, sample))
        return args_complain(args.verb, "--sample wants a number from 1 to 65535", NULL);
    return order_all(&args, as_json, &(struct doing){ .begins = &begins });
}

static enum ctl_status stop(int argc, char **argv)
{
    bool as_json = false;
    const struct arg arg[] = { { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "trace stop", .help = stop_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    return args_read(&args, argc, argv, &status) ? order_all(&args, as_json, &(struct doing){ .stops = true }) : status;
}

static enum ctl_status show(int argc, char **argv)
{
    bool as_json = false;
    const struct arg arg[] = { { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "trace status", .help = status_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    return args_read(&args, argc, argv, &status) ? order_all(&args, as_json, &(struct doing){ .stops = false })
                                                 : status;
}

enum ctl_status ctl_trace(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum ctl_status (*run)(int argc, char **argv);
    } verbs[] = { { "start", start },
                  { "stop", stop },
                  { "status", show },
                  { "export", ctl_trace_export },
                  { "record", ctl_trace_record } };

    for (size_t i = 0; argc > 0 && i < ARRAY_SIZE(verbs); i++)
        if (strcmp(argv[0], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(help, stdout);
        return CTL_OK;
    }
    return args_complain("trace", "start, stop, status, export or record?", argc > 0 ? argv[0] : NULL);
}

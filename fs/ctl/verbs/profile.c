/* SPDX-License-Identifier: MIT */
/* fallsctl profile: what programs did with a file, from a trace. */
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/think/source.h"
#include "fs/ctl/verbs/profile_say.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "fs/trace/trace_strace.h"

#define MAX_LISTED 20

static const char help[] =
    "usage: fallsctl profile [options] TRACE [FILE]\n"
    "       fallsctl profile [options] FILE\n"
    "\n"
    "Says what programs did with a file: which bytes one process alone touches, which several read or write, in what\n"
    "regular patterns, in which order; how well its layout serves that, and which layouts give each process its bytes.\n"
    "TRACE comes from 'fallsctl trace', or, for any program on any file system, from\n"
    "\n"
    "  strace -f -ttt -yy -s 0 -o TRACE -e 'trace=" TRACE_STRACE_CALLS "' PROGRAM\n"
    "\n"
    "or of an MPI program, as its ranks ask, from 'fallsfs-mpirun --trace=TRACE PROGRAM': TRACE is a directory then.\n"
    "Without FILE it is the file with most bytes moved; a path that ends like FILE will do. A FILE on a mount alone: what\n"
    "the mount has recorded of it since 'fallsctl trace start'.\n"
    "\n"
    "  --layout L     judges this layout, instead of the one that the file had\n"
    "  --disks N      so many disks there are, for layouts that name none\n"
    "  --array A      what the bytes mean, as in 'shape=8192x8192 type=f8': patterns are told as sections\n"
    "  --html F       also writes a page with pictures: where bytes are moved, when, by whom, on which disks\n"
    "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl profile run.trace\n"
    "  fallsctl profile --layout 'stripe(1M,4)' run.trace matrix.dat\n";

struct request {
    struct profile_options options;
    const char *disks, *html;
    bool as_json;
};

struct other {
    uint64_t moved;
    const char *path;
};

static int by_bytes(const void *a, const void *b)
{
    const struct other *x = a, *y = b;

    if (x->moved != y->moved)
        return x->moved > y->moved ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Lists the files that were not told of, those with most bytes moved first. */
static void print_others(const struct trace *trace, const uint64_t moved[], uint32_t shown)
{
    cleanup(freep) struct other *other = calloc(MAX(trace->n_files, 1), sizeof *other);
    size_t n = 0;

    for (size_t i = 0; other != NULL && i < trace->n_files; i++)
        if (moved[i] > 0 && i != shown)
            other[n++] = (struct other){ moved[i], trace->file[i].path };
    if (n == 0)
        return;
    qsort(other, n, sizeof *other, by_bytes);
    puts("\nalso traced:");
    for (size_t i = 0; i < MIN(n, MAX_LISTED); i++) {
        char text[SIZE_TEXT];

        printf("  %8s  ", size_text(other[i].moved, false, text));
        utf8_print_line(stdout, other[i].path, false);
        putchar('\n');
    }
    if (n > MAX_LISTED)
        printf("  and %zu more files\n", n - MAX_LISTED);
}

static void json_trace(struct json *json, const struct trace *trace, const uint64_t moved[])
{
    json_open(json, "trace", '{');
    json_bool(json, "imported", (trace->flags & TRACE_IMPORTED) != 0);
    json_bool(json, "every", (trace->flags & TRACE_EVERY) != 0);
    json_bool(json, "mpi", (trace->flags & TRACE_BY_MPI) != 0);
    if (trace->n_ranks > 0)
        json_u64(json, "mpi_ranks", trace->n_ranks);
    json_bool(json, "cut", trace->cut);
    json_u64(json, "dropped", trace->dropped);
    json_u64(json, "open_already", trace->open_already);
    json_close(json, '}');
    json_open(json, "files", '[');
    for (size_t i = 0; i < trace->n_files; i++) {
        if (moved[i] == 0)
            continue;
        json_open(json, NULL, '{');
        json_string(json, "path", trace->file[i].path);
        json_u64(json, "bytes", moved[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static enum ctl_status write_page(const struct request *request, const struct trace *trace,
                                  const struct profile *profile)
{
    FILE *out = fopen(request->html, "we");
    int r;

    if (out == NULL)
        return report(request->as_json, "%s: %s", request->html, strerror(errno));
    r = profile_html(out, trace, profile);
    if (fclose(out) != 0 && r == 0)
        r = -errno;
    return r < 0 ? report(request->as_json, "cannot write %s: %s", request->html, strerror(-r)) : CTL_OK;
}

static enum ctl_status say(const struct request *request, const struct trace *trace, uint32_t file,
                           const struct profile *profile)
{
    cleanup(freep) uint64_t *moved = source_moved(trace);
    struct json json;

    if (moved == NULL)
        return report(request->as_json, "out of memory");
    if (request->html != NULL && write_page(request, trace, profile) != CTL_OK)
        return CTL_ERROR;
    if (!request->as_json) {
        profile_print(stdout, trace, profile);
        print_others(trace, moved, file);
        return CTL_OK;
    }
    json_begin(&json, stdout);
    json_trace(&json, trace, moved);
    profile_json(&json, trace, profile);
    json_end(&json);
    return CTL_OK;
}

static enum ctl_status profile_trace(const struct request *request, const char *path, char *const name[],
                                     size_t n_names)
{
    cleanup(source_done) struct source source = { 0 };
    cleanup(profile_done) struct profile profile = { 0 };
    char why[ATTRS_WHY];
    uint32_t file;
    int r = source_pick(path, name, n_names, false, &source, why);

    if (r < 0)
        return report(request->as_json, "%s", why);
    file = source.file[0].file;
    r = profile_init(&profile, &source.trace, file, &request->options, why);
    return r < 0 ? report(request->as_json, "%s: %s", source.trace.file[file].path, why)
                 : say(request, &source.trace, file, &profile);
}

enum ctl_status ctl_profile(int argc, char **argv)
{
    struct request request = { 0 };
    const struct arg arg[] = { { .name = "--layout", .other = "-L", .value = &request.options.layout },
                               { .name = "--array", .value = &request.options.array },
                               { .name = "--disks", .value = &request.disks },
                               { .name = "--html", .value = &request.html },
                               { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "profile", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    uint64_t n_disks = 0;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n < 1 || args.n > 2)
        return args_complain("profile", args.n < 1 ? "which trace?" : "one trace and one file at a time", NULL);
    if (request.disks != NULL &&
        (layout_parse_size(request.disks, &n_disks) < 0 || n_disks == 0 || n_disks > FALLS_MAX_NODES))
        return args_complain("profile", "--disks wants a number of disks", request.disks);
    request.options.n_disks = (uint32_t) n_disks;
    return profile_trace(&request, args.word[0], &args.word[1], (size_t) args.n - 1);
}

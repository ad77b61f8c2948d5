/* SPDX-License-Identifier: MIT */
/* fallsctl recommend: which layout serves best what programs did with a file, from a trace. */
#include "fs/ctl/think/recommend.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <math.h>

#define MAX_SHOWN 10 /* layouts */

static const char help[] =
    "usage: fallsctl recommend [options] TRACE [FILE]\n"
    "       fallsctl recommend [options] FILE\n"
    "\n"
    "Says which layout serves best what programs did with a file: of stripes of many units and counts, of distributions of\n"
    "its array, and of those that give each process its own bytes. Each is scored by the time until all processes have\n"
    "what they ask for, and shown with how long the disk that has most to do is busy then, what it costs to go there and\n"
    "after how many runs that pays. Nothing is changed unless --apply is said. TRACE and FILE are as of 'fallsctl profile'.\n"
    "\n"
    "  --for W        read, write or both, which it is unless told: what counts\n"
    "  --layout L     the present layout, instead of the one in the trace\n"
    "  --disks N      so many disks there are; those of the present layout unless told, else one for each process\n"
    "  --array A      what the bytes mean, as in 'shape=8192x8192 type=f8'\n"
    "  --seek MS      what a disk needs for a request that does not follow the one before, 8 unless told\n"
    "  --rate SIZE    bytes a second that a disk moves, 100M unless told\n"
    "  --apply        begins to give FILE, on a mount, the best of these layouts, as 'fallsctl migrate' does\n"
    "  --json         machine-readable output, with all that were tried\n"
    "\n"
    "examples:\n"
    "  fallsctl recommend --layout 'stripe(1M,4)' run.trace matrix.dat\n"
    "  fallsctl recommend --for read --array 'shape=8192x8192 type=f8' --disks 8 run.trace\n";

struct request {
    struct profile_options options;
    struct recommending asked;
    const char *of, *disks, *seek, *rate;
    bool as_json, apply;
};

/* -- telling -- */

static const struct column column[] = {
    { "TIME", COLUMN_RIGHT },     { "FASTER", COLUMN_RIGHT }, { "BUSY", COLUMN_RIGHT },
    { "REQUESTS", COLUMN_RIGHT }, { "SEEKS", COLUMN_RIGHT },  { "DEGREE", COLUMN_RIGHT },
    { "MOVES", COLUMN_RIGHT },    { "PAYS", COLUMN_RIGHT },   { "LAYOUT", COLUMN_CUT },
};

static void add_row(struct table *table, const struct candidate *candidate, const struct candidate *now)
{
    uint64_t runs = now != NULL ? candidate_pays_after(candidate, now) : 0;
    char text[SIZE_TEXT];

    table_addf(table, "%.3g s", (double) candidate->busy.elapsed / 1e9);
    if (now != NULL && candidate->busy.elapsed > 0)
        table_addf(table, "%.2fx", (double) now->busy.elapsed / (double) candidate->busy.elapsed);
    else
        table_add(table, "");
    table_addf(table, "%.3g s", (double) candidate->busy.most / 1e9);
    table_addf(table, "%" PRIu64, candidate->busy.requests);
    table_addf(table, "%" PRIu64, candidate->busy.seeks);
    table_addf(table, "%.2f", candidate->degree);
    table_add(table, candidate->is_now        ? "now"
                     : candidate->knows_moves ? size_text(candidate->moves, false, text)
                                              : "");
    if (runs > 0)
        table_addf(table, "%" PRIu64 " run%s", runs, runs == 1 ? "" : "s");
    else
        table_add(table, "");
    table_add(table, candidate->text);
}

/* The best ones, and the present one wherever it stands. */
static int print_table(const struct recommendation *found)
{
    struct table table;
    int r;

    table_init(&table, column, ARRAY_SIZE(column), NULL, NULL);
    for (size_t i = 0; i < found->n; i++)
        if (i < MAX_SHOWN || found->candidate[i].is_now)
            add_row(&table, &found->candidate[i], found->now);
    r = table_print(&table, stdout);
    table_done(&table);
    return r;
}

static void print_advice(const struct recommendation *found, const char *path)
{
    const struct candidate *best = &found->candidate[0];

    if (found->now != NULL && !candidate_is_worth(best, found->now)) {
        puts("no gain: no layout that was tried takes much less than the present one");
        return;
    }
    printf("best: %s\n", best->text);
    if (found->now != NULL) {
        printf("to do: fallsctl migrate -L '%s' ", best->text);
        utf8_print_line(stdout, path, false);
        putchar('\n');
    }
}

static enum ctl_status print_all(const struct recommending *asked, const struct recommendation *found)
{
    const struct profile *profile = asked->profile;
    char rate[SIZE_TEXT];

    utf8_print_line(stdout, profile->file->path, false);
    printf(": %" PRIu32 " process%s; disks: %" PRIu32 ", %.3g ms a seek, %s a second\n", profile->touches.n_ranks,
           profile->touches.n_ranks == 1 ? "" : "es", asked->n_disks, (double) asked->cost.seek / 1e6,
           size_text(asked->cost.rate, false, rate));
    if (print_table(found) < 0)
        return report(false, "out of memory");
    print_advice(found, profile->file->path);
    return CTL_OK;
}

static void json_candidate(struct json *json, const struct candidate *candidate, const struct candidate *now)
{
    json_open(json, NULL, '{');
    json_string(json, "layout", candidate->text);
    json_bool(json, "is_now", candidate->is_now);
    json_seconds(json, "busy", (double) candidate->busy.most / 1e9);
    json_seconds(json, "elapsed", (double) candidate->busy.elapsed / 1e9);
    json_seconds(json, "busy_together", (double) candidate->busy.all / 1e9);
    json_u64(json, "requests", candidate->busy.requests);
    json_u64(json, "seeks", candidate->busy.seeks);
    json_real(json, "degree", candidate->degree);
    if (candidate->knows_moves) {
        json_u64(json, "bytes_to_move", candidate->moves);
        json_seconds(json, "seconds_to_move", (double) candidate->moves_ns / 1e9);
        json_u64(json, "pays_after", candidate_pays_after(candidate, now));
    }
    json_close(json, '}');
}

static enum ctl_status json_all(const struct recommending *asked, const struct recommendation *found)
{
    const struct profile *profile = asked->profile;
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "path", profile->file->path);
    json_u64(&json, "processes", profile->touches.n_ranks);
    json_u64(&json, "n_disks", asked->n_disks);
    json_bool(&json, "gain", found->now == NULL || candidate_is_worth(&found->candidate[0], found->now));
    json_open(&json, "candidates", '[');
    for (size_t i = 0; i < found->n; i++)
        json_candidate(&json, &found->candidate[i], found->now);
    json_close(&json, ']');
    json_end(&json);
    return CTL_OK;
}

/* -- working it out -- */

/* Begins to move the file, if that is worth it. */
static enum ctl_status apply(const struct request *request, const char *path, const struct recommendation *found)
{
    const struct candidate *best = &found->candidate[0];
    char why[ATTRS_WHY];
    int r;

    if (found->now == NULL || !candidate_is_worth(best, found->now))
        return CTL_OK;
    r = attrs_set(path, "migrate", best->text, why);
    if (r < 0)
        return report(request->as_json, "%s: %s", path, why);
    if (!request->as_json)
        puts("on its way: 'fallsctl jobs' shows how far");
    return CTL_OK;
}

static enum ctl_status recommend(const struct request *request, const struct profile *profile, const char *called)
{
    cleanup(recommend_done) struct recommendation found = { 0 };
    struct recommending asked = request->asked;
    enum ctl_status status;
    int r;

    asked.profile = profile;
    asked.n_disks = request->options.n_disks > 0 ? request->options.n_disks : profile->touches.n_ranks;
    if (profile->now.n_disks > 0)
        asked.n_disks = profile->now.n_disks;
    r = recommend_init(&found, &asked);
    if (r < 0)
        return report(request->as_json, "%s: %s", profile->file->path,
                      r == -E2BIG ? "every layout meets what was traced in too many pieces to be counted"
                                  : strerror(-r));
    status = request->as_json ? json_all(&asked, &found) : print_all(&asked, &found);
    return status == CTL_OK && request->apply ? apply(request, called, &found) : status;
}

static enum ctl_status recommend_trace(const struct request *request, const char *path, const char *name)
{
    cleanup(profile_source_done) struct profile_source source = { .called = NULL };
    cleanup(profile_done) struct profile profile = { 0 };
    char why[ATTRS_WHY];
    int r = profile_pick(path, name, &source, why);

    if (r < 0)
        return report(request->as_json, "%s", why);
    if (request->apply && source.called == NULL)
        return report(request->as_json, "%s is a trace: --apply wants FILE behind it, by its path on a mount", path);
    r = profile_init(&profile, &source.trace, source.file, &request->options, why);
    return r < 0 ? report(request->as_json, "%s: %s", source.trace.file[source.file].path, why)
                 : recommend(request, &profile, source.called);
}

/* -- the command line -- */

/* Reads numbers and words; NULL: all of them are right, else the option that is not. */
static const char *read_options(struct request *request)
{
    struct recommending *asked = &request->asked;
    uint64_t n_disks = 0;
    char *end = NULL;
    double seek = 8;

    asked->of = EXTENTS_ALL;
    asked->cost = (struct disk_cost){ .call = 100000, .rate = 100 << 20 };
    asked->cache = (struct disk_cache){ .page = 4 << 10, .ahead = 128 << 10 };
    if (request->of != NULL && strcmp(request->of, "read") == 0)
        asked->of = EXTENTS_READ;
    else if (request->of != NULL && strcmp(request->of, "write") == 0)
        asked->of = EXTENTS_WRITTEN;
    else if (request->of != NULL && strcmp(request->of, "both") != 0)
        return "--for";
    if (request->disks != NULL && (layout_parse_size(request->disks, &n_disks) < 0 || n_disks == 0 || n_disks > 256))
        return "--disks";
    request->options.n_disks = (uint32_t) n_disks;
    if (request->seek != NULL)
        seek = strtod(request->seek, &end);
    if (end != NULL && (end == request->seek || *end != 0 || !isfinite(seek) || seek < 0 || seek > 10000))
        return "--seek";
    asked->cost.seek = (uint64_t) (seek * 1e6);
    if (request->rate != NULL && (layout_parse_size(request->rate, &asked->cost.rate) < 0 || asked->cost.rate < 1024))
        return "--rate";
    return NULL;
}

enum ctl_status ctl_recommend(int argc, char **argv)
{
    struct request request = { 0 };
    const struct arg arg[] = { { .name = "--for", .value = &request.of },
                               { .name = "--layout", .other = "-L", .value = &request.options.layout },
                               { .name = "--disks", .value = &request.disks },
                               { .name = "--array", .value = &request.options.array },
                               { .name = "--seek", .value = &request.seek },
                               { .name = "--rate", .value = &request.rate },
                               { .name = "--apply", .set = &request.apply },
                               { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "recommend", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    const char *wrong;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n < 1 || args.n > 2)
        return args_complain("recommend", args.n < 1 ? "which trace?" : "one trace and one file at a time", NULL);
    wrong = read_options(&request);
    if (wrong != NULL)
        return args_complain("recommend", "that makes no sense behind this option", wrong);
    return recommend_trace(&request, args.word[0], args.n > 1 ? args.word[1] : NULL);
}

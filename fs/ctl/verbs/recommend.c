/* SPDX-License-Identifier: MIT */
/* fallsctl recommend: which layouts serve best what programs did with files, from a trace. */
#include "fs/ctl/verbs/recommend.h"

#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/think/declare.h"
#include "fs/ctl/think/source.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <math.h>

#define MAX_PROCS 4096 /* a layout has no more elements */

static const char help[] =
    "usage: fallsctl recommend [options] TRACE [FILE...]\n"
    "       fallsctl recommend [options] --trace TRACE [FILE...]\n"
    "       fallsctl recommend [options] FILE...\n"
    "       fallsctl recommend [options] --section S [--section S]... [FILE]\n"
    "\n"
    "Says which layout serves best what programs did with a file: of stripes of many units and counts, of distributions of\n"
    "its array, and of those that give each process its own bytes. Each is scored by the time until all processes have\n"
    "what they ask for, and shown with how long the disk that has most to do is busy then, what it costs to go there and\n"
    "after how many runs that pays. Where processes share bytes that they read by sections or views in several ways, it\n"
    "proposes replicas, which have the file in further layouts. Nothing is changed unless --apply is said. TRACE and FILE are as of 'fallsctl profile'.\n"
    "Several files share the disks; with --trace and without FILE they are all files of the trace.\n"
    "\n"
    "  --trace T      what was recorded, so that all words are files in it\n"
    "  --section S    instead of a trace: a process asks for this section of the array, L:U[:S] in each dimension, and\n"
    "                 with *N behind it N times; each --section is a process of its own. They read, or with --for write\n"
    "                 write. The array is that of FILE, on a mount, or --array's\n"
    "  --for W        read, write or both, which it is unless told: what counts\n"
    "  --procs P      for so many processes, as follows from those that were traced\n"
    "  --size S       for a file of S bytes, or an array of that shape, as 8192x8192, as follows from the one traced\n"
    "  --also T       a second trace, perhaps a short one, of another number of processes or another size, from which it\n"
    "                 is seen what follows\n"
    "  --growth W     lengths or numbers: accesses become longer with more processes or bytes, or there are more of them\n"
    "  --layout L     the present layout, instead of the one in the trace\n"
    "  --disks N      so many disks there are; those of the present layout unless told, else one for each process\n"
    "  --array A      what the bytes mean, as in 'shape=8192x8192 type=f8'\n"
    "  --seek MS      what a disk needs for a request that does not follow the one before; unless told as 'fallsctl\n"
    "                 calibrate' has measured it, where FILE is on a mount, else 8\n"
    "  --rate SIZE    bytes a second that a disk moves; likewise, else 100M\n"
    "  --apply        begins to give FILE, on a mount, the best of these layouts, as 'fallsctl migrate' does, and the\n"
    "                 replicas that are told of, as 'fallsctl replica add' does\n"
    "  --json         machine-readable output, with all that were tried\n"
    "\n"
    "examples:\n"
    "  fallsctl recommend --layout 'stripe(1M,4)' run.trace matrix.dat\n"
    "  fallsctl recommend --for read --array 'shape=8192x8192 type=f8' --disks 8 run.trace\n"
    "  fallsctl recommend --procs 64 --array 'shape=8192x8192 type=f8' --trace run.trace matrix.dat\n"
    "  fallsctl recommend --section '0:8191,0:1023*3' --section 0:1023,0:8191 /fast/matrix\n";

struct request {
    struct profile_options options;
    struct recommending asked;
    struct costs_said said;
    const char *of, *disks, *seek, *rate, *trace, *procs, *growth;
    struct arg_list sections;
    bool as_json, apply, alone; /* alone: one file is asked about */
};

/* -- working it out -- */

/* Finds the disk that has the first element of a file, where a mount or the layout tells. */
static void know_start(struct together_file *file)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    const struct layout *now = file->profile.now.layout;
    char ignored[ATTRS_WHY];

    if (now == NULL || now->disks != DISKS_LIST)
        return;
    file->disk = now->disk;
    if (file->called == NULL || file_info_init(&info, file->called, ignored) < 0 || info.layout == NULL)
        return;
    for (uint32_t i = 0; i < now->n_disks; i++)
        if (now->disk[i] == info.disk[0]) {
            file->start = i;
            file->knows_start = true;
        }
}

/* Finds the candidates of a file whose profile is there. */
static enum ctl_status find_candidates(const struct request *request, struct together_file *file)
{
    const struct profile *profile = &file->profile;
    struct recommending *asked = &file->asked;
    int r;

    *asked = request->asked;
    asked->profile = profile;
    asked->called = file->called;
    asked->alone = request->alone;
    asked->n_disks = request->options.n_disks > 0 ? request->options.n_disks : profile->touches.n_ranks;
    if (profile->now.n_disks > 0)
        asked->n_disks = profile->now.n_disks;
    r = file_costs_init(&file->costs, file->called, asked->n_disks, &request->said);
    asked->costs = &file->costs;
    /* How often something is asked for is what is said there: it would count for nothing if it stayed in memory. */
    asked->cache = request->sections.n > 0 ? NULL : &busy_usual_cache;
    if (r == 0)
        r = recommend_init(&file->found, asked);
    if (r == 0 && profile->touches.of_accesses > profile->touches.accesses)
        utf8_complain("the trace is a sample: requests are dearer and patterns are less regular than they were");
    return r < 0 ? report(request->as_json, "%s: %s", profile->file->path,
                          r == -E2BIG ? "every layout meets what was traced in too many pieces to be counted"
                                      : strerror(-r))
                 : CTL_OK;
}

/* With JSON it is done before it is told, since the object says whether it began. */
static enum ctl_status say_one(const struct request *request, struct together_file *file)
{
    const bool before = request->apply && request->as_json;
    enum ctl_status done = before ? recommend_apply(file, true) : CTL_OK;
    enum ctl_status status = recommend_say(&file->asked, &file->found, request->as_json, request->apply);

    if (status == CTL_OK && request->apply && !before)
        done = recommend_apply(file, false);
    return status != CTL_OK ? status : done;
}

static enum ctl_status say_together(const struct request *request, struct together *together)
{
    const bool before = request->apply && request->as_json;
    enum ctl_status status, done = CTL_OK;

    for (size_t i = 0; i < together->n; i++)
        know_start(&together->file[i]);
    if (together_choose(together) < 0)
        return report(request->as_json, "out of memory");
    if (before)
        done = recommend_apply_together(together, true);
    status = recommend_say_together(together, request->as_json, request->apply);
    if (status == CTL_OK && request->apply && !before)
        done = recommend_apply_together(together, false);
    return status != CTL_OK ? status : done;
}

static bool has_what_counts(const struct profile *profile, enum extents_of of)
{
    return ((of & EXTENTS_READ) != 0 && profile->touches.bytes_read > 0) ||
           ((of & EXTENTS_WRITTEN) != 0 && profile->touches.bytes_written > 0);
}

/* Says of which files nothing is read, or written, though that alone is to count. Where that is all of them, there is
 * nothing to recommend. */
static enum ctl_status check_what_counts(const struct request *request, const struct together *together)
{
    const char *done = request->asked.of == EXTENTS_READ ? "reads from" : "writes to";
    const char *of = request->of != NULL ? request->of : "both";
    size_t n = 0;

    for (size_t i = 0; i < together->n; i++)
        n += has_what_counts(&together->file[i].profile, request->asked.of);
    if (n == 0)
        return report(
            request->as_json,
            "%s%s: nobody %s it in what was traced, so --for %s has nothing to go by: leave that out, or trace a "
            "program that does",
            together->file[0].profile.file->path, together->n > 1 ? ", and all other files" : "", done, of);
    for (size_t i = 0; i < together->n; i++)
        if (!has_what_counts(&together->file[i].profile, request->asked.of))
            utf8_complain("%s: nobody %s it in what was traced: for that all layouts are alike",
                          together->file[i].profile.file->path, done);
    return CTL_OK;
}

/* Says that the file ends before an array does that somebody says it has. */
static void check_array(const struct request *request, const struct profile *profile)
{
    char whole[SIZE_TEXT], there[SIZE_TEXT];
    uint64_t bytes;

    if (request->options.array == NULL || request->options.size != NULL || array_bytes(&profile->array, &bytes) < 0 ||
        profile->array.header + bytes <= profile->size)
        return;
    utf8_complain(
        "%s: the array of --array ends at %s, the file at %s: its layouts are judged by what was traced of it; "
        "say --size for a run on all of it",
        profile->file->path, size_text(profile->array.header + bytes, false, whole),
        size_text(profile->size, false, there));
}

static enum ctl_status make_profiles(const struct request *request, const struct source *source,
                                     struct together *together)
{
    char why[ATTRS_WHY];

    for (size_t i = 0; i < source->n; i++) {
        struct together_file *file = &together->file[i];

        file->called = source->file[i].called;
        if (profile_init(&file->profile, &source->trace, source->file[i].file, &request->options, why) < 0)
            return report(request->as_json, "%s: %s", source->trace.file[source->file[i].file].path, why);
        check_array(request, &file->profile);
    }
    return check_what_counts(request, together);
}

static enum ctl_status recommend_files(struct request *request, const struct source *source)
{
    cleanup(together_done) struct together together = { .n = source->n };
    enum ctl_status status;

    if (source->n > TOGETHER_FILES)
        return report(request->as_json, "there are %zu files in that trace: name those that matter, %d at most",
                      source->n, TOGETHER_FILES);
    together.file = calloc(source->n, sizeof *together.file);
    if (together.file == NULL)
        return report(request->as_json, "out of memory");
    request->alone = source->n == 1;
    status = make_profiles(request, source, &together);
    for (size_t i = 0; status == CTL_OK && i < source->n; i++)
        status = find_candidates(request, &together.file[i]);
    if (status != CTL_OK)
        return status;
    return together.n == 1 ? say_one(request, &together.file[0]) : say_together(request, &together);
}

static enum ctl_status recommend_trace(struct request *request, const char *path, char *const name[], size_t n_names)
{
    cleanup(source_done) struct source source = { 0 };
    char why[ATTRS_WHY];

    if (source_pick(path, name, n_names, request->trace != NULL, &source, why) < 0)
        return report(request->as_json, "%s", why);
    if (request->apply && source.file[0].called == NULL)
        return report(request->as_json, "%s is a trace: --apply wants FILE behind it, by its path on a mount", path);
    if (request->options.size != NULL && source.n > 1)
        return report(request->as_json, "--size is of one file: name it");
    return recommend_files(request, &source);
}

/* -- what is declared -- */

/* What a mount says of a file. */
static int know_file(struct file_info *info, const char *path, struct profile_options *options,
                     char why[static ATTRS_WHY])
{
    char reason[ATTRS_WHY];
    int r = file_info_init(info, path, reason);

    if (r < 0)
        return attrs_refuse(why, r, "%s: %s", path, reason);
    if (info->is_dir)
        return attrs_refuse(why, -EISDIR, "%s is a directory: name a file", path);
    if (options->array == NULL)
        options->array = info->array_text;
    if (options->n_disks == 0)
        options->n_disks = info->n_takes;
    return 0;
}

static enum ctl_status recommend_declared(struct request *request, char *path)
{
    static char nothing[] = "";
    cleanup(together_done) struct together together = { .n = 1, .file = calloc(1, sizeof *together.file) };
    cleanup(file_info_done) struct file_info info = { 0 };
    struct profile_options options = request->options;
    struct traced_file file = { .path = path != NULL ? path : nothing, .layout = nothing };
    enum ctl_status status;
    char why[ATTRS_WHY];

    if (together.file == NULL)
        return report(request->as_json, "out of memory");
    if (path != NULL && know_file(&info, path, &options, why) < 0)
        return report(request->as_json, "%s", why);
    if (path != NULL) {
        file.layout = info.text;
        file.size = info.size;
    }
    together.file[0].called = path;
    if (declare_profile(&together.file[0].profile, request->sections.word, request->sections.n,
                        request->asked.of == EXTENTS_WRITTEN, &file, &options, why) < 0)
        return report(request->as_json, "%s", why);
    request->alone = true;
    status = find_candidates(request, &together.file[0]);
    return status == CTL_OK ? say_one(request, &together.file[0]) : status;
}

/* -- the command line -- */

/* What is wrong with a word behind an option; NULL: nothing. */
struct wrong {
    const char *why, *word;
};

static struct wrong read_growth(struct request *request)
{
    request->options.growth = GROWTHS;
    if (request->growth != NULL && strcmp(request->growth, "lengths") == 0)
        request->options.growth = GROWTH_LENGTHS;
    else if (request->growth != NULL && strcmp(request->growth, "numbers") == 0)
        request->options.growth = GROWTH_NUMBERS;
    else if (request->growth != NULL)
        return (struct wrong){ "--growth takes lengths or numbers", request->growth };
    return (struct wrong){ NULL, NULL };
}

/* What disks cost, by the command line. */
static struct wrong read_costs(struct request *request)
{
    char *end = NULL;
    double seek = 0;

    if (request->seek != NULL)
        seek = strtod(request->seek, &end);
    if (end != NULL && (end == request->seek || *end != 0 || !isfinite(seek) || seek < 0 || seek > 10000))
        return (struct wrong){ "--seek takes milliseconds, from 0 to 10000, as 8 or 0.1", request->seek };
    request->said.knows_seek = request->seek != NULL;
    request->said.seek = (uint64_t) (seek * 1e6);
    if (request->rate != NULL &&
        (layout_parse_size(request->rate, &request->said.rate) < 0 || request->said.rate < 1024))
        return (struct wrong){ "--rate takes bytes a second, 1K at least, as 100M", request->rate };
    return (struct wrong){ NULL, NULL };
}

static struct wrong read_options(struct request *request)
{
    struct recommending *asked = &request->asked;
    uint64_t n_disks = 0, n_procs = 0;
    struct wrong wrong;

    asked->of = EXTENTS_ALL;
    if (request->of != NULL && strcmp(request->of, "read") == 0)
        asked->of = EXTENTS_READ;
    else if (request->of != NULL && strcmp(request->of, "write") == 0)
        asked->of = EXTENTS_WRITTEN;
    else if (request->of != NULL && strcmp(request->of, "both") != 0)
        return (struct wrong){ "--for takes read, write or both", request->of };
    if (request->procs != NULL &&
        (layout_parse_size(request->procs, &n_procs) < 0 || n_procs == 0 || n_procs > MAX_PROCS))
        return (struct wrong){ "--procs takes a number of processes, from 1 to 4096", request->procs };
    request->options.procs = (uint32_t) n_procs;
    if (request->disks != NULL && (layout_parse_size(request->disks, &n_disks) < 0 || n_disks == 0 || n_disks > 256))
        return (struct wrong){ "--disks takes a number of disks, from 1 to 256", request->disks };
    request->options.n_disks = (uint32_t) n_disks;
    wrong = read_growth(request);
    return wrong.why != NULL ? wrong : read_costs(request);
}

/* What options and words say together that makes no sense; NULL: nothing. */
static const char *check(const struct request *request, int n_words)
{
    const struct profile_options *options = &request->options;

    if (request->sections.n > 0 && request->trace != NULL)
        return "sections are told instead of a trace: one of --section and --trace";
    if (request->sections.n > 0 && n_words > 1)
        return "sections are of one file";
    if (request->sections.n > MAX_PROCS)
        return "too many sections";
    if (request->sections.n == 0 && request->trace == NULL && n_words == 0)
        return "which trace?";
    if ((options->also != NULL || options->growth != GROWTHS) && options->procs == 0 && options->size == NULL)
        return "--also and --growth help to tell what follows: say --procs or --size, too";
    if (request->sections.n > 0 && request->apply && n_words == 0)
        return "--apply wants FILE, on a mount";
    return NULL;
}

static enum ctl_status recommend(struct request *request, const struct args *args)
{
    struct wrong wrong = read_options(request);

    if (wrong.why == NULL)
        wrong = (struct wrong){ check(request, args->n), NULL };
    if (wrong.why != NULL)
        return args_complain("recommend", wrong.why, wrong.word);
    if (request->sections.n > 0)
        return recommend_declared(request, args->n > 0 ? args->word[0] : NULL);
    if (request->trace != NULL)
        return recommend_trace(request, request->trace, args->word, (size_t) args->n);
    return recommend_trace(request, args->word[0], &args->word[1], (size_t) args->n - 1);
}

enum ctl_status ctl_recommend(int argc, char **argv)
{
    struct request request = { 0 };
    const struct arg arg[] = { { .name = "--trace", .value = &request.trace },
                               { .name = "--section", .list = &request.sections },
                               { .name = "--for", .value = &request.of },
                               { .name = "--procs", .value = &request.procs },
                               { .name = "--size", .value = &request.options.size },
                               { .name = "--also", .value = &request.options.also },
                               { .name = "--growth", .value = &request.growth },
                               { .name = "--layout", .other = "-L", .value = &request.options.layout },
                               { .name = "--disks", .value = &request.disks },
                               { .name = "--array", .value = &request.options.array },
                               { .name = "--seek", .value = &request.seek },
                               { .name = "--rate", .value = &request.rate },
                               { .name = "--apply", .set = &request.apply },
                               { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "recommend", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (args_read(&args, argc, argv, &status))
        status = recommend(&request, &args);
    free(request.sections.word);
    return status;
}

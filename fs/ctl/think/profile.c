/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/profile.h"

#include "fs/ctl/ask/trace_state.h"
#include "fs/ctl/think/pattern_read.h"
#include "fs/trace/trace_parts.h"

#include <sys/stat.h>

/* -- which trace, which file -- */

static int load(const char *path, struct trace *ret_trace, char ret_why[static ATTRS_WHY])
{
    char why[TRACE_WHY];
    FILE *in = fopen(path, "re");
    struct stat st;
    int r;

    if (in == NULL)
        return attrs_refuse(ret_why, -errno, "%s: %s", path, strerror(errno));
    if (fstat(fileno(in), &st) == 0 && S_ISDIR(st.st_mode))
        r = trace_load_parts(path, ret_trace, why);
    else
        r = trace_load(in, ret_trace, why);
    fclose(in);
    return r < 0 ? attrs_refuse(ret_why, r, "%s %s", path, why) : 0;
}

uint64_t *profile_moved(const struct trace *trace)
{
    uint64_t *moved = calloc(MAX(trace->n_files, 1), sizeof *moved);

    for (size_t i = 0; moved != NULL && i < trace->n_accesses; i++) {
        const struct traced_access *access = &trace->access[i];

        if (access->file != TRACE_NOBODY && (access->flags & TRACE_FAILED) == 0)
            moved[access->file] += access->len;
    }
    return moved;
}

static bool ends_like(const char *path, const char *name)
{
    size_t len = strlen(path), name_len = strlen(name);

    return name_len < len && name_len > 0 && strcmp(path + len - name_len, name) == 0 &&
           (name[0] == '/' || path[len - name_len - 1] == '/');
}

int profile_find(const struct trace *trace, const char *name, uint32_t *ret_file)
{
    cleanup(freep) uint64_t *moved = profile_moved(trace);
    uint64_t most = 0;
    bool is_exact = false;

    if (moved == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < trace->n_files; i++) {
        const char *path = trace->file[i].path;
        bool is_it = name != NULL && strcmp(path, name) == 0;

        if (name != NULL && !is_it && (is_exact || (!ends_like(path, name) && !ends_like(name, path))))
            continue;
        if (moved[i] > most || (is_it && !is_exact)) {
            most = moved[i];
            *ret_file = (uint32_t) i;
            is_exact = is_it;
        }
    }
    return most > 0 ? 0 : -ENOENT;
}

/* Whether it is a trace of fallsfs. One of strace is not told from other text. */
static bool begins_a_trace(const char *path)
{
    char magic[sizeof TRACE_MAGIC - 1];
    FILE *in = fopen(path, "re");
    bool is_one;

    if (in == NULL)
        return false;
    setvbuf(in, NULL, _IONBF, 0);
    is_one = fread(magic, 1, sizeof magic, in) == sizeof magic && memcmp(magic, TRACE_MAGIC, sizeof magic) == 0;
    fclose(in);
    return is_one;
}

/* The layout that a file has now, instead of the one it had when it was first traced. */
static void renew_layout(struct traced_file *file, const char *path)
{
    char *text = NULL;

    if (attrs_get(path, "layout", &text) < 0)
        return;
    free(file->layout);
    file->layout = text;
}

/* What the mount has recorded of a file there. -ENOENT: nothing, or it lies on no mount. */
static int load_recorded(const char *path, struct trace *ret_trace, char **ret_name)
{
    cleanup(trace_done) struct trace trace = { 0 };
    cleanup(freep) char *stream = NULL, *name = NULL;
    char ignored[ATTRS_WHY];
    uint32_t file;

    if (trace_state_stream(path, &stream, &name, ignored) < 0 || load(stream, &trace, ignored) < 0 ||
        profile_find(&trace, name, &file) < 0 || strcmp(trace.file[file].path, name) != 0)
        return -ENOENT;
    renew_layout(&trace.file[file], path);
    *ret_trace = trace;
    trace = (struct trace){ 0 };
    *ret_name = steal(name);
    return 0;
}

/* Loads a trace, or, with *ret_name, what the mount has recorded of path. While that is traced it is not looked into:
 * the look would be an access. */
static int load_any(const char *path, struct trace *ret_trace, char **ret_name, char ret_why[static ATTRS_WHY])
{
    struct trace_state state;
    char ignored[ATTRS_WHY];
    bool is_on_mount = trace_state_get(path, &state, ignored) == 0;
    int r = -ENOENT;

    *ret_name = NULL;
    if (is_on_mount && (state.is_on || !begins_a_trace(path)))
        r = load_recorded(path, ret_trace, ret_name);
    if (r == 0)
        return 0;
    r = load(path, ret_trace, ret_why);
    return r == -EBADMSG && is_on_mount ? attrs_refuse(ret_why, r,
                                                       "%s is no trace, and the mount has recorded no access to it: "
                                                       "'fallsctl trace start' has it do so",
                                                       path)
                                        : r;
}

int profile_pick(const char *path, const char *name, struct profile_source *ret_source, char ret_why[static ATTRS_WHY])
{
    cleanup(profile_source_done) struct profile_source source = { .called = name };
    cleanup(freep) char *of_mount = NULL;
    int r = load_any(path, &source.trace, &of_mount, ret_why);

    if (r < 0)
        return r;
    if (of_mount != NULL && name != NULL)
        return attrs_refuse(ret_why, -EINVAL, "%s is no trace: of a file on a mount, name that file alone", path);
    if (of_mount != NULL)
        source.called = path;
    r = profile_find(&source.trace, of_mount != NULL ? of_mount : name, &source.file);
    if (r == 0) {
        *ret_source = source;
        source.trace = (struct trace){ 0 };
        return 0;
    }
    if (r != -ENOENT)
        return attrs_refuse(ret_why, r, "%s", strerror(-r));
    return name != NULL ? attrs_refuse(ret_why, r, "%s has no access to %s: without FILE it tells which files it has",
                                       path, name)
                        : attrs_refuse(ret_why, r, "%s has no access to any file", path);
}

/* -- patterns of accesses -- */

static void free_nests(struct nest **nest, size_t n)
{
    for (size_t i = 0; nest != NULL && i < n; i++)
        nest_free(nest[i]);
    free(nest);
}

static int collect_touches(struct profile *profile, const struct trace *trace, uint32_t file, uint32_t n_disks)
{
    struct nest **pattern = calloc(MAX(trace->n_patterns, 1), sizeof(struct nest *));
    int r = pattern == NULL ? -ENOMEM : 0;

    for (size_t i = 0; r == 0 && i < trace->n_patterns; i++)
        if (pattern_read(trace->pattern[i].text, n_disks, &pattern[i]) == -ENOMEM)
            r = -ENOMEM;
    if (r == 0)
        r = touches_init(&profile->touches, trace, file, pattern);
    free_nests(pattern, trace->n_patterns);
    return r;
}

/* -- what is touched -- */

static void count_classes(struct profile *profile)
{
    for (size_t i = 0; i < profile->chunks.n; i++) {
        const struct chunk *chunk = &profile->chunks.chunk[i];
        struct profile_class *class = &profile->class[chunk_class(chunk)];

        class->bytes += chunk->end - chunk->off;
        class->chunks++;
    }
}

/* Counts how often the chunks of each rank, in the order of first access, go back in the file. */
static int count_phases(struct profile *profile)
{
    cleanup(freep) uint32_t *order = partition_order(&profile->chunks, PARTITION_TEXT);
    const struct chunk *chunk = profile->chunks.chunk;

    profile->phases = calloc(MAX(profile->touches.n_ranks, 1), sizeof *profile->phases);
    if (order == NULL || profile->phases == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < profile->chunks.n; i++) {
        uint32_t rank = chunk[order[i]].top;

        if (i == 0 || chunk[order[i - 1]].top != rank || chunk[order[i]].off < chunk[order[i - 1]].off)
            profile->phases[rank]++;
    }
    return 0;
}

static int find_patterns(struct profile *profile)
{
    int r = chunks_init(&profile->chunks, &profile->touches);

    if (r == 0)
        r = count_phases(profile);
    if (r == 0)
        r = extents_init(&profile->read, &profile->touches, EXTENTS_READ);
    if (r == 0)
        r = extents_init(&profile->written, &profile->touches, EXTENTS_WRITTEN);
    if (r == 0)
        r = shapes_init(&profile->reads, &profile->read);
    if (r == 0)
        r = shapes_init(&profile->writes, &profile->written);
    if (r == 0)
        count_classes(profile);
    return r;
}

/* -- layouts -- */

static void layout_done(struct profile_layout *layout)
{
    free(layout->text);
    layout_free(layout->layout);
    free(layout->moved);
    fit_done(&layout->fit);
}

double profile_balance(const struct profile_layout *layout)
{
    uint64_t most = 0, all = 0;

    for (uint32_t i = 0; i < layout->n_disks; i++) {
        most = MAX(most, layout->moved[i]);
        all += layout->moved[i];
    }
    return all > 0 ? (double) most * layout->n_disks / (double) all : 1;
}

/* Judges a layout. Elements are dealt to the disks in turn, from any on; the header is with the first. */
static int judge(struct profile_layout *layout, const struct profile *profile, uint32_t n_disks)
{
    int r = fit_init(&layout->fit, layout->layout->pattern, &profile->touches, &profile->read, &profile->written);

    if (r == -ENOMEM)
        return r;
    layout->is_counted = r == 0;
    layout->n_disks = n_disks;
    layout->moved = calloc(n_disks, sizeof *layout->moved);
    for (uint32_t i = 0; layout->moved != NULL && r == 0 && i <= layout->fit.n_elements; i++)
        layout->moved[i < layout->fit.n_elements ? i % n_disks : 0] += layout->fit.moved[i];
    return layout->moved == NULL ? -ENOMEM : 0;
}

/* The disks that a layout is spread over: those it names, else as many as somebody said, else one for each element. */
static uint32_t disks_of(const struct layout *layout, uint32_t n_disks)
{
    if (layout->disks == DISKS_LIST)
        return layout->n_disks;
    return n_disks > 0 ? n_disks : MAX(layout->pattern->n_elements, 1);
}

static int judge_now(struct profile *profile, const struct profile_options *options, char why[static ATTRS_WHY])
{
    const char *text = options->layout != NULL ? options->layout : profile->file->layout;
    struct profile_layout *now = &profile->now;
    struct layout_error error = { 0 };
    int r;

    if (text[0] == 0)
        return 0;
    now->text = strdup(text);
    r = now->text == NULL ? -ENOMEM : layout_parse(text, strlen(text), options->n_disks, &now->layout, &error);
    if (r < 0)
        return attrs_refuse(why, r, "the layout %s: column %zu: %s", text, error.column, error.why);
    if (now->layout->kind == LAYOUT_ARRAY && !profile->knows_array) {
        profile->array = now->layout->array.array;
        profile->array.header = now->layout->disp;
        profile->knows_array = true;
    }
    if (now->layout->pattern == NULL) {
        layout_free(steal(now->layout));
        return 0;
    }
    return judge(now, profile, disks_of(now->layout, options->n_disks));
}

/* Proposes the layout of a partition, for as many disks as the present one is spread over, or one for each rank. */
static int propose(struct profile *profile, enum partition_reading reading, uint32_t said)
{
    uint32_t n_disks = profile->now.n_disks > 0 ? profile->now.n_disks : said;
    const struct proposing proposing = { .chunks = &profile->chunks,
                                         .n_ranks = profile->touches.n_ranks,
                                         .n_disks = n_disks,
                                         .reading = reading,
                                         .size = MAX(profile->file->size, profile->touches.end),
                                         .unit = PROFILE_UNIT };
    struct proposal *proposal = &profile->proposal[reading];
    struct profile_layout *proposed = &profile->proposed[reading];
    int r = proposal_init(proposal, &proposing);

    if (r < 0)
        return r == -E2BIG ? 0 : r;
    proposed->text = steal(proposal->text);
    proposed->layout = steal(proposal->layout);
    return judge(proposed, profile, n_disks > 0 ? n_disks : proposed->layout->pattern->n_elements / proposal->phases);
}

static int know_array(struct profile *profile, const char *text, char why[static ATTRS_WHY])
{
    struct layout_error error = { 0 };
    char type[LAYOUT_MAX_TYPE];

    if (text == NULL)
        return 0;
    if (layout_parse_array(text, strlen(text), &profile->array, type, &error) < 0)
        return attrs_refuse(why, -EINVAL, "--array %s: column %zu: %s", text, error.column, error.why);
    profile->knows_array = true;
    return 0;
}

int profile_init(struct profile *profile, const struct trace *trace, uint32_t file,
                 const struct profile_options *options, char ret_why[static ATTRS_WHY])
{
    int r;

    *profile = (struct profile){ .file = &trace->file[file] };
    (void) attrs_refuse(ret_why, 0, "out of memory");
    r = know_array(profile, options->array, ret_why);
    if (r == 0)
        r = collect_touches(profile, trace, file, options->n_disks);
    if (r == 0 && profile->touches.n == 0)
        r = attrs_refuse(ret_why, -ENODATA, "no access to it could be placed");
    if (r == 0)
        r = find_patterns(profile);
    if (r == 0)
        r = judge_now(profile, options, ret_why);
    if (r == 0)
        r = propose(profile, PARTITION_TEXT, options->n_disks);
    if (r == 0)
        r = propose(profile, PARTITION_FIGURE, options->n_disks);
    if (r < 0)
        profile_done(profile);
    return r;
}

void profile_done(struct profile *profile)
{
    touches_done(&profile->touches);
    chunks_done(&profile->chunks);
    extents_done(&profile->read);
    extents_done(&profile->written);
    free(profile->phases);
    shapes_done(&profile->reads);
    shapes_done(&profile->writes);
    layout_done(&profile->now);
    for (size_t i = 0; i < ARRAY_SIZE(profile->proposal); i++) {
        proposal_done(&profile->proposal[i]);
        layout_done(&profile->proposed[i]);
    }
    *profile = (struct profile){ 0 };
}

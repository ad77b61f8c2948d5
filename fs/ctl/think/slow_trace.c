/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/slow_trace.h"

#include "fs/ctl/think/recommend.h"
#include "layout/map.h"

void slow_advice_done(struct slow_advice *advice)
{
    free(advice->layout);
    *advice = (struct slow_advice){ .layout = NULL };
}

int slow_trace_gather(struct trace *trace, const struct slow_file *file, uint32_t *ret_index)
{
    uint32_t index = TRACE_NOBODY;
    char *layout;

    for (uint32_t i = 0; index == TRACE_NOBODY && i < trace->n_files; i++)
        if (trace->file[i].inode == file->inode)
            index = i;
    if (index == TRACE_NOBODY)
        return -ENOENT;
    layout = strdup(file->info->text);
    if (layout == NULL)
        return -ENOMEM;
    free(trace->file[index].layout);
    trace->file[index].layout = layout;
    for (size_t i = 0; i < trace->n_accesses; i++) {
        struct traced_access *access = &trace->access[i];

        if (access->file != TRACE_NOBODY && trace->file[access->file].inode == file->inode)
            access->file = index;
    }
    *ret_index = index;
    return 0;
}

/* -- times and sizes -- */

struct span {
    uint64_t from, to; /* ns */
};

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* Seconds that at least one of them covers; they are put in order. */
static double covered(struct span span[], size_t n)
{
    uint64_t ns = 0, end = 0;

    if (n > 0)
        qsort(span, n, sizeof *span, by_begin);
    for (size_t i = 0; i < n; i++) {
        uint64_t from = MAX(span[i].from, end);

        if (span[i].to > from) {
            ns += span[i].to - from;
            end = span[i].to;
        }
    }
    return (double) ns / 1e9;
}

static bool counts(const struct trace *trace, const struct traced_access *access, uint32_t index, uint32_t tgid)
{
    if (access->file != index)
        return false;
    return tgid == 0 || (access->process != TRACE_NOBODY && trace->process[access->process].tgid == tgid);
}

/* How many bytes lie together on a disk, if the first two such runs are equally long; else 0. */
static uint64_t unit_of(const struct pattern *pattern)
{
    struct runs runs;
    struct run first, second;

    if (pattern == NULL || pattern->n_elements < 2 || runs_init(&runs, pattern, pattern->disp, pattern->size) < 0 ||
        !runs_next(&runs, &first) || !runs_next(&runs, &second))
        return 0;
    return first.len == second.len ? first.len : 0;
}

static bool crosses(const struct pattern *pattern, uint64_t unit, const struct traced_access *access)
{
    struct runs runs;
    struct run run;

    return access->how == TRACE_PLAIN && access->len <= unit && access->len > 0 &&
           runs_init(&runs, pattern, access->offset, access->len) == 0 && runs_next(&runs, &run) &&
           run.len < access->len;
}

static void add_access(struct slow_figures *figures, const struct traced_access *access, const struct pattern *pattern)
{
    double seconds = (double) access->took / 1e6;
    bool writes = (access->flags & TRACE_WRITES) != 0, failed = (access->flags & TRACE_FAILED) != 0;

    figures->accesses++;
    figures->failed += failed;
    figures->bytes += access->len;
    figures->waited += seconds;
    figures->waited_writing += writes ? seconds : 0;
    figures->bytes_written += writes ? access->len : 0;
    figures->waited_plain += access->how == TRACE_PLAIN ? seconds : 0;
    figures->waited_in_groups += (access->flags & TRACE_IN_GROUP) != 0 ? seconds : 0;
    figures->crossing += figures->unit > 0 && crosses(pattern, figures->unit, access);
}

static int add_accesses(struct slow_figures *figures, const struct trace *trace, uint32_t index,
                        const struct slow_file *file)
{
    cleanup(freep) struct span *span = malloc(MAX(trace->n_accesses, 1) * sizeof *span);
    const struct pattern *pattern = file->info->layout->pattern;
    size_t n = 0;

    if (span == NULL)
        return -ENOMEM;
    figures->unit = unit_of(pattern);
    for (size_t i = 0; i < trace->n_accesses; i++) {
        const struct traced_access *access = &trace->access[i];

        if (!counts(trace, access, index, file->tgid))
            continue;
        add_access(figures, access, pattern);
        span[n++] = (struct span){ access->at, access->at + (uint64_t) access->took * 1000 };
    }
    figures->active = covered(span, n);
    return 0;
}

/* -- the layout -- */

static void add_moved(struct slow_figures *figures, const struct fit *fit, const struct file_info *info)
{
    for (uint32_t i = 0; i <= fit->n_elements; i++) {
        char name[STATS_NAME];

        snprintf(name, sizeof name, "d%" PRIu32, file_info_disk(info, i < fit->n_elements ? i : ELEMENT_HEADER));
        for (uint32_t k = 0; k < figures->n_disks; k++)
            if (strcmp(figures->disk[k].name, name) == 0)
                figures->disk[k].file_bytes += fit->moved[i];
    }
}

/* A layout that says of each byte where it lies is learned from the bytes that were touched. In a few seconds that may
 * have been by chance: it is believed where nearly all of the file was, and regularly, so that its text is short. */
#define MAX_LEARNED_TEXT 200

static bool is_believable(const struct candidate *candidate, const struct profile *profile)
{
    uint64_t touched = 0;

    if (candidate->layout->kind != LAYOUT_FALLS)
        return true;
    for (size_t i = 0; i < profile->chunks.n; i++)
        touched += profile->chunks.chunk[i].end - profile->chunks.chunk[i].off;
    return strlen(candidate->text) <= MAX_LEARNED_TEXT && touched >= profile->file->size / 10 * 9;
}

/* Asks which layout would be best on all disks that take new files. */
static int add_best(struct slow_figures *figures, const struct recommending *asked, struct slow_advice *advice)
{
    cleanup(recommend_done) struct recommendation found = { 0 };
    const struct candidate *best = NULL;
    int r = recommend_init(&found, asked);

    if (r < 0)
        return r;
    for (size_t i = 0; i < found.n; i++)
        if (is_believable(&found.candidate[i], asked->profile) &&
            (best == NULL || found.candidate[i].busy.most < best->busy.most))
            best = &found.candidate[i];
    if (best == NULL)
        return 0;
    figures->layout_best = best->busy.most;
    advice->best_degree = best->degree;
    advice->layout = strdup(best->text);
    return advice->layout != NULL ? 0 : -ENOMEM;
}

static int add_layout(struct slow_figures *figures, const struct profile *profile, const struct slow_file *file,
                      struct slow_advice *advice)
{
    const struct costs_said nothing = { .knows_seek = false };
    cleanup(file_costs_done) struct file_costs costs = { 0 };
    const struct recommending asked = {
        .profile = profile, .n_disks = MAX(file->info->n_takes, 1), .of = EXTENTS_ALL, .costs = &costs
    };
    struct busy busy = { 0 };
    int r;

    if (profile->now.layout == NULL || !profile->now.is_counted)
        return 0;
    add_moved(figures, &profile->now.fit, file->info);
    advice->degree = fit_degree(&profile->now.fit);
    r = file_costs_init(&costs, file->path, asked.n_disks, &nothing);
    if (r == 0)
        r = busy_init(&busy, profile->now.layout->pattern, asked.n_disks, &profile->touches, asked.of, costs.disk);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    figures->layout_now = busy.most;
    figures->layout_even = busy.all / asked.n_disks;
    busy_done(&busy);
    figures->layout_best = figures->layout_now;
    r = add_best(figures, &asked, advice);
    return r == -ENOMEM ? r : 0;
}

int slow_trace_look(struct slow_figures *figures, const struct trace *trace, uint32_t index,
                    const struct slow_file *file, struct slow_advice *ret_advice)
{
    const struct profile_options options = { .n_disks = file->info->n_takes };
    cleanup(profile_done) struct profile profile = { 0 };
    struct slow_advice advice = { .layout = NULL };
    char ignored[ATTRS_WHY];
    int r = add_accesses(figures, trace, index, file);

    if (r < 0)
        return r;
    r = profile_init(&profile, trace, index, &options, ignored);
    if (r == 0)
        r = add_layout(figures, &profile, file, &advice);
    if (r == -ENOMEM) {
        slow_advice_done(&advice);
        return r;
    }
    *ret_advice = advice;
    return 0; /* accesses that cannot be placed tell nothing of layouts */
}

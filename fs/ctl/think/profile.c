/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/profile.h"

#include "fs/ctl/think/foretell.h"
#include "fs/ctl/think/pattern_read.h"
#include "fs/learn/chance.h"

/* -- patterns of accesses -- */

static void free_nests(struct nest **nest, size_t n)
{
    for (size_t i = 0; nest != NULL && i < n; i++)
        nest_free(nest[i]);
    free(nest);
}

int profile_touches(struct touches *touches, const struct trace *trace, uint32_t file, uint32_t n_disks)
{
    struct nest **pattern = calloc(MAX(trace->n_patterns, 1), sizeof(struct nest *));
    int r = pattern == NULL ? -ENOMEM : 0;

    for (size_t i = 0; r == 0 && i < trace->n_patterns; i++)
        if (pattern_read(trace->pattern[i].text, n_disks, &pattern[i]) == -ENOMEM)
            r = -ENOMEM;
    if (r == 0)
        r = touches_init(touches, trace, file, pattern);
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
        r = is_by_chance(&profile->touches, &profile->read, &profile->by_chance);
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

static int know_layout(struct profile *profile, const struct profile_options *options, char why[static ATTRS_WHY])
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
    return 0;
}

static int judge_now(struct profile *profile, const struct profile_options *options)
{
    struct profile_layout *now = &profile->now;

    return now->layout != NULL ? judge(now, profile, disks_of(now->layout, options->n_disks)) : 0;
}

/* Proposes the layout of a partition, for as many disks as the present one is spread over, or one for each rank. */
static int propose(struct profile *profile, enum partition_reading reading, uint32_t said)
{
    uint32_t n_disks = profile->now.n_disks > 0 ? profile->now.n_disks : said;
    const struct proposing proposing = { .chunks = &profile->chunks,
                                         .n_ranks = profile->touches.n_ranks,
                                         .n_disks = n_disks,
                                         .reading = reading,
                                         .size = profile->size,
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

int profile_init_of(struct profile *profile, const struct traced_file *file, struct touches *touches,
                    const struct profile_options *options, char ret_why[static ATTRS_WHY])
{
    int r;

    *profile = (struct profile){ .file = file, .touches = *touches };
    *touches = (struct touches){ 0 };
    profile->size = MAX(file->size, profile->touches.end);
    (void) attrs_refuse(ret_why, 0, "out of memory");
    r = profile->touches.n == 0 ? attrs_refuse(ret_why, -ENODATA, "no access to it could be placed") : 0;
    if (r == 0)
        r = know_array(profile, options->array, ret_why);
    if (r == 0)
        r = know_layout(profile, options, ret_why);
    if (r == 0)
        r = foretell(profile, options, ret_why);
    if (r == 0)
        r = find_patterns(profile);
    if (r == 0)
        r = judge_now(profile, options);
    if (r == 0)
        r = propose(profile, PARTITION_TEXT, options->n_disks);
    if (r == 0)
        r = propose(profile, PARTITION_FIGURE, options->n_disks);
    if (r < 0)
        profile_done(profile);
    return r;
}

int profile_init(struct profile *profile, const struct trace *trace, uint32_t file,
                 const struct profile_options *options, char ret_why[static ATTRS_WHY])
{
    cleanup(touches_done) struct touches touches = { 0 };

    *profile = (struct profile){ 0 };
    if (profile_touches(&touches, trace, file, options->n_disks) < 0)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    return profile_init_of(profile, &trace->file[file], &touches, options, ret_why);
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

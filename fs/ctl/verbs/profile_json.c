/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/layout_words.h"
#include "fs/ctl/verbs/profile_say.h"

static void json_classes(struct json *json, const struct profile *profile)
{
    json_open(json, "classes", '[');
    for (size_t i = 0; i < CHUNK_CLASSES; i++) {
        json_open(json, NULL, '{');
        json_string(json, "name", profile_class_names[i]);
        json_u64(json, "bytes", profile->class[i].bytes);
        json_u64(json, "chunks", profile->class[i].chunks);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_section(struct json *json, const struct array *array, const struct range section[])
{
    json_open(json, "section", '[');
    for (uint32_t i = 0; i < array->ndims; i++) {
        json_open(json, NULL, '[');
        json_u64(json, NULL, section[i].lower);
        json_u64(json, NULL, section[i].upper);
        json_u64(json, NULL, section[i].stride);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void json_shapes(struct json *json, const char *name, const struct profile *profile, const struct shapes *shapes)
{
    struct range section[ARRAY_MAX_DIMS];

    json_open(json, name, '[');
    for (size_t i = 0; i < shapes->n; i++) {
        const struct shape_group *group = &shapes->group[i];

        json_open(json, NULL, '{');
        json_string(json, "kind", profile_shape_name(group->kind));
        json_u64(json, "first_rank", group->first_rank);
        json_u64(json, "processes", group->n_ranks);
        json_u64(json, "bytes", group->bytes);
        json_u64(json, "pieces", group->pieces);
        json_u64(json, "piece_bytes", group->piece);
        json_u64(json, "apart", group->apart);
        json_u64(json, "shift", group->shift);
        if (group->nest != NULL)
            json_nest(json, "falls", group->nest);
        if (group->nest != NULL && profile->knows_array && shape_section(&profile->array, group->nest, section))
            json_section(json, &profile->array, section);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* What one rank reads, or writes, and how the present layout serves it. */
static void json_side(struct json *json, const char *name, const struct profile *profile, const struct extents *extents,
                      const struct fit_side *side, uint32_t rank)
{
    json_open(json, name, '{');
    json_u64(json, "bytes", extents_bytes(extents, rank));
    json_u64(json, "pieces", extents->first[rank + 1] - extents->first[rank]);
    if (profile->now.is_counted) {
        json_u64(json, "runs", side->row[rank].runs);
        json_u64(json, "touched", side->row[rank].touched);
    }
    json_close(json, '}');
}

static void json_first(struct json *json, const struct touches *touches, uint32_t rank)
{
    const struct touch *first = &touches->touch[touches->first[rank]];

    if (touches->first[rank] == touches->n || first->rank != rank)
        return; /* it could not be placed */
    json_seconds(json, "first_at", (double) first->at / 1e9);
    json_u64(json, "first_offset", first->off);
}

static void json_ranks(struct json *json, const struct trace *trace, const struct profile *profile)
{
    json_open(json, "ranks", '[');
    for (uint32_t rank = 0; rank < profile->touches.n_ranks; rank++) {
        const struct traced_process *process = profile_process(trace, profile, rank);

        json_open(json, NULL, '{');
        json_u64(json, "rank", rank);
        json_bool(json, "kernel", process == NULL);
        if (process != NULL) {
            json_u64(json, "pid", process->tgid);
            if (process->ranked > 0)
                json_u64(json, "mpi_rank", process->ranked - 1);
            json_u64(json, "uid", process->uid);
            json_string(json, "program", process->name);
        }
        json_first(json, &profile->touches, rank);
        json_u64(json, "phases", profile->phases[rank]);
        json_side(json, "reads", profile, &profile->read, &profile->now.fit.reads, rank);
        json_side(json, "writes", profile, &profile->written, &profile->now.fit.writes, rank);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_layout_fit(struct json *json, const struct profile_layout *layout)
{
    json_string(json, "layout", layout->text);
    if (!layout->is_counted)
        return;
    json_real(json, "degree", fit_degree(&layout->fit));
    json_real(json, "degree_of_reads", fit_side_degree(&layout->fit.reads));
    json_real(json, "degree_of_writes", fit_side_degree(&layout->fit.writes));
    json_u64(json, "runs", layout->fit.reads.runs + layout->fit.writes.runs);
    json_u64(json, "least", layout->fit.reads.least + layout->fit.writes.least);
    json_real(json, "balance", profile_balance(layout));
    json_open(json, "moved", '[');
    for (uint32_t i = 0; i < layout->n_disks; i++)
        json_u64(json, NULL, layout->moved[i]);
    json_close(json, ']');
}

static void json_proposals(struct json *json, const struct profile *profile)
{
    static const char *const reading[] = { [PARTITION_TEXT] = "text", [PARTITION_FIGURE] = "figure" };

    json_open(json, "partitions", '[');
    for (size_t i = 0; i < ARRAY_SIZE(reading); i++) {
        json_open(json, NULL, '{');
        json_string(json, "reading", reading[i]);
        json_layout_fit(json, &profile->proposed[i]);
        json_u64(json, "phases", profile->proposal[i].phases);
        json_u64(json, "cell", profile->proposal[i].cell);
        json_u64(json, "placed", profile->proposal[i].placed);
        json_u64(json, "misplaced", profile->proposal[i].misplaced);
        json_u64(json, "disordered", profile->proposal[i].disordered);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void profile_json(struct json *json, const struct trace *trace, const struct profile *profile)
{
    json_open(json, "profile", '{');
    json_string(json, "path", profile->file->path);
    json_u64(json, "accesses", profile->touches.accesses);
    json_u64(json, "unplaced", profile->touches.unplaced);
    json_u64(json, "bytes_read", profile->touches.bytes_read);
    json_u64(json, "bytes_written", profile->touches.bytes_written);
    json_real(json, "sample", (double) profile->touches.of_accesses / (double) MAX(profile->touches.accesses, 1));
    json_u64(json, "processes", profile->touches.n_ranks);
    json_classes(json, profile);
    json_shapes(json, "reads", profile, &profile->reads);
    json_shapes(json, "writes", profile, &profile->writes);
    json_ranks(json, trace, profile);
    json_open(json, "now", '{');
    json_layout_fit(json, &profile->now);
    json_close(json, '}');
    json_proposals(json, profile);
    json_close(json, '}');
}

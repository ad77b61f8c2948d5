/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/profile_say.h"

#include "fs/ctl/show/table.h"
#include "fs/json/utf8.h"

#define MAX_SHOWN 12   /* ranks, groups of ranks and disks that are told one by one */
#define MAX_TEXT  2000 /* columns of a layout */

const char *const profile_class_names[CHUNK_CLASSES] = {
    [CHUNK_ONE] = "one process only",
    [CHUNK_READ] = "read by many, never written",
    [CHUNK_WRITTEN_ONE] = "written by one, read by others",
    [CHUNK_SHARED] = "shared",
};

const char *profile_shape_name(enum shape_kind kind)
{
    static const char *const name[] = {
        [SHAPE_SAME] = "all the same",         [SHAPE_PIECE] = "one piece each",
        [SHAPE_COLUMNS] = "blocks of columns", [SHAPE_STRIDED] = "pieces at equal distances",
        [SHAPE_BLOCKS] = "blocks of an array", [SHAPE_IRREGULAR] = "no regular pattern",
    };

    return name[kind];
}

const struct traced_process *profile_process(const struct trace *trace, const struct profile *profile, uint32_t rank)
{
    uint32_t process = profile->touches.process[rank];

    return process != TRACE_NOBODY ? &trace->process[process] : NULL;
}

static const char *many(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static const char *made(const struct trace *trace)
{
    if ((trace->flags & TRACE_IMPORTED) != 0)
        return "by strace: every call that succeeded";
    if ((trace->flags & TRACE_BY_MPI) != 0)
        return "by the library for MPI: what ranks asked for, however it was served";
    if ((trace->flags & TRACE_EVERY) != 0)
        return "by fallsfs: every access";
    return "by fallsfs, through the cache: what the kernel's cache answered itself is not in it";
}

static void print_missing(FILE *out, const struct trace *trace)
{
    if (trace->dropped > 0)
        fprintf(out, "  missing    %" PRIu64 " accesses were dropped\n", trace->dropped);
    if (trace->open_already > 0)
        fprintf(out, "  missing    %" PRIu64 " descriptor%s open before: %s\n", trace->open_already,
                many(trace->open_already),
                (trace->flags & TRACE_IMPORTED) != 0 ? "where they stood is not known"
                                                     : "what the kernel's cache answered for them is not in it");
    if (trace->n_ranks > trace->n_processes)
        fprintf(out,
                "  missing    %" PRIu64 " of %" PRIu32
                " ranks have no part: they opened no file, or could not write it\n",
                (uint64_t) trace->n_ranks - trace->n_processes, trace->n_ranks);
    if (trace->cut)
        fputs("  missing    the trace ends within a record: its end was not written\n", out);
}

static const char *bytes_text(uint64_t bytes, char text[static SIZE_TEXT])
{
    if (bytes >= 1024)
        return size_text(bytes, false, text);
    snprintf(text, SIZE_TEXT, "%" PRIu64 " B", bytes);
    return text;
}

/* Of a sample, nothing that follows is the whole: who reads it is to know. */
static void print_sample(FILE *out, const struct touches *touches)
{
    char read[SIZE_TEXT], written[SIZE_TEXT];

    if (touches->of_accesses == touches->accesses)
        return;
    fprintf(
        out,
        "  sampled    1 of %.4g accesses: there were about %" PRIu64 ", %s read, %s written\n"
        "             bytes and chunks below are of the sample alone: what several share, and what is regular, is more\n",
        (double) touches->of_accesses / (double) touches->accesses, touches->of_accesses,
        bytes_text(touches->of_bytes_read, read), bytes_text(touches->of_bytes_written, written));
}

/* -- classes, patterns, order -- */

static void print_classes(FILE *out, const struct profile *profile)
{
    uint64_t all = 0;
    char text[SIZE_TEXT];

    for (size_t i = 0; i < CHUNK_CLASSES; i++)
        all += profile->class[i].bytes;
    for (size_t i = 0; i < CHUNK_CLASSES; i++)
        fprintf(out, "  %-10s %-31s %9s  %5.1f %%  in %" PRIu64 " chunk%s\n", i == 0 ? "classes" : "",
                profile_class_names[i], bytes_text(profile->class[i].bytes, text),
                100.0 * (double) profile->class[i].bytes / (double) all, profile->class[i].chunks,
                many(profile->class[i].chunks));
}

static void print_section(FILE *out, const struct range section[], const struct array *array)
{
    fputs("section ", out);
    for (uint32_t i = 0; i < array->ndims; i++) {
        fprintf(out, "%s%" PRIu64 ":%" PRIu64, i > 0 ? "," : "", section[i].lower, section[i].upper);
        if (section[i].stride > 1)
            fprintf(out, ":%" PRIu64, section[i].stride);
    }
    fputs(" of the array: ", out);
}

static void print_group(FILE *out, const struct profile *profile, const struct shape_group *group, const char *who)
{
    char text[SIZE_TEXT], apart[SIZE_TEXT];
    struct range section[ARRAY_MAX_DIMS];

    fprintf(out, "%" PRIu32 " %s%s: ", group->n_ranks, who, many(group->n_ranks));
    if (group->n_ranks > 1 || group->pieces > 1)
        fprintf(out, "%s, ", profile_shape_name(group->kind));
    fprintf(out, "%" PRIu64 " piece%s", group->pieces, many(group->pieces));
    if (group->piece > 0)
        fprintf(out, " of %s", bytes_text(group->piece, text));
    else
        fprintf(out, ", %s together", bytes_text(group->bytes, text));
    if (group->apart > 0)
        fprintf(out, ", %s apart", bytes_text(group->apart, apart));
    if (group->shift > 0)
        fprintf(out, ", each rank %s behind the one before", bytes_text(group->shift, text));
    fputc('\n', out);
    if (group->nest == NULL || group->nest->n_nodes > MAX_SHOWN)
        return;
    fputs("             ", out);
    if (profile->knows_array && shape_section(&profile->array, group->nest, section))
        print_section(out, section, &profile->array);
    nest_print(out, group->nest);
    fputs(group->n_ranks > 1 ? " of the first\n" : "\n", out);
}

static void print_shapes(FILE *out, const struct profile *profile, const struct shapes *shapes, const char *who,
                         bool is_first)
{
    for (size_t i = 0; i < MIN(shapes->n, MAX_SHOWN); i++) {
        fprintf(out, "  %-10s ", is_first && i == 0 ? "patterns" : "");
        print_group(out, profile, &shapes->group[i], who);
    }
    if (shapes->n > MAX_SHOWN)
        fprintf(out, "  %-10s and %zu more\n", "", shapes->n - MAX_SHOWN);
}

static void print_order(FILE *out, const struct trace *trace, const struct profile *profile)
{
    uint32_t n_ranks = profile->touches.n_ranks;

    for (uint32_t rank = 0; rank < MIN(n_ranks, MAX_SHOWN); rank++) {
        const struct traced_process *process = profile_process(trace, profile, rank);

        fprintf(out, "  %-10s rank %-3" PRIu32 " ", rank == 0 ? "order" : "", rank);
        if (process == NULL) {
            fputs("the kernel", out);
        } else if (process->tgid == 0) {
            fprintf(out, "a process of user %" PRIu32, process->uid);
        } else {
            if (process->ranked > 0)
                fprintf(out, "rank %" PRIu32 " of MPI, ", process->ranked - 1);
            fprintf(out, "process %" PRIu32 "%s", process->tgid, process->name[0] != 0 ? " " : "");
            utf8_print_line(out, process->name, false);
        }
        if (profile->phases[rank] > 1)
            fprintf(out, ", goes back %" PRIu64 " time%s", profile->phases[rank] - 1, many(profile->phases[rank] - 1));
        fputc('\n', out);
    }
    if (n_ranks > MAX_SHOWN)
        fprintf(out, "  %-10s and %" PRIu32 " more\n", "", n_ranks - MAX_SHOWN);
}

/* -- layouts -- */

static void print_layout_text(FILE *out, const char *heading, const char *text)
{
    fprintf(out, "  %-10s ", heading);
    if (strlen(text) <= MAX_TEXT)
        utf8_print_line(out, text, false);
    else
        fprintf(out, "%.60s... (%zu bytes; --json has all of it)", text, strlen(text));
    fputc('\n', out);
}

static void print_fit(FILE *out, const struct profile_layout *layout)
{
    const struct fit *fit = &layout->fit;
    uint64_t runs = fit->reads.runs + fit->writes.runs;
    char text[SIZE_TEXT];

    if (layout->layout == NULL) {
        fputs("             how it fits depends on the number of disks: say --disks N\n", out);
        return;
    }
    if (!layout->is_counted) {
        fputs("             it meets what is accessed in too many pieces to be counted\n", out);
        return;
    }
    fprintf(out, "             match degree %.2f", fit_degree(fit));
    if (fit->reads.least > 0 && fit->writes.least > 0)
        fprintf(out, " (reads %.2f, writes %.2f)", fit_side_degree(&fit->reads), fit_side_degree(&fit->writes));
    fprintf(out, ": %" PRIu64 " run%s, %" PRIu64 " at best\n             balance %.2f:", runs, many(runs),
            fit->reads.least + fit->writes.least, profile_balance(layout));
    for (uint32_t i = 0; i < MIN(layout->n_disks, MAX_SHOWN); i++)
        fprintf(out, " %s", bytes_text(layout->moved[i], text));
    fputs(layout->n_disks > MAX_SHOWN ? " ...\n" : "\n", out);
}

static void print_proposal(FILE *out, const char *heading, const char *what, const struct proposal *proposal,
                           const struct profile_layout *layout)
{
    char text[SIZE_TEXT];

    if (layout->text == NULL) {
        fprintf(out, "  %-10s no layout has room for it\n", heading);
        return;
    }
    print_layout_text(out, heading, layout->text);
    fprintf(out, "             %s\n", what);
    print_fit(out, layout);
    if (proposal->misplaced > 0)
        fprintf(out, "             the nearest that is a layout, by cells of %s: %.1f %% of the bytes are misplaced\n",
                bytes_text(proposal->cell, text), 100.0 * (double) proposal->misplaced / (double) proposal->placed);
    if (proposal->disordered > 0)
        fprintf(out, "             %.1f %% of the bytes are not in the order of first access\n",
                100.0 * (double) proposal->disordered / (double) proposal->placed);
}

static void print_layouts(FILE *out, const struct profile *profile)
{
    const struct profile_layout *by_text = &profile->proposed[PARTITION_TEXT];
    const struct profile_layout *by_figure = &profile->proposed[PARTITION_FIGURE];

    if (profile->now.text != NULL) {
        print_layout_text(out, "layout", profile->now.text);
        print_fit(out, &profile->now);
    }
    print_proposal(out, "partition", "each chunk is with the process that accesses it most",
                   &profile->proposal[PARTITION_TEXT], by_text);
    if (by_text->text == NULL || by_figure->text == NULL || strcmp(by_text->text, by_figure->text) != 0)
        print_proposal(out, "or", "each chunk is with the process that reads it most; what several write is striped",
                       &profile->proposal[PARTITION_FIGURE], by_figure);
}

void profile_print(FILE *out, const struct trace *trace, const struct profile *profile)
{
    char read[SIZE_TEXT], written[SIZE_TEXT];

    utf8_print_line(out, profile->file->path, false);
    fprintf(out, "\n  traced     %s\n", made(trace));
    print_missing(out, trace);
    if (profile->touches.unplaced > 0)
        fprintf(out, "  missing    %" PRIu64 " accesses could not be placed\n", profile->touches.unplaced);
    fprintf(out, "  accesses   %" PRIu64 " by %" PRIu32 " process%s: %s read, %s written\n", profile->touches.accesses,
            profile->touches.n_ranks, profile->touches.n_ranks == 1 ? "" : "es",
            bytes_text(profile->touches.bytes_read, read), bytes_text(profile->touches.bytes_written, written));
    print_sample(out, &profile->touches);
    print_classes(out, profile);
    print_shapes(out, profile, &profile->reads, "reader", true);
    print_shapes(out, profile, &profile->writes, "writer", profile->reads.n == 0);
    print_order(out, trace, profile);
    print_layouts(out, profile);
}

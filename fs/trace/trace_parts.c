/* SPDX-License-Identifier: MIT */
#include "fs/trace/trace_parts.h"

#include <dirent.h>

#define PREFIX "rank."

/* A name of a part has digits behind the prefix, and nothing else. */
static int is_part(const struct dirent *entry)
{
    const char *digits = entry->d_name + strlen(PREFIX);

    return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 && digits[0] != 0 &&
           strspn(digits, "0123456789") == strlen(digits);
}

/* Finds the file of a part among those there are, by its index; what the part alone has is added. */
static int find_file(struct trace *trace, struct traced_file *file, uint32_t *ret_index)
{
    for (size_t i = 0; i < trace->n_files; i++) {
        struct traced_file *known = &trace->file[i];

        if (known->inode != file->inode || strcmp(known->path, file->path) != 0)
            continue;
        known->size = MAX(known->size, file->size);
        *ret_index = (uint32_t) i;
        return 0;
    }
    *ret_index = (uint32_t) trace->n_files;
    return trace_add_file(trace, (struct traced_file){ .number = (uint32_t) trace->n_files + 1,
                                                       .path = steal(file->path),
                                                       .layout = steal(file->layout),
                                                       .inode = file->inode,
                                                       .size = file->size });
}

/* Moves processes and patterns over. */
static int add_names(struct trace *trace, struct trace *part)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < part->n_processes; i++) {
        part->process[i].number = (uint32_t) trace->n_processes + 1;
        r = trace_add_process(trace, part->process[i]);
        part->process[i].name = NULL;
    }
    for (size_t i = 0; r == 0 && i < part->n_patterns; i++) {
        part->pattern[i].number = (uint32_t) trace->n_patterns + 1;
        r = trace_add_pattern(trace, part->pattern[i]);
        part->pattern[i].text = NULL;
    }
    return r;
}

static uint32_t shifted(uint32_t index, size_t by)
{
    return index == TRACE_NOBODY ? index : index + (uint32_t) by;
}

static int add_accesses(struct trace *trace, const struct trace *part, const uint32_t file[], size_t processes,
                        size_t patterns)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < part->n_accesses; i++) {
        struct traced_access access = part->access[i];

        access.at += part->began - trace->began;
        access.file = access.file != TRACE_NOBODY ? file[access.file] : TRACE_NOBODY;
        access.process = shifted(access.process, processes);
        access.pattern = shifted(access.pattern, patterns);
        r = trace_add_access(trace, &access);
    }
    return r;
}

/* The trace begins with its earliest part. */
static void begin_earlier(struct trace *trace, uint64_t began)
{
    for (size_t i = 0; i < trace->n_accesses; i++)
        trace->access[i].at += trace->began - began;
    trace->began = began;
}

static int add_part(struct trace *trace, struct trace *part)
{
    const size_t processes = trace->n_processes, patterns = trace->n_patterns;
    cleanup(freep) uint32_t *file = calloc(MAX(part->n_files, 1), sizeof *file);
    int r = file == NULL ? -ENOMEM : 0;

    for (size_t i = 0; r == 0 && i < part->n_files; i++)
        r = find_file(trace, &part->file[i], &file[i]);
    if (r == 0)
        r = add_names(trace, part);
    if (r < 0)
        return r;
    if (part->began < trace->began)
        begin_earlier(trace, part->began);
    trace->cut |= part->cut;
    trace->dropped += part->dropped;
    return add_accesses(trace, part, file, processes, patterns);
}

static int load_part(const char *directory, const char *name, struct trace *trace, char why[static TRACE_WHY])
{
    cleanup(trace_done) struct trace part = { 0 };
    char path[PATH_MAX], what[TRACE_WHY];
    FILE *in;
    int r;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    in = fopen(path, "re");
    if (in == NULL)
        return trace_refuse(why, -errno, "has %s: %s", name, strerror(errno));
    r = trace_load(in, &part, what);
    fclose(in);
    if (r < 0)
        return trace_refuse(why, r, "has %s: %.200s", name, what);
    if ((part.flags & TRACE_BY_MPI) == 0)
        return trace_refuse(why, -EBADMSG, "has %s, which no rank of an MPI program has written", name);
    if (trace->n_processes == 0) {
        trace->began = part.began;
        trace->flags = part.flags;
        trace->n_ranks = part.n_ranks;
    }
    if (part.n_ranks != trace->n_ranks)
        return trace_refuse(why, -EBADMSG,
                            "has parts of programs with %" PRIu32 " and with %" PRIu32
                            " ranks: remove those of the other run",
                            trace->n_ranks, part.n_ranks);
    r = add_part(trace, &part);
    if (r == -E2BIG)
        return trace_refuse(why, r, "has more than %u accesses: trace a shorter run", TRACE_MAX_ACCESSES);
    return r < 0 ? trace_refuse(why, r, "is more than there is memory for") : 0;
}

int trace_load_parts(const char *directory, struct trace *ret_trace, char ret_why[static TRACE_WHY])
{
    cleanup(trace_done) struct trace trace = { 0 };
    struct dirent **name = NULL;
    int n = scandir(directory, &name, is_part, versionsort), r = 0;

    if (n < 0)
        return trace_refuse(ret_why, -errno, "cannot be read: %s", strerror(errno));
    if (n == 0)
        r = trace_refuse(ret_why, -ENOENT, "is a directory without a part of a trace, rank.0, rank.1 and so on");
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = load_part(directory, name[i]->d_name, &trace, ret_why);
        free(name[i]);
    }
    free(name);
    if (r == 0) {
        *ret_trace = trace;
        trace = (struct trace){ 0 };
    }
    return r;
}

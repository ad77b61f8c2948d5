/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/source.h"

#include "fs/ctl/ask/trace_state.h"
#include "fs/trace/trace_parts.h"

#include <sys/stat.h>

int source_load(const char *path, struct trace *ret_trace, char ret_why[static ATTRS_WHY])
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

uint64_t *source_moved(const struct trace *trace)
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

int source_find(const struct trace *trace, const char *name, uint32_t *ret_file)
{
    cleanup(freep) uint64_t *moved = source_moved(trace);
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

/* Takes one more file. called may be NULL. */
static int add_file(struct source *source, uint32_t file, const char *called)
{
    for (size_t i = 0; i < source->n; i++)
        if (source->file[i].file == file)
            return 0;
    if (!array_grow(source->file, source->n))
        return -ENOMEM;
    source->file[source->n++] = (struct source_file){ file, called };
    return 0;
}

/* Takes a file on a mount whose stream was read. -ENOENT: it lies elsewhere, or nothing was recorded of it. */
static int add_recorded(struct source *source, const char *stream, const char *path)
{
    cleanup(freep) char *its_stream = NULL, *name = NULL;
    char ignored[ATTRS_WHY];
    uint32_t file;

    if (trace_state_stream(path, &its_stream, &name, ignored) < 0 || strcmp(its_stream, stream) != 0 ||
        source_find(&source->trace, name, &file) < 0 || strcmp(source->trace.file[file].path, name) != 0)
        return -ENOENT;
    renew_layout(&source->trace.file[file], path);
    return add_file(source, file, path);
}

/* Loads what the mount has recorded of a file there. -ENOENT: nothing, or it lies on no mount. */
static int load_recorded(const char *path, struct source *source, char **ret_stream)
{
    cleanup(freep) char *stream = NULL;
    char ignored[ATTRS_WHY];
    int r;

    if (trace_state_stream(path, &stream, NULL, ignored) < 0 || source_load(stream, &source->trace, ignored) < 0)
        return -ENOENT;
    r = add_recorded(source, stream, path);
    if (r == 0)
        *ret_stream = steal(stream);
    else
        source_done(source);
    return r;
}

/* Loads a trace, or, with *ret_stream, what the mount has recorded of path. While that is traced it is not looked into:
 * the look would be an access. */
static int load_any(const char *path, struct source *source, char **ret_stream, char ret_why[static ATTRS_WHY])
{
    struct trace_state state;
    char ignored[ATTRS_WHY];
    bool is_on_mount = trace_state_get(path, &state, ignored) == 0;
    int r = -ENOENT;

    if (is_on_mount && (state.is_on || !begins_a_trace(path)))
        r = load_recorded(path, source, ret_stream);
    if (r == 0)
        return 0;
    if (is_on_mount && state.is_on)
        return attrs_refuse(
            ret_why, -ENODATA, "%s is traced, and no access to it was recorded so far%s", path,
            state.every ? "" : ": the kernel's cache may have answered; 'fallsctl trace start --every' sees all");
    r = source_load(path, &source->trace, ret_why);
    return r == -EBADMSG && is_on_mount ? attrs_refuse(ret_why, r,
                                                       "%s is no trace, and the mount has recorded no access to it: "
                                                       "'fallsctl trace start' has it do so",
                                                       path)
                                        : r;
}

/* Takes all files that were accessed. */
static int add_all(struct source *source)
{
    cleanup(freep) uint64_t *moved = source_moved(&source->trace);
    int r = moved == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; r == 0 && i < source->trace.n_files; i++)
        if (moved[i] > 0)
            r = add_file(source, i, NULL);
    return r == 0 && source->n == 0 ? -ENOENT : r;
}

static int add_named(struct source *source, const char *name)
{
    uint32_t file;
    int r = source_find(&source->trace, name, &file);

    return r < 0 ? r : add_file(source, file, name);
}

int source_pick(const char *path, char *const name[], size_t n_names, bool all, struct source *ret_source,
                char ret_why[static ATTRS_WHY])
{
    cleanup(source_done) struct source source = { 0 };
    cleanup(freep) char *stream = NULL;
    int r = load_any(path, &source, &stream, ret_why);

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < n_names; i++) {
        r = stream != NULL ? add_recorded(&source, stream, name[i]) : add_named(&source, name[i]);
        if (r == -ENOENT && stream != NULL)
            return attrs_refuse(ret_why, -EINVAL,
                                "%s is no trace: of a file on a mount, name that file alone, or others there that are "
                                "traced: %s is none",
                                path, name[i]);
        if (r == -ENOENT)
            return attrs_refuse(ret_why, r, "%s has no access to %s: 'fallsctl profile' tells which files it has", path,
                                name[i]);
    }
    if (r == 0 && source.n == 0)
        r = all ? add_all(&source) : add_named(&source, NULL);
    if (r < 0)
        return r == -ENOENT ? attrs_refuse(ret_why, r, "%s has no access to any file", path)
                            : attrs_refuse(ret_why, r, "%s", strerror(-r));
    *ret_source = source;
    source = (struct source){ 0 };
    return 0;
}

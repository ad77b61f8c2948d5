/* SPDX-License-Identifier: MIT */
/* fallsctl array: what files are said to hold, user.falls.array. */
#include "fs/ctl/ask/array_header.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <string.h>

static const char set_help[] =
    "usage: fallsctl array set [-n] [--json] FILE[:DATASET]...\n"
    "\n"
    "Reads from a file's header what array it holds, and notes it in user.falls.array: shape, type, order, and where it\n"
    "begins. Sections, 'fallsctl where' and 'explain', drawings and programs go by that.\n"
    "\n"
    "Known are .npy, netCDF (classic, 64-bit offset, 64-bit data) and, if fallsfs was built with libhdf5, HDF5 and with it\n"
    "netCDF-4. DATASET is a variable or dataset; a file that has only one needs none. An array has to lie in one piece:\n"
    "record variables, and what is chunked or compressed, are refused. Of structures, whose fields cannot be noted, the\n"
    "length is, and a note says so; a .npy file without dimensions is refused.\n"
    "\n"
    "  -n        only says what would be set, also of files outside of a mount\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl array set /fast/matrix.npy\n"
    "  fallsctl array set /fast/ocean.nc:temperature\n"
    "  fallsctl array set -n ~/run7.h5:/fields/u\n";

static const char get_help[] =
    "usage: fallsctl array get [--json] PATH...\n"
    "\n"
    "Says what files are said to hold, themselves or as what is in their directory (user.falls.array).\n"
    "\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl array get /fast/matrix.npy\n"
    "  fallsctl array get /fast/runs /fast/runs/*\n"
    "  fallsctl array get --json /fast/matrix.npy | jq -r '.files[].array'\n";

static const char unset_help[] = "usage: fallsctl array unset [-n] [--json] PATH...\n"
                                 "\n"
                                 "Takes from files and directories what was said of them. No byte is changed.\n"
                                 "\n"
                                 "  -n        only says what would be done\n"
                                 "  --json    machine-readable output\n"
                                 "\n"
                                 "examples:\n"
                                 "  fallsctl array unset /fast/matrix.npy\n"
                                 "  fallsctl array unset -n /fast/runs\n"
                                 "  fallsctl array unset --json /fast/runs | jq '.files[].done'\n";

struct request {
    bool dry;
    struct paths paths;
};

static void print_pair(const char *before, const char *path, const char *between, const char *text)
{
    fputs(before, stdout);
    utf8_print_line(stdout, path, false);
    fputs(between, stdout);
    utf8_print_line(stdout, text, false);
    putchar('\n');
}

/* Tells what is said of a file; done is NULL where nothing was to be done. */
static void json_one(struct request *request, const char *path, const char *text, const bool *done)
{
    struct json *json = &request->paths.json;

    json_open(json, NULL, '{');
    json_string(json, "file", path);
    json_string(json, "array", text);
    if (done != NULL)
        json_bool(json, "done", *done);
    json_close(json, '}');
}

static char *array_text(const struct array_header *header)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    layout_print_array(out, &header->array, header->type);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static int set_at(const char *path, const char *text, char why[static ATTRS_WHY])
{
    cleanup(freep) char *json = NULL;
    int r = attrs_check(path, &json, why);

    return r < 0 ? r : attrs_set(path, "array", text, why);
}

static void set_one(struct request *request, const char *word)
{
    cleanup(freep) char *path = NULL, *text = NULL;
    struct array_header header;
    char why[ATTRS_WHY];
    bool done = !request->dry;
    int r = array_header_of(word, &path, &header, why);

    if (r == 0 && (text = array_text(&header)) == NULL)
        r = attrs_refuse(why, -ENOMEM, "out of memory");
    if (r == 0 && !request->dry)
        r = set_at(path, text, why);
    if (r < 0) {
        paths_fail(&request->paths, word, "%s", why);
        return;
    }
    request->paths.done++;
    if (header.unsaid != NULL)
        utf8_complain("%s: note: %s", path, header.unsaid);
    if (request->paths.as_json)
        json_one(request, path, text, &done);
    else
        print_pair(request->dry ? "would set " : "", path, request->dry ? ": " : "  ", text);
}

static void get_one(struct request *request, const char *path)
{
    cleanup(freep) char *json = NULL, *text = NULL;
    char why[ATTRS_WHY];
    int r = attrs_check(path, &json, why);

    if (r == 0 && (r = attrs_get(path, "array", &text)) < 0)
        snprintf(why, sizeof why, "%s",
                 r == -ENODATA ? "nobody has said what it holds: 'fallsctl array set' reads it from headers"
                               : strerror(-r));
    if (r < 0) {
        paths_fail(&request->paths, path, "%s", why);
        return;
    }
    request->paths.done++;
    if (request->paths.as_json)
        json_one(request, path, text, NULL);
    else
        print_pair("", path, "  ", text);
}

static void unset_one(struct request *request, const char *path)
{
    cleanup(freep) char *json = NULL;
    char why[ATTRS_WHY];
    bool done = !request->dry;
    int r = attrs_check(path, &json, why);

    if (r == 0 && !request->dry && (r = attrs_set(path, "array", NULL, why)) == -ENODATA)
        snprintf(why, sizeof why, "nothing was said of it itself");
    if (r < 0) {
        paths_fail(&request->paths, path, "%s", why);
        return;
    }
    request->paths.done++;
    if (request->paths.as_json)
        json_one(request, path, NULL, &done);
    else if (request->dry)
        print_pair("would unset ", path, ": ", "what is above says");
}

/* -- command lines -- */

static const struct verb {
    const char *name, *full, *help, *which;
    void (*one)(struct request *request, const char *word);
    bool changes;
} verbs[] = {
    { "set", "array set", set_help, "which files?", set_one, true },
    { "get", "array get", get_help, "which files or directories?", get_one, false },
    { "unset", "array unset", unset_help, "which files or directories?", unset_one, true },
};

static enum ctl_status run(const struct verb *verb, int argc, char **argv)
{
    struct request request = { 0 };
    bool as_json = false;
    const struct arg arg[] = { { .name = "--json", .set = &as_json },
                               { .name = "-n", .other = "--dry-run", .set = &request.dry } };
    struct args args = { .verb = verb->full, .help = verb->help, .arg = arg, .n_args = verb->changes ? 2 : 1 };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n == 0)
        return args_complain(verb->full, verb->which, NULL);
    paths_begin(&request.paths, as_json);
    for (int i = 0; i < args.n; i++)
        verb->one(&request, args.word[i]);
    return paths_end(&request.paths);
}

static void print_verbs(FILE *out)
{
    fputs("usage:\n"
          "  fallsctl array set [-n] [--json] FILE[:DATASET]...\n"
          "  fallsctl array get [--json] PATH...\n"
          "  fallsctl array unset [-n] [--json] PATH...\n"
          "\n'fallsctl array VERB --help' explains a verb, with examples.\n",
          out);
}

enum ctl_status ctl_array(int argc, char **argv)
{
    for (size_t i = 0; argc > 0 && i < ARRAY_SIZE(verbs); i++)
        if (strcmp(argv[0], verbs[i].name) == 0)
            return run(&verbs[i], argc - 1, argv + 1);
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        print_verbs(stdout);
        return CTL_OK;
    }
    if (argc > 0)
        utf8_complain("fallsctl array: unknown verb '%s'", argv[0]);
    print_verbs(stderr);
    return CTL_USAGE;
}

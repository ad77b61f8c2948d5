/* SPDX-License-Identifier: MIT */
/* fallsctl replica: files lie in further layouts, too, each for those who read it so. */
#include "fs/ctl/verbs/replica.h"

#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/think/layout_options.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "layout/layout.h"

#include <stdio.h>
#include <stdlib.h>

static const char help[] = "usage: fallsctl replica add | list | drop ... [--json]\n"
                           "       fallsctl replica VERB --help\n"
                           "\n"
                           "  add       a file lies in one more layout, too\n"
                           "  list      in which layouts files lie, and how much of them\n"
                           "  drop      removes a replica; the file stays as it is\n"
                           "\n"
                           "examples:\n"
                           "  fallsctl replica add --array 8192x8192:f8:*,block:1x4 --wait /fast/matrix\n"
                           "  fallsctl replica list /fast/matrix\n"
                           "  fallsctl replica drop 1 /fast/matrix\n";

static const char add_help[] =
    "usage: fallsctl replica add [--only OFFSET:LENGTH] [--on-write drop | update] [--wait] [--json] LAYOUT FILE...\n"
    "\n"
    "Files lie in one more layout, beside the one they have: sections, views and groups are then read from the one that\n"
    "takes least. Readers and writers need not know. A replica takes as much room as the file, and is filled in the\n"
    "background, as soon as nobody has changed the file for some seconds. The file stays the truth: whatever happens to a\n"
    "replica, nothing is lost. A file has at most three.\n"
    "\n"
    "LAYOUT is one of\n"
    "\n"
    "%s"
    "\n"
    "  --only O:N       N bytes from offset O on, as 1G:64M; else all of the file\n"
    "  --on-write drop  what is written to the file makes the replica lack it, until it is filled again: writes are as\n"
    "                   fast as without. This is usual\n"
    "  --on-write update\n"
    "                   what is written to the file is written to the replica, too\n"
    "  --wait           until they are filled; on a terminal, with a bar. Interrupted, the mount goes on\n"
    "  --json           machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl replica add -L 'stripe(64K)' /fast/a.dat\n"
    "  fallsctl replica add --array 8192x8192:f8:*,block:1x4 --wait /fast/matrix\n"
    "  fallsctl replica add -L 'stripe(4M) on d3' --only 0:1G --on-write update /fast/head\n";

static const char drop_help[] = "usage: fallsctl replica drop [--json] NUMBER FILE...\n"
                                "       fallsctl replica drop [--json] --all FILE...\n"
                                "\n"
                                "Removes the replica with that number, as 'fallsctl replica list' shows it, or all of\n"
                                "them. The file stays as it is. The second copy of a layout with 'copies 2' goes with\n"
                                "the layout: 'fallsctl migrate' to one without.\n"
                                "\n"
                                "  --all    all replicas\n"
                                "  --json   machine-readable output\n"
                                "\n"
                                "examples:\n"
                                "  fallsctl replica drop 2 /fast/matrix\n"
                                "  fallsctl replica drop --all /fast/run7/*.h5\n";

struct request {
    struct layout_options asked;
    const char *only, *on_write;
    bool wait, as_json;
    struct paths paths;
    char **path;
    char **layout;    /* of each path, or NULL */
    uint64_t *number; /* of each path; 0: it has got none */
};

/* -- add -- */

static void tell_added(struct request *request, int i, const char *state)
{
    struct json *json = &request->paths.json;

    request->paths.done++;
    if (request->as_json) {
        json_open(json, NULL, '{');
        json_string(json, "file", request->path[i]);
        json_u64(json, "number", request->number[i]);
        json_string(json, "layout", request->layout[i]);
        json_string(json, "state", state);
        json_close(json, '}');
        return;
    }
    utf8_print_line(stdout, request->path[i], false);
    printf(": replica %" PRIu64 ", %s\n", request->number[i],
           request->wait ? "filled" : "being filled: 'fallsctl replica list' shows how far it is");
}

/* The number of the replica that somebody has just got: the highest one. */
static int find_number(const char *path, uint64_t *ret_number, char **ret_layout, char why[static ATTRS_WHY])
{
    cleanup(replicas_info_done) struct replicas_info info = { 0 };
    int r = replicas_info_init(&info, path, why);

    for (uint32_t i = 0; r == 0 && i < info.n; i++)
        if (!info.replica[i].is_copy && info.replica[i].number > *ret_number) {
            *ret_number = info.replica[i].number;
            free(*ret_layout);
            *ret_layout = info.replica[i].layout != NULL ? strdup(info.replica[i].layout) : NULL;
        }
    if (r == 0 && *ret_number == 0)
        r = attrs_refuse(why, -ENOENT, "the replica was dropped again");
    return r;
}

static void add_one(struct request *request, int i)
{
    cleanup(replicas_info_done) struct replicas_info before = { 0 };
    cleanup(freep) char *layout = NULL, *array = NULL;
    const char *path = request->path[i];
    char why[ATTRS_WHY];
    int r = replicas_info_init(&before, path, why);

    if (r == 0)
        r = layout_options_find(&request->asked, path, &layout, &array, why);
    if (r == 0)
        r = replicas_info_add(path, layout, request->only, request->on_write, why);
    if (r == 0)
        r = find_number(path, &request->number[i], &request->layout[i], why);
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
    else if (!request->wait)
        tell_added(request, i, "filling");
}

static void tell_waited(void *ctx, int i, const char *why)
{
    struct request *request = ctx;

    if (why != NULL)
        paths_fail(&request->paths, request->path[i], "%s", why);
    else
        tell_added(request, i, "filled");
}

static enum ctl_status add_all(struct request *request, int n)
{
    request->number = calloc((size_t) n, sizeof *request->number);
    request->layout = calloc((size_t) n, sizeof *request->layout);
    paths_begin(&request->paths, request->as_json);
    for (int i = 0; i < n; i++) {
        if (request->number == NULL || request->layout == NULL)
            paths_fail(&request->paths, request->path[i], "out of memory");
        else
            add_one(request, i);
    }
    if (request->wait && request->number != NULL && request->layout != NULL)
        replica_wait(request->path, request->number, n, tell_waited, request);
    for (int i = 0; request->layout != NULL && i < n; i++)
        free(request->layout[i]);
    free(request->layout);
    free(request->number);
    return paths_end(&request->paths);
}

static bool is_range(const char *text)
{
    cleanup(freep) char *copy = strdup(text);
    char *colon = copy != NULL ? strchr(copy, ':') : NULL;
    uint64_t off, len;

    if (colon != NULL)
        *colon = 0;
    return colon != NULL && layout_parse_size(copy, &off) == 0 && layout_parse_size(colon + 1, &len) == 0 && len > 0;
}

static enum ctl_status add(int argc, char **argv)
{
    struct request request = { .wait = false };
    struct arg arg[4 + LAYOUT_OPTIONS_ARGS] = { { .name = "--only", .value = &request.only },
                                                { .name = "--on-write", .value = &request.on_write },
                                                { .name = "--wait", .set = &request.wait },
                                                { .name = "--json", .set = &request.as_json } };
    cleanup(freep) char *text = NULL;
    struct args args = { .verb = "replica add", .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    char why[ATTRS_WHY];

    layout_options_args(&request.asked, arg + 4);
    if (asprintf(&text, add_help, layout_options_help) < 0)
        return CTL_ERROR;
    args.help = text;
    if (!args_read(&args, argc, argv, &status))
        return status;
    if (layout_options_check(&request.asked, why) < 0)
        return args_complain("replica add", why, NULL);
    if (args.n == 0)
        return args_complain("replica add", "which files?", NULL);
    if (request.only != NULL && !is_range(request.only))
        return args_complain("replica add", "not OFFSET:LENGTH, as 1G:64M is", request.only);
    if (request.on_write != NULL && strcmp(request.on_write, "drop") != 0 && strcmp(request.on_write, "update") != 0)
        return args_complain("replica add", "--on-write is drop or update, not", request.on_write);
    request.path = args.word;
    return add_all(&request, args.n);
}

/* -- drop -- */

static void drop_one(struct request *request, const char *path, const char *which)
{
    cleanup(replicas_info_done) struct replicas_info before = { 0 };
    cleanup(freep) char *order = NULL;
    char why[ATTRS_WHY];
    int r = replicas_info_init(&before, path, why);

    if (r == 0 && asprintf(&order, "drop %s", which) < 0)
        r = attrs_refuse(why, -ENOMEM, "out of memory");
    if (r == 0)
        r = attrs_set(path, "replicas", order, why);
    if (r < 0) {
        paths_fail(&request->paths, path, "%s", why);
        return;
    }
    request->paths.done++;
    if (!request->as_json)
        return;
    json_open(&request->paths.json, NULL, '{');
    json_string(&request->paths.json, "file", path);
    json_string(&request->paths.json, "dropped", which);
    json_close(&request->paths.json, '}');
}

static enum ctl_status drop(int argc, char **argv)
{
    struct request request = { .wait = false };
    bool all = false;
    const struct arg arg[] = { { .name = "--all", .set = &all }, { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "replica drop", .help = drop_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    uint64_t number;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n < (all ? 1 : 2))
        return args_complain("replica drop", "which replica, or --all, and of which files?", NULL);
    if (!all && (layout_parse_size(args.word[0], &number) < 0 || number == 0))
        return args_complain("replica drop", "not the number of a replica, as 1 is", args.word[0]);
    paths_begin(&request.paths, request.as_json);
    for (int i = all ? 0 : 1; i < args.n; i++)
        drop_one(&request, args.word[i], all ? "all" : args.word[0]);
    return paths_end(&request.paths);
}

enum ctl_status ctl_replica(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "add") == 0)
        return add(argc - 1, argv + 1);
    if (argc > 0 && strcmp(argv[0], "list") == 0)
        return ctl_replica_list(argc - 1, argv + 1);
    if (argc > 0 && strcmp(argv[0], "drop") == 0)
        return drop(argc - 1, argv + 1);
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(help, stdout);
        return CTL_OK;
    }
    return args_complain("replica", "add, list or drop?", argc > 0 ? argv[0] : NULL);
}

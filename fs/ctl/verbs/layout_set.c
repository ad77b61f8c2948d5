/* SPDX-License-Identifier: MIT */
/* fallsctl layout set and unset, fallsctl create: layouts of files and directories in a mount. */
#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/think/copies.h"
#include "fs/ctl/think/layout_options.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char set_help[] =
    "usage: fallsctl layout set [-n] [--json] LAYOUT-OPTIONS PATH...\n"
    "\n"
    "Gives directories a layout for the files that are made in them and below, and empty files one of their own. A file\n"
    "that has bytes keeps its layout, which 'fallsctl migrate' changes.\n"
    "\n%s"
    "  -n             only says what would be done\n"
    "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl layout set -S 4M /fast/runs\n"
    "  fallsctl layout set --array 8192x8192:f8:block,block:2x2 /fast/runs/7\n"
    "  fallsctl layout set -L '{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2' /fast/empty\n";

static const char create_help[] = "usage: fallsctl create [-n] [--json] LAYOUT-OPTIONS FILE...\n"
                                  "\n"
                                  "Makes empty files with this layout; those that are there already are an error.\n"
                                  "\n%s"
                                  "  -n             only says what would be done\n"
                                  "  --json         machine-readable output\n"
                                  "\n"
                                  "examples:\n"
                                  "  fallsctl create -L 'stripe(64K,4) disp 512' /fast/a.dat\n"
                                  "  fallsctl create --array 8192x8192:f8:*,block:1x4 /fast/columns.dat\n"
                                  "  fallsctl create --like /fast/a.dat /fast/b.dat /fast/c.dat\n";

static const char unset_help[] =
    "usage: fallsctl layout unset [-n] [--json] DIRECTORY...\n"
    "\n"
    "Takes the layout of its own from a directory: what is made there is laid out as above it, or as the mount says.\n"
    "Files that are there keep theirs.\n"
    "\n"
    "  -n        only says what would be done\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl layout unset /fast/runs\n"
    "  fallsctl layout unset -n /fast/runs/*/\n"
    "  fallsctl layout unset --json /fast/runs | jq '.files[].layout'\n";

struct request {
    struct layout_options asked;
    bool dry, creates;
    struct paths paths;
};

/* Finds out whether two copies lie together on one device; that is no reason to refuse a layout. */
static bool finds_copies_together(const struct request *request, const char *path, char ret_why[static COPIES_WHY])
{
    cleanup(file_info_done) struct file_info info = { 0 };
    char ignored[ATTRS_WHY];

    return !request->dry && file_info_init(&info, path, ignored) == 0 && copies_share_device(&info, ret_why);
}

/* Tells what was done at a path, or would be. */
static void tell(struct request *request, const char *path, const char *layout, const char *array)
{
    char warning[COPIES_WHY];
    bool warns = layout != NULL && finds_copies_together(request, path, warning);

    request->paths.done++;
    if (warns)
        utf8_complain("%s: %s", path, warning);
    if (request->paths.as_json) {
        struct json *json = &request->paths.json;

        json_open(json, NULL, '{');
        json_string(json, "file", path);
        json_string(json, "layout", layout);
        if (array != NULL)
            json_string(json, "array", array);
        json_bool(json, "done", !request->dry);
        if (warns)
            json_string(json, "warning", warning);
        json_close(json, '}');
    } else if (request->dry) {
        printf("would %s ", request->creates ? "create" : layout != NULL ? "set" : "unset");
        utf8_print_line(stdout, path, false);
        fputs(": ", stdout);
        utf8_print_line(stdout, layout != NULL ? layout : "what is above says", false);
        putchar('\n');
    }
}

/* -- set -- */

/* Finds out whether the mount would refuse a layout to a file with bytes. It may refuse for other reasons as well, but
 * says so only when it is really asked. */
static int check_dry(const char *path, const char *layout, char why[static ATTRS_WHY])
{
    cleanup(file_info_done) struct file_info info = { 0 };
    int r = file_info_init(&info, path, why);

    if (r == 0 && !info.is_dir && info.size > 0 && !file_info_is(&info, layout)) {
        snprintf(why, ATTRS_WHY, "has %" PRIu64 " bytes: 'fallsctl migrate' would change its layout", info.size);
        return -ENOTEMPTY;
    }
    return r;
}

static int set_both(const char *path, const char *layout, const char *array, char why[static ATTRS_WHY])
{
    cleanup(freep) char *json = NULL;
    int r = attrs_check(path, &json, why);

    if (r == 0)
        r = attrs_set(path, "layout", layout, why);
    return r == 0 && array != NULL ? attrs_set(path, "array", array, why) : r;
}

static void set_one(struct request *request, const char *path)
{
    cleanup(freep) char *layout = NULL, *array = NULL;
    char why[ATTRS_WHY];
    int r = layout_options_find(&request->asked, path, &layout, &array, why);

    if (r == 0)
        r = request->dry ? check_dry(path, layout, why) : set_both(path, layout, array, why);
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
    else
        tell(request, path, layout, array);
}

/* -- create -- */

static int create(const char *path, const char *layout, const char *array, char why[static ATTRS_WHY])
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    int r = fd < 0 ? -errno : 0;

    if (r < 0) {
        snprintf(why, ATTRS_WHY, "%s", strerror(-r));
        return r;
    }
    close(fd);
    r = set_both(path, layout, array, why);
    if (r < 0)
        (void) unlink(path); /* it was not there before */
    return r;
}

static void create_one(struct request *request, const char *path)
{
    cleanup(freep) char *layout = NULL, *array = NULL, *json = NULL, *directory = paths_directory(path);
    char why[ATTRS_WHY] = "out of memory";
    struct stat st;
    int r = directory != NULL ? attrs_check(directory, &json, why) : -ENOMEM;

    if (r == 0)
        r = layout_options_find(&request->asked, directory, &layout, &array, why);
    if (r == 0 && request->dry && lstat(path, &st) == 0) {
        snprintf(why, sizeof why, "%s", strerror(EEXIST));
        r = -EEXIST;
    }
    if (r == 0 && !request->dry)
        r = create(path, layout, array, why);
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
    else
        tell(request, path, layout, array);
}

/* -- unset -- */

static void unset_one(struct request *request, const char *path)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    char why[ATTRS_WHY];
    int r = file_info_init(&info, path, why);

    if (r == 0 && strcmp(info.from, "directory") != 0) {
        snprintf(why, sizeof why, "%s",
                 info.is_dir ? "has no layout of its own" : "is a file, which has a layout always");
        r = -ENODATA;
    }
    if (r == 0 && !request->dry)
        r = attrs_set(path, "layout", NULL, why);
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
    else
        tell(request, path, NULL, NULL);
}

/* -- command lines -- */

static enum ctl_status run(const char *verb, const char *help, int argc, char **argv,
                           void (*one)(struct request *request, const char *path))
{
    struct request request = { .creates = one == create_one };
    bool as_json = false;
    struct arg arg[2 + LAYOUT_OPTIONS_ARGS] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
                                                { .name = "--json", .set = &as_json } };
    struct args args = { .verb = verb, .help = help, .arg = arg, .n_args = one == unset_one ? 2 : ARRAY_SIZE(arg) };
    char why[ATTRS_WHY];
    enum ctl_status status;

    layout_options_args(&request.asked, arg + 2);
    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n == 0)
        return args_complain(verb, one == unset_one ? "which directories?" : "which files or directories?", NULL);
    if (one != unset_one && layout_options_check(&request.asked, why) < 0)
        return args_complain(verb, why, NULL);
    paths_begin(&request.paths, as_json);
    for (int i = 0; i < args.n; i++)
        one(&request, args.word[i]);
    return paths_end(&request.paths);
}

/* Runs a verb that takes layout options, whose help has a gap for them. */
static enum ctl_status run_with_options(const char *verb, const char *help, int argc, char **argv,
                                        void (*one)(struct request *request, const char *path))
{
    cleanup(freep) char *full = NULL;
    const char *gap = strstr(help, "%s");

    if (asprintf(&full, "%.*s%s%s", (int) (gap - help), help, layout_options_help, gap + 2) < 0)
        return CTL_ERROR;
    return run(verb, full, argc, argv, one);
}

enum ctl_status ctl_layout_set(int argc, char **argv)
{
    return run_with_options("layout set", set_help, argc, argv, set_one);
}

enum ctl_status ctl_create(int argc, char **argv)
{
    return run_with_options("create", create_help, argc, argv, create_one);
}

enum ctl_status ctl_layout_unset(int argc, char **argv)
{
    return run("layout unset", unset_help, argc, argv, unset_one);
}

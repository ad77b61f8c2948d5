/* SPDX-License-Identifier: MIT */
/* fallsctl find: files by how they are laid out. */
#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "layout/match.h"

#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: fallsctl find [--disk DISK] [--layout L] [--match 'OP NUMBER' [--for L]] [-0] [--json] PATH...\n"
    "\n"
    "Names the files at and below paths for which all hold that is asked for:\n"
    "\n"
    "  --disk DISK    some of the bytes lie on this disk, as d2\n"
    "  --layout L     the layout is of this kind (one, stripe, var, twod, array, falls), or is exactly this one\n"
    "  --match 'OP N' the match degree of the layout, as of 'fallsctl layout match', is OP N, OP being <, <=, > or >=: 1\n"
    "                 where each element of the layout that programs ask by is one piece, larger the more pieces it takes\n"
    "  --for L        the layout they ask by; else the one new files there would get\n"
    "  -0             names end with a zero byte instead of a line feed, as for xargs -0\n"
    "  --json         machine-readable output, with the layout of each\n"
    "\n"
    "examples:\n"
    "  fallsctl find --disk d2 /fast\n"
    "  fallsctl find --match '>2' --for 'array(shape=8192x8192, elem=8, dist=(block,*), grid=4x1)' /fast/runs\n"
    "  fallsctl find --layout one -0 /fast | xargs -0 ls -l\n";

enum comparison { NO_MATCH, BELOW, AT_MOST, ABOVE, AT_LEAST };

struct request {
    const char *disk_name, *layout, *match, *asked_by;
    bool zero;
    bool for_eyes; /* names go to a terminal, not to a program that wants them as they are */
    uint64_t disk;
    enum comparison comparison;
    double number;
    struct paths paths;
};

/* -- what holds -- */

static const char *const kind_name[] = {
    [LAYOUT_ONE] = "one",   [LAYOUT_STRIPE] = "stripe", [LAYOUT_VAR] = "var",
    [LAYOUT_TWOD] = "twod", [LAYOUT_ARRAY] = "array",   [LAYOUT_FALLS] = "falls",
};

static bool has_kind(const struct layout *layout, const char *word)
{
    return strcmp(kind_name[layout->kind], word) == 0;
}

static bool is_kind(const char *word)
{
    bool is = false;

    for (size_t i = 0; i < ARRAY_SIZE(kind_name); i++)
        is |= strcmp(kind_name[i], word) == 0;
    return is;
}

/* Whether the disk has bytes of the file: the mount lists its subfiles, a line each, with their states and disks. */
static int is_on_disk(const char *path, uint64_t disk, bool *ret_is)
{
    cleanup(freep) char *map = NULL;
    char name[48];
    int r = attrs_get_map(path, &map);

    snprintf(name, sizeof name, " state=present disk=d%" PRIu64 " ", disk);
    *ret_is = r == 0 && strstr(map, name) != NULL;
    return r;
}

/* The layout to compare with: what text says, or, when that is NULL, what files in this one's directory would get
 * now. */
static int wanted_layout(const char *path, uint32_t n_disks, const char *text, struct layout **ret_layout)
{
    cleanup(file_info_done) struct file_info above = { 0 };
    cleanup(freep) char *directory = paths_directory(path);
    struct layout_error error;
    char why[ATTRS_WHY];

    if (text == NULL) {
        if (directory == NULL || file_info_init(&above, directory, why) < 0)
            return -EINVAL;
        *ret_layout = steal(above.layout);
        return 0;
    }
    return layout_parse(text, strlen(text), n_disks, ret_layout, &error);
}

static int how_well(const struct file_info *info, const char *path, const char *asked_by, double *ret_match)
{
    cleanup(layout_freep) struct layout *asked = NULL;
    cleanup(match_freep) struct match *match = NULL;
    int r = wanted_layout(path, info->n_takes, asked_by, &asked);

    if (r == 0)
        r = match_new(info->layout->pattern, asked->pattern, &match);
    if (r == 0)
        *ret_match = match_degree(match);
    return r;
}

static bool compare(const struct request *request, double match)
{
    switch (request->comparison) {
    case BELOW:
        return match < request->number;
    case AT_MOST:
        return match <= request->number;
    case ABOVE:
        return match > request->number;
    case AT_LEAST:
    case NO_MATCH:
        break;
    }
    return match >= request->number;
}

/* -- going through -- */

static void tell(struct request *request, const char *path, const struct file_info *info, double match)
{
    struct json *json = &request->paths.json;

    if (!request->paths.as_json) {
        if (request->for_eyes)
            utf8_print_line(stdout, path, false);
        else
            fputs(path, stdout);
        putchar(request->zero ? 0 : '\n');
        return;
    }
    json_open(json, NULL, '{');
    json_string(json, "file", path);
    json_string(json, "layout", info->text);
    if (request->comparison != NO_MATCH)
        json_real(json, "match", match);
    json_close(json, '}');
}

static void look_at(struct request *request, const char *path)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    char why[ATTRS_WHY];
    double match = 1;
    bool holds = true;
    int r = file_info_init(&info, path, why);

    if (r < 0) {
        paths_fail(&request->paths, path, "%s", why);
        return;
    }
    request->paths.done++;
    if (request->comparison != NO_MATCH)
        r = how_well(&info, path, request->asked_by, &match);
    if (r < 0) {
        paths_fail(&request->paths, path, "how well it matches cannot be told: %s",
                   r == -E2BIG || r == -EOVERFLOW ? "the two layouts meet in too many different ways" : strerror(-r));
        return;
    }
    if (request->comparison != NO_MATCH)
        holds = compare(request, match);
    if (holds && request->layout != NULL)
        holds =
            is_kind(request->layout) ? has_kind(info.layout, request->layout) : file_info_is(&info, request->layout);
    if (holds && request->disk_name != NULL)
        r = is_on_disk(path, request->disk, &holds);
    if (r < 0)
        paths_fail(&request->paths, path, "where its bytes are cannot be told: %s", strerror(-r));
    else if (holds)
        tell(request, path, &info, match);
}

static void take(void *request, const FTSENT *entry)
{
    if (entry->fts_info == FTS_F)
        look_at(request, entry->fts_path);
}

/* -- command line -- */

static bool read_comparison(struct request *request)
{
    static const char *const word[] = { [BELOW] = "<", [AT_MOST] = "<=", [ABOVE] = ">", [AT_LEAST] = ">=" };
    size_t len = strspn(request->match, "<>=");
    char *end;

    for (unsigned i = BELOW; i < ARRAY_SIZE(word); i++)
        if (len == strlen(word[i]) && strncmp(request->match, word[i], len) == 0)
            request->comparison = (enum comparison) i;
    request->number = strtod(request->match + len, &end);
    return request->comparison != NO_MATCH && end != request->match + len && *end == 0;
}

/* Checks the options and reads their values; NULL, or what is wrong with them. */
static const char *check(struct request *request)
{
    struct layout_error error;
    struct layout *layout;

    if (request->disk_name != NULL &&
        (request->disk_name[0] != 'd' || layout_parse_size(request->disk_name + 1, &request->disk) < 0))
        return "--disk takes a disk, as d2";
    if (request->match != NULL && !read_comparison(request))
        return "--match takes a comparison, as '>2'";
    if (request->asked_by != NULL && request->match == NULL)
        return "--for says what --match compares with: give both";
    for (int i = 0; i < 2; i++) {
        const char *text = i == 0 ? request->layout : request->asked_by;

        if (text == NULL || (i == 0 && is_kind(text)))
            continue;
        if (layout_parse(text, strlen(text), 1, &layout, &error) < 0)
            return i == 0 ? "--layout takes a kind, or a layout; 'fallsctl layout check' says what is wrong with one"
                          : "--for takes a layout; 'fallsctl layout check' says what is wrong with one";
        layout_free(layout);
    }
    return NULL;
}

enum ctl_status ctl_find(int argc, char **argv)
{
    struct request request = { 0 };
    bool as_json = false;
    const struct arg arg[] = { { .name = "--disk", .value = &request.disk_name },
                               { .name = "--layout", .value = &request.layout },
                               { .name = "--match", .value = &request.match },
                               { .name = "--for", .value = &request.asked_by },
                               { .name = "-0", .other = "--null", .set = &request.zero },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "find", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    const char *wrong;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n == 0)
        return args_complain("find", "below which paths?", NULL);
    wrong = check(&request);
    if (wrong != NULL)
        return args_complain("find", wrong, NULL);
    request.for_eyes = !request.zero && isatty(STDOUT_FILENO);
    paths_begin(&request.paths, as_json);
    for (int i = 0; i < args.n; i++)
        paths_walk(&request.paths, args.word[i], take, &request);
    return paths_end(&request.paths);
}

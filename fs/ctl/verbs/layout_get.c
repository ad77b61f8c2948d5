/* SPDX-License-Identifier: MIT */
/* fallsctl layout get: the layouts of files and directories in a mount. */
#include "fs/ctl/show/picture.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/think/drawing.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <string.h>

static const char help[] =
    "usage: fallsctl layout get [-r] [-d] [--raw] [--draw] [--svg FILE] [--json] PATH...\n"
    "\n"
    "Says how files are laid out and, of directories, what is made in them will be.\n"
    "\n"
    "  -r            with all that is below\n"
    "  -d            only directories that have a layout of their own\n"
    "  --raw         in the canonical form, as FALLS\n"
    "  --draw        draws which disk has which part of the array that the file is said to hold (user.falls.array), or\n"
    "                that its layout is for, or of its bytes\n"
    "  --svg FILE    writes a picture of the layout, a colour for each element\n"
    "  --json        machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl layout get /fast/a.dat\n"
    "  fallsctl layout get -r -d /fast\n"
    "  fallsctl layout get --draw /fast/matrix\n";

struct request {
    bool recursive, only_own, raw, draw;
    const char *svg;
    struct paths paths;
    char why[ATTRS_WHY];
};

/* -- one -- */

static void print_origin(const struct file_info *info)
{
    if (strcmp(info->from, "mount") == 0)
        fputs("  (the mount's default)", stdout);
    else if (strcmp(info->from, "ancestor") == 0)
        fputs("  (from the directory ", stdout),
            utf8_print_line(stdout, info->directory[0] != 0 ? info->directory : "/", false), fputc(')', stdout);
}

static void print_text(const struct file_info *info, bool raw)
{
    if (raw)
        layout_print(stdout, info->layout);
    else
        utf8_print_line(stdout, info->text, false);
}

static int print_drawing(const struct file_info *info)
{
    cleanup(drawing_done) struct drawing drawing = { 0 };
    int r = drawing_init(&drawing, info);

    if (r == 0)
        drawing_print(stdout, &drawing, info);
    return r;
}

static void json_drawing(struct json *json, const struct file_info *info)
{
    cleanup(drawing_done) struct drawing drawing = { 0 };

    if (drawing_init(&drawing, info) < 0)
        return;
    json_open(json, "drawing", '{');
    json_u64(json, "cell_rows", drawing.cell_rows);
    json_u64(json, "cell_columns", drawing.cell_cols);
    json_open(json, "rows", '[');
    for (uint32_t row = 0; row < drawing.rows; row++) {
        char line[128] = "";

        for (uint32_t col = 0; col < MIN(drawing.cols, sizeof line - 1); col++)
            line[col] = drawing_digit(drawing.disk[row * drawing.cols + col]);
        json_string(json, NULL, line);
    }
    json_close(json, ']');
    json_close(json, '}');
}

/* Writes what the mount itself says of a file, and what is known beside that. */
static void json_one(struct request *request, const char *path, const struct file_info *info)
{
    struct json *json = &request->paths.json;

    json_open(json, NULL, '{');
    json_string(json, "file", path);
    if (info->array_text != NULL)
        json_string(json, "array", info->array_text);
    json_open(json, "layout", '{');
    json_members_again(json, info->said);
    json_close(json, '}');
    if (request->draw)
        json_drawing(json, info);
    json_close(json, '}');
}

static int write_svg(struct request *request, const struct file_info *info)
{
    cleanup(picture_done) struct picture picture = { 0 };
    int r = picture_init(&picture, info->layout);
    FILE *out = r == 0 ? fopen(request->svg, "we") : NULL;

    if (r == 0 && out == NULL)
        r = -errno;
    if (r == 0)
        picture_svg(out, &picture, info->layout);
    if (out != NULL && fclose(out) != 0 && r == 0)
        r = -errno;
    return r;
}

static void get_one(struct request *request, const char *path)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    int r = file_info_init(&info, path, request->why);

    if (r < 0) {
        paths_fail(&request->paths, path, "%s", request->why);
        return;
    }
    if (request->only_own && strcmp(info.from, "directory") != 0)
        return;
    if (request->svg != NULL && (r = write_svg(request, &info)) < 0) {
        paths_fail(&request->paths, path, "cannot write the picture to %s: %s", request->svg, strerror(-r));
        return;
    }
    request->paths.done++;
    if (request->paths.as_json) {
        json_one(request, path, &info);
        return;
    }
    utf8_print_line(stdout, path, false);
    fputs("  ", stdout);
    print_text(&info, request->raw);
    print_origin(&info);
    fputc('\n', stdout);
    if (request->draw && print_drawing(&info) < 0)
        paths_fail(&request->paths, path, "%s", strerror(ENOMEM));
}

/* -- what is below -- */

static void take(void *ctx, const FTSENT *entry)
{
    struct request *request = ctx;

    if (entry->fts_info == FTS_D || (entry->fts_info == FTS_F && !request->only_own))
        get_one(request, entry->fts_path);
}

enum ctl_status ctl_layout_get(int argc, char **argv)
{
    struct request request = { 0 };
    bool as_json = false;
    const struct arg arg[] = { { .name = "-r", .other = "--recursive", .set = &request.recursive },
                               { .name = "-d", .other = "--directories", .set = &request.only_own },
                               { .name = "--raw", .set = &request.raw },
                               { .name = "--draw", .set = &request.draw },
                               { .name = "--svg", .value = &request.svg },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "layout get", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n == 0)
        return args_complain("layout get", "which files or directories?", NULL);
    if (request.svg != NULL && (args.n > 1 || request.recursive))
        return args_complain("layout get", "--svg draws one file", NULL);
    paths_begin(&request.paths, as_json);
    for (int i = 0; i < args.n; i++)
        if (request.recursive)
            paths_walk(&request.paths, args.word[i], take, &request);
        else
            get_one(&request, args.word[i]);
    return paths_end(&request.paths);
}

/* SPDX-License-Identifier: MIT */
/* fallsctl status, fallsctl df: how a volume is, how much room it has. */
#include "fs/core/volume/record.h"
#include "fs/ctl/ask/mount_info.h"
#include "fs/ctl/ask/view.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/left_out.h"
#include "fs/ctl/verbs/status_json.h"
#include "fs/ctl/verbs/status_notes.h"
#include "fs/ctl/verbs/status_rows.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <string.h>

static const char status_help[] =
    "usage: fallsctl status [-b] [--layout L] " TABLE_USAGE " [--json] [MOUNTPOINT | DISK...]\n"
    "\n"
    "Says how a volume is: its disks, its mount, a line 'action: ...' for everything that needs somebody's attention,\n"
    "and a line 'note: ...' for what the mount could not agree on with the kernel. Without MOUNTPOINT or DISK: all\n"
    "volumes mounted on this machine. It asks the disks, so it answers also when the mount does not; who may not look at\n"
    "them is told what the mount tells. A disk that gives no answer within 5 seconds is 'unknown'.\n"
    "\n"
    "  -b              sizes in bytes; else in powers of 1024\n"
    "  --layout L      the layout that one new file is thought to have; else what the mount says, or stripe(1M)\n" TABLE_HELP
    "  --json          machine-readable output\n"
    "\n"
    "exit status: 0 all is well, 1 no volume could be looked at, 2 wrong usage, 3 there is an action to take\n"
    "\n"
    "examples:\n"
    "  fallsctl status\n"
    "  fallsctl status /fast\n"
    "  fallsctl status --raw --noheadings -o DISK,STATE,ERRORS /fast\n"
    "  fallsctl status --json /mnt/d0 /mnt/d1 | jq -r '.volumes[].actions[]'\n";

static const char df_help[] =
    "usage: fallsctl df [-b] [--layout L] " TABLE_USAGE " [--json] [MOUNTPOINT | DISK...]\n"
    "\n"
    "Says how much room the disks of a volume have, all together, and how much of it one new file can take: a file takes\n"
    "of each disk what its layout gives it, so the fullest disk may set the limit. Disks that share a file system are\n"
    "counted once in the total. Without MOUNTPOINT or DISK: all volumes mounted on this machine.\n"
    "\n"
    "  -b              sizes in bytes; else in powers of 1024\n"
    "  --layout L      the layout that one new file is thought to have; else what the mount says, or stripe(1M)\n" TABLE_HELP
    "  --json          machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl df /fast\n"
    "  fallsctl df --layout 'stripe(1M) on d0,d2' /fast\n"
    "  fallsctl df -b --json | jq '.volumes[].one_file'\n";

struct request {
    bool as_json;
    struct disk_rows rows;
    const char *layout; /* NULL: what the mount says */
    struct json json;
    uint32_t shown, failed;
    bool needs_action;
    bool lists_all; /* mounts of the machine */
    struct left_out left_out;
};

static void print_line(const char *kind, const char *line)
{
    printf("%s: ", kind);
    utf8_print_line(stdout, line, false);
    putchar('\n');
}

static void print_lines(const char *kind, const char *lines)
{
    for (char *line; (line = next_line(&lines)) != NULL; free(line))
        print_line(kind, line);
}

static void print_left_out(const bool left_out[], uint32_t n, const char *mountpoint)
{
    cleanup(freep) char *note = note_on_left_out(left_out, n, mountpoint);

    if (note != NULL)
        print_line("note", note);
}

/* Prints where the volume is mounted. Any user may mount at a directory with any name, so that is printed as text. */
static void print_place(const char *path, const char *behind)
{
    fputs("mounted at ", stdout);
    utf8_print_line(stdout, path, false);
    fputs(behind, stdout);
}

static void print_head(const struct view *view)
{
    char hex[2 * DISK_UUID_SIZE + 1];
    uint32_t online = 0, n = stamp_n_members(view->stamp);

    hex_print(view->stamp->volume, DISK_UUID_SIZE, hex);
    for (uint32_t i = 0; i < view->stamp->n_disks; i++)
        online += view->disk[i].probe != NULL;
    printf("volume %s  ", hex);
    if (view->place != NULL)
        print_place(view->place->target, view->place->read_only ? " (read-only)" : "");
    else
        fputs(view->in_use                               ? "in use, by a daemon whose mount cannot be seen here"
              : view->stamp->clean == view->stamp->epoch ? "not mounted"
                                                         : "not mounted, did not end well last time",
              stdout);
    printf("  %" PRIu32 " of %" PRIu32 " disk%s\n", online, n, n == 1 ? "" : "s");
}

/* -- what the mount tells -- */

/* Says actions on standard error, for who has asked for rows alone and so does not see them among the rows. */
static void complain_of_lines(const char *lines)
{
    for (char *line; (line = next_line(&lines)) != NULL; free(line))
        utf8_complain("%s", line);
}

static void print_mount(const struct request *request, const struct mount_info *mount)
{
    char text[SIZE_TEXT];

    if (table_is_alone(&request->rows.options)) {
        disk_rows_of_mount(&request->rows, mount);
        complain_of_lines(mount->actions);
        return;
    }
    if (request->shown > 0)
        putchar('\n');
    if (!request->rows.is_df)
        print_place(mount->mountpoint, "\n");
    disk_rows_of_mount(&request->rows, mount);
    printf("one new file can take %s (%s)\n", size_text(mount->one_file, request->rows.raw, text), mount->layout);
    print_left_out(mount->wants_room, mount->disks.n, mount->mountpoint);
    if (!request->rows.is_df) {
        print_lines("action", mount->actions);
        print_lines("note", mount->notes);
    }
}

static void show_mount(struct request *request, const struct mount_info *mount)
{
    request->needs_action |= mount->actions != NULL && mount->actions[0] != 0;
    for (uint32_t i = 0; i < mount->disks.n; i++)
        request->needs_action |= mount->n_errors[i] > 0;
    if (request->as_json)
        status_json_mount(&request->json, mount);
    else
        print_mount(request, mount);
    request->shown++;
    request->rows.goes_on = true;
}

/* -- what the disks tell -- */

static void print_view(const struct request *request, const struct view *view, const char *notes)
{
    char text[SIZE_TEXT], name[16];

    if (view->stamp != NULL && table_is_alone(&request->rows.options)) {
        disk_rows_of_view(&request->rows, view);
        return;
    }
    if (view->stamp != NULL) {
        if (request->shown > 0)
            putchar('\n');
        if (!request->rows.is_df)
            print_head(view);
        disk_rows_of_view(&request->rows, view);
    }
    if (view->writable) {
        printf("one new file can take %s", size_text(view->one_file, request->rows.raw, text));
        printf(view->limit != UINT32_MAX ? " (%s, limited by %s)\n" : " (%s)\n", view->layout,
               disk_name(view->limit, name));
        print_left_out(view->wants_room, view->stamp->n_disks,
                       view->place != NULL ? view->place->target : "MOUNTPOINT");
    }
    for (size_t i = 0; i < view->n_actions && !request->rows.is_df; i++)
        print_line("action", view->action[i]);
    if (!request->rows.is_df)
        print_lines("note", notes);
}

/* -- both -- */

static void show(struct request *request, const struct mounts *mounts, const struct mount_place *place,
                 char *const path[], uint32_t n)
{
    cleanup(mount_info_freep) struct mount_info *mount = place != NULL ? mount_info_ask(place->target) : NULL;
    bool is_told = mount != NULL && mount->error == 0;
    const char *layout = request->layout != NULL ? request->layout : is_told ? mount->layout : VIEW_LAYOUT;
    cleanup(view_done) struct view view;
    int r = view_init(&view, mounts, place, is_told ? mount : NULL, path, n, layout);

    if (r == 0 && view.stamp == NULL && is_told) {
        show_mount(request, mount);
        return;
    }
    if (r == 0 && view.stamp == NULL && request->lists_all && mount != NULL &&
        left_out_note(&request->left_out, place->target, mount->error))
        return;
    if (r < 0 || view.stamp == NULL) {
        request->failed++;
        if (r < 0) {
            utf8_complain("%s", view.error.why);
            return;
        }
    }
    if (is_told && request->layout == NULL && view.writable)
        view.one_file = mount->one_file; /* the mount's figure holds wherever the file would start */
    request->needs_action |= view.n_actions > 0;
    if (request->as_json)
        status_json_view(&request->json, &view, is_told ? mount->notes : NULL);
    else
        print_view(request, &view, is_told ? mount->notes : NULL);
    if (request->rows.is_df || (!request->as_json && view.stamp != NULL && table_is_alone(&request->rows.options)))
        for (size_t i = 0; i < view.n_actions; i++)
            utf8_complain("%s", view.action[i]);
    request->shown++;
    request->rows.goes_on |= view.stamp != NULL;
}

static enum ctl_status answer(struct request *request, const struct mounts *mounts, const struct args *args)
{
    const struct mount_place *place = args->n == 1 ? mounts_at(mounts, args->word[0]) : NULL;

    request->lists_all = args->n == 0;
    if (request->as_json) {
        json_begin(&request->json, stdout);
        json_open(&request->json, "volumes", '[');
    }
    if (place != NULL)
        show(request, mounts, place, place->disk, place->n_disks);
    else if (args->n > 0)
        show(request, mounts, NULL, args->word, (uint32_t) args->n);
    else
        for (uint32_t i = 0; i < mounts->n; i++)
            show(request, mounts, &mounts->place[i], mounts->place[i].disk, mounts->place[i].n_disks);
    if (args->n == 0 && mounts->n == 0 && !request->as_json && !table_is_alone(&request->rows.options))
        puts("no fallsfs is mounted here");
    if (request->as_json) {
        json_close(&request->json, ']');
        json_end(&request->json);
    }
    left_out_tell(&request->left_out);
    if (request->failed > 0)
        return request->failed < request->shown ? CTL_PARTIAL : CTL_ERROR;
    return request->needs_action ? CTL_PARTIAL : CTL_OK;
}

static enum ctl_status run(const char *verb, const char *help, bool is_df, int argc, char **argv)
{
    struct request request = { .rows.is_df = is_df };
    struct arg arg[3 + TABLE_ARGS] = { { .name = "-b", .other = "--bytes", .set = &request.rows.raw },
                                       { .name = "--json", .set = &request.as_json },
                                       { .name = "--layout", .other = "-L", .value = &request.layout } };
    struct args args = { .verb = verb, .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(mounts_done) struct mounts mounts = { 0 };
    enum ctl_status status;

    table_args(&request.rows.options, arg + 3);
    if (!args_read(&args, argc, argv, &status) || !disk_rows_check(&request.rows, verb, &status))
        return status;
    if (mounts_read(&mounts) < 0)
        return report(request.as_json, "cannot read /proc/self/mountinfo, which lists the mounts: is /proc mounted?");
    return answer(&request, &mounts, &args);
}

enum ctl_status ctl_status(int argc, char **argv)
{
    return run("status", status_help, false, argc, argv);
}

enum ctl_status ctl_df(int argc, char **argv)
{
    return run("df", df_help, true, argc, argv);
}

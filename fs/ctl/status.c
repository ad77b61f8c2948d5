/* SPDX-License-Identifier: MIT */
/* fallsctl status, fallsctl df: how a volume is, how much room it has. */
#include "fs/core/record.h"
#include "fs/ctl/answer.h"
#include "fs/ctl/args.h"
#include "fs/ctl/table.h"
#include "fs/ctl/told.h"
#include "fs/ctl/view.h"

#include <string.h>

static const char status_help[] =
    "usage: fallsctl status [-b] [--layout L] [--json] [MOUNTPOINT | DISK...]\n"
    "\n"
    "Says how a volume is: its disks, its mount, and a line 'action: ...' for everything that needs somebody's\n"
    "attention. Without MOUNTPOINT or DISK: all volumes mounted on this machine. It asks the disks, so it answers also\n"
    "when the mount does not; who may not look at them is told what the mount tells. A disk that gives no answer within\n"
    "5 seconds is 'unknown'.\n"
    "\n"
    "  -b           sizes in bytes; else in powers of 1024\n"
    "  --layout L   the layout that one new file is thought to have; else what the mount says, or stripe(1M)\n"
    "  --json       machine-readable output\n"
    "\n"
    "exit status: 0 all is well, 1 no volume could be looked at, 2 wrong usage, 3 there is an action to take\n"
    "\n"
    "examples:\n"
    "  fallsctl status\n"
    "  fallsctl status /fast\n"
    "  fallsctl status --json /mnt/d0 /mnt/d1 | jq -r '.volumes[].actions[]'\n";

static const char df_help[] =
    "usage: fallsctl df [-b] [--layout L] [--json] [MOUNTPOINT | DISK...]\n"
    "\n"
    "Says how much room the disks of a volume have, all together, and how much of it one new file can take: a file takes\n"
    "of each disk what its layout gives it, so the fullest disk may set the limit. Disks that share a file system are\n"
    "counted once in the total. Without MOUNTPOINT or DISK: all volumes mounted on this machine.\n"
    "\n"
    "  -b           sizes in bytes; else in powers of 1024\n"
    "  --layout L   the layout that one new file is thought to have; else what the mount says, or stripe(1M)\n"
    "  --json       machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl df /fast\n"
    "  fallsctl df --layout 'stripe(1M) on d0,d2' /fast\n"
    "  fallsctl df -b --json | jq '.volumes[].one_file'\n";

struct request {
    bool raw, as_json, is_df;
    const char *layout; /* NULL: what the mount says */
    struct json json;
    uint32_t shown, failed;
    bool needs_action;
};

static const char *disk_name(uint32_t index, char name[static 16])
{
    snprintf(name, 16, "d%" PRIu32, index);
    return name;
}

/* -- for programs -- */

static void json_disk(const struct view *view, uint32_t i, struct json *json)
{
    const struct view_disk *disk = &view->disk[i];
    char name[16];

    json_open(json, NULL, '{');
    json_string(json, "disk", disk_name(i, name));
    json_string(json, "path", disk->path);
    json_string(json, "fs", disk->fs_type);
    json_string(json, "state", view_state(disk));
    if (disk->probe != NULL) {
        json_u64(json, "size", disk->probe->size);
        json_u64(json, "used", disk->probe->size - disk->probe->free);
        json_u64(json, "free", disk->probe->avail);
    }
    json_string(json, "pool", view->stamp->disk[i].pool);
    json_bool(json, "home", i == view->stamp->home);
    json_close(json, '}');
}

static void json_view(const struct view *view, struct json *json)
{
    char hex[2 * DISK_UUID_SIZE + 1], name[16];

    json_open(json, NULL, '{');
    if (view->stamp != NULL) {
        hex_print(view->stamp->volume, DISK_UUID_SIZE, hex);
        json_string(json, "volume", hex);
        json_string(json, "mountpoint", view->place != NULL ? view->place->target : NULL);
        json_bool(json, "read_only", view->place != NULL && view->place->read_only);
        json_bool(json, "clean", view->stamp->clean == view->stamp->epoch);
        json_u64(json, "epoch", view->stamp->epoch);
        json_open(json, "disks", '[');
        for (uint32_t i = 0; i < view->stamp->n_disks; i++)
            if (view_shows(view, i))
                json_disk(view, i, json);
        json_close(json, ']');
        json_u64(json, "size", view->size);
        json_u64(json, "used", view->used);
        json_u64(json, "free", view->avail);
    }
    if (view->writable) {
        json_string(json, "layout", view->layout);
        json_u64(json, "one_file", view->one_file);
        json_string(json, "limited_by", view->limit != UINT32_MAX ? disk_name(view->limit, name) : NULL);
    }
    json_open(json, "actions", '[');
    for (size_t i = 0; i < view->n_actions; i++)
        json_string(json, NULL, view->action[i]);
    json_close(json, ']');
    json_close(json, '}');
}

/* -- for people -- */

static void print_head(const struct view *view)
{
    char hex[2 * DISK_UUID_SIZE + 1];
    uint32_t online = 0, n = stamp_n_members(view->stamp);

    hex_print(view->stamp->volume, DISK_UUID_SIZE, hex);
    for (uint32_t i = 0; i < view->stamp->n_disks; i++)
        online += view->disk[i].probe != NULL;
    printf("volume %s  ", hex);
    if (view->place != NULL)
        printf("mounted at %s%s", view->place->target, view->place->read_only ? " (read-only)" : "");
    else
        printf("not mounted%s", view->stamp->clean == view->stamp->epoch ? "" : ", did not end well last time");
    printf("  %" PRIu32 " of %" PRIu32 " disk%s\n", online, n, n == 1 ? "" : "s");
}

static void add_sizes(const struct request *request, struct table *table, uint64_t size, uint64_t used, uint64_t avail)
{
    char text[SIZE_TEXT];

    table_add(table, size_text(size, request->raw, text));
    if (request->is_df)
        table_add(table, size_text(used, request->raw, text));
    table_add(table, size_text(avail, request->raw, text));
}

static void add_disk(const struct request *request, const struct view *view, uint32_t i, struct table *table)
{
    const struct view_disk *disk = &view->disk[i];
    const struct probe *probe = disk->probe;
    char name[16];

    table_add(table, disk_name(i, name));
    table_add(table, disk->path);
    if (!request->is_df) {
        table_add(table, disk->fs_type != NULL ? disk->fs_type : "-");
        table_add(table, view_state(disk));
    }
    if (probe != NULL) {
        add_sizes(request, table, probe->size, probe->size - probe->free, probe->avail);
    } else {
        for (int column = 0; column < (request->is_df ? 3 : 2); column++)
            table_add(table, "-");
    }
    if (request->is_df)
        table_addf(table, "%.0f%%",
                   probe != NULL && probe->size > 0 ? 100 - 100.0 * (double) probe->free / (double) probe->size : 0.0);
    else
        table_addf(table, "%s%s", view->stamp->disk[i].pool[0] != 0 ? view->stamp->disk[i].pool : "-",
                   i == view->stamp->home ? "  home" : "");
}

static void print_disks(const struct request *request, const struct view *view)
{
    static const char *const status_head[] = { "DISK", "PATH", "FS", "STATE", "SIZE", "FREE", "POOL" };
    static const char *const df_head[] = { "DISK", "PATH", "SIZE", "USED", "FREE", "USED%" };
    const char *const *head = request->is_df ? df_head : status_head;
    cleanup(table_done) struct table table;

    table_init(&table, request->is_df ? "llrrrr" : "llllrrl");
    for (size_t i = 0; i < table.n_columns; i++)
        table_add(&table, head[i]);
    for (uint32_t i = 0; i < view->stamp->n_disks; i++)
        if (view_shows(view, i))
            add_disk(request, view, i, &table);
    if (request->is_df) {
        table_add(&table, "all");
        table_add(&table, view->place != NULL ? view->place->target : "");
        add_sizes(request, &table, view->size, view->used, view->avail);
        table_addf(&table, "%.0f%%", view->size > 0 ? 100.0 * (double) view->used / (double) view->size : 0.0);
    }
    (void) table_print(&table, stdout);
}

/* -- what the mount tells -- */

static bool is_shown(const struct told *told, uint32_t i)
{
    return strcmp(told->disks.disk[i].state, "gone") != 0;
}

static uint64_t room_of(const struct statvfs *space, fsblkcnt_t blocks)
{
    return (uint64_t) blocks * space->f_frsize;
}

static void print_told(const struct request *request, const struct told *told)
{
    cleanup(table_done) struct table table;
    char text[SIZE_TEXT], name[16];

    table_init(&table, "lllrrl");
    table_add(&table, "DISK");
    table_add(&table, "PATH");
    table_add(&table, "STATE");
    table_add(&table, "SIZE");
    table_add(&table, "FREE");
    table_add(&table, "POOL");
    for (uint32_t i = 0; i < told->disks.n; i++) {
        const struct statvfs *space = &told->space[i];

        if (!is_shown(told, i))
            continue;
        table_add(&table, disk_name(i, name));
        table_add(&table, told->disks.disk[i].path);
        table_add(&table, told->disks.disk[i].state);
        table_add(&table, space->f_blocks > 0 ? size_text(room_of(space, space->f_blocks), request->raw, text) : "-");
        table_add(&table, space->f_blocks > 0 ? size_text(room_of(space, space->f_bavail), request->raw, text) : "-");
        table_add(&table, told->disks.disk[i].pool);
    }
    if (!request->is_df)
        printf("mounted at %s\n", told->mountpoint);
    (void) table_print(&table, stdout);
    printf("one new file can take %s (%s)\n", size_text(told->one_file, request->raw, text), told->layout);
}

static void json_told(const struct told *told, struct json *json)
{
    char name[16];

    json_open(json, NULL, '{');
    json_string(json, "mountpoint", told->mountpoint);
    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < told->disks.n; i++) {
        if (!is_shown(told, i))
            continue;
        json_open(json, NULL, '{');
        json_string(json, "disk", disk_name(i, name));
        json_string(json, "path", told->disks.disk[i].path);
        json_string(json, "state", told->disks.disk[i].state);
        if (told->space[i].f_blocks > 0) {
            json_u64(json, "size", room_of(&told->space[i], told->space[i].f_blocks));
            json_u64(json, "free", room_of(&told->space[i], told->space[i].f_bavail));
        }
        json_close(json, '}');
    }
    json_close(json, ']');
    json_string(json, "layout", told->layout);
    json_u64(json, "one_file", told->one_file);
    json_open(json, "actions", '[');
    json_close(json, ']');
    json_close(json, '}');
}

static void show_told(struct request *request, const struct told *told)
{
    if (request->as_json) {
        json_told(told, &request->json);
    } else {
        if (request->shown > 0)
            putchar('\n');
        print_told(request, told);
    }
    request->shown++;
}

/* -- what the disks tell -- */

static void print_view(const struct request *request, const struct view *view)
{
    char text[SIZE_TEXT], name[16];

    if (view->stamp != NULL) {
        if (!request->is_df)
            print_head(view);
        print_disks(request, view);
    }
    if (view->writable) {
        printf("one new file can take %s", size_text(view->one_file, request->raw, text));
        printf(view->limit != UINT32_MAX ? " (%s, limited by %s)\n" : " (%s)\n", view->layout,
               disk_name(view->limit, name));
    }
    for (size_t i = 0; i < view->n_actions && !request->is_df; i++)
        printf("action: %s\n", view->action[i]);
}

/* -- both -- */

static void show(struct request *request, const struct mounts *mounts, const struct mount_place *place,
                 char *const path[], uint32_t n)
{
    cleanup(told_freep) struct told *told = place != NULL ? told_ask(place->target) : NULL;
    bool is_told = told != NULL && told->error == 0;
    const char *layout = request->layout != NULL ? request->layout : is_told ? told->layout : VIEW_LAYOUT;
    cleanup(view_done) struct view view;
    int r = view_init(&view, mounts, place, path, n, layout);

    if (r == 0 && view.stamp == NULL && is_told) {
        show_told(request, told);
        return;
    }
    if (r < 0 || view.stamp == NULL) {
        request->failed++;
        if (r < 0) {
            fprintf(stderr, "%s\n", view.error.why);
            return;
        }
    }
    if (is_told && request->layout == NULL && view.writable)
        view.one_file = told->one_file; /* wherever it would start */
    request->needs_action |= view.n_actions > 0;
    if (request->as_json)
        json_view(&view, &request->json);
    else if (view.stamp != NULL && request->shown > 0)
        putchar('\n');
    if (!request->as_json)
        print_view(request, &view);
    if (request->is_df)
        for (size_t i = 0; i < view.n_actions; i++)
            fprintf(stderr, "%s\n", view.action[i]);
    request->shown++;
}

static enum ctl_status answer(struct request *request, const struct mounts *mounts, const struct args *args)
{
    const struct mount_place *place = args->n == 1 ? mounts_at(mounts, args->word[0]) : NULL;

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
    if (args->n == 0 && mounts->n == 0 && !request->as_json)
        puts("no fallsfs is mounted here");
    if (request->as_json) {
        json_close(&request->json, ']');
        json_end(&request->json);
    }
    if (request->failed > 0)
        return request->failed < request->shown ? CTL_PARTIAL : CTL_ERROR;
    return request->needs_action ? CTL_PARTIAL : CTL_OK;
}

static enum ctl_status run(const char *verb, const char *help, bool is_df, int argc, char **argv)
{
    struct request request = { .is_df = is_df };
    const struct arg arg[] = { { .name = "-b", .other = "--bytes", .set = &request.raw },
                               { .name = "--json", .set = &request.as_json },
                               { .name = "--layout", .other = "-L", .value = &request.layout } };
    struct args args = { .verb = verb, .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(mounts_done) struct mounts mounts = { 0 };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
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

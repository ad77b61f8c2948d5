/* SPDX-License-Identifier: MIT */
/* fallsctl disk balance: asks the mount to move files until all disks are about as full, and shows how far that is. */
#include "fs/ctl/ask/mover.h"
#include "fs/ctl/ask/volume_disks.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"

static const char help[] =
    "usage: fallsctl disk balance [-n] [-b] [--limit RATE] " TABLE_USAGE " [--json] MOUNTPOINT\n"
    "       fallsctl disk balance --stop [--json] MOUNTPOINT\n"
    "\n"
    "Moves files until all disks of a mounted volume are about as full, counted by the size of their file systems: after\n"
    "disks have joined, old files lie on the old ones. Of a file, parts that lie on disks fuller than the average go to\n"
    "emptier ones, of its pool if it lies in one; its layout stays of the same kind. A file whose disks somebody named,\n"
    "as in 'on d0,d2', stays where it is. Large files come first, and as few are moved as it takes: 'fallsctl migrate\n"
    "--restripe' spreads all that it is told to. Where disks cannot become even, it says why. The mount does the work:\n"
    "interrupted, this only shows no more, and the same command shows on. The end of the mount stops it.\n"
    "\n"
    "  --limit RATE   bytes a second each file may take, as 100M; else what users of the mount leave\n"
    "  --stop         stops it: files that were moved stay where they are\n"
    "  -n             only says how much each disk would have before and after\n"
    "  -b             bytes in full; else in powers of 1024\n" TABLE_HELP "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl disk balance -n /fast\n"
    "  fallsctl disk balance --limit 50M /fast\n"
    "  fallsctl disk balance --json /fast | jq .files_moved\n";

struct request {
    const char *limit;
    bool dry, stop, raw;
    struct table_options rows;
    struct volume_disks disks;
    struct paths paths;
    struct mover_info info;
};

static enum ctl_status finish(struct request *request)
{
    const struct mover_info *info = &request->info;
    struct json *json = &request->paths.json;
    char size[SIZE_TEXT];

    if (request->paths.as_json) {
        json_close(json, ']');
        json_u64(json, request->dry ? "files_to_move" : "files_moved", info->moved);
        json_u64(json, "bytes", info->bytes);
        json_string(json, "why", info->why);
        volume_disks_json(json, &request->disks, info->n_disks, info->before, info->after);
        json_end(json);
    } else {
        volume_disks_print(&request->disks, info->n_disks, info->before, info->after, &request->rows, request->raw);
        if (!table_is_alone(&request->rows))
            printf("%" PRIu64 " files %s, with %s\n", info->moved, request->dry ? "would be moved" : "were moved",
                   size_text(info->bytes, request->raw, size));
        if (info->why != NULL && !table_is_alone(&request->rows))
            printf("not even: %s\n", info->why);
    }
    request->paths.done++;
    return paths_status(&request->paths);
}

static enum ctl_status stop(const struct request *request, bool as_json)
{
    char why[ATTRS_WHY];
    struct json json;

    if (attrs_set(request->disks.mountpoint, "disks", "stop", why) < 0)
        return report(as_json, "%s", why);
    if (as_json) {
        json_begin(&json, stdout);
        json_bool(&json, "stopped", true);
        json_end(&json);
    }
    return CTL_OK;
}

static enum ctl_status run(struct request *request, const struct args *args, bool as_json)
{
    struct mover_asked asked = { .order = "balance", .limit = request->limit, .is_plan = request->dry };
    char why[ATTRS_WHY];
    uint64_t number;
    int r;

    if (args->n != 1)
        return args_complain("disk balance", "which mount?", NULL);
    if (!mover_is_rate(request->limit))
        return args_complain("disk balance", "not a rate in bytes a second, as 100M is", request->limit);
    if (volume_disks_init(&request->disks, args->word[0], why) < 0)
        return report(as_json, "%s: %s", args->word[0], why);
    if (request->stop)
        return stop(request, as_json);
    paths_begin(&request->paths, as_json);
    asked.path = request->disks.mountpoint;
    r = mover_ask(&asked, &number, why);
    if (r == 0)
        r = mover_wait(&asked, number, &request->info, why);
    if (r < 0) {
        paths_fail(&request->paths, asked.path, "%s", why);
        return paths_end(&request->paths);
    }
    mover_tell_failures(&asked, &request->info, "stays where it is", &request->paths);
    return finish(request);
}

enum ctl_status ctl_disk_balance(int argc, char **argv)
{
    struct request request = { .raw = false };
    bool as_json = false;
    struct arg arg[5 + TABLE_ARGS] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
                                       { .name = "--stop", .set = &request.stop },
                                       { .name = "--limit", .value = &request.limit },
                                       { .name = "-b", .other = "--bytes", .set = &request.raw },
                                       { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "disk balance", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    table_args(&request.rows, arg + 5);
    if (!args_read(&args, argc, argv, &status) || !volume_disks_check(&request.rows, "disk balance", &status))
        return status;
    status = run(&request, &args, as_json);
    mover_done(&request.info);
    volume_disks_done(&request.disks);
    return status;
}

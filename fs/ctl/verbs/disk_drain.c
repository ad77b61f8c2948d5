/* SPDX-License-Identifier: MIT */
/* fallsctl disk drain: asks the mount to empty a disk, which then leaves, and shows how far that is. */
#include "fs/ctl/ask/mover.h"
#include "fs/ctl/ask/volume_disks.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"

#include <string.h>

static const char help[] =
    "usage: fallsctl disk drain [-n] [-b] [--limit RATE] " TABLE_USAGE " [--json] MOUNTPOINT DISK\n"
    "       fallsctl disk drain --stop [--json] MOUNTPOINT DISK\n"
    "\n"
    "Empties a disk of a mounted volume, named as d2 or by its path, and takes it out of the volume. From the beginning\n"
    "on nothing new is put there. Files are moved while they are in use: only what lies on the disk goes to others, to\n"
    "those of the file's pool that it does not use yet and that have most room, the home disk last. When nothing is\n"
    "left, .fallsfs is removed from the disk, and the volume is mounted without it from then on. The home disk, which\n"
    "has the names, cannot leave. The mount does the work: interrupted, this only shows no more. After the end of the\n"
    "mount the next one goes on by itself, without a limit.\n"
    "\n"
    "  --limit RATE   bytes a second each file may take, as 100M; else what users of the mount leave\n"
    "  --stop         the disk stays; files that were moved stay where they are\n"
    "  -n             only says how much each disk would have before and after, and what there would be no room for\n"
    "  -b             bytes in full; else in powers of 1024\n" TABLE_HELP "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl disk drain -n /fast d2\n"
    "  fallsctl disk drain --limit 50M /fast /mnt/d2\n"
    "  fallsctl disk drain --stop /fast d2\n";

struct request {
    const char *limit;
    bool dry, stop, raw;
    struct table_options rows;
    struct volume_disks disks;
    uint32_t disk;
    struct paths paths;
    bool has_left;
    struct mover_info info;
};

static void say_how_it_ended(const struct request *request)
{
    const char *path = request->disks.disk[request->disk].path;

    if (request->info.before != NULL && request->dry)
        volume_disks_print(&request->disks, request->info.n_disks, request->info.before, request->info.after,
                           &request->rows, request->raw);
    else if (request->has_left)
        printf("d%" PRIu32 " has left the volume, %" PRIu64 " files were moved: leave %s out from now on, wherever the "
               "volume's disks are named\n",
               request->disk, request->info.moved, path);
    else
        printf("d%" PRIu32 " has not left yet, %" PRIu64 " files were moved; 'fallsctl disk drain --stop %s d%" PRIu32
               "' lets it stay\n",
               request->disk, request->info.moved, request->disks.mountpoint, request->disk);
}

static enum ctl_status finish(struct request *request)
{
    struct json *json = &request->paths.json;

    if (!request->paths.as_json) {
        say_how_it_ended(request);
    } else {
        json_close(json, ']');
        json_u64(json, request->dry ? "files_to_move" : "files_moved", request->info.moved);
        json_bool(json, "has_left", request->has_left);
        if (request->info.before != NULL && request->dry)
            volume_disks_json(json, &request->disks, request->info.n_disks, request->info.before, request->info.after);
        json_end(json);
    }
    request->paths.done += request->info.moved > 0 || request->has_left;
    return paths_status(&request->paths);
}

static enum ctl_status drain(struct request *request, bool as_json)
{
    char order[32], why[ATTRS_WHY];
    const struct mover_asked asked = {
        .path = request->disks.mountpoint, .order = order, .limit = request->limit, .is_plan = request->dry
    };
    uint64_t number;
    int r;

    snprintf(order, sizeof order, "leave d%" PRIu32, request->disk);
    paths_begin(&request->paths, as_json);
    r = mover_ask(&asked, &number, why);
    if (r == 0)
        r = mover_wait(&asked, number, &request->info, why);
    if (r < 0) {
        paths_fail(&request->paths, asked.path, "%s", why);
        return paths_end(&request->paths);
    }
    mover_tell_failures(&asked, &request->info, "stays on the disk", &request->paths);
    request->has_left = !request->dry && strcmp(request->info.state, "done") == 0;
    if (request->info.why != NULL)
        paths_fail(&request->paths, request->disks.disk[request->disk].path, "%s", request->info.why);
    return finish(request);
}

static enum ctl_status stop(struct request *request, bool as_json)
{
    char why[ATTRS_WHY];
    struct json json;

    if (volume_disks_order(&request->disks, "stay", request->disk, why) < 0)
        return report(as_json, "%s", why);
    if (as_json) {
        json_begin(&json, stdout);
        json_bool(&json, "has_left", false);
        json_end(&json);
    } else {
        printf("d%" PRIu32 " stays\n", request->disk);
    }
    return CTL_OK;
}

/* Tells that the disk has left already, after a drain that was seen to its end or interrupted: nothing is left to be
 * done. */
static enum ctl_status tell_gone(struct request *request, bool as_json)
{
    if (request->stop)
        return report(as_json,
                      "d%" PRIu32 " has left the volume: 'fallsctl disk add' makes an empty directory one of it",
                      request->disk);
    request->has_left = true;
    paths_begin(&request->paths, as_json);
    return finish(request);
}

static enum ctl_status run(struct request *request, const struct args *args, bool as_json)
{
    char why[ATTRS_WHY];

    if (args->n != 2)
        return args_complain("disk drain", "which mount, and which of its disks?", NULL);
    if (!mover_is_rate(request->limit))
        return args_complain("disk drain", "not a rate in bytes a second, as 100M is", request->limit);
    if (volume_disks_init(&request->disks, args->word[0], why) < 0)
        return report(as_json, "%s: %s", args->word[0], why);
    request->disk = volume_disks_find(&request->disks, args->word[1]);
    if (request->disk == UINT32_MAX &&
        (request->disk = volume_disks_find_gone(&request->disks, args->word[1])) != UINT32_MAX)
        return tell_gone(request, as_json);
    if (request->disk == UINT32_MAX)
        return report(as_json, "%s is no disk of %s: 'fallsctl status %s' lists them", args->word[1],
                      request->disks.mountpoint, request->disks.mountpoint);
    return request->stop ? stop(request, as_json) : drain(request, as_json);
}

enum ctl_status ctl_disk_drain(int argc, char **argv)
{
    struct request request = { .raw = false };
    bool as_json = false;
    struct arg arg[5 + TABLE_ARGS] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
                                       { .name = "--stop", .set = &request.stop },
                                       { .name = "--limit", .value = &request.limit },
                                       { .name = "-b", .other = "--bytes", .set = &request.raw },
                                       { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "disk drain", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    table_args(&request.rows, arg + 5);
    if (!args_read(&args, argc, argv, &status) || !volume_disks_check(&request.rows, "disk drain", &status))
        return status;
    status = run(&request, &args, as_json);
    mover_done(&request.info);
    volume_disks_done(&request.disks);
    return status;
}

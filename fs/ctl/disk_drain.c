/* SPDX-License-Identifier: MIT */
/* fallsctl disk drain: a disk is emptied, then it leaves. What is done is kept by the volume, so that it can be
 * interrupted anywhere and gone on with. */
#include "fs/ctl/answer.h"
#include "fs/ctl/args.h"
#include "fs/ctl/begun.h"
#include "fs/ctl/moves.h"
#include "fs/ctl/paths.h"
#include "fs/ctl/volume_disks.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_JOBS 64 /* begun and not over */
#define PATIENCE  20 /* seconds for what nobody has a name for any more, and rounds without anything to move */

static const char help[] =
    "usage: fallsctl disk drain [-n] [-b] [--limit RATE] [--json] MOUNTPOINT DISK\n"
    "       fallsctl disk drain --stop [--json] MOUNTPOINT DISK\n"
    "\n"
    "Empties a disk of a mounted volume, named as d2 or by its path, and takes it out of the volume. From the beginning\n"
    "on nothing new is put there. Files are moved while they are in use: where there is a disk that a file does not use\n"
    "yet, only what lies on the disk that leaves goes there; else the file is spread anew over the others. When nothing\n"
    "is left, .fallsfs is removed from the disk, and the volume is mounted without it from then on. The home disk, which\n"
    "has the names, cannot leave. Interrupted, also by the end of the mount, it goes on with the same command.\n"
    "\n"
    "  --limit RATE   bytes a second each file may take, as 100M; else what users of the mount leave\n"
    "  --stop         the disk stays; files that were moved stay where they are\n"
    "  -n             only says how much each disk would have before and after\n"
    "  -b             bytes in full; else in powers of 1024\n"
    "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl disk drain -n /fast d2\n"
    "  fallsctl disk drain --limit 50M /fast /mnt/d2\n"
    "  fallsctl disk drain --stop /fast d2\n";

struct request {
    const char *limit;
    bool dry, stop, raw;
    struct volume_disks disks;
    uint32_t disk;
    struct paths paths;
    struct begun begun;
    uint64_t n_moved; /* files, so far */
    uint64_t n_found; /* that were still to be moved, in this round */
    bool has_left;
    double *before, *shift; /* bytes on each disk, and how many more there will be */
};

/* -- one file -- */

static int plan(struct request *request, const FTSENT *entry, const char *layout, char why[static ATTRS_WHY])
{
    cleanup(laid_done) struct laid laid = { 0 };
    cleanup(moves_done) struct moves moves = { 0 };
    int r = laid_init(&laid, entry->fts_path, why);

    if (r == 0)
        r = moves_init(&moves, &laid, entry->fts_path, layout, why);
    for (uint32_t from = 0; r == 0 && from < MIN(moves.n_disks, request->disks.n); from++)
        for (uint32_t to = 0; to < MIN(moves.n_disks, request->disks.n); to++) {
            double bytes = (double) moves.bytes[(size_t) from * moves.n_disks + to];

            request->shift[from] -= bytes;
            request->shift[to] += bytes;
        }
    return r;
}

static void tell_failed(void *ctx, const struct begun_file *file)
{
    struct request *request = ctx;
    const char *why =
        file->job.number > 0 ? begun_failure(file) : NULL; /* else it is looked at again in the next round */

    if (why == NULL)
        return;
    request->n_moved--;
    paths_fail(&request->paths, file->path, "stays on the disk: %s", why);
}

/* A file that somebody else migrates is looked at again in the next round. */
static void move(struct request *request, const FTSENT *entry, const char *layout)
{
    const char *path = entry->fts_path;
    char why[ATTRS_WHY];
    bool goes_on = false;
    int r = request->dry ? plan(request, entry, layout, why)
                         : begun_add(&request->begun, path, NULL, "leave", request->limit, &goes_on, why);

    if (r == -EBUSY || r == -ENOENT)
        return; /* looked at again in the next round; removed meanwhile */
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
    else
        request->n_moved++;
    if (goes_on) /* it may have been begun, and paused, before */
        (void) attrs_set(path, "migrate", "resume", why);
    if (request->begun.n - request->begun.n_over >= MOST_JOBS)
        begun_wait(&request->begun, MOST_JOBS / 2, tell_failed, request);
}

static void take(void *ctx, const FTSENT *entry)
{
    struct request *request = ctx;
    cleanup(freep) char *layout = NULL;
    char name[24];
    int r;

    if (entry->fts_info != FTS_F)
        return;
    if (request->dry)
        (void) volume_disks_count(&request->disks, entry->fts_path, entry->fts_statp, request->before);
    snprintf(name, sizeof name, "leave.d%" PRIu32, request->disk);
    r = attrs_get(entry->fts_path, name, &layout);
    request->n_found += r == 0;
    if (r == 0)
        move(request, entry, layout);
    else if (r != -ENODATA && r != -ENOENT)
        paths_fail(&request->paths, entry->fts_path, "%s", strerror(-r));
}

/* -- all files -- */

/* What is thought to be moved is rounded; what is left is not. */
static void look_at_all(struct request *request)
{
    paths_walk(&request->paths, request->disks.mountpoint, take, request);
    request->shift[request->disk] = -request->before[request->disk];
}

/* Files may be renamed to where one has looked already, or be on their way elsewhere: until there is nothing to move in
 * all of the tree, or nothing becomes of it for a while. */
static void move_all(struct request *request)
{
    uint64_t least = UINT64_MAX;
    int idle = 0;

    do {
        if (idle > 0)
            sleep(1);
        request->n_found = 0;
        paths_walk(&request->paths, request->disks.mountpoint, take, request);
        begun_wait(&request->begun, 0, tell_failed, request);
        idle = request->n_found < least ? 0 : idle + 1;
        least = MIN(least, request->n_found);
    } while (request->paths.failed == 0 && request->n_found > 0 && idle < PATIENCE);
    if (request->paths.failed == 0 && request->n_found > 0)
        paths_fail(&request->paths, request->disks.mountpoint,
                   "%" PRIu64
                   " files stay on the disk, or are on their way to other layouts: 'fallsctl jobs' shows them; "
                   "then go on with the same command",
                   request->n_found);
}

/* What was removed may take a moment to be gone, or be in use by somebody. */
static void drop(struct request *request)
{
    char why[ATTRS_WHY];
    time_t until = time(NULL) + PATIENCE;
    int r;

    while ((r = volume_disks_order(&request->disks, "drop", request->disk, why)) == -EBUSY && time(NULL) < until)
        usleep(200000);
    request->has_left = r == 0;
    if (r == -EBUSY)
        paths_fail(&request->paths, request->disks.disk[request->disk].path,
                   "%s: of files that were removed and are still open, or that no name leads to. Close them and go on "
                   "with the same command; 'fsck.fallsfs -n' shows what belongs to no file",
                   why);
    else if (r < 0)
        paths_fail(&request->paths, request->disks.disk[request->disk].path, "%s", why);
}

static void say_how_it_ended(const struct request *request)
{
    const char *path = request->disks.disk[request->disk].path;

    if (request->dry)
        volume_disks_print(&request->disks, request->before, request->shift, request->raw);
    else if (request->has_left)
        printf("d%" PRIu32 " has left the volume, %" PRIu64 " files were moved: leave %s out from now on, wherever the "
               "volume's disks are named\n",
               request->disk, request->n_moved, path);
    else
        printf("d%" PRIu32 " has not left yet, %" PRIu64 " files were moved; 'fallsctl disk drain --stop %s d%" PRIu32
               "' lets it stay\n",
               request->disk, request->n_moved, request->disks.mountpoint, request->disk);
}

static enum ctl_status finish(struct request *request)
{
    struct json *json = &request->paths.json;

    if (!request->paths.as_json) {
        say_how_it_ended(request);
    } else {
        json_close(json, ']');
        json_u64(json, request->dry ? "files_to_move" : "files_moved", request->n_moved);
        json_bool(json, "has_left", request->has_left);
        if (request->dry)
            volume_disks_json(json, &request->disks, request->before, request->shift);
        json_end(json);
    }
    request->paths.done += request->n_moved > 0 || request->has_left;
    return paths_status(&request->paths);
}

static enum ctl_status drain(struct request *request, bool as_json)
{
    char why[ATTRS_WHY];

    if (!request->dry && volume_disks_order(&request->disks, "leave", request->disk, why) < 0)
        return report(as_json, "%s", why);
    request->before = calloc(request->disks.n, sizeof request->before[0]);
    request->shift = calloc(request->disks.n, sizeof request->shift[0]);
    if (request->before == NULL || request->shift == NULL)
        return report(as_json, "out of memory");
    paths_begin(&request->paths, as_json);
    if (request->dry)
        look_at_all(request);
    else
        move_all(request);
    if (!request->dry && request->paths.failed == 0)
        drop(request);
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

static enum ctl_status run(struct request *request, const struct args *args, bool as_json)
{
    uint64_t rate;
    char why[ATTRS_WHY];

    if (args->n != 2)
        return args_complain("disk drain", "which mount, and which of its disks?", NULL);
    if (request->limit != NULL && layout_parse_size(request->limit, &rate) < 0)
        return args_complain("disk drain", "a rate is bytes a second, as 100M:", request->limit);
    if (volume_disks_init(&request->disks, args->word[0], why) < 0)
        return report(as_json, "%s: %s", args->word[0], why);
    request->disk = volume_disks_find(&request->disks, args->word[1]);
    if (request->disk == UINT32_MAX)
        return report(as_json, "%s is no disk of %s: 'fallsctl status %s' lists them", args->word[1],
                      request->disks.mountpoint, request->disks.mountpoint);
    return request->stop ? stop(request, as_json) : drain(request, as_json);
}

enum ctl_status ctl_disk_drain(int argc, char **argv)
{
    struct request request = { .raw = false };
    bool as_json = false;
    const struct arg arg[] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
                               { .name = "--stop", .set = &request.stop },
                               { .name = "--limit", .value = &request.limit },
                               { .name = "-b", .other = "--bytes", .set = &request.raw },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "disk drain", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    status = run(&request, &args, as_json);
    begun_done(&request.begun);
    volume_disks_done(&request.disks);
    free(request.before);
    free(request.shift);
    return status;
}

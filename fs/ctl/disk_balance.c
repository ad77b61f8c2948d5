/* SPDX-License-Identifier: MIT */
/* fallsctl disk balance: files are spread anew until all disks are about as full. */
#include "fs/ctl/answer.h"
#include "fs/ctl/args.h"
#include "fs/ctl/begun.h"
#include "fs/ctl/moves.h"
#include "fs/ctl/paths.h"
#include "fs/ctl/table.h"
#include "fs/ctl/volume_disks.h"

#include <math.h>
#include <string.h>

#define MOST_JOBS 64   /* begun and not over */
#define CLOSE     0.05 /* of the mean: so far from each other disks may stay */

static const char help[] =
    "usage: fallsctl disk balance [-n] [-b] [--limit RATE] [--json] MOUNTPOINT\n"
    "\n"
    "Moves files until all disks of a mounted volume are about as full with them, counted by the size of their file\n"
    "systems: after disks have joined, old files lie on the old ones. Files are spread over all disks, or over those of\n"
    "their pool, large ones first, while they are in use. As few are moved as it takes: 'fallsctl migrate --restripe'\n"
    "spreads all that it is told to. A file whose layout names disks of its own, other than all there were when it was\n"
    "made, or only one, stays where it is. Interrupted, it goes on with the same command.\n"
    "\n"
    "  --limit RATE   bytes a second each file may take, as 100M; else what users of the mount leave\n"
    "  -n             only says how much each disk would have before and after\n"
    "  -b             bytes in full; else in powers of 1024\n"
    "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl disk balance -n /fast\n"
    "  fallsctl disk balance --limit 50M /fast\n"
    "  fallsctl disk balance --json /fast | jq .files_moved\n";

struct candidate {
    char *path;
    blkcnt_t blocks;
};

struct request {
    const char *limit;
    bool dry, raw;
    struct volume_disks disks;
    double *load;   /* bytes on each disk, as far as it is decided */
    double *before; /* at the beginning */
    struct candidate *candidate;
    size_t n, room;
    struct paths paths;
    struct begun begun;
    uint64_t n_moved, bytes_moved;
};

/* -- which files -- */

/* The pool that all disks of a layout are in; "-": none, or several. */
static const char *pool_of(const struct request *request, const struct layout *layout)
{
    const char *pool = NULL;

    for (uint32_t i = 0; i < layout->n_disks; i++) {
        const char *here = layout->disk[i] < request->disks.n ? request->disks.disk[layout->disk[i]].pool : "-";

        if (pool != NULL && strcmp(pool, here) != 0)
            return "-";
        pool = here;
    }
    return pool != NULL ? pool : "-";
}

static bool is_meant(const struct request *request, uint32_t disk, const char *pool)
{
    return volume_disk_takes(&request->disks.disk[disk]) &&
           (strcmp(pool, "-") == 0 || strcmp(pool, request->disks.disk[disk].pool) == 0);
}

static bool lists(const struct layout *layout, uint32_t disk)
{
    for (uint32_t i = 0; i < layout->n_disks; i++)
        if (layout->disk[i] == disk)
            return true;
    return false;
}

/* Whether it lies on all disks that there were, of its pool, and not on all that there are. */
static bool can_spread(const struct request *request, const struct layout *layout)
{
    const char *pool = pool_of(request, layout);
    uint32_t last = 0;
    bool is_missing = false;

    if (layout->disks != DISKS_LIST || layout->n_disks < 2 || layout->element_disk != NULL)
        return false;
    for (uint32_t i = 0; i < layout->n_disks; i++)
        last = MAX(last, layout->disk[i]);
    for (uint32_t i = 0; i < request->disks.n; i++) {
        if (!is_meant(request, i, pool) || lists(layout, i))
            continue;
        if (i < last)
            return false;
        is_missing = true;
    }
    return is_missing;
}

static int note_candidate(struct request *request, const FTSENT *entry)
{

    if (request->n == request->room) {
        size_t room = MAX(2 * request->room, 64);
        struct candidate *more = realloc(request->candidate, room * sizeof *more);

        if (more == NULL)
            return -ENOMEM;
        request->candidate = more;
        request->room = room;
    }
    request->candidate[request->n] = (struct candidate){ strdup(entry->fts_path), entry->fts_statp->st_blocks };
    if (request->candidate[request->n].path == NULL)
        return -ENOMEM;
    request->n++;
    return 0;
}

static void take(void *ctx, const FTSENT *entry)
{
    struct request *request = ctx;
    cleanup(laid_done) struct laid laid = { 0 };
    char why[ATTRS_WHY];
    int r;

    if (entry->fts_info != FTS_F)
        return;
    r = volume_disks_count(&request->disks, entry->fts_path, entry->fts_statp, request->load);
    if (r == -ENOENT)
        return; /* removed meanwhile */
    r = laid_init(&laid, entry->fts_path, why);
    if (r == 0 && laid.size > 0 && can_spread(request, laid.layout))
        r = note_candidate(request, entry);
    if (r < 0 && r != -ENOENT)
        paths_fail(&request->paths, entry->fts_path, "%s", r == -ENOMEM ? strerror(ENOMEM) : why);
}

static int by_size(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->blocks < y->blocks ? 1 : x->blocks > y->blocks ? -1 : strcmp(x->path, y->path);
}

/* -- how full -- */

static double fill_of(const struct request *request, const double load[], uint32_t disk)
{
    return load[disk] / (double) request->disks.disk[disk].capacity;
}

/* Less is better: it falls when bytes go from a disk to one that is less full. */
static double unevenness(const struct request *request, const double load[])
{
    double sum = 0;

    for (uint32_t i = 0; i < request->disks.n; i++)
        sum += load[i] * fill_of(request, load, i);
    return sum;
}

static bool is_even(const struct request *request)
{
    double most = 0, least = INFINITY, sum = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < request->disks.n; i++) {
        if (!volume_disk_takes(&request->disks.disk[i]))
            continue;
        most = MAX(most, fill_of(request, request->load, i));
        least = MIN(least, fill_of(request, request->load, i));
        sum += fill_of(request, request->load, i);
        n++;
    }
    return n == 0 || most - least <= CLOSE * sum / n;
}

/* -- one file -- */

/* What it is told to become, for the daemon, and the same spelled out, to see what that moves. */
static int texts_for(const struct request *request, const struct layout *layout, char **ret_order, char **ret_plain)
{
    cleanup(freep) char *bare = layout_without_disks(layout);
    const char *pool = pool_of(request, layout), *before = " on d", *newline;
    char *plain = NULL;
    size_t len;
    FILE *out = bare != NULL ? open_memstream(&plain, &len) : NULL;

    if (out == NULL)
        return -ENOMEM;
    newline = strchr(bare, '#') != NULL ? "\n" : "";
    fprintf(out, "%s%s", bare, newline);
    for (uint32_t i = 0; strcmp(pool, "-") != 0 && i < request->disks.n; i++)
        if (is_meant(request, i, pool)) {
            fprintf(out, "%s%" PRIu32, before, i);
            before = ",d";
        }
    if (fclose(out) != 0) {
        free(plain);
        return -ENOMEM;
    }
    *ret_plain = plain;
    if (strcmp(pool, "-") == 0)
        *ret_order = strdup("restripe");
    else if (asprintf(ret_order, "%s%s on pool:%s", bare, newline, pool) < 0)
        *ret_order = NULL;
    return *ret_order != NULL ? 0 : -ENOMEM;
}

/* Whether the disks are more alike when it is moved; ret_load is what they have then. */
static bool helps(const struct request *request, const struct moves *moves, double ret_load[])
{
    uint32_t n = MIN(moves->n_disks, request->disks.n);

    memcpy(ret_load, request->load, request->disks.n * sizeof ret_load[0]);
    for (uint32_t from = 0; from < n; from++)
        for (uint32_t to = 0; to < n; to++) {
            double bytes = (double) moves->bytes[(size_t) from * moves->n_disks + to];

            ret_load[from] -= bytes;
            ret_load[to] += bytes;
        }
    return unevenness(request, ret_load) < unevenness(request, request->load);
}

static void tell_failed(void *ctx, const struct begun_file *file)
{
    struct request *request = ctx;
    const char *why = file->job.number > 0 ? begun_failure(file) : NULL; /* else it may be gone */

    if (why == NULL)
        return;
    request->n_moved--;
    paths_fail(&request->paths, file->path, "stays where it is: %s", why);
}

static int move(struct request *request, const struct candidate *candidate, double load[], char why[static ATTRS_WHY])
{
    cleanup(laid_done) struct laid laid = { 0 };
    cleanup(moves_done) struct moves moves = { 0 };
    cleanup(freep) char *order = NULL, *plain = NULL;
    bool goes_on;
    int r = laid_init(&laid, candidate->path, why);

    if (r == 0 && (r = texts_for(request, laid.layout, &order, &plain)) < 0)
        return attrs_refuse(why, r, "out of memory");
    if (r == 0)
        r = moves_init(&moves, &laid, candidate->path, plain, why);
    if (r < 0 || !helps(request, &moves, load))
        return r;
    if (!request->dry)
        r = begun_add(&request->begun, candidate->path, NULL, order, request->limit, &goes_on, why);
    if (r == 0) {
        memcpy(request->load, load, request->disks.n * sizeof load[0]);
        request->n_moved++;
        request->bytes_moved += moves.total;
    }
    return r;
}

static void move_some(struct request *request)
{
    double *load = calloc(request->disks.n, sizeof load[0]);

    for (size_t i = 0; load != NULL && i < request->n && !is_even(request); i++) {
        char why[ATTRS_WHY];
        int r = move(request, &request->candidate[i], load, why);

        if (r < 0 && r != -ENOENT)
            paths_fail(&request->paths, request->candidate[i].path, "%s", why);
        if (request->begun.n - request->begun.n_over >= MOST_JOBS)
            begun_wait(&request->begun, MOST_JOBS / 2, tell_failed, request);
    }
    if (!request->dry)
        begun_wait(&request->begun, 0, tell_failed, request);
    free(load);
}

/* -- the command line -- */

static enum ctl_status finish(struct request *request)
{
    struct json *json = &request->paths.json;
    char size[SIZE_TEXT];

    for (uint32_t i = 0; i < request->disks.n; i++)
        request->load[i] -= request->before[i];
    if (request->paths.as_json) {
        json_close(json, ']');
        json_u64(json, request->dry ? "files_to_move" : "files_moved", request->n_moved);
        json_u64(json, "bytes", request->bytes_moved);
        volume_disks_json(json, &request->disks, request->before, request->load);
        json_end(json);
    } else {
        volume_disks_print(&request->disks, request->before, request->load, request->raw);
        printf("%" PRIu64 " files %s, with %s\n", request->n_moved, request->dry ? "would be moved" : "were moved",
               size_text(request->bytes_moved, request->raw, size));
    }
    request->paths.done++;
    return paths_status(&request->paths);
}

static enum ctl_status run(struct request *request, const struct args *args, bool as_json)
{
    uint64_t rate;
    char why[ATTRS_WHY];

    if (args->n != 1)
        return args_complain("disk balance", "which mount?", NULL);
    if (request->limit != NULL && layout_parse_size(request->limit, &rate) < 0)
        return args_complain("disk balance", "a rate is bytes a second, as 100M:", request->limit);
    if (volume_disks_init(&request->disks, args->word[0], why) < 0)
        return report(as_json, "%s: %s", args->word[0], why);
    request->load = calloc(request->disks.n, sizeof request->load[0]);
    request->before = calloc(request->disks.n, sizeof request->before[0]);
    if (request->load == NULL || request->before == NULL)
        return report(as_json, "out of memory");
    paths_begin(&request->paths, as_json);
    paths_walk(&request->paths, request->disks.mountpoint, take, request);
    memcpy(request->before, request->load, request->disks.n * sizeof request->load[0]);
    if (request->n > 0)
        qsort(request->candidate, request->n, sizeof request->candidate[0], by_size);
    move_some(request);
    return finish(request);
}

enum ctl_status ctl_disk_balance(int argc, char **argv)
{
    struct request request = { .raw = false };
    bool as_json = false;
    const struct arg arg[] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
                               { .name = "--limit", .value = &request.limit },
                               { .name = "-b", .other = "--bytes", .set = &request.raw },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "disk balance", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    status = run(&request, &args, as_json);
    begun_done(&request.begun);
    volume_disks_done(&request.disks);
    for (size_t i = 0; i < request.n; i++)
        free(request.candidate[i].path);
    free(request.candidate);
    free(request.load);
    free(request.before);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* fallsctl migrate: other layouts for files that have bytes. */
#include "fs/ctl/args.h"
#include "fs/ctl/begun.h"
#include "fs/ctl/json_read.h"
#include "fs/ctl/moves.h"
#include "fs/ctl/paths.h"
#include "fs/ctl/table.h"
#include "fs/ctl/wish.h"

#include <search.h>
#include <string.h>
#include <sys/stat.h>

#define USUAL_RATE (UINT64_C(200) << 20) /* bytes a second, to say how long it may take */

static const char help_text[] =
    "usage: fallsctl migrate [-n] [-b] [--wait] [--limit RATE] [--json] LAYOUT PATH...\n"
    "       fallsctl find -0 ... | fallsctl migrate ... LAYOUT -0\n"
    "\n"
    "Gives files another layout while they are in use; of directories, the files in them and below. The file stays the\n"
    "same, whoever reads and writes it need not know. It takes room for a second copy while it goes on. A file that\n"
    "cannot be finished, as for want of room, keeps the layout it has. Jobs go on over the next mount; 'fallsctl jobs'\n"
    "shows, pauses and cancels them.\n"
    "\n"
    "LAYOUT is one of\n"
    "\n"
    "  --restripe      the layout each file has, over all disks there are now\n"
    "  --auto-default  what a file made there now would have\n"
    "%s"
    "\n"
    "  -0              paths are read from standard input, too, with a zero byte behind each\n"
    "  --limit RATE    bytes a second each file may take, as 100M; else what users of the mount leave\n"
    "  --wait          until all are over; on a terminal, with a bar. Interrupted, the jobs go on\n"
    "  -n              only says what would be moved from which disk to which, and how long that may take\n"
    "  -b              bytes in full; else in powers of 1024\n"
    "  --json          machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl migrate -L 'stripe(4M)' --wait /fast/big\n"
    "  fallsctl migrate --array 8192x8192:f8:block,*:4x1 -n /fast/matrix\n"
    "  fallsctl migrate --restripe --limit 50M /fast/runs\n";

struct request {
    struct wish wish;
    bool restripe, by_default, dry, wait, raw, from_stdin;
    const char *limit;
    uint64_t limit_bytes; /* 0: none */
    struct paths paths;
    struct moves moves; /* of all */
    void *seen;         /* tree of struct identity: files with several names */
    struct begun begun;
};

/* -- one file -- */

/* What is asked for, as a layout; NULL: only the daemon knows. */
static int layout_for(struct request *request, const char *path, const struct laid *laid, char **ret_layout,
                      char why[static ATTRS_WHY])
{
    cleanup(freep) char *array = NULL;

    *ret_layout = NULL;
    if (request->by_default)
        return 0;
    if (!request->restripe)
        return wish_find(&request->wish, path, ret_layout, &array, why);
    *ret_layout = layout_without_disks(laid->layout);
    if (*ret_layout != NULL)
        return 0;
    snprintf(why, ATTRS_WHY, "out of memory");
    return -ENOMEM;
}

/* What a file made beside this one now would have, as far as its directory tells. */
static int default_for(const char *path, char **ret_layout, char why[static ATTRS_WHY])
{
    cleanup(freep) char *directory = paths_directory(path);
    cleanup(laid_done) struct laid laid = { 0 };
    int r = directory != NULL ? laid_init(&laid, directory, why) : attrs_refuse(why, -ENOMEM, "out of memory");

    if (r == 0) {
        const char *rotates = json_find(laid.json, "rotates");

        *ret_layout = rotates != NULL && *rotates == 't' ? layout_without_disks(laid.layout) : steal(laid.text);
    }
    return r;
}

static int look_at_moves(struct request *request, const char *path, const struct laid *laid, const char *layout,
                         struct moves *moves, char why[static ATTRS_WHY])
{
    cleanup(freep) char *found = NULL;
    int r = layout != NULL ? 0 : default_for(path, &found, why);

    if (r == 0)
        r = moves_init(moves, laid, path, layout != NULL ? layout : found, why);
    if (r == 0)
        moves_add(&request->moves, moves);
    return r;
}

static void tell(struct request *request, const char *path, const char *layout, const char *state,
                 const struct moves *moves)
{
    struct json *json = &request->paths.json;

    request->paths.done++;
    if (request->paths.as_json) {
        json_open(json, NULL, '{');
        json_string(json, "file", path);
        json_string(json, "layout", layout);
        json_string(json, "state", state);
        if (moves != NULL) {
            json_u64(json, "bytes", moves->total);
            json_u64(json, "bytes_that_stay", moves->stays);
            moves_json(json, moves);
        }
        json_close(json, '}');
    } else if (request->dry) {
        printf("would migrate %s to %s\n", path, layout != NULL ? layout : "what new files have");
    }
}

static void tell_end(void *ctx, const struct begun_file *file)
{
    struct request *request = ctx;
    const char *why = begun_failure(file);

    if (why != NULL)
        paths_fail(&request->paths, file->path, "keeps its layout: %s", why);
    else
        tell(request, file->path, file->layout, file->job.number == 0 ? "done" : file->job.state, NULL);
}

/* One that is waited for is told of in the end. */
static int begin(struct request *request, const char *path, const char *layout, char why[static ATTRS_WHY])
{
    const char *what = request->restripe ? "restripe" : request->by_default ? "auto" : layout;
    bool goes_on;
    int r = begun_add(&request->begun, path, layout, what, request->limit, &goes_on, why);

    if (r == 0 && (!goes_on || !request->wait))
        tell(request, path, layout, goes_on ? "running" : "done", NULL); /* it had it already, or is small */
    if (request->wait)
        begun_wait(&request->begun, SIZE_MAX, tell_end, request);
    return r;
}

static void migrate_file(struct request *request, const char *path)
{
    cleanup(laid_done) struct laid laid = { 0 };
    cleanup(moves_done) struct moves moves = { 0 };
    cleanup(freep) char *layout = NULL;
    char why[ATTRS_WHY];
    int r = laid_init(&laid, path, why);

    if (r == 0)
        r = layout_for(request, path, &laid, &layout, why);
    if (r == 0 && request->dry)
        r = look_at_moves(request, path, &laid, layout, &moves, why);
    if (r == 0 && request->dry)
        tell(request, path, layout, "planned", &moves);
    else if (r == 0)
        r = begin(request, path, layout, why);
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
}

/* -- trees -- */

struct identity {
    dev_t dev;
    ino_t ino;
};

static int compare_identities(const void *x, const void *y)
{
    const struct identity *a = x, *b = y;

    if (a->dev != b->dev)
        return a->dev < b->dev ? -1 : 1;
    return a->ino < b->ino ? -1 : a->ino > b->ino;
}

/* A file that has come by under another name. Without memory nothing has. */
static bool was_seen(struct request *request, const struct stat *st)
{
    struct identity *identity = st->st_nlink > 1 ? malloc(sizeof *identity) : NULL;
    void **found;

    if (identity == NULL)
        return false;
    *identity = (struct identity){ st->st_dev, st->st_ino };
    found = tsearch(identity, &request->seen, compare_identities);
    if (found != NULL && *found == identity)
        return false;
    free(identity);
    return found != NULL;
}

static void take(void *ctx, const FTSENT *entry)
{
    struct request *request = ctx;

    if (entry->fts_info == FTS_F && !was_seen(request, entry->fts_statp))
        migrate_file(request, entry->fts_path);
    else if (entry->fts_level == 0 && entry->fts_info != FTS_F && entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
        paths_fail(&request->paths, entry->fts_path, "is neither a file nor a directory");
}

/* As fallsctl find -0 prints them. */
static void take_from_stdin(struct request *request)
{
    cleanup(freep) char *path = NULL;
    size_t room = 0;

    while (getdelim(&path, &room, 0, stdin) > 0)
        if (path[0] != 0)
            paths_walk(&request->paths, path, take, request);
    if (ferror(stdin))
        paths_fail(&request->paths, "standard input", "%s", strerror(errno));
}

/* -- the command line -- */

static void print_plan(const struct request *request)
{
    uint64_t rate = request->limit_bytes > 0 ? request->limit_bytes : USUAL_RATE;
    char bytes[SIZE_TEXT], stays[SIZE_TEXT], speed[SIZE_TEXT], time[JOB_TIME];

    if (request->paths.as_json || request->moves.bytes == NULL)
        return;
    moves_print(&request->moves, request->raw);
    printf("%s in all, %s stay where they are; %s at %s/s\n", size_text(request->moves.total, request->raw, bytes),
           size_text(request->moves.stays, request->raw, stays),
           job_time(job_left(0, request->moves.total, rate), time), size_text(rate, false, speed));
}

static bool has_wish(const struct wish *wish)
{
    return wish->text != NULL || wish->like != NULL || wish->unit != NULL || wish->count != NULL ||
           wish->first != NULL || wish->pool != NULL || wish->array != NULL || wish->disp != NULL;
}

static enum ctl_status run(struct request *request, const struct args *args, bool as_json)
{
    if (args->n == 0 && !request->from_stdin)
        return args_complain("migrate", "which files or directories?", NULL);
    if (request->restripe + request->by_default + has_wish(&request->wish) != 1)
        return args_complain("migrate", "one of --restripe, --auto-default and a layout must be said", NULL);
    if (request->limit != NULL && layout_parse_size(request->limit, &request->limit_bytes) < 0)
        return args_complain("migrate", "a rate is bytes a second, as 100M:", request->limit);
    paths_begin(&request->paths, as_json);
    for (int i = 0; i < args->n; i++)
        paths_walk(&request->paths, args->word[i], take, request);
    if (request->from_stdin)
        take_from_stdin(request);
    if (request->wait && !request->dry)
        begun_wait(&request->begun, 0, tell_end, request);
    if (request->dry)
        print_plan(request);
    return paths_end(&request->paths);
}

enum ctl_status ctl_migrate(int argc, char **argv)
{
    struct request request = { .raw = false };
    bool as_json = false;
    struct arg arg[8 + WISH_ARGS] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
                                      { .name = "--restripe", .set = &request.restripe },
                                      { .name = "--auto-default", .set = &request.by_default },
                                      { .name = "--wait", .set = &request.wait },
                                      { .name = "--limit", .value = &request.limit },
                                      { .name = "-b", .other = "--bytes", .set = &request.raw },
                                      { .name = "-0", .other = "--null", .set = &request.from_stdin },
                                      { .name = "--json", .set = &as_json } };
    cleanup(freep) char *help = NULL;
    struct args args = { .verb = "migrate", .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    wish_args(&request.wish, arg + 8);
    if (asprintf(&help, help_text, wish_help) < 0)
        return CTL_ERROR;
    args.help = help;
    if (!args_read(&args, argc, argv, &status))
        return status;
    status = run(&request, &args, as_json);
    begun_done(&request.begun);
    tdestroy(request.seen, free);
    moves_done(&request.moves);
    return status;
}

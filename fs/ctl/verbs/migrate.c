/* SPDX-License-Identifier: MIT */
/* fallsctl migrate: other layouts for files that have bytes. */
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/migrate_below.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

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
    "shows, pauses and cancels them. A directory is one order to the mount, which gives its files jobs, a few at a time,\n"
    "also when the command has ended; one such order goes on at a time. The end of the mount ends it, but not the jobs it\n"
    "has begun: the same command goes on. Files of others are left out and named.\n"
    "\n"
    "LAYOUT is one of\n"
    "\n"
    "  --restripe      the layout each file has, over all disks there are now\n"
    "  --auto-default  what a file made there now would have\n"
    "%s"
    "\n"
    "  -0              paths are read from standard input, too, with a zero byte behind each\n"
    "  --limit RATE    bytes a second each file may take, as 100M; else what users of the mount leave\n"
    "  --wait          until all are over; on a terminal, with a bar. Interrupted, jobs and orders go on, and the same\n"
    "                  command shows on\n"
    "  -n              only says what would be moved from which disk to which, and how long that may take\n"
    "  -b              bytes in full; else in powers of 1024\n"
    "  --json          machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl migrate -L 'stripe(4M)' --wait /fast/big\n"
    "  fallsctl migrate --array 8192x8192:f8:block,*:4x1 -n /fast/matrix\n"
    "  fallsctl migrate --restripe --limit 50M /fast/runs\n";

/* -- one file -- */

/* What a file made beside this one now would have, as far as its directory tells. */
static int default_for(const char *path, char **ret_layout, char why[static ATTRS_WHY])
{
    cleanup(freep) char *directory = paths_directory(path);
    cleanup(file_info_done) struct file_info info = { 0 };
    int r = directory != NULL ? file_info_init(&info, directory, why) : attrs_refuse(why, -ENOMEM, "out of memory");

    if (r == 0)
        *ret_layout = info.rotates ? layout_without_disks(info.layout) : steal(info.text);
    return r;
}

static int look_at_moves(struct migration_asked *request, const char *path, const struct file_info *info,
                         const char *layout, struct moves *moves, char why[static ATTRS_WHY])
{
    cleanup(freep) char *found = NULL;
    int r = layout != NULL ? 0 : default_for(path, &found, why);

    if (r == 0)
        r = moves_init(moves, info, path, layout != NULL ? layout : found, MOVES_START, why);
    if (r == 0)
        moves_add(&request->moves, moves);
    return r;
}

static void tell_end(void *ctx, const struct begun_file *file)
{
    struct migration_asked *request = ctx;
    const char *why = begun_failure(file);

    if (why != NULL)
        paths_fail(&request->paths, file->path, "keeps its layout: %s", why);
    else
        migration_tell(request, file->path, file->layout, file->job.number == 0 ? "done" : file->job.state, NULL);
}

/* A file that is waited for is told of in the end. */
static int begin(struct migration_asked *request, const char *path, const char *layout, char why[static ATTRS_WHY])
{
    bool goes_on;
    int r = begun_add(&request->begun, path, layout, migration_word(request, layout), request->limit, &goes_on, why);

    if (r == 0 && (!goes_on || !request->wait))
        migration_tell(request, path, layout, goes_on ? "running" : "done", NULL); /* it had it already, or is small */
    if (request->wait)
        begun_wait(&request->begun, SIZE_MAX, tell_end, request);
    return r;
}

static void migrate_file(struct migration_asked *request, const char *path, uid_t owner)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    cleanup(moves_done) struct moves moves = { 0 };
    cleanup(freep) char *layout = NULL;
    char why[ATTRS_WHY];
    int r = file_info_init(&info, path, why);

    if (r == 0 && !migration_may(owner)) {
        migration_refuse(request, path, owner);
        return;
    }
    if (r == 0)
        r = migration_layout(request, path, &info, &layout, why);
    if (r == 0 && request->dry)
        r = look_at_moves(request, path, &info, layout, &moves, why);
    if (r == 0 && request->dry)
        migration_tell(request, path, layout, "planned", &moves);
    else if (r == 0)
        r = begin(request, path, layout, why);
    if (r < 0)
        paths_fail(&request->paths, path, "%s", why);
}

/* -- what is named -- */

static void take(void *ctx, const FTSENT *entry)
{
    struct migration_asked *request = ctx;

    if (entry->fts_info == FTS_F && !migration_was_seen(request, entry->fts_statp))
        migrate_file(request, entry->fts_path, entry->fts_statp->st_uid);
    else if (entry->fts_info == FTS_D && !request->dry)
        request->paths.leave_out = migrate_below(request, entry->fts_path);
    else if (entry->fts_level == 0 && entry->fts_info != FTS_F && entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
        paths_fail(&request->paths, entry->fts_path, "is neither a file nor a directory");
}

/* As fallsctl find -0 prints them. */
static void take_from_stdin(struct migration_asked *request)
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

static void print_plan(const struct migration_asked *request)
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

static bool is_asked(const struct layout_options *asked)
{
    return asked->text != NULL || asked->like != NULL || asked->unit != NULL || asked->count != NULL ||
           asked->first != NULL || asked->pool != NULL || asked->array != NULL || asked->disp != NULL;
}

static enum ctl_status run(struct migration_asked *request, const struct args *args, bool as_json)
{
    if (args->n == 0 && !request->from_stdin)
        return args_complain("migrate", "which files or directories?", NULL);
    if (request->restripe + request->by_default + is_asked(&request->asked) != 1)
        return args_complain("migrate", "one of --restripe, --auto-default and a layout must be said", NULL);
    if (request->limit != NULL && layout_parse_size(request->limit, &request->limit_bytes) < 0)
        return args_complain("migrate", "not a rate in bytes a second, as 100M is", request->limit);
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
    struct migration_asked request = { .raw = false };
    bool as_json = false;
    struct arg arg[8 + LAYOUT_OPTIONS_ARGS] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
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

    layout_options_args(&request.asked, arg + 8);
    if (asprintf(&help, help_text, layout_options_help) < 0)
        return CTL_ERROR;
    args.help = help;
    if (!args_read(&args, argc, argv, &status))
        return status;
    status = run(&request, &args, as_json);
    begun_done(&request.begun);
    migrate_below_done(&request);
    tdestroy(request.seen, free);
    moves_done(&request.moves);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* fallsctl repair: files that have lost a part are made whole from what is left. */
#include "fs/ctl/ask/begun.h"
#include "fs/ctl/ask/which_mount.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <stdio.h>
#include <string.h>

#define AT_ONCE 32 /* files whose jobs are waited for together */

static const char help_text[] =
    "usage: fallsctl repair [--json] PATH...\n"
    "       fallsctl repair [--json] --all [MOUNTPOINT]\n"
    "\n"
    "Makes files whole again, while they are in use, from what is left of them in second copies ('copies 2') and other\n"
    "replicas; of directories, the files in them and below. Where a disk fails, its files get a layout of the same kind\n"
    "without it, on disks that have room; where a subfile is missing or short, it is made anew. Then second copies are\n"
    "filled again, which 'fallsctl replica list' shows. Until a file is repaired, it can be read, and writes to what lies\n"
    "on the failed disk are errors.\n"
    "\n"
    "A file that nothing is left of elsewhere keeps its layout, and is named. Interrupted, jobs go on.\n"
    "\n"
    "  --all     all files of the mount, or of the only one there is\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl status /fast\n"
    "  fallsctl repair --all /fast\n"
    "  fallsctl disk drain /mnt/d2\n";

struct repair {
    struct paths paths;
    struct begun begun;
    uint64_t n_made; /* files that had lost something */
};

static void tell(struct repair *repair, const char *path, bool was_made)
{
    repair->paths.done++;
    repair->n_made += was_made;
    if (repair->paths.as_json) {
        json_open(&repair->paths.json, NULL, '{');
        json_string(&repair->paths.json, "file", path);
        json_string(&repair->paths.json, "state", was_made ? "repaired" : "whole");
        json_close(&repair->paths.json, '}');
    } else if (was_made) {
        utf8_print_line(stdout, path, false);
        puts(": repaired");
    }
}

static void tell_end(void *ctx, const struct begun_file *file)
{
    const char *why = begun_failure(file);
    struct repair *repair = ctx;

    if (why != NULL)
        paths_fail(&repair->paths, file->path, "stays as it is: %s", why);
    else
        tell(repair, file->path, true);
}

static void take(void *ctx, const FTSENT *entry)
{
    struct repair *repair = ctx;
    char why[ATTRS_WHY];
    bool goes_on;
    int r;

    if (entry->fts_info != FTS_F)
        return;
    r = begun_add(&repair->begun, entry->fts_path, NULL, "repair", NULL, &goes_on, why);
    if (r < 0)
        paths_fail(&repair->paths, entry->fts_path, "%s", why);
    else if (!goes_on)
        tell(repair, entry->fts_path, false);
    begun_wait(&repair->begun, AT_ONCE, tell_end, repair);
}

static enum ctl_status run(struct repair *repair, const struct args *args, bool all, bool as_json)
{
    cleanup(freep) char *target = NULL;
    char why[ATTRS_WHY];
    enum ctl_status status;

    if (all ? args->n > 1 : args->n == 0)
        return args_complain("repair", all ? "--all is about one mount" : "which files or directories? or --all", NULL);
    if (all && which_mount(args->n > 0 ? args->word[0] : NULL, &target, why) < 0) {
        utf8_complain("fallsctl: %s", why);
        return CTL_ERROR;
    }
    paths_begin(&repair->paths, as_json);
    if (all)
        paths_walk(&repair->paths, target, take, repair);
    for (int i = 0; !all && i < args->n; i++)
        paths_walk(&repair->paths, args->word[i], take, repair);
    begun_wait(&repair->begun, 0, tell_end, repair);
    status = paths_end(&repair->paths);
    if (!as_json)
        printf("%d files looked at, %" PRIu64 " repaired, %d not\n", repair->paths.done + repair->paths.failed,
               repair->n_made, repair->paths.failed);
    return status;
}

enum ctl_status ctl_repair(int argc, char **argv)
{
    bool all = false, as_json = false;
    const struct arg arg[] = { { .name = "--all", .set = &all }, { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "repair", .help = help_text, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    struct repair repair = { .n_made = 0 };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    status = run(&repair, &args, all, as_json);
    begun_done(&repair.begun);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* fallsctl layout prune: texts of layouts that no file has, in a mounted volume. */
#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <stdio.h>

static const char prune_help[] =
    "usage: fallsctl layout prune [--json] MOUNTPOINT...\n"
    "\n"
    "Removes the texts of layouts that no file has from the disks of a mounted volume: those that crashes and older\n"
    "mounts have left. All names are gone through; files can be used meanwhile. Nothing is removed where a disk is\n"
    "missing, or a record damaged: 'fsck.fallsfs -y' of a volume that is not mounted repairs first, and does the same.\n"
    "\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl layout prune /fast\n"
    "  fallsctl layout prune --json /fast | jq '.files[].after'\n";

static uint64_t count(const char *path)
{
    cleanup(freep) char *text = NULL;

    return attrs_get(path, "layouts", &text) == 0 ? strtoull(text, NULL, 10) : 0;
}

static void prune_one(struct paths *paths, const char *path)
{
    cleanup(freep) char *ignored = NULL;
    char why[ATTRS_WHY];
    uint64_t before = 0, after;
    int r = attrs_check(path, &ignored, why);

    if (r == 0) {
        before = count(path);
        r = attrs_set(path, "layouts", "prune", why);
    }
    if (r < 0) {
        paths_fail(paths, path, "%s", why);
        return;
    }
    after = count(path);
    paths->done++;
    if (paths->as_json) {
        json_open(&paths->json, NULL, '{');
        json_string(&paths->json, "file", path);
        json_u64(&paths->json, "before", before);
        json_u64(&paths->json, "after", after);
        json_close(&paths->json, '}');
    } else {
        utf8_print_line(stdout, path, false);
        printf(": %" PRIu64 " texts of layouts, before %" PRIu64 "\n", after, before);
    }
}

enum ctl_status ctl_layout_prune(int argc, char **argv)
{
    struct paths paths = { 0 };
    bool as_json = false;
    struct arg arg[] = { { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "layout prune", .help = prune_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n == 0)
        return args_complain(args.verb, "which mount?", NULL);
    paths_begin(&paths, as_json);
    for (int i = 0; i < args.n; i++)
        prune_one(&paths, args.word[i]);
    return paths_end(&paths);
}

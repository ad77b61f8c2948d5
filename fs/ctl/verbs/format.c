/* SPDX-License-Identifier: MIT */
/* fallsctl format: makes a volume. */
#include "fs/core/volume/record.h"
#include "fs/core/volume/volume.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"

#include <string.h>

static const char help[] =
    "usage: fallsctl format [--home N] [--pool NAME] [--json] DISK... [--pool NAME DISK...]...\n"
    "\n"
    "Makes a volume of empty directories, one on each disk. The home disk, the first one unless --home says otherwise,\n"
    "also holds the names of all files: prefer a fast local one. Its file system must have user extended attributes.\n"
    "\n"
    "  --home N      the home disk, counted from 0\n"
    "  --pool NAME   what layouts may call the disks behind it, as in 'on pool:NAME'; said once it is for all disks\n"
    "  --json        machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl format /mnt/d0 /mnt/d1 /mnt/d2\n"
    "  fallsctl format --home 2 /nfs/a /nfs/b /mnt/ssd\n"
    "  fallsctl format --pool hdd /mnt/hdd0 /mnt/hdd1 --pool ssd /mnt/ssd0 /mnt/ssd1\n";

#define FANOUT 256

struct request {
    char **path;
    uint32_t n, home;
    const char **pool; /* of each */
    bool as_json;
};

static void print_made(const struct request *request, const struct stamp *stamp)
{
    char hex[2 * DISK_UUID_SIZE + 1];
    struct json json;

    hex_print(stamp->volume, DISK_UUID_SIZE, hex);
    if (!request->as_json) {
        printf("volume %s of %" PRIu32 " disk%s, home disk d%" PRIu32 "\n", hex, request->n, request->n == 1 ? "" : "s",
               request->home);
        for (uint32_t i = 0; i < request->n; i++)
            printf("d%" PRIu32 " %s\n", i, request->path[i]);
        fputs("mount it: fallsfs", stdout);
        for (uint32_t i = 0; i < request->n; i++)
            printf(" %s", request->path[i]);
        puts(" MOUNTPOINT");
        return;
    }
    json_begin(&json, stdout);
    json_string(&json, "volume", hex);
    json_u64(&json, "home", request->home);
    json_open(&json, "disks", '[');
    for (uint32_t i = 0; i < request->n; i++)
        json_string(&json, NULL, request->path[i]);
    json_close(&json, ']');
    json_end(&json);
}

static enum ctl_status format(const struct request *request)
{
    cleanup(freep) struct member *member = calloc(request->n, sizeof *member);
    cleanup(stamp_done) struct stamp stamp = { 0 };
    struct volume_error error = { "out of memory" };
    int r = member == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; r == 0 && i < request->n; i++) {
        r = member_open(request->path[i], &member[i]);
        member[i].pool = request->pool[i];
        if (r < 0)
            volume_fail(&error, r, "cannot open %s: %s", request->path[i], strerror(-r));
    }
    if (r == 0)
        r = volume_format(member, request->n, request->home, FANOUT, &error);
    if (r == 0) {
        struct disk disk = { .ops = member[0].ops };

        disk.root = disk_call(&disk, open, member[0].dir, STAMP_DIR, 0, 0);
        r = stamp_read(&disk, &stamp);
        disk_close_root(&disk);
    }
    for (uint32_t i = 0; member != NULL && i < request->n; i++)
        member_close(&member[i]);
    if (r < 0)
        return report(request->as_json, "%s", error.why);
    print_made(request, &stamp);
    return CTL_OK;
}

/* Finds the pool of each word that is a disk: what was said before it, or the only pool that is said at all. */
static void find_pools(int argc, char **argv, const char *pool[])
{
    const char *now = NULL;
    int n = 0, n_said = 0;
    bool only_words = false;

    for (int i = 0; i < argc; i++) {
        bool is_word = only_words || argv[i][0] != '-' || argv[i][1] == 0;

        if (is_word)
            pool[n++] = now;
        else if (strcmp(argv[i], "--") == 0)
            only_words = true;
        else if (strcmp(argv[i], "--home") == 0)
            i++;
        else if (strcmp(argv[i], "--pool") == 0 && i + 1 < argc)
            now = argv[++i], n_said++;
    }
    for (int i = 0; n_said == 1 && i < n; i++)
        pool[i] = now;
}

enum ctl_status ctl_format(int argc, char **argv)
{
    cleanup(freep) const char **pool = calloc((size_t) argc + 1, sizeof(char *));
    struct request request = { .pool = pool };
    const char *home_text = "0", *last_pool = NULL;
    const struct arg arg[] = { { .name = "--home", .value = &home_text },
                               { .name = "--pool", .value = &last_pool },
                               { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "format", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    uint64_t home;

    if (pool == NULL)
        return report(false, "out of memory");
    find_pools(argc, argv, pool);
    if (!args_read(&args, argc, argv, &status))
        return status;
    request.path = args.word;
    request.n = (uint32_t) args.n;
    if (request.n == 0)
        return args_complain("format", "which directories?", NULL);
    if (layout_parse_size(home_text, &home) < 0)
        return args_complain("format", "not a disk's number", home_text);
    if (home >= request.n)
        return args_complain("format", "there is no such disk to be the home disk: they count from 0", NULL);
    for (uint32_t i = 0; i < request.n; i++)
        if (pool[i] != NULL && !stamp_is_pool(pool[i]))
            return args_complain("format", "a pool's name has letters, digits, '_', '-' and '.', 63 at most", pool[i]);
    request.home = (uint32_t) home;
    return format(&request);
}

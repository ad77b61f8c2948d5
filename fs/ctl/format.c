/* SPDX-License-Identifier: MIT */
/* fallsctl format: makes a volume. */
#include "fs/core/record.h"
#include "fs/core/volume.h"
#include "fs/ctl/answer.h"

#include <string.h>

static const char help[] =
    "usage: fallsctl format [--home N] [--pool NAME] [--json] DISK...\n"
    "\n"
    "Makes a volume of empty directories, one on each disk. The home disk, the first one unless --home says otherwise,\n"
    "also holds the names of all files: prefer a fast local one. Its file system must have user extended attributes.\n"
    "\n"
    "  --home N      the home disk, counted from 0\n"
    "  --pool NAME   what layouts may call these disks, as in 'on pool:NAME'\n"
    "  --json        machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl format /mnt/d0 /mnt/d1 /mnt/d2\n"
    "  fallsctl format --home 2 /nfs/a /nfs/b /mnt/ssd\n"
    "  fallsctl format --pool hdd /mnt/hdd0 /mnt/hdd1\n";

#define FANOUT 256

struct request {
    char **path;
    uint32_t n, home;
    const char *pool;
    bool as_json;
};

static enum ctl_status usage_error(const char *why, const char *word)
{
    fprintf(stderr, "fallsctl format: %s%s%s; see 'fallsctl format --help'\n", why, word != NULL ? ": " : "",
            word != NULL ? word : "");
    return CTL_USAGE;
}

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
        if (r < 0)
            volume_fail(&error, r, "cannot open %s: %s", request->path[i], strerror(-r));
    }
    if (r == 0)
        r = volume_format(member, request->n, request->home, request->pool, FANOUT, &error);
    if (r == 0) {
        struct disk disk = { .ops = member[0].ops };

        disk.root = disk_call(&disk, open, member[0].dir, STAMP_DIR, 0, 0);
        r = stamp_read(&disk, &stamp);
        disk_close(&disk, &disk.root);
    }
    for (uint32_t i = 0; member != NULL && i < request->n; i++)
        member_close(&member[i]);
    if (r < 0)
        return report(request->as_json, "%s", error.why);
    print_made(request, &stamp);
    return CTL_OK;
}

enum ctl_status ctl_format(int argc, char **argv)
{
    struct request request = { .path = argv, .pool = "" };
    uint64_t home = 0;

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return CTL_OK;
        }
        if (strcmp(argv[i], "--json") == 0) {
            request.as_json = true;
        } else if (strcmp(argv[i], "--home") == 0 && i + 1 < argc) {
            if (layout_parse_size(argv[++i], &home) < 0)
                return usage_error("not a disk's number", argv[i]);
        } else if (strcmp(argv[i], "--pool") == 0 && i + 1 < argc) {
            request.pool = argv[++i];
        } else if (argv[i][0] == '-') {
            return usage_error("unknown option, or its value is missing", argv[i]);
        } else {
            request.path[request.n++] = argv[i];
        }
    }
    if (request.n == 0)
        return usage_error("which directories?", NULL);
    if (home >= request.n)
        return usage_error("there is no such disk to be the home disk: they count from 0", NULL);
    if (strlen(request.pool) >= STAMP_MAX_POOL)
        return usage_error("the pool's name is too long", request.pool);
    request.home = (uint32_t) home;
    return format(&request);
}

/* SPDX-License-Identifier: MIT */
/* fallsctl disk: disks join a mounted volume, and leave it. */
#include "fs/ctl/ask/volume_disks.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <string.h>
#include <sys/stat.h>

static const char help[] = "usage: fallsctl disk add | drain | balance ... [-n] [--json]\n"
                           "       fallsctl disk VERB --help\n"
                           "\n"
                           "  add       an empty directory joins a mounted volume\n"
                           "  drain     a disk is emptied and leaves it\n"
                           "  balance   moves files until all disks are about as full\n"
                           "\n"
                           "examples:\n"
                           "  fallsctl disk add /fast /mnt/d4\n"
                           "  fallsctl disk drain -n /fast d2\n"
                           "  fallsctl disk balance /fast\n";

static const char add_help[] =
    "usage: fallsctl disk add [-n] [--pool NAME] [--json] MOUNTPOINT DIRECTORY...\n"
    "\n"
    "Takes empty directories, each on a disk or NFS export of its own, into a mounted volume. New files are spread over\n"
    "them at once, unless their layout names disks. Files that are there stay where they are: 'fallsctl disk balance'\n"
    "moves as many as it takes to fill all disks alike, 'fallsctl migrate --restripe' spreads those it is told to.\n"
    "From then on the volume is mounted with the new disks, too: on the command line, in fstab, in the configuration.\n"
    "An attempt that was interrupted is made again with the same command.\n"
    "\n"
    "  --pool NAME   what layouts may call the new disks, as in 'on pool:NAME'\n"
    "  -n            only looks whether the directories are there\n"
    "  --json        machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl disk add /fast /mnt/d4\n"
    "  fallsctl disk add --pool ssd /fast /mnt/ssd2 /mnt/ssd3\n"
    "  fallsctl disk add -n /fast /mnt/d4\n";

struct request {
    const char *pool;
    bool dry, as_json;
    struct volume_disks disks;
    uint32_t n_added;
    struct json json;
};

/* Finds the path of a directory of this machine by which the daemon can open it. */
static int find_directory(const char *word, char **ret_path, char why[static ATTRS_WHY])
{
    struct stat st;

    *ret_path = realpath(word, NULL);
    if (*ret_path == NULL)
        return attrs_refuse(why, -errno, "%s", strerror(errno));
    if (stat(*ret_path, &st) < 0)
        return attrs_refuse(why, -errno, "%s", strerror(errno));
    return S_ISDIR(st.st_mode) ? 0 : attrs_refuse(why, -ENOTDIR, "is not a directory");
}

static int join(const struct request *request, const char *path, char why[static ATTRS_WHY])
{
    cleanup(freep) char *order = NULL;

    if (asprintf(&order, "add %s%s%s%s", request->pool != NULL ? "pool=" : "",
                 request->pool != NULL ? request->pool : "", request->pool != NULL ? " " : "", path) < 0)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    return request->dry ? 0 : attrs_set(request->disks.mountpoint, "disks", order, why);
}

static void tell(struct request *request, const char *word, const char *path, const char *why)
{
    char name[16];

    snprintf(name, sizeof name, "d%" PRIu32, request->disks.n + request->n_added);
    if (why != NULL)
        utf8_complain("%s: %s", word, why);
    if (request->as_json) {
        json_open(&request->json, NULL, '{');
        json_string(&request->json, "path", path != NULL ? path : word);
        if (why == NULL)
            json_string(&request->json, "disk", name);
        json_string(&request->json, why == NULL ? "state" : "error",
                    why != NULL    ? why
                    : request->dry ? "planned"
                                   : "in");
        json_close(&request->json, '}');
    } else if (why == NULL) {
        printf("%s %s %s\n", path, request->dry ? "would join as" : "has joined as", name);
    }
    request->n_added += why == NULL;
}

static void print_what_next(const struct request *request)
{
    if (request->as_json || request->dry || request->n_added == 0)
        return;
    printf(
        "name %s from now on, too, wherever the volume's disks are named: the command line, fstab, the configuration\n"
        "'fallsctl disk balance %s' moves files there\n",
        request->n_added == 1 ? "it" : "them", request->disks.mountpoint);
}

static enum ctl_status add_all(struct request *request, const struct args *args)
{
    char why[ATTRS_WHY];
    uint32_t n = (uint32_t) args->n - 1;

    if (volume_disks_init(&request->disks, args->word[0], why) < 0)
        return report(request->as_json, "%s: %s", args->word[0], why);
    if (request->as_json) {
        json_begin(&request->json, stdout);
        json_open(&request->json, "disks", '[');
    }
    for (int i = 1; i < args->n; i++) {
        cleanup(freep) char *path = NULL;
        int r = find_directory(args->word[i], &path, why);

        if (r == 0)
            r = join(request, path, why);
        tell(request, args->word[i], path, r < 0 ? why : NULL);
    }
    if (request->as_json) {
        json_close(&request->json, ']');
        json_end(&request->json);
    }
    print_what_next(request);
    return request->n_added == n ? CTL_OK : request->n_added > 0 ? CTL_PARTIAL : CTL_ERROR;
}

static enum ctl_status add(int argc, char **argv)
{
    struct request request = { 0 };
    const struct arg arg[] = { { .name = "-n", .other = "--dry-run", .set = &request.dry },
                               { .name = "--pool", .value = &request.pool },
                               { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "disk add", .help = add_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n < 2)
        return args_complain("disk add", "which mount, and which directories?", NULL);
    status = add_all(&request, &args);
    volume_disks_done(&request.disks);
    return status;
}

enum ctl_status ctl_disk(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "add") == 0)
        return add(argc - 1, argv + 1);
    if (argc > 0 && strcmp(argv[0], "drain") == 0)
        return ctl_disk_drain(argc - 1, argv + 1);
    if (argc > 0 && strcmp(argv[0], "balance") == 0)
        return ctl_disk_balance(argc - 1, argv + 1);
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(help, stdout);
        return CTL_OK;
    }
    return args_complain("disk", "add, drain or balance?", argc > 0 ? argv[0] : NULL);
}

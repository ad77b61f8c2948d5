/* SPDX-License-Identifier: MIT */
/* fallsctl extract: files out of a volume that nobody needs to mount. */
#include "fs/ctl/verbs/extract.h"

#include "fs/ctl/ask/view.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char help[] =
    "usage: fallsctl extract [-r] [-o OUT] [--partial] [--json] DISK... PATH\n"
    "\n"
    "Copies the file PATH, counted from the volume's root, out of the volume on these disks, to standard output or to the\n"
    "new file OUT. No mount is needed and nothing on the disks is changed. Disks may be left out, except the home disk,\n"
    "which has the names; a byte that was on a missing disk is an error that names it. Leave the volume unmounted, or\n"
    "files that are being written come out as they happen to be.\n"
    "\n"
    "  -r          PATH is a directory: with all that is in it into the directory OUT, with modes, ACLs, extended attributes,\n"
    "              times and symlinks, and owners when root does it. What the copy cannot have is said. Hard links become\n"
    "              files of their own; layouts and what the bytes mean stay with the volume\n"
    "  -o OUT      where to; never replaces a file\n"
    "  --partial   fills bytes that are lost with zeros, says which on standard error, and goes on; exit status 3\n"
    "  --json      says what was done in JSON; needs -o\n"
    "\n"
    "examples:\n"
    "  fallsctl extract /mnt/d0 /mnt/d1 /mnt/d2 results/a.dat > a.dat\n"
    "  fallsctl extract -r -o rescued /mnt/d0 /mnt/d1 /mnt/d2 /\n"
    "  fallsctl extract --partial -o a.dat /mnt/d0 /mnt/d2 a.dat\n";

#define MAX_OPEN 512

/* -- the volume -- */

static int open_volume(const struct extract *extract, struct volume **ret_volume, struct volume_error *error)
{
    cleanup(freep) struct member *member = calloc(extract->n_disks, sizeof *member);
    uint32_t n = 0;
    int r = member == NULL ? volume_fail(error, -ENOMEM, "out of memory") : 0;

    while (r == 0 && n < extract->n_disks) {
        r = member_open(extract->disk[n], &member[n]);
        if (r < 0)
            volume_fail(error, r, "cannot open the disk %s: %s; the last word is the path in the volume",
                        extract->disk[n], strerror(-r));
        else
            n++;
    }
    if (r == 0)
        r = volume_open(member, n, VOLUME_PEEK | VOLUME_READ_ONLY | VOLUME_DEGRADED, ret_volume, error);
    for (uint32_t i = 0; i < n; i++)
        member_close(&member[i]);
    return r;
}

static int open_fs(struct extract *extract, struct volume_error *error)
{
    const struct fs_options options = { .layout = VIEW_LAYOUT, .max_fds = MAX_OPEN };
    struct rlimit limit;
    struct volume *volume = NULL;
    int r = open_volume(extract, &volume, error);

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max; /* a deep tree holds many */
        (void) setrlimit(RLIMIT_NOFILE, &limit);
    }
    return r < 0 ? r : fs_new(volume, &options, &extract->fs, error);
}

static void begin(struct extract *extract)
{
    if (!extract->as_json)
        return;
    json_begin(&extract->json, stdout);
    json_open(&extract->json, "errors", '[');
}

static enum ctl_status end(struct extract *extract)
{
    if (extract->as_json) {
        json_close(&extract->json, ']');
        json_u64(&extract->json, "files", extract->files);
        json_u64(&extract->json, "failed", extract->failed);
        json_u64(&extract->json, "lost_bytes", extract->lost_bytes);
        json_end(&extract->json);
    }
    return extract->failed == 0 ? CTL_OK : extract->files > 0 ? CTL_PARTIAL : CTL_ERROR;
}

static enum ctl_status run(struct extract *extract, const char *path)
{
    struct volume_error error = { 0 };

    begin(extract);
    extract->buf = malloc(EXTRACT_CHUNK);
    if (extract->buf == NULL)
        extract_fail(extract, 0, "out of memory");
    else if (open_fs(extract, &error) < 0)
        extract_fail(extract, 0, "%s", error.why);
    else if (extract->recursive)
        (void) extract_tree(extract, path);
    else if (extract->out != NULL)
        (void) extract_file(extract, path, AT_FDCWD, extract->out);
    else
        (void) extract_to_stdout(extract, path);
    if (extract->fs != NULL)
        (void) fs_free(extract->fs);
    free(extract->buf);
    return end(extract);
}

enum ctl_status ctl_extract(int argc, char **argv)
{
    struct extract extract = { 0 };
    const struct arg arg[] = { { .name = "-r", .other = "--recursive", .set = &extract.recursive },
                               { .name = "--partial", .set = &extract.partial },
                               { .name = "--json", .set = &extract.as_json },
                               { .name = "-o", .other = "--output", .value = &extract.out } };
    struct args args = { .verb = "extract", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    char *path;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n < 2)
        return args_complain("extract", "which disks, and which path in the volume?", NULL);
    if (extract.out == NULL && (extract.recursive || extract.as_json))
        return args_complain("extract", "-r and --json need -o OUT", NULL);
    extract.disk = args.word;
    extract.n_disks = (uint32_t) args.n - 1;
    path = args.word[args.n - 1];
    path += strspn(path, "/");
    for (size_t len = strlen(path); len > 0 && path[len - 1] == '/'; len--)
        path[len - 1] = 0;
    return run(&extract, path);
}

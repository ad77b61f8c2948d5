/* SPDX-License-Identifier: MIT */
/* fallsctl why-slow: what makes a file slow just now, and what helps. */
#include "fs/ctl/verbs/why_slow.h"

#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"

#include <dirent.h>
#include <unistd.h>

#define USUAL_SECONDS 5
#define MAX_SECONDS   3600
#define MAX_FILES     16 /* so many may be traced by one user */

static const char help[] =
    "usage: fallsctl why-slow [--seconds N] [--json] FILE|PID\n"
    "\n"
    "Watches for some seconds what programs do with a file on a mount, or what a process does with the files there that\n"
    "it has open, and names what makes that slow, the worst first: how much of the time would be saved without it, with\n"
    "figures, and the command that helps. Something has to work on the file meanwhile.\n"
    "\n"
    "  failing_disk    a disk does not answer, or fails\n"
    "  lock_waits      programs wait for others that change the same part of the file\n"
    "  migration       files that are on their way to other layouts keep the disks busy\n"
    "  slow_disk       a disk takes far longer than the others for the same\n"
    "  hot_disk        a disk has far more to do than the others\n"
    "  layout          another layout would serve the same accesses with less\n"
    "  holes           bytes between those that are written have to be read first\n"
    "  small_requests  what requests cost outweighs their bytes\n"
    "  unaligned       requests reach over borders of stripe units that they would fit into\n"
    "\n"
    "The file is traced meanwhile, as 'fallsctl trace start' does, and must be yours unless you are root; a trace that goes\n"
    "on already is left as it is. A number is a PID, unless there is such a file: write ./123 for one.\n"
    "\n"
    "  --seconds N     so long, 5 unless told; Ctrl-C ends earlier\n"
    "  --json          machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl why-slow /fast/matrix\n"
    "  fallsctl why-slow --seconds 20 $(pgrep -n solver)\n"
    "  fallsctl why-slow --json /fast/matrix | jq -r '.files[].causes[0].command'\n";

/* -- what is asked about -- */

static bool read_number(const char *word, double max, double *ret_number)
{
    char *end;

    *ret_number = strtod(word, &end);
    return word[0] >= '0' && word[0] <= '9' && *end == 0 && *ret_number > 0 && *ret_number <= max;
}

static bool is_pid(const char *word, pid_t *ret_pid)
{
    double number;

    if (word[strspn(word, "0123456789")] != 0 || !read_number(word, INT32_MAX, &number) || access(word, F_OK) == 0)
        return false;
    *ret_pid = (pid_t) number;
    return true;
}

/* Adds what a link of /proc/PID/fd leads to, if that is a file on a mount. */
static int add_open(struct slow_watch *watch, int dir, const char *name, char why[static ATTRS_WHY])
{
    char path[4096];
    ssize_t len = readlinkat(dir, name, path, sizeof path - 1);
    int r;

    if (len <= 0 || path[0] != '/')
        return 0;
    path[len] = 0;
    r = slow_watch_add(watch, path, why);
    return r == -ENOMEM ? r : 0; /* what is elsewhere, or has no name any more, is not asked about */
}

/* Adds the files on mounts that a process has open. */
static int add_process(struct slow_watch *watch, pid_t pid, char why[static ATTRS_WHY])
{
    const struct dirent *entry;
    char path[64];
    DIR *dir;
    int r = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", (int) pid);
    dir = opendir(path);
    if (dir == NULL)
        return attrs_refuse(why, -errno, "process %d: %s", (int) pid,
                            errno == ENOENT   ? "there is none, and no file of this name either"
                            : errno == EACCES ? "what it has open may be seen by its user and root alone"
                                              : strerror(errno));
    while (r == 0 && watch->n_targets < MAX_FILES && (entry = readdir(dir)) != NULL)
        r = add_open(watch, dirfd(dir), entry->d_name, why);
    closedir(dir);
    watch->pid = pid;
    if (r == 0 && watch->n_targets == 0)
        r = attrs_refuse(why, -ENOENT, "process %d has no file open on a mounted fallsfs", (int) pid);
    return r;
}

static int add_word(struct slow_watch *watch, const char *word, char why[static ATTRS_WHY])
{
    char reason[ATTRS_WHY];
    pid_t pid;
    int r;

    if (is_pid(word, &pid))
        return add_process(watch, pid, why);
    r = slow_watch_add(watch, word, reason);
    return r < 0 ? attrs_refuse(why, r, "%s: %s", word, reason) : 0;
}

/* -- telling -- */

/* What was waited for longest comes first. */
static int by_waiting(const void *a, const void *b)
{
    const struct slow_target *x = a, *y = b;

    if ((x->verdict.n > 0) != (y->verdict.n > 0))
        return x->verdict.n > 0 ? -1 : 1;
    if (x->figures.waited != y->figures.waited)
        return x->figures.waited > y->figures.waited ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void tell(const struct slow_watch *watch)
{
    for (uint32_t i = 0; i < watch->n_targets; i++) {
        if (i > 0)
            putchar('\n');
        slow_print(stdout, watch, &watch->target[i]);
    }
}

static void tell_json(const struct slow_watch *watch)
{
    struct json json;

    json_begin(&json, stdout);
    json_open(&json, "files", '[');
    for (uint32_t i = 0; i < watch->n_targets; i++) {
        json_open(&json, NULL, '{');
        slow_json(&json, watch, &watch->target[i]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
}

static enum ctl_status why_slow(const char *word, double seconds, bool as_json)
{
    cleanup(slow_watch_done) struct slow_watch watch = { .seconds = seconds };
    char why[ATTRS_WHY];
    int r = add_word(&watch, word, why);

    if (r < 0)
        return report(as_json, "%s", why);
    slow_watch_notice_interrupts();
    r = slow_watch_run(&watch, why);
    if (r < 0)
        return report(as_json, "%s: %s", word, why);
    qsort(watch.target, watch.n_targets, sizeof *watch.target, by_waiting);
    if (as_json)
        tell_json(&watch);
    else
        tell(&watch);
    return CTL_OK;
}

enum ctl_status ctl_why_slow(int argc, char **argv)
{
    const char *text = NULL;
    bool as_json = false;
    double seconds = USUAL_SECONDS;
    const struct arg arg[] = { { .name = "--seconds", .other = "-s", .value = &text },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "why-slow", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n != 1)
        return args_complain("why-slow", args.n < 1 ? "which file, or which process?" : "one at a time", NULL);
    if (text != NULL && !read_number(text, MAX_SECONDS, &seconds))
        return args_complain("why-slow", "--seconds wants more than 0 and no more than 3600", text);
    return why_slow(args.word[0], seconds, as_json);
}

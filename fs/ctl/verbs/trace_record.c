/* SPDX-License-Identifier: MIT */
/* fallsctl trace export, record: what a mount has recorded becomes a file, at once or as it comes. */
#include "fs/ctl/ask/trace_state.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "fs/trace/trace_below.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE           (1 << 20)
#define PAUSE           20000 /* us, before looking for more: the ring has room for what comes meanwhile */
#define NO_PROGRAM      126   /* how shells end, where what is to be run cannot be, */
#define NO_SUCH_COMMAND 127   /* or is not there, */
#define BY_SIGNAL       128   /* or was killed: and the signal's number */
#define LOOK_EACH       25    /* pauses: whether the trace still goes on */

static const char export_help[] =
    "usage: fallsctl trace export -o FILE PATH\n"
    "\n"
    "Writes what the mount that PATH lies in has recorded to a file, as fallsfs-trace(5) tells of: of PATH, or of what is\n"
    "below it, and of the mount point all, as far as you may see it, of files that are yours, or for root and who mounted of\n"
    "all, since a trace was begun while there was none. Files are known by the names that they had when they were accessed.\n"
    "\n"
    "  -o FILE   where to; - is standard output\n"
    "\n"
    "examples:\n"
    "  fallsctl trace export -o matrix.trace /fast/matrix\n"
    "  fallsctl trace export -o - /fast | zstd > all.trace.zst\n";

static const char record_help[] =
    "usage: fallsctl trace record -o FILE [--every] [--sample N] PATH [-- COMMAND...]\n"
    "\n"
    "Has a file, or what is below a directory, traced as 'fallsctl trace start' does, and writes to a file what is\n"
    "recorded of it, as it comes: so however long it takes, nothing is lost but what a slow FILE cannot take; that is counted.\n"
    "It ends when the command does, or without one when it is interrupted or the trace is stopped. A trace that went on\n"
    "already goes on; FILE then has what was recorded before, too.\n"
    "\n"
    "It ends with the status of the command, or with 128 and the number of the signal that has killed it; 127, there is no\n"
    "such command, 126, it cannot be run; and with 1 when the trace could not be begun or written.\n"
    "\n"
    "  -o FILE      where to; - is standard output\n"
    "  --every      every access of what is opened from now on, past the kernel's cache\n"
    "  --sample N   one access of N in a row through each open file\n"
    "\n"
    "examples:\n"
    "  fallsctl trace record -o run.trace --every /fast/run7 -- ./solver /fast/run7\n"
    "  fallsctl trace record -o day.trace /fast\n";

/* -- from the mount to the file -- */

struct copy {
    int from, to;
    const char *out;
    char *buffer;
    struct trace_below *below; /* NULL: all of it is wanted */
};

static int begin_below(struct copy *copy, const char *below, char why[static ATTRS_WHY])
{
    if (below[0] == 0 || trace_below_new(below, &copy->below) == 0)
        return 0;
    return attrs_refuse(why, -ENOMEM, "out of memory");
}

static int open_copy(struct copy *copy, const char *path, const char *out, char why[static ATTRS_WHY])
{
    cleanup(freep) char *stream = NULL, *below = NULL;
    int r = trace_state_stream(path, &stream, &below, why);

    if (r == 0)
        r = begin_below(copy, below, why);
    if (r < 0)
        return r;
    copy->out = out;
    copy->buffer = malloc(PIECE);
    if (copy->buffer == NULL)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    copy->from = open(stream, O_RDONLY | O_CLOEXEC);
    if (copy->from < 0)
        return attrs_refuse(why, -errno, "%s: %s", stream,
                            errno == EUSERS ? "too many read it already" : strerror(errno));
    copy->to = strcmp(out, "-") == 0 ? dup(STDOUT_FILENO) : open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return copy->to < 0 ? attrs_refuse(why, -errno, "%s: %s", out, strerror(errno)) : 0;
}

static void copy_done(struct copy *copy)
{
    if (copy->from >= 0)
        close(copy->from);
    if (copy->to >= 0)
        close(copy->to);
    free(copy->buffer);
    trace_below_free(copy->below);
}

static int write_all(const struct copy *copy, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t done = write(copy->to, bytes + at, n - at);

        if (done < 0 && errno != EINTR)
            return -errno;
        at += (size_t) MAX(done, 0);
    }
    return 0;
}

/* Writes what is wanted of n bytes that were read. */
static int write_wanted(const struct copy *copy, size_t n)
{
    cleanup(freep) char *wanted = NULL;
    size_t len = 0;
    FILE *out;
    int r;

    if (copy->below == NULL)
        return write_all(copy, copy->buffer, n);
    out = open_memstream(&wanted, &len);
    if (out == NULL)
        return -ENOMEM;
    r = trace_below_take(copy->below, copy->buffer, n, out);
    if (fclose(out) != 0 && r == 0)
        r = -ENOMEM;
    return r == 0 ? write_all(copy, wanted, len) : r;
}

/* Copies all that there is by now. */
static int copy_on(struct copy *copy, char why[static ATTRS_WHY])
{
    for (;;) {
        ssize_t n = read(copy->from, copy->buffer, PIECE);
        int r;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return attrs_refuse(why, -errno, "reading the trace: %s", strerror(errno));
        if (n == 0)
            return 0;
        r = write_wanted(copy, (size_t) n);
        if (r == -EBADMSG)
            return attrs_refuse(why, r, "the mount gives no trace that this fallsctl knows");
        if (r < 0)
            return attrs_refuse(why, r, "%s: %s", copy->out, strerror(-r));
    }
}

static int end_copy(struct copy *copy, char why[static ATTRS_WHY])
{
    int r = close(copy->to) < 0 ? -errno : 0;

    copy->to = -1;
    return r < 0 ? attrs_refuse(why, r, "%s: %s", copy->out, strerror(-r)) : 0;
}

enum ctl_status ctl_trace_export(int argc, char **argv)
{
    const char *out = NULL;
    const struct arg arg[] = { { .name = "-o", .other = "--output", .value = &out } };
    struct args args = { .verb = "trace export", .help = export_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(copy_done) struct copy copy = { -1, -1, NULL, NULL, NULL };
    struct trace_state state;
    enum ctl_status status;
    char why[ATTRS_WHY];
    int r;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (out == NULL || args.n != 1)
        return args_complain(args.verb, "which file, directory or mount, and -o with which file?", NULL);
    r = trace_state_get(args.word[0], &state, why);
    if (r == 0)
        r = open_copy(&copy, args.word[0], out, why);
    if (r == 0)
        r = copy_on(&copy, why);
    if (r == 0)
        r = end_copy(&copy, why);
    return r < 0 ? report(false, "%s: %s", args.word[0], why) : CTL_OK;
}

/* -- while a program runs -- */

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int signal)
{
    (void) signal;
    is_interrupted = 1;
}

static void notice_interrupts(void)
{
    const struct sigaction action = { .sa_handler = note_interrupt };

    (void) sigaction(SIGINT, &action, NULL);
    (void) sigaction(SIGTERM, &action, NULL);
    (void) sigaction(SIGHUP, &action, NULL);
}

struct recording {
    const char *path;
    char **command; /* NULL: there is none */
    struct trace_order order;
    bool was_on;
    pid_t pid; /* of the command */
    int command_status;
    struct copy copy;
};

static int start(struct recording *recording, char why[static ATTRS_WHY])
{
    struct trace_state state;
    int r = trace_state_get(recording->path, &state, why);

    if (r < 0)
        return r;
    recording->order.every |= state.is_on && state.every; /* what is begun takes the place of that */
    recording->was_on = trace_order_is_met(&recording->order, &state);
    if (!recording->was_on)
        r = trace_order_give(&recording->order, recording->path, why);
    return r;
}

static int run_command(struct recording *recording, char why[static ATTRS_WHY])
{
    if (recording->command == NULL)
        return 0;
    recording->pid = fork();
    if (recording->pid == 0) {
        int error;

        (void) execvp(recording->command[0], recording->command);
        error = errno;
        utf8_complain("fallsctl trace record: %s: %s", recording->command[0], strerror(error));
        _exit(error == ENOENT ? NO_SUCH_COMMAND : NO_PROGRAM);
    }
    return recording->pid < 0 ? attrs_refuse(why, -errno, "%s: %s", recording->command[0], strerror(errno)) : 0;
}

/* Whether it is time to end: the command has, somebody has said so, or there is nothing more to come. */
static bool is_over(struct recording *recording, unsigned n_pauses)
{
    struct trace_state state;
    char why[ATTRS_WHY];

    if (recording->pid > 0)
        return waitpid(recording->pid, &recording->command_status, WNOHANG) == recording->pid;
    return is_interrupted || (n_pauses % LOOK_EACH == LOOK_EACH - 1 &&
                              (trace_state_get(recording->path, &state, why) < 0 || !state.is_on));
}

static int record(struct recording *recording, char why[static ATTRS_WHY])
{
    char ignored[ATTRS_WHY];
    int r = run_command(recording, why);

    for (unsigned n = 0; r == 0 && !is_over(recording, n); n++) {
        r = copy_on(&recording->copy, why);
        (void) usleep(PAUSE);
    }
    if (!recording->was_on)
        (void) attrs_set(recording->path, "trace", "stop", ignored); /* somebody else may have */
    if (r == 0)
        r = copy_on(&recording->copy, why);
    if (recording->pid > 0 && r < 0)
        (void) waitpid(recording->pid, &recording->command_status, 0);
    return r == 0 ? end_copy(&recording->copy, why) : r;
}

/* Ends as the command has, so that who runs it by this verb learns of it what he would have without. */
static enum ctl_status finish(const struct recording *recording)
{
    struct trace_state state;
    char why[ATTRS_WHY];
    int status = recording->command_status;

    if (trace_state_get(recording->path, &state, why) == 0 && !recording->order.every && !state.every)
        utf8_complain("through the cache: what the kernel's page cache answered itself is not in the trace");
    if (WIFSIGNALED(status)) {
        utf8_complain("%s: killed by signal %d; what it did is in the trace", recording->command[0], WTERMSIG(status));
        return (enum ctl_status)(BY_SIGNAL + WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0)
        utf8_complain("%s: ended with status %d; what it did is in the trace", recording->command[0],
                      WEXITSTATUS(status));
    return (enum ctl_status) WEXITSTATUS(status);
}

enum ctl_status ctl_trace_record(int argc, char **argv)
{
    const char *out = NULL, *sample = NULL;
    struct recording recording = { .copy = { -1, -1, NULL, NULL, NULL } };
    const struct arg arg[] = { { .name = "-o", .other = "--output", .value = &out },
                               { .name = "--every", .set = &recording.order.every },
                               { .name = "--sample", .value = &sample } };
    struct args args = { .verb = "trace record", .help = record_help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;
    char why[ATTRS_WHY];
    int r;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (out == NULL || args.n == 0)
        return args_complain(args.verb, "which file or directory, and -o with which file?", NULL);
    if (args.n == 1 && args.n_behind == 0)
        return args_complain(args.verb, "which command is to run? None stands behind '--'", NULL);
    if (!trace_order_sample(&recording.order, sample))
        return args_complain(args.verb, "--sample wants a number from 1 to 65535", NULL);
    recording.path = args.word[0];
    if (args.n > 1) {
        argv[args.n] = NULL; /* the words stand at the beginning of argv, and there was an option at least */
        recording.command = args.word + 1;
    }
    notice_interrupts();
    r = start(&recording, why);
    if (r == 0) {
        r = open_copy(&recording.copy, recording.path, out, why);
        if (r == 0)
            r = record(&recording, why);
        else if (!recording.was_on)
            (void) attrs_set(recording.path, "trace", "stop", (char[ATTRS_WHY]){ "" });
        copy_done(&recording.copy);
    }
    return r < 0 ? report(false, "%s: %s", recording.path, why) : finish(&recording);
}

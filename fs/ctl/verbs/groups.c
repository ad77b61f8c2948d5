/* SPDX-License-Identifier: MIT */
/* fallsctl groups: who waits for whom. The mounts themselves are asked, since nobody else knows. */
#include "fs/ctl/ask/groups.h"
#include "fs/ctl/ask/inquiry.h"
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/failures.h"
#include "fs/ctl/talk/left_out.h"
#include "fs/ctl/verbs/groups_rows.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <string.h>

static const char help[] =
    "usage: fallsctl groups " TABLE_USAGE " [--json] [MOUNTPOINT | FILE...]\n"
    "\n"
    "Says of groups of processes that read or write sections together who waits for whom: your own groups, or for root\n"
    "all; of a mount, of one file, or of all mounts on this machine. A mount that gives no answer within 5 seconds is an\n"
    "error, and the others are shown. A group\n"
    "\n"
    "  waits     for ranks that have not asked in its round; it fails when they have not by the deadline\n"
    "  at work   all ranks have asked\n"
    "  idle      nobody waits\n"
    "  failed    for good; the ranks are those it failed for, and some others have not left it yet\n"
    "\n"
    "JOINED is how many of its ranks are there, SINCE how long ago the first one asked in this round, LEFT the time until\n"
    "the deadline.\n"
    "\n" TABLE_HELP "  --json          machine-readable output; missing is a list of ranges, first and last rank\n"
    "\n"
    "examples:\n"
    "  fallsctl groups\n"
    "  fallsctl groups /fast/matrix\n"
    "  fallsctl groups --json /fast | jq '.groups[] | select(.state == \"waits\") | .file, .missing'\n";

struct request {
    bool as_json;
    struct json json;
    struct table_options options;
    struct table table;
    uint32_t done;
    struct failures failures;
    bool lists_all; /* mounts of the machine */
    struct left_out left_out;
};

/* -- showing -- */

static void json_round(struct json *json, const struct fallsfs_ioc_groups *group)
{
    json_u64(json, "round", group->seq);
    json_string(json, "direction", group->direction == FALLSFS_WRITE ? "write" : "read");
    json_seconds(json, "since", (double) group->ns_since / 1e9);
    if (group->ns_left != FALLSFS_NO_DEADLINE)
        json_seconds(json, "left", (double) group->ns_left / 1e9);
}

static void json_group(struct json *json, const struct mount_place *place, const struct fallsfs_ioc_groups *group)
{
    cleanup(freep) char *path = groups_file(place->target, group);
    char name[GROUPS_USER];

    json_open(json, NULL, '{');
    json_u64(json, "group", group->group);
    json_string(json, "mountpoint", place->target);
    json_string(json, "mount", place->target); /* what "mountpoint" was called before */
    json_string(json, "file", path);
    json_u64(json, "inode", group->inode);
    json_string(json, "user", groups_user(group->uid, name));
    json_u64(json, "uid", group->uid);
    json_u64(json, "ranks", group->nranks);
    json_u64(json, "joined", group->joined);
    json_string(json, "state", groups_state(group));
    if (groups_has_round(group))
        json_round(json, group);
    if (group->error != 0)
        json_string(json, "error", strerror((int) group->error));
    json_u64(json, "n_missing", group->n_missing);
    json_open(json, "missing", '[');
    for (uint32_t first = 0, last; groups_next_missing(group, &first, &last); first = last + 1) {
        json_open(json, NULL, '[');
        json_u64(json, NULL, first);
        json_u64(json, NULL, last);
        json_close(json, ']');
    }
    json_close(json, ']');
    json_close(json, '}');
}

/* -- asking -- */

/* What is asked of one mount, which may not answer. */
struct question {
    const struct mount_place *place;
    char *name;
    struct groups groups;
    int r;
    struct inquiry *inquiry;
};

static void ask(void *arg)
{
    struct question *question = arg;

    question->r = groups_ask(question->name, &question->groups);
}

static void question_free(struct question *question)
{
    free(question->name);
    groups_done(&question->groups);
    free(question);
}

/* Puts the question to a mount; NULL: it has been said why that is not possible. */
static struct question *put(struct request *request, const struct mount_place *place, const char *name)
{
    struct question *question = calloc(1, sizeof *question);

    if (question != NULL) {
        question->place = place;
        question->name = strdup(name);
        if (question->name != NULL)
            question->inquiry = inquiry_put(ask, question);
        if (question->inquiry != NULL)
            return question;
        question_free(question);
    }
    failures_add(&request->failures, name, "cannot be asked for its groups: out of memory");
    return NULL;
}

static struct question *put_named(struct request *request, const struct mounts *mounts, const char *name)
{
    cleanup(freep) char *path = NULL;
    const struct mount_place *place;
    const char *below;
    int r = mounts_resolve(mounts, name, &path);

    if (r < 0) {
        failures_add(&request->failures, name, "%s", strerror(-r));
        return NULL;
    }
    place = mounts_around(mounts, path, &below);
    if (place != NULL)
        return put(request, place, name);
    failures_add(&request->failures, name, "lies in no mounted fallsfs; 'fallsctl status' lists those");
    return NULL;
}

static void show(struct request *request, const struct question *question)
{
    const char *name = question->name;

    for (size_t i = 0; i < question->groups.n; i++)
        if (request->as_json)
            json_group(&request->json, question->place, &question->groups.group[i]);
        else
            groups_add_row(&request->table, question->place->target, &question->groups.group[i]);
    if (question->r == 0)
        request->done++;
    else if (request->lists_all && left_out_note(&request->left_out, name, question->r))
        return;
    else if (question->r == -ENOTTY)
        failures_add(&request->failures, name,
                     "cannot be asked for groups: name a directory or a regular file, and see that the mount's "
                     "daemon is as new as fallsctl");
    else if (question->r == -ENOTCONN)
        failures_add(&request->failures, name,
                     "its daemon is gone, and its groups with it: unmount it and mount it again");
    else
        failures_add(&request->failures, name, "cannot ask for its groups: %s", strerror(-question->r));
}

static void await(struct request *request, struct question *question, const struct timespec *until)
{
    if (inquiry_await(question->inquiry, until)) {
        show(request, question);
        question_free(question);
    } else {
        failures_add(
            &request->failures, question->name,
            "does not answer: its daemon is stopped or hangs; 'fallsctl status' and the daemon's log may explain it");
    }
}

/* Asks all mounts at once, then waits for each. */
static int ask_each(struct request *request, const struct mounts *mounts, const struct args *args)
{
    uint32_t n = args->n > 0 ? (uint32_t) args->n : mounts->n;
    cleanup(freep) struct question **question = calloc(MAX(n, 1), sizeof(struct question *));
    struct timespec until;

    if (question == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        question[i] = args->n > 0 ? put_named(request, mounts, args->word[i])
                                  : put(request, &mounts->place[i], mounts->place[i].target);
    request->lists_all = args->n == 0;
    until = inquiry_patience();
    for (uint32_t i = 0; i < n; i++)
        if (question[i] != NULL)
            await(request, question[i], &until);
    return 0;
}

static void begin(struct request *request)
{
    table_init(&request->table, groups_columns, GROUPS_COLUMNS, GROUPS_USUAL, &request->options);
    if (request->as_json) {
        json_begin(&request->json, stdout);
        json_open(&request->json, "groups", '[');
    }
    failures_begin(&request->failures, request->as_json);
}

static void end(struct request *request)
{
    if (request->as_json)
        json_close(&request->json, ']');
    failures_end(&request->failures, request->as_json ? &request->json : NULL);
    if (request->as_json)
        json_end(&request->json);
    else if (request->done > 0)
        (void) table_print(&request->table, stdout);
    table_done(&request->table);
    left_out_tell(&request->left_out);
}

enum ctl_status ctl_groups(int argc, char **argv)
{
    struct request request = { 0 };
    struct arg arg[1 + TABLE_ARGS] = { { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "groups", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(mounts_done) struct mounts mounts = { 0 };
    enum ctl_status status;

    table_args(&request.options, arg + 1);
    if (!args_read(&args, argc, argv, &status) ||
        !table_check(&request.options, "groups", groups_columns, GROUPS_COLUMNS, &status))
        return status;
    if (mounts_read(&mounts) < 0)
        return report(request.as_json, "cannot read /proc/self/mountinfo, which lists the mounts: is /proc mounted?");
    begin(&request);
    if (ask_each(&request, &mounts, &args) < 0)
        failures_add(&request.failures, "fallsctl groups", "out of memory");
    end(&request);
    return request.failures.n == 0 ? CTL_OK : request.done > 0 ? CTL_PARTIAL : CTL_ERROR;
}

/* SPDX-License-Identifier: MIT */
/* fallsctl jobs: what goes on in mounts for long, and orders to it. */
#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/ask/inquiry.h"
#include "fs/ctl/ask/job.h"
#include "fs/ctl/ask/json_read.h"
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/ask/mover.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/failures.h"
#include "fs/ctl/talk/left_out.h"
#include "fs/ctl/verbs/jobs_order.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: fallsctl jobs [-b] " TABLE_USAGE " [--json] [MOUNTPOINT...]\n"
    "       fallsctl jobs pause|resume|cancel [--json] ID [MOUNTPOINT]\n"
    "       fallsctl jobs wait [--json] [ID] [MOUNTPOINT]\n"
    "\n"
    "Files on their way to another layout: those of your own, or for root all; of a mount, or of all on this machine; and\n"
    "orders that move many of them: for a directory, disk balance, disk drain. A job is\n"
    "\n"
    "  waiting    for those before it\n"
    "  running    as users leave it time, or as fast as its limit allows\n"
    "  paused     also over the next mount, until it is resumed\n"
    "  ending     over; a disk does not let go yet of what is to be removed\n"
    "  done, cancelled, failed    over; told for a while. What a read-only disk keeps of the layout before goes when it\n"
    "             can be written again\n"
    "\n"
    "wait ends when the job, or all of them, are over, also those that an order for a directory or for disks has yet to\n"
    "begin: with 1 when one of them has failed. A job has its number as long as the volume is mounted.\n"
    "\n"
    "  -b              bytes in full; else in powers of 1024\n" TABLE_HELP "  --json          machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl jobs\n"
    "  fallsctl jobs -o JOB,LEFT,FILE\n"
    "  fallsctl jobs cancel 12 /fast\n"
    "  fallsctl jobs --json /fast | jq '.jobs[] | select(.state == \"failed\") | .file, .error'\n";

struct request {
    bool raw, as_json;
    struct json json;
    struct table_options options;
    struct table table;
    uint32_t done;
    struct failures failures;
    bool lists_all; /* mounts of the machine */
    struct left_out left_out;
};

/* -- asking -- */

#define WAITERS_PATIENCE 60 /* seconds more than for others: a mount may wait that long for a disk, and then goes on */

/* What is asked of one mount, which may not answer. */
struct question {
    char *target;
    char *text;                 /* a line for each job */
    struct json_object *orders; /* which give files more jobs, some of them; NULL: the mount tells of none */
    int r;
    struct inquiry *inquiry;
};

/* The number of the last job in a text. */
static uint64_t last_number(const char *text)
{
    struct job_info job;
    uint64_t last = 0;

    while (job_next(&text, &job))
        last = job.number;
    return last;
}

static int add_page(struct question *question, FILE *out, uint64_t *after, bool *ret_more)
{
    cleanup(freep) char *page = NULL;
    char name[64];
    int r;

    snprintf(name, sizeof name, "jobs.%" PRIu64, *after);
    r = attrs_get(question->target, name, &page);
    if (r < 0)
        return r;
    fputs(page, out);
    *ret_more = *page != 0;
    if (*ret_more)
        *after = MAX(last_number(page), *after + 1);
    return 0;
}

static void ask(void *arg)
{
    struct question *question = arg;
    uint64_t after = 0;
    bool more = true;
    size_t len;
    FILE *out = open_memstream(&question->text, &len);
    int r = out == NULL ? -ENOMEM : 0;

    (void) mover_list(question->target,
                      &question->orders); /* asked first: what they begin until they are over is seen */
    while (r == 0 && more)
        r = add_page(question, out, &after, &more);
    if (out != NULL && fclose(out) != 0)
        r = -ENOMEM;
    question->r = r;
}

static void question_free(struct question *question)
{
    free(question->target);
    free(question->text);
    json_read_done(&question->orders);
    free(question);
}

static struct question *put(const char *target)
{
    struct question *question = calloc(1, sizeof *question);

    if (question == NULL)
        return NULL;
    question->target = strdup(target);
    if (question->target != NULL)
        question->inquiry = inquiry_put(ask, question);
    if (question->inquiry != NULL)
        return question;
    question_free(question);
    return NULL;
}

/* Waits for an answer; -errno: there is none, ret_why says why, and the question is no longer the caller's. */
static int await(struct question *question, const struct timespec *until, char why[static ATTRS_WHY])
{
    int r;

    if (question == NULL)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    if (!inquiry_await(question->inquiry, until))
        return attrs_refuse(why, -ETIMEDOUT, "does not answer: its daemon is stopped or hangs");
    r = question->r;
    if (r == 0)
        return 0;
    question_free(question);
    if (r == -ENODATA || r == -EOPNOTSUPP)
        return attrs_refuse(why, r, "is no directory of a mounted fallsfs; 'fallsctl status' lists those");
    return attrs_refuse(why, r, "%s", attrs_strerror(r));
}

/* -- showing -- */

/* The path of a job's file; NULL: nobody knows where the file is. */
static char *file_of(const char *target, const struct job_info *job)
{
    char *file = NULL;

    if (job->path_len == 0 || asprintf(&file, "%s/%.*s", target, (int) job->path_len, job->path) < 0)
        return NULL;
    return file;
}

static const struct column columns[] = {
    { "JOB", COLUMN_RIGHT },  { "STATE", COLUMN_LEFT },  { "DONE", COLUMN_RIGHT }, { "SIZE", COLUMN_RIGHT },
    { "RATE", COLUMN_RIGHT }, { "LIMIT", COLUMN_RIGHT }, { "LEFT", COLUMN_RIGHT }, { "MOUNTPOINT", COLUMN_CUT },
    { "FILE", COLUMN_CUT },   { "ERROR", COLUMN_CUT },
};

#define USUAL "JOB,STATE,DONE,SIZE,RATE,LEFT,FILE,ERROR"

static void show_job(struct request *request, const char *target, const struct job_info *job)
{
    cleanup(freep) char *file = file_of(target, job);
    char size[SIZE_TEXT], time[JOB_TIME];
    struct table *table = &request->table;

    if (request->as_json) {
        json_open(&request->json, NULL, '{');
        json_string(&request->json, "mountpoint", target);
        json_string(&request->json, "mount", target); /* what "mountpoint" was called before */
        json_string(&request->json, "file", file);
        job_json(&request->json, job);
        json_close(&request->json, '}');
        return;
    }
    table_addf(table, "%" PRIu64, job->number);
    table_add(table, job->state);
    if (job->total == 0 && strcmp(job->state, "waiting") == 0)
        table_add(table, ""); /* nobody has looked at it since the mount */
    else
        table_addf(table, "%" PRIu64 "%%", job->total == 0 ? 100 : job->done * 100 / job->total);
    table_add(table, size_text(job->total, request->raw, size));
    table_addf(table, "%s/s", size_text(job->rate, request->raw, size));
    table_add(table, job->limit > 0 ? size_text(job->limit, request->raw, size) : "-");
    table_add(table, job_is_open(job) ? job_time(job_left(job->done, job->total, job->rate), time) : "-");
    table_add(table, target);
    table_add(table, file != NULL ? file : "");
    table_addf(table, "%s%s",
               job->error != 0 && strcmp(job->state, "done") == 0 ? "a disk keeps what was before: " : "",
               job->error != 0 ? strerror(job->error) : "");
}

/* Shows the orders of a mount that go on. */
static void show_orders(struct request *request, const struct question *question)
{
    struct mover_row row;

    for (size_t at = 0; mover_next(question->orders, &at, &row);)
        if (row.is_open && request->as_json)
            jobs_order_json(&request->json, question->target, &row);
        else if (row.is_open)
            jobs_order_row(&request->table, request->raw, question->target, &row);
}

static void show_jobs(struct request *request, const struct question *question)
{
    struct job_info job;

    for (const char *at = question->text; job_next(&at, &job);)
        show_job(request, question->target, &job);
}

/* Ends the list of jobs, and has that of orders behind it. */
static void json_orders(struct request *request, struct question *const question[], uint32_t n)
{
    json_close(&request->json, ']');
    json_open(&request->json, "orders", '[');
    for (uint32_t i = 0; i < n; i++)
        if (question[i] != NULL)
            show_orders(request, question[i]);
    json_close(&request->json, ']');
}

/* Waits for an answer of one of those that are listed, and takes the question; NULL: it has been said why there is
 * none. */
static struct question *await_listed(struct request *request, const char *target, struct question *question,
                                     const struct timespec *until)
{
    char why[ATTRS_WHY];
    int r = await(question, until, why);

    if (r == 0)
        return question;
    if (!request->lists_all || !left_out_note(&request->left_out, target, r))
        failures_add(&request->failures, target, "%s", why);
    return NULL;
}

static const char *target_of(const struct mounts *mounts, const struct args *args, uint32_t i)
{
    return args->n > 0 ? args->word[i] : mounts->place[i].target;
}

static enum ctl_status list(struct request *request, const struct mounts *mounts, const struct args *args)
{
    uint32_t n = args->n > 0 ? (uint32_t) args->n : mounts->n;
    cleanup(freep) struct question **question = calloc(MAX(n, 1), sizeof(struct question *));
    struct timespec until;

    if (question == NULL)
        return report(request->as_json, "out of memory");
    table_init(&request->table, columns, ARRAY_SIZE(columns), USUAL, &request->options);
    if (request->as_json) {
        json_begin(&request->json, stdout);
        json_open(&request->json, "jobs", '[');
    }
    failures_begin(&request->failures, request->as_json);
    for (uint32_t i = 0; i < n; i++)
        question[i] = put(target_of(mounts, args, i));
    until = inquiry_patience();
    request->lists_all = args->n == 0;
    for (uint32_t i = 0; i < n; i++)
        if ((question[i] = await_listed(request, target_of(mounts, args, i), question[i], &until)) != NULL) {
            request->done++;
            if (!request->as_json)
                show_orders(request, question[i]);
            show_jobs(request, question[i]);
        }
    if (request->as_json)
        json_orders(request, question, n);
    failures_end(&request->failures, request->as_json ? &request->json : NULL);
    if (request->as_json)
        json_end(&request->json);
    for (uint32_t i = 0; i < n; i++)
        if (question[i] != NULL)
            question_free(question[i]);
    if (!request->as_json && request->done > 0)
        (void) table_print(&request->table, stdout);
    table_done(&request->table);
    left_out_tell(&request->left_out);
    return request->failures.n == 0 ? CTL_OK : request->done > 0 ? CTL_PARTIAL : CTL_ERROR;
}

/* -- orders -- */

/* The mount that is word at of the command line, or else the only one there is. */
static const char *find_target(const struct mounts *mounts, const struct args *args, int at)
{
    if (args->n > at)
        return args->word[at];
    return mounts->n == 1 ? mounts->place[0].target : NULL;
}

/* Finds the file of a job, or the directory of an order; NULL, where nobody knows it. False: the mount lists no such
 * number for who asks. */
static bool find_number(const char *target, uint64_t number, char **ret_file)
{
    struct timespec until = inquiry_patience();
    struct question *question = put(target);
    char why[ATTRS_WHY];
    struct mover_row row;
    struct job_info job;
    bool is_there = false;

    *ret_file = NULL;
    if (await(question, &until, why) < 0)
        return true; /* as far as is known */
    for (const char *at = question->text; job_next(&at, &job);)
        if (job.number == number) {
            is_there = true;
            *ret_file = file_of(target, &job);
        }
    for (size_t at = 0; !is_there && mover_next(question->orders, &at, &row);)
        if (row.number == number) {
            is_there = true;
            if (row.directory != NULL && asprintf(ret_file, "%s/%s", target, row.directory) < 0)
                *ret_file = NULL;
        }
    question_free(question);
    return is_there;
}

/* Gives an order for a job by its number, which takes the right to write to the mount's root. The owner of the file, or
 * of the directory, may order by that as well, which is tried where that right is missing. */
static int give_order(const char *word, const char *number, const char *target, char why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL, *file = NULL;
    int r = asprintf(&text, "%s %s", word, number) < 0 ? attrs_refuse(why, -ENOMEM, "out of memory")
                                                       : attrs_set(target, "jobs", text, why);

    if (r != -EACCES && r != -EPERM)
        return r;
    if (!find_number(target, strtoull(number, NULL, 10), &file))
        return attrs_refuse(why, -ENOENT,
                            "there is no job %s that is yours; 'fallsctl jobs' lists those, and root may order all",
                            number);
    return file != NULL ? attrs_set(file, "migrate", word, why) : r;
}

static enum ctl_status order(struct request *request, const char *word, const char *number, const char *target)
{
    cleanup(freep) char *json = NULL;
    char why[ATTRS_WHY];
    int r;

    if (strspn(number, "0123456789") != strlen(number) || strlen(number) > 19 || *number == 0)
        return args_complain("jobs", "this is no number of a job:", number);
    r = attrs_check(target, &json, why);
    if (r == 0)
        r = give_order(word, number, target, why);
    if (r < 0)
        return report(request->as_json, "%s: %s", target, why);
    if (request->as_json) {
        json_begin(&request->json, stdout);
        json_u64(&request->json, "job", strtoull(number, NULL, 10));
        json_string(&request->json, "order", word);
        json_end(&request->json);
    }
    return CTL_OK;
}

struct sum {
    uint64_t done, total, rate;
    uint64_t first; /* that is open */
    uint32_t n, n_open, n_failed, n_orders;
};

/* Adds up the jobs of a text: the one with this number, or, when that is 0, all from the job with number from on. */
static struct sum sum_up(const char *text, uint64_t number, uint64_t from)
{
    struct sum sum = { .first = UINT64_MAX };
    struct job_info job;

    while (job_next(&text, &job)) {
        if (job.number < from || (number != 0 && job.number != number))
            continue;
        sum.n++;
        sum.n_failed += strcmp(job.state, "failed") == 0;
        sum.n_open += job_is_open(&job);
        if (job_is_open(&job))
            sum.first = MIN(sum.first, job.number);
        sum.done += job.done;
        sum.total += job.total;
        sum.rate += strcmp(job.state, "running") == 0 ? job.rate : 0;
    }
    return sum;
}

/* Adds the orders that go on, or the one with this number, which may be over. */
static void add_orders(const struct question *question, uint64_t number, struct sum *sum)
{
    struct mover_row row;

    for (size_t at = 0; mover_next(question->orders, &at, &row);) {
        sum->n_orders += number == 0 && row.is_open && !row.is_plan;
        if (row.number != number)
            continue;
        sum->n++;
        sum->n_open += row.is_open;
        sum->n_failed += strcmp(row.state, "failed") == 0;
        sum->done += row.done;
        sum->total += row.total;
        sum->rate += row.rate;
    }
}

static enum ctl_status wait_for(struct request *request, uint64_t number, const char *target)
{
    struct job_bar bar = { 0 };
    uint64_t from = number;
    struct sum sum;
    bool goes_on;

    for (;;) {
        struct timespec until = inquiry_patience();
        struct question *question = put(target);
        char why[ATTRS_WHY];

        until.tv_sec += WAITERS_PATIENCE;
        if (await(question, &until, why) < 0)
            return report(request->as_json, "%s: %s", target, why);
        sum = sum_up(question->text, number, from);
        if (from == 0) /* what was over before is no concern of ours */
            sum = sum_up(question->text, number, from = MIN(sum.first, last_number(question->text) + 1));
        add_orders(question, number, &sum);
        goes_on = sum.n_open > 0 || sum.n_orders > 0;
        question_free(question);
        if (number != 0 && sum.n == 0)
            return report(request->as_json, "%s: there is no job %" PRIu64, target, number);
        if (!goes_on)
            break;
        job_bar(&bar, sum.done, sum.total, sum.rate, sum.n_open, false);
        usleep(200000);
    }
    if (bar.shown)
        job_bar(&bar, 1, 1, sum.rate, 0, true);
    if (request->as_json) {
        json_begin(&request->json, stdout);
        json_u64(&request->json, "failed", sum.n_failed);
        json_end(&request->json);
    }
    return sum.n_failed == 0 ? CTL_OK : CTL_ERROR;
}

static enum ctl_status wait_for_some(struct request *request, const struct mounts *mounts, const struct args *args)
{
    bool has_number = args->n > 1 && strspn(args->word[1], "0123456789") == strlen(args->word[1]);
    const char *target = find_target(mounts, args, has_number ? 2 : 1);

    if (target == NULL)
        return args_complain("jobs", "in which mount?", NULL);
    return wait_for(request, has_number ? strtoull(args->word[1], NULL, 10) : 0, target);
}

static bool is_order(const char *word)
{
    return strcmp(word, "pause") == 0 || strcmp(word, "resume") == 0 || strcmp(word, "cancel") == 0;
}

enum ctl_status ctl_jobs(int argc, char **argv)
{
    struct request request = { 0 };
    struct arg arg[2 + TABLE_ARGS] = { { .name = "-b", .other = "--bytes", .set = &request.raw },
                                       { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "jobs", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(mounts_done) struct mounts mounts = { 0 };
    enum ctl_status status;
    const char *target;

    table_args(&request.options, arg + 2);
    if (!args_read(&args, argc, argv, &status) ||
        !table_check(&request.options, "jobs", columns, ARRAY_SIZE(columns), &status))
        return status;
    if (mounts_read(&mounts) < 0)
        return report(request.as_json, "cannot read /proc/self/mountinfo, which lists the mounts: is /proc mounted?");
    if (args.n > 0 && strcmp(args.word[0], "wait") == 0)
        return wait_for_some(&request, &mounts, &args);
    if (args.n == 0 || !is_order(args.word[0]))
        return list(&request, &mounts, &args);
    target = find_target(&mounts, &args, 2);
    if (args.n < 2 || target == NULL)
        return args_complain("jobs", args.n < 2 ? "which job?" : "in which mount?", NULL);
    return order(&request, args.word[0], args.word[1], target);
}

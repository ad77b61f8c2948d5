/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/job.h"

#include "fs/ctl/show/table.h"

#include <string.h>
#include <unistd.h>

#define BAR 30 /* characters */

static bool read_line(const char *line, size_t len, struct job_info *ret_job)
{
    struct job_info job = { 0 };
    char head[256]; /* all but the path */
    size_t head_len = MIN(len, sizeof head - 1);
    int used = 0;

    memcpy(head, line, head_len);
    head[head_len] = 0;
    /* No daemon sends numbers that do not fit. NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(head,
               "job=%" SCNu64 " state=%15s done=%" SCNu64 " total=%" SCNu64 " rate=%" SCNu64 " limit=%" SCNu64
               " ms=%" SCNu64 " error=%d%n",
               &job.number, job.state, &job.done, &job.total, &job.rate, &job.limit, &job.ms, &job.error, &used) != 8)
        return false;
    used += head[used] == ' ';
    job.path = line + used;
    job.path_len = len - (size_t) used;
    *ret_job = job;
    return true;
}

bool job_next(const char **at, struct job_info *ret_job)
{
    while (**at != 0) {
        const char *line = *at;
        size_t len = strcspn(line, "\n");

        *at += len + (line[len] == '\n');
        if (read_line(line, len, ret_job))
            return true;
    }
    return false;
}

bool job_is_open(const struct job_info *job)
{
    return strcmp(job->state, "done") != 0 && strcmp(job->state, "cancelled") != 0 && strcmp(job->state, "failed") != 0;
}

uint64_t job_left(uint64_t done, uint64_t total, uint64_t rate)
{
    return rate == 0 ? UINT64_MAX : (uint64_t) ((double) (total - MIN(done, total)) * 1000 / (double) rate);
}

const char *job_time(uint64_t ms, char text[static JOB_TIME])
{
    uint64_t s = (ms + 999) / 1000;

    if (ms == UINT64_MAX)
        snprintf(text, JOB_TIME, "?");
    else if (s < 60)
        snprintf(text, JOB_TIME, "%" PRIu64 "s", s);
    else if (s < 3600)
        snprintf(text, JOB_TIME, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else
        snprintf(text, JOB_TIME, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s / 60 % 60);
    return text;
}

void job_json(struct json *json, const struct job_info *job)
{
    json_u64(json, "job", job->number);
    json_string(json, "state", job->state);
    json_u64(json, "done", job->done);
    json_u64(json, "total", job->total);
    json_u64(json, "rate", job->rate);
    json_u64(json, "limit", job->limit);
    json_seconds(json, "seconds", (double) job->ms / 1000);
    if (job->error != 0)
        json_string(json, "error", strerror(job->error));
}

void job_bar(struct job_bar *bar, uint64_t done, uint64_t total, uint64_t rate, uint32_t n_open, bool last)
{
    static const char full[] = "##############################", empty[] = "..............................";
    int filled = total == 0 ? BAR : (int) (done * BAR / total);
    char speed[SIZE_TEXT], time[JOB_TIME];

    if (isatty(STDERR_FILENO) == 0)
        return;
    filled = MIN(filled, BAR);
    fprintf(stderr, "\r[%.*s%.*s] %3d%%  %s/s  eta %s  %" PRIu32 " to go\033[K", filled, full, BAR - filled, empty,
            total == 0 ? 100 : (int) (done * 100 / total), size_text(rate, false, speed),
            job_time(job_left(done, total, rate), time), n_open);
    bar->shown = true;
    if (last)
        fputc('\n', stderr);
    fflush(stderr);
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/begun.h"

#include "fs/ctl/job.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_US 2000   /* after which small files may be over */
#define LONGEST  100000 /* between two looks */

/* What the daemon tells of a file's last job; false: it never had one. */
static bool read_job(const char *path, struct job_told *ret_job)
{
    cleanup(freep) char *text = NULL;
    const char *at;
    bool has_one;

    if (attrs_get(path, "migrate", &text) < 0)
        return false;
    at = text;
    has_one = job_next(&at, ret_job);
    if (has_one)
        ret_job->path = NULL;
    return has_one;
}

/* Number 0: it never had one. */
static struct job_told last_job(const char *path)
{
    struct job_told job = { .number = 0 };

    (void) read_job(path, &job);
    return job;
}

static int enlist(struct begun *begun, const char *path, uint64_t before)
{
    char *copy = strdup(path);

    if (begun->n == begun->room) {
        size_t room = MAX(2 * begun->room, 16);
        struct begun_file *more = realloc(begun->file, room * sizeof *more);

        if (more != NULL) {
            begun->file = more;
            begun->room = room;
        }
    }
    if (copy == NULL || begun->n == begun->room) {
        free(copy);
        return -ENOMEM;
    }
    begun->file[begun->n++] = (struct begun_file){ .path = copy, .before = before };
    return 0;
}

int begun_add(struct begun *begun, const char *path, const char *what, const char *limit, bool *ret_goes_on,
              char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    uint64_t before = last_job(path).number;
    struct job_told job;
    int r;

    if (asprintf(&text, "%s%s%s%s", limit != NULL ? "limit=" : "", limit != NULL ? limit : "", limit != NULL ? " " : "",
                 what) < 0)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    r = attrs_set(path, "migrate", text, ret_why);
    if (r < 0)
        return r;
    job = last_job(path);
    *ret_goes_on = job.number != before && job_is_open(&job);
    if (job.number == before || strcmp(job.state, "done") == 0)
        return 0;
    if (!job_is_open(&job))
        return attrs_refuse(ret_why, job.error != 0 ? -job.error : -ECANCELED, "keeps its layout: %s",
                            job.error != 0 ? strerror(job.error) : "cancelled");
    r = enlist(begun, path, before);
    return r < 0 ? attrs_refuse(ret_why, r, "its migration has begun, but cannot be waited for: out of memory") : 0;
}

/* One that has no job any more has another file's name, or was removed. Whether it is over. */
static bool look_at(const struct begun_file *file, struct job_told *sum, void (*failed)(void *, const char *, int),
                    void *ctx)
{
    struct job_told job;

    if (!read_job(file->path, &job) || job.number == file->before)
        return true;
    sum->done += job.done;
    sum->total += job.total;
    sum->rate += strcmp(job.state, "running") == 0 ? job.rate : 0;
    if (strcmp(job.state, "failed") == 0)
        failed(ctx, file->path, job.error);
    return !job_is_open(&job) || strcmp(job.state, "paused") == 0;
}

/* Forgets those that are over. */
static void look_at_all(struct begun *begun, struct job_told *sum, void (*failed)(void *, const char *, int), void *ctx)
{
    size_t n = 0;

    *sum = (struct job_told){ .done = begun->done, .total = begun->done };
    for (size_t i = 0; i < begun->n; i++) {
        uint64_t before = sum->done;

        if (!look_at(&begun->file[i], sum, failed, ctx)) {
            begun->file[n++] = begun->file[i];
        } else {
            begun->done += sum->done - before;
            free(begun->file[i].path);
        }
    }
    begun->n = n;
}

void begun_wait(struct begun *begun, size_t most, void (*failed)(void *ctx, const char *path, int error), void *ctx)
{
    struct job_bar bar = { .shown = begun->has_bar };
    struct job_told sum = { 0 };
    useconds_t pause = PAUSE_US;

    for (;;) {
        look_at_all(begun, &sum, failed, ctx);
        if (begun->n <= most)
            break;
        if (pause == LONGEST)
            job_bar(&bar, sum.done, sum.total, sum.rate, (uint32_t) begun->n, false);
        usleep(pause);
        pause = MIN(2 * pause, LONGEST);
    }
    begun->has_bar = bar.shown;
    if (bar.shown && most == 0)
        job_bar(&bar, sum.done, sum.total, sum.rate, 0, true);
}

void begun_done(struct begun *begun)
{
    for (size_t i = 0; i < begun->n; i++)
        free(begun->file[i].path);
    free(begun->file);
    *begun = (struct begun){ 0 };
}

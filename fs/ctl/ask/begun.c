/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/begun.h"

#include "fs/ctl/ask/file_info.h"

#include <string.h>
#include <unistd.h>

#define MAX_LOOKS 64     /* at a time; those behind wait for these */
#define SHORTEST  2000   /* us between two looks: small files are soon over */
#define LONGEST   100000 /* the same, after a while */

/* -- one file -- */

/* What the daemon tells of a file's last job; number 0: it never had one. */
static struct job_info last_job(const char *path)
{
    struct job_info job = { .number = 0 };
    cleanup(freep) char *text = NULL;
    const char *at;

    if (attrs_get(path, "migrate", &text) < 0)
        return job;
    at = text;
    if (job_next(&at, &job))
        job.path = NULL;
    return job;
}

/* One that has no job any more has another file's name, was removed, or has long been over. */
static void look_at(struct begun_file *file)
{
    if (file->is_over)
        return;
    file->job = last_job(file->path);
    file->is_over = file->job.number == 0 || !job_is_open(&file->job);
}

static bool is_waited_for(const struct begun_file *file)
{
    return !file->is_over && strcmp(file->job.state, "paused") != 0;
}

bool begun_has_layout(const char *path, const char *layout)
{
    cleanup(file_info_done) struct file_info info = { 0 };
    char why[ATTRS_WHY];

    if (file_info_init(&info, path, why) < 0)
        return false;
    return layout == NULL || strstr(layout, "pool:") != NULL || file_info_is(&info, layout);
}

const char *begun_failure(const struct begun_file *file)
{
    if (strcmp(file->job.state, "failed") == 0)
        return strerror(file->job.error);
    return file->job.number == 0 && !begun_has_layout(file->path, file->layout)
               ? "it is not there any more, or keeps its layout"
               : NULL;
}

/* -- beginning -- */

static int enlist(struct begun *begun, const char *path, const char *layout)
{
    struct begun_file file = { .path = strdup(path), .layout = layout != NULL ? strdup(layout) : NULL };

    if (begun->n == begun->room) {
        size_t room = MAX(2 * begun->room, 16);
        struct begun_file *more = realloc(begun->file, room * sizeof *more);

        if (more != NULL) {
            begun->file = more;
            begun->room = room;
        }
    }
    if (file.path == NULL || (layout != NULL && file.layout == NULL) || begun->n == begun->room) {
        free(file.path);
        free(file.layout);
        return -ENOMEM;
    }
    begun->file[begun->n++] = file;
    return 0;
}

int begun_add(struct begun *begun, const char *path, const char *layout, const char *what, const char *limit,
              bool *ret_goes_on, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    uint64_t before = last_job(path).number;
    struct job_info job;
    int r;

    if (asprintf(&text, "%s%s%s%s", limit != NULL ? "limit=" : "", limit != NULL ? limit : "", limit != NULL ? " " : "",
                 what) < 0)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    r = attrs_set(path, "migrate", text, ret_why);
    if (r < 0)
        return r;
    job = last_job(path);
    *ret_goes_on = job_is_open(&job) && job.number > 0;
    if (strcmp(job.state, "done") == 0 || (job.number == before && !*ret_goes_on))
        return 0;
    if (!*ret_goes_on)
        return attrs_refuse(ret_why, job.error != 0 ? -job.error : -ECANCELED, "keeps its layout: %s",
                            job.error != 0 ? strerror(job.error) : "cancelled");
    r = enlist(begun, path, layout);
    return r < 0 ? attrs_refuse(ret_why, r, "its migration has begun, but cannot be waited for: out of memory") : 0;
}

/* -- waiting -- */

/* The mount tells for a while only of what is over, and most end in the order in which they begin. */
static void look_at_first(struct begun *begun, void (*tell)(void *, const struct begun_file *), void *ctx)
{
    for (; begun->n_over < begun->n; begun->n_over++) {
        struct begun_file *file = &begun->file[begun->n_over];

        look_at(file);
        if (!file->is_over)
            return;
        begun->done += file->job.done;
        tell(ctx, file);
    }
}

/* What all have done together, and how many are waited for. */
static struct job_info look_at_rest(struct begun *begun, size_t *ret_open)
{
    struct job_info sum = { .done = begun->done, .total = begun->done };
    uint32_t looks = 0;

    *ret_open = 0;
    for (size_t i = begun->n_over; i < begun->n; i++) {
        struct begun_file *file = &begun->file[i];

        if (!file->is_over && looks++ < MAX_LOOKS)
            look_at(file);
        sum.done += file->job.done;
        sum.total += file->job.total;
        sum.rate += strcmp(file->job.state, "running") == 0 ? file->job.rate : 0;
        *ret_open += is_waited_for(file);
    }
    return sum;
}

void begun_wait(struct begun *begun, size_t most, void (*tell)(void *ctx, const struct begun_file *file), void *ctx)
{
    struct job_bar bar = { .shown = begun->has_bar };
    useconds_t pause = SHORTEST;
    struct job_info sum;
    size_t n_open;

    for (;;) {
        look_at_first(begun, tell, ctx);
        if (most > 0 && begun->n - begun->n_over <= most)
            break;
        sum = look_at_rest(begun, &n_open);
        if (n_open <= most)
            break;
        if (pause == LONGEST)
            job_bar(&bar, sum.done, sum.total, sum.rate, (uint32_t) n_open, false);
        usleep(pause);
        pause = MIN(2 * pause, LONGEST);
    }
    begun->has_bar = bar.shown;
    if (most > 0)
        return;
    if (bar.shown)
        job_bar(&bar, sum.done, sum.total, sum.rate, 0, true);
    begun->has_bar = false;
    for (; begun->n_over < begun->n; begun->n_over++)
        tell(ctx, &begun->file[begun->n_over]);
}

void begun_done(struct begun *begun)
{
    for (size_t i = 0; i < begun->n; i++) {
        free(begun->file[i].path);
        free(begun->file[i].layout);
    }
    free(begun->file);
    *begun = (struct begun){ 0 };
}

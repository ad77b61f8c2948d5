/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/jobs_order.h"

#include "fs/ctl/ask/job.h"

#include <string.h>

/* What an order is about, for people. */
static char *subject_of(const char *target, const struct mover_row *row)
{
    const char *look = row->is_plan ? " (a look)" : "";
    char *text = NULL;
    int n;

    if (row->directory != NULL)
        n = asprintf(&text, "%s/%s%sfiles below", target, row->directory, *row->directory != 0 ? ": " : ": all ");
    else if (strcmp(row->order, "leave") == 0)
        n = asprintf(&text, "%s: drain %s%s", target, row->disk != NULL ? row->disk : "", look);
    else
        n = asprintf(&text, "%s: %s%s", target, row->order, look);
    return n < 0 ? NULL : text;
}

void jobs_order_row(struct table *table, bool raw, const char *target, const struct mover_row *row)
{
    cleanup(freep) char *subject = subject_of(target, row);
    char size[SIZE_TEXT], time[JOB_TIME];

    table_addf(table, "%" PRIu64, row->number);
    table_add(table, row->state);
    table_addf(table, "%" PRIu64 "%%", row->total == 0 ? 0 : row->done * 100 / row->total);
    table_add(table, size_text(row->total, raw, size));
    table_addf(table, "%s/s", size_text(row->rate, raw, size));
    table_add(table, row->limit > 0 ? size_text(row->limit, raw, size) : "-");
    table_add(table, job_time(job_left(row->done, row->total, row->rate), time));
    table_add(table, target);
    table_add(table, subject != NULL ? subject : target);
    table_add(table, "");
}

void jobs_order_json(struct json *json, const char *target, const struct mover_row *row)
{
    cleanup(freep) char *directory = NULL;

    if (row->directory != NULL && asprintf(&directory, "%s/%s", target, row->directory) < 0)
        directory = NULL;
    json_open(json, NULL, '{');
    json_string(json, "mountpoint", target);
    json_u64(json, "job", row->number);
    json_string(json, "order", row->order);
    if (directory != NULL)
        json_string(json, "directory", directory);
    if (row->disk != NULL)
        json_string(json, "disk", row->disk);
    json_bool(json, "is_plan", row->is_plan);
    json_u64(json, "user", row->user);
    json_string(json, "state", row->state);
    json_u64(json, "files", row->files);
    json_u64(json, "moved", row->moved);
    json_u64(json, "failed", row->failed);
    json_u64(json, "done", row->done);
    json_u64(json, "total", row->total);
    json_u64(json, "rate", row->rate);
    json_u64(json, "limit", row->limit);
    json_close(json, '}');
}

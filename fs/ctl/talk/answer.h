/* SPDX-License-Identifier: MIT */
/* How verbs answer: rows of numbers, or why not; for people as lines, for programs as JSON. */
#ifndef FALLSFS_FS_CTL_TALK_ANSWER_H
#define FALLSFS_FS_CTL_TALK_ANSWER_H

#include "fs/ctl/talk/ctl_status.h"
#include "fs/json/json.h"
#include "layout/layout.h"

/* Says why on standard error; with JSON also as the whole of the output. */
PRINTF_LIKE(2, 3) enum ctl_status report(bool as_json, const char *fmt, ...);

/* Says why a layout is refused, with JSON also at which place of its text; which is "A: " or "B: " where there are
 * two. */
void report_layout(bool as_json, const char *which, const char *text, const struct layout_error *error);

/* One row of numbers, printed as a line or as an object. */
struct row {
    uint32_t element;
    uint64_t file_off, sub_off, len;
};

/* A list of requests, each answered by a row or by a reason why not. */
struct answers {
    struct json json; /* out is NULL without JSON */
    int done, failed;
    char *errors; /* with JSON: values of an array */
    size_t errors_len;
    struct json errors_json;
};

void answers_begin(struct answers *answers, bool as_json, const char *name);

/* order names the fields, a letter each: o offset, e element, s suboffset, l length. */
void answers_row(struct answers *answers, const struct row *row, const char *order);
PRINTF_LIKE(2, 3) void answers_failure(struct answers *answers, const char *fmt, ...);

/* Ends the list: CTL_PARTIAL when some requests failed, CTL_ERROR when all did. */
enum ctl_status answers_end(struct answers *answers);

#endif

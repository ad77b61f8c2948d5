/* SPDX-License-Identifier: MIT */
/* What could not be asked, of several that were: each is told on standard error at once, and with JSON behind the
 * answers of the others, as "errors": [{"name": "/fast", "why": "..."}]. */
#ifndef FALLSFS_FS_CTL_TALK_FAILURES_H
#define FALLSFS_FS_CTL_TALK_FAILURES_H

#include "fs/json/json.h"

struct failures {
    uint32_t n;
    char *text; /* with JSON: values of an array */
    size_t text_len;
    struct json json;
};

void failures_begin(struct failures *failures, bool as_json);
PRINTF_LIKE(3, 4) void failures_add(struct failures *failures, const char *name, const char *fmt, ...);

/* Writes them, if there are any, as a member of the object that is open in json, where that is not NULL, and forgets
 * their texts; n stays. */
void failures_end(struct failures *failures, struct json *json);

#endif

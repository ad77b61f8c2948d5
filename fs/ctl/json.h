/* SPDX-License-Identifier: MIT */
/* Writes JSON as it goes. Names are NULL inside arrays. Numbers are whole and may exceed 2^53. */
#ifndef FALLSFS_FS_CTL_JSON_H
#define FALLSFS_FS_CTL_JSON_H

#include "layout/base.h"

#include <stdio.h>

struct json {
    FILE *out;
    bool follows; /* something stands before in the same object or array */
};

/* The outermost object, with output_version; json_end ends it and the line. */
void json_begin(struct json *json, FILE *out);
void json_end(struct json *json);

void json_open(struct json *json, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                  /* '}' or ']' */
void json_u64(struct json *json, const char *name, uint64_t value);
void json_real(struct json *json, const char *name, double value);
void json_seconds(struct json *json, const char *name, double value); /* to the nanosecond */
void json_bool(struct json *json, const char *name, bool value);
void json_string(struct json *json, const char *name, const char *value); /* NULL: null */

/* Values already written as JSON, in brackets. */
void json_raw(struct json *json, const char *name, char open, const char *values, char close);

#endif

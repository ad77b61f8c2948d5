/* SPDX-License-Identifier: MIT */
/* Writes JSON as it goes. Names are NULL inside arrays. Whole numbers have all their digits, also beyond 2^53. */
#ifndef FALLSFS_FS_JSON_JSON_H
#define FALLSFS_FS_JSON_JSON_H

#include "layout/base.h"

#include <stdio.h>

#define OUTPUT_VERSION 1 /* of what --json prints; grows when a field changes its meaning or goes */

struct json {
    FILE *out;
    bool follows; /* something stands before in the same object or array */
};

/* json_begin opens the outermost object, with output_version; json_end closes it and ends the line. */
void json_begin(struct json *json, FILE *out);
void json_end(struct json *json);

void json_open(struct json *json, const char *name, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                  /* '}' or ']' */
void json_u64(struct json *json, const char *name, uint64_t value);
void json_real(struct json *json, const char *name, double value);
void json_seconds(struct json *json, const char *name, double value); /* to the nanosecond */
void json_bool(struct json *json, const char *name, bool value);
void json_string(struct json *json, const char *name, const char *value); /* NULL: null */

/* Writes values that are JSON already, between brackets. */
void json_raw(struct json *json, const char *name, char open, const char *values, char close);

#endif

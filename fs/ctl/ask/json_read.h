/* SPDX-License-Identifier: MIT */
/* What mounts say in JSON, read by json-c. A mount may be another user's and its daemon any program: a text that is
 * longer than an attribute can be, nested deeper than any of ours, no object or not quite JSON is refused as a whole,
 * and of one that is taken any part may be missing or something else. Whole numbers are exact up to 2^64 - 1. */
#ifndef FALLSFS_FS_CTL_ASK_JSON_READ_H
#define FALLSFS_FS_CTL_ASK_JSON_READ_H

#include "fs/json/json.h"

#define JSON_READ_MAX   65536     /* bytes */
#define JSON_READ_LONG  (4 << 20) /* bytes of a text that is a file */
#define JSON_READ_DEPTH 16

struct json_object; /* json-c's */

/* Reads a text that must be one object; -EINVAL, or -ENOMEM. */
int json_read(const char *text, struct json_object **ret_object);

/* The same for a text that is a file, which may be longer. */
int json_read_long(const char *text, struct json_object **ret_object);

void json_read_done(struct json_object **object);

/* The value of an object's member; NULL: the object has no such member, or is no object. */
struct json_object *json_member(const struct json_object *object, const char *name);

/* How many values an array has; 0 for what is no array. */
size_t json_count(const struct json_object *array);
struct json_object *json_at(const struct json_object *array, size_t i);

/* The text of a string, which lives as long as the value; NULL: the value is no string, or has a zero byte in it. */
const char *json_text(const struct json_object *value);

/* A copy of a string's text, to be freed; NULL: the value is no string, or there is no memory. */
char *json_copy(const struct json_object *value);

/* False: the value is no whole number, or a negative one. */
bool json_number(const struct json_object *value, uint64_t *ret_number);

bool json_is_true(const struct json_object *value);

/* Writes a value that was read, in the form of our own JSON. */
void json_again(struct json *json, const char *name, struct json_object *value);

/* Writes the members of an object that was read into the object that is open. */
void json_members_again(struct json *json, struct json_object *object);

#endif

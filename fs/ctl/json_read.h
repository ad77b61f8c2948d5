/* SPDX-License-Identifier: MIT */
/* Reads what json.h writes: the members of the outermost object, without building anything. */
#ifndef FALLSFS_FS_CTL_JSON_READ_H
#define FALLSFS_FS_CTL_JSON_READ_H

#include "layout/base.h"

/* Where the value of a member begins; NULL: there is none. text is an object. */
const char *json_find(const char *text, const char *name);

/* The value as a string, to be freed; NULL: it is none, or no memory. */
char *json_read_string(const char *value);

/* False: it is no number. */
bool json_read_u64(const char *value, uint64_t *ret_number);

/* The first, next value of an array; NULL: none, or the end. */
const char *json_first(const char *array);
const char *json_next(const char *value);

#endif

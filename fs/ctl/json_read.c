/* SPDX-License-Identifier: MIT */
#include "fs/ctl/json_read.h"

#include <string.h>

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Behind the closing quote. */
static const char *skip_string(const char *at)
{
    for (at++; *at != 0 && *at != '"'; at++)
        if (*at == '\\' && at[1] != 0)
            at++;
    return *at == '"' ? at + 1 : at;
}

/* Behind a value of any kind. */
static const char *skip_value(const char *at)
{
    int depth = 0;

    do {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        if (*at == '{' || *at == '[')
            depth++;
        else if (*at == '}' || *at == ']')
            depth--;
        else if (depth == 0 && *at == ',')
            break;
        if (depth < 0)
            break; /* the end of what the value is in */
        at++;
    } while (*at != 0 && (depth > 0 || strchr(",}]", *at) == NULL));
    return at;
}

const char *json_find(const char *text, const char *name)
{
    const char *at = skip_blanks(text);
    size_t len = strlen(name);

    if (*at != '{')
        return NULL;
    at = skip_blanks(at + 1);
    while (*at == '"') {
        const char *key = at + 1, *value = skip_blanks(skip_string(at));
        bool found = strncmp(key, name, len) == 0 && key[len] == '"';

        if (*value != ':')
            return NULL;
        value = skip_blanks(value + 1);
        if (found)
            return value;
        at = skip_blanks(skip_value(value));
        if (*at != ',')
            return NULL;
        at = skip_blanks(at + 1);
    }
    return NULL;
}

static unsigned hex_value(const char *digits)
{
    char copy[5] = { 0 };

    memcpy(copy, digits, strnlen(digits, 4));
    return (unsigned) strtoul(copy, NULL, 16);
}

/* What json.c escapes: quotes, backslashes and what is no character. */
char *json_read_string(const char *value)
{
    char *text, *to;

    if (value == NULL || *value != '"')
        return NULL;
    text = to = malloc(strlen(value));
    for (const char *at = value + 1; text != NULL && *at != 0 && *at != '"'; at++) {
        if (at[0] == '\\' && at[1] == 'u') {
            *to++ = (char) hex_value(at + 2);
            at += 1 + strnlen(at + 2, 4);
        } else {
            at += at[0] == '\\' && at[1] != 0;
            *to++ = *at;
        }
    }
    if (text != NULL)
        *to = 0;
    return text;
}

bool json_read_u64(const char *value, uint64_t *ret_number)
{
    if (value == NULL || *value < '0' || *value > '9')
        return false;
    errno = 0;
    *ret_number = strtoull(value, NULL, 10);
    return errno == 0;
}

const char *json_first(const char *array)
{
    if (array == NULL || *array != '[')
        return NULL;
    array = skip_blanks(array + 1);
    return *array == ']' || *array == 0 ? NULL : array;
}

const char *json_next(const char *value)
{
    value = skip_blanks(skip_value(value));
    return *value == ',' ? skip_blanks(value + 1) : NULL;
}

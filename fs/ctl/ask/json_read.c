/* SPDX-License-Identifier: MIT */
/* json-c has a type by the name of our json_bool: while its header is read that name is another one. */
#define json_bool json_c_bool
#include <json-c/json.h>
#undef json_bool

#include "fs/ctl/ask/json_read.h"

#include <string.h>

static int read_text(const char *text, size_t max, struct json_object **ret_object)
{
    size_t len = strnlen(text, max + 1);
    struct json_tokener *tokener = len <= max ? json_tokener_new_ex(JSON_READ_DEPTH) : NULL;
    struct json_object *object;

    if (tokener == NULL)
        return len <= max ? -ENOMEM : -EINVAL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    object = json_tokener_parse_ex(tokener, text, (int) len + 1); /* with its zero: no text may follow */
    json_tokener_free(tokener);
    if (!json_object_is_type(object, json_type_object)) {
        json_object_put(object);
        return -EINVAL;
    }
    *ret_object = object;
    return 0;
}

int json_read(const char *text, struct json_object **ret_object)
{
    return read_text(text, JSON_READ_MAX, ret_object);
}

int json_read_long(const char *text, struct json_object **ret_object)
{
    return read_text(text, JSON_READ_LONG, ret_object);
}

void json_read_done(struct json_object **object)
{
    json_object_put(*object);
    *object = NULL;
}

struct json_object *json_member(const struct json_object *object, const char *name)
{
    struct json_object *value = NULL;

    if (json_object_is_type(object, json_type_object))
        (void) json_object_object_get_ex(object, name, &value);
    return value;
}

size_t json_count(const struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

struct json_object *json_at(const struct json_object *array, size_t i)
{
    return i < json_count(array) ? json_object_array_get_idx(array, i) : NULL;
}

/* json-c's calls take no pointer to const, though they only read. */
static struct json_object *lent(const struct json_object *value)
{
    return drop_const(value);
}

const char *json_text(const struct json_object *value)
{
    const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(lent(value)) : NULL;

    /* A string with a zero byte in it is refused: json-c reads on behind that byte, we would not. */
    return text != NULL && strlen(text) == (size_t) json_object_get_string_len(value) ? text : NULL;
}

char *json_copy(const struct json_object *value)
{
    const char *text = json_text(value);

    return text != NULL ? strdup(text) : NULL;
}

bool json_number(const struct json_object *value, uint64_t *ret_number)
{
    if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
        return false;
    *ret_number = json_object_get_uint64(value);
    return true;
}

bool json_is_true(const struct json_object *value)
{
    return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

static void number_again(struct json *json, const char *name, const struct json_object *value)
{
    uint64_t number;

    if (json_number(value, &number))
        json_u64(json, name, number);
    else
        json_real(json, name, json_object_get_double(value));
}

void json_again(struct json *json, const char *name, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_object:
        json_open(json, name, '{');
        json_members_again(json, value);
        json_close(json, '}');
        return;
    case json_type_array:
        json_open(json, name, '[');
        for (size_t i = 0; i < json_count(value); i++)
            json_again(json, NULL, json_at(value, i));
        json_close(json, ']');
        return;
    case json_type_boolean:
        json_bool(json, name, json_is_true(value));
        return;
    case json_type_int:
    case json_type_double:
        number_again(json, name, value);
        return;
    case json_type_string:
    case json_type_null:
        break;
    }
    json_string(json, name, json_text(value));
}

void json_members_again(struct json *json, struct json_object *object)
{
    json_object_object_foreach(object, name, value)
    {
        json_again(json, name, value);
    }
}

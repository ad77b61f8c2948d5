/* SPDX-License-Identifier: MIT */
/* shape=8192x8192 elem=8 type=f8 order=row header=512 */
#include "layout/scan.h"

#include <string.h>

enum key { KEY_SHAPE, KEY_ELEM, KEY_TYPE, KEY_ORDER, KEY_HEADER, N_KEYS };

/* What the keys said, and where. */
struct keys {
    bool seen[N_KEYS];
    size_t at[N_KEYS];
    uint64_t type_bytes; /* 0: the type does not say */
};

/* f8, <i4, c16: as numpy has them, the number being bytes. */
static int parse_type(struct scanner *scanner, char type[static LAYOUT_MAX_TYPE], struct keys *keys)
{
    size_t start = scanner->at, len;

    if (scanner->at < scanner->len && strchr("<>=|", scanner->text[scanner->at]) != NULL)
        scanner->at++;
    len = scan_word_len(scanner);
    if (len == 0)
        return scan_fail_expected(scanner, "a type such as f8, i4 or u1");
    for (size_t i = 1; i < len; i++) {
        char c = scanner->text[scanner->at + i];

        if (c < '0' || c > '9') {
            keys->type_bytes = 0;
            break;
        }
        keys->type_bytes = MIN(keys->type_bytes * 10 + (uint64_t) (c - '0'), FALLS_LIMIT);
    }
    scanner->at += len;
    len = scanner->at - start;
    if (len >= LAYOUT_MAX_TYPE)
        return scan_fail(scanner, -E2BIG, start, "a type has at most %d bytes", LAYOUT_MAX_TYPE - 1);
    memcpy(type, scanner->text + start, len);
    type[len] = 0;
    return 0;
}

static int parse_key(struct scanner *scanner, struct array *array, char type[static LAYOUT_MAX_TYPE], struct keys *keys)
{
    static const char *const name[N_KEYS] = { "shape", "elem", "type", "order", "header" };
    unsigned key;
    int r = scan_key(scanner, name, N_KEYS, "shape=, elem=, type=, order= or header=", keys->seen, keys->at, &key);

    if (r < 0)
        return r;
    switch ((enum key) key) {
    case KEY_SHAPE:
        return scan_extents(scanner, "a dimension", array->size, &array->ndims);
    case KEY_ELEM:
        return scan_positive(scanner, "the element size", &array->elem);
    case KEY_TYPE:
        return parse_type(scanner, type, keys);
    case KEY_ORDER:
        return scan_order(scanner, &array->order);
    case KEY_HEADER:
    case N_KEYS:
        break;
    }
    return scan_size(scanner, &array->header);
}

static int check(struct scanner *scanner, struct array *array, const char *type, const struct keys *keys)
{
    uint64_t bytes;

    if (!keys->seen[KEY_SHAPE])
        return scan_fail(scanner, -EINVAL, scanner->at, "shape= is missing, as in shape=8192x8192 type=f8");
    if (!keys->seen[KEY_ELEM])
        array->elem = keys->type_bytes > 0 ? keys->type_bytes : 1;
    else if (keys->type_bytes > 0 && keys->type_bytes != array->elem)
        return scan_fail(scanner, -EINVAL, keys->at[KEY_TYPE], "%s has %" PRIu64 " bytes, elem says %" PRIu64, type,
                         keys->type_bytes, array->elem);
    if (array_bytes(array, &bytes) < 0)
        return scan_fail(scanner, -EOVERFLOW, keys->at[KEY_SHAPE], "the array reaches past byte 2^62");
    return 0;
}

int layout_parse_array(const char *text, size_t len, struct array *ret_array, char ret_type[static LAYOUT_MAX_TYPE],
                       struct layout_error *ret_error)
{
    struct scanner scanner = { .text = text, .len = len, .error = ret_error };
    struct array array = { 0 };
    struct keys keys = { 0 };
    int r = scan_check_text(&scanner);

    ret_type[0] = 0;
    while (r == 0 && !scan_at_end(&scanner)) {
        r = parse_key(&scanner, &array, ret_type, &keys);
        (void) (r == 0 && scan_accept(&scanner, ','));
    }
    if (r == 0)
        r = check(&scanner, &array, ret_type, &keys);
    if (r == 0)
        *ret_array = array;
    return r;
}

/* SPDX-License-Identifier: MIT */
/* The keys of a text that says what a file's bytes mean: shape=8192x8192 elem=8 type=f8 order=row header=512 */
#include "layout/scan.h"

#include <string.h>

enum key { KEY_SHAPE, KEY_ELEM, KEY_TYPE, KEY_ORDER, KEY_HEADER, N_KEYS };

/* Which keys the text has given, and where in it the value of each starts. */
struct keys {
    bool seen[N_KEYS];
    size_t at[N_KEYS];
    uint64_t type_bytes; /* 0: the type does not say */
    bool is_numpys;      /* the type */
};

/* What numpy also calls types, and how many bytes these have; 0: as many as elem says. */
static const struct {
    const char *name;
    unsigned bytes;
} names[] = {
    { "bool", 1 },      { "int8", 1 },        { "int16", 2 },  { "int32", 4 },   { "int64", 8 },   { "uint8", 1 },
    { "uint16", 2 },    { "uint32", 4 },      { "uint64", 8 }, { "float16", 2 }, { "float32", 4 }, { "float64", 8 },
    { "complex64", 8 }, { "complex128", 16 }, { "b", 1 },      { "B", 1 },       { "h", 2 },       { "H", 2 },
    { "i", 4 },         { "I", 4 },           { "q", 8 },      { "Q", 8 },       { "e", 2 },       { "f", 4 },
    { "d", 8 },         { "F", 8 },           { "D", 16 },     { "S", 0 },       { "a", 0 },       { "U", 0 },
    { "V", 0 },
};

/* Letters of numpy, and which bytes there may be of them; none: any number. */
static const struct {
    char letter;
    unsigned bytes[4];
} letters[] = {
    { 'b', { 1 } },         { 'i', { 1, 2, 4, 8 } }, { 'u', { 1, 2, 4, 8 } }, { 'f', { 2, 4, 8, 16 } },
    { 'c', { 8, 16, 32 } }, { 'M', { 8 } },          { 'm', { 8 } },          { 'S', { 0 } },
    { 'a', { 0 } },         { 'U', { 0 } },          { 'V', { 0 } },
};

/* The byte order that a type of numpy may begin with: little, big, this machine's, none. */
static bool is_byte_order(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '|';
}

/* The length of a unit of time behind a type, as in M8[25ns]; 0 without one. */
static size_t unit_len(const struct scanner *scanner, size_t at)
{
    const char *end = at < scanner->len && scanner->text[at] == '['
                          ? memchr(scanner->text + at, ']', MIN(scanner->len - at, LAYOUT_MAX_TYPE))
                          : NULL;

    return end != NULL ? (size_t) (end - (scanner->text + at)) + 1 : 0;
}

static bool is_number(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return len > 0;
}

/* The bytes of an element, by the number behind the letter of a type: bytes, but of U, text of 4 bytes a character. 0:
 * anything but digits follows the letter, and the type does not say. */
static uint64_t type_bytes(const char *type, size_t len)
{
    uint64_t bytes = 0;

    if (!is_number(type + 1, len - 1))
        return 0;
    for (size_t i = 1; i < len; i++)
        bytes = MIN(bytes * 10 + (uint64_t) (type[i] - '0'), FALLS_LIMIT);
    return type[0] == 'U' ? MIN(bytes * 4, FALLS_LIMIT) : bytes;
}

/* The bytes of a type that has a name; false: none of numpy's has it. */
static bool named_bytes(const char *word, size_t len, uint64_t *ret_bytes)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strlen(names[i].name) == len && memcmp(names[i].name, word, len) == 0) {
            *ret_bytes = names[i].bytes;
            return true;
        }
    return false;
}

/* Whether numpy has types of so many bytes with this letter. */
static bool has_letter(char letter, uint64_t bytes)
{
    for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
        for (size_t k = 0; letters[i].letter == letter && k < ARRAY_SIZE(letters[i].bytes); k++)
            if (letters[i].bytes[0] == 0 || (bytes > 0 && letters[i].bytes[k] == bytes))
                return true;
    return false;
}

/* Whether a unit, "[25ns]" or nothing, is one that numpy has behind this letter. */
static bool has_unit(char letter, const char *unit, size_t len)
{
    static const char *const known[] = { "Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                         "ms", "us", "ns", "ps", "fs", "as", "generic" };
    size_t at = 1;

    if (len == 0)
        return true;
    while (at < len && unit[at] >= '0' && unit[at] <= '9')
        at++;
    for (size_t i = 0; (letter == 'M' || letter == 'm') && i < ARRAY_SIZE(known); i++)
        if (strlen(known[i]) == len - 1 - at && memcmp(known[i], unit + at, len - 1 - at) == 0)
            return true;
    return false;
}

/* Notes how large a type is, and whether it is one of numpy's: a word, behind which a unit may be. */
static void note_type(const char *type, size_t word_len, size_t unit_len, struct keys *keys)
{
    if (named_bytes(type, word_len, &keys->type_bytes)) {
        keys->is_numpys = unit_len == 0;
    } else {
        keys->type_bytes = type_bytes(type, word_len);
        keys->is_numpys = is_number(type + 1, word_len - 1) && has_letter(type[0], keys->type_bytes) &&
                          has_unit(type[0], type + word_len, unit_len);
    }
}

/* Parses a type as numpy writes it: f8, >i4, c16, M8[ns]. */
static int parse_type(struct scanner *scanner, char type[static LAYOUT_MAX_TYPE], struct keys *keys)
{
    size_t start = scanner->at, at, len, unit;

    if (scanner->at < scanner->len && is_byte_order(scanner->text[scanner->at]))
        scanner->at++;
    at = scanner->at;
    len = scan_word_len(scanner);
    if (len == 0)
        return scan_fail_expected(scanner, "a type such as f8, >i4 or u1");
    if (scanner->at > at)
        return scan_fail(scanner, -EINVAL, at, "a type follows its byte order at once, as in >f8");
    unit = unit_len(scanner, scanner->at + len);
    note_type(scanner->text + scanner->at, len, unit, keys);
    scanner->at += len + unit;
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
    if (keys->seen[KEY_TYPE] && !keys->is_numpys)
        return scan_fail(scanner, -EINVAL, keys->at[KEY_TYPE],
                         "%s is no type that numpy has, as f8, >i4, u1, c16, S20 and M8[ns] are", type);
    if (array_bytes(array, &bytes) < 0)
        return scan_fail(scanner, -EOVERFLOW, keys->at[KEY_SHAPE], "the array reaches past byte 2^62");
    return 0;
}

bool layout_is_type(const char *word)
{
    struct layout_error error;
    struct scanner scanner = { .text = word, .len = strlen(word), .error = &error };
    struct keys keys = { 0 };
    char type[LAYOUT_MAX_TYPE];

    return parse_type(&scanner, type, &keys) == 0 && keys.is_numpys && scanner.at == scanner.len;
}

int layout_parse_array(const char *text, size_t len, struct array *ret_array, char ret_type[LAYOUT_MAX_TYPE],
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

void layout_print_array(FILE *out, const struct array *array, const char *type)
{
    for (uint32_t i = 0; i < array->ndims; i++)
        fprintf(out, "%s%" PRIu64, i == 0 ? "shape=" : "x", array->size[i]);
    fprintf(out, " elem=%" PRIu64, array->elem);
    if (type[0] != 0)
        fprintf(out, " type=%s", type);
    fprintf(out, " order=%s header=%" PRIu64, array->order == ARRAY_COLUMN_MAJOR ? "col" : "row", array->header);
}

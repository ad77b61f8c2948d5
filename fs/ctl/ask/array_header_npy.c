/* SPDX-License-Identifier: MIT */
/* Headers of .npy files, versions 1.0 to 3.0: a dictionary as Python writes it. */
#include "fs/ctl/ask/array_header.h"

#include <string.h>

#define MAX_HEADER (1u << 20)
#define MAX_DEPTH  16 /* of types within types */

/* The dictionary's text. */
struct python {
    const char *at, *end;
    char *why; /* of ATTRS_WHY bytes */
};

static int refuse(struct python *python, const char *what)
{
    return attrs_refuse(python->why, -EINVAL, "its .npy header %s", what);
}

static char peek(struct python *python)
{
    while (python->at < python->end && strchr(" \t\r\n", *python->at) != NULL && *python->at != 0)
        python->at++;
    return python->at < python->end ? *python->at : 0;
}

static bool accept(struct python *python, char c)
{
    if (peek(python) != c || python->at == python->end)
        return false;
    python->at++;
    return true;
}

static bool accept_word(struct python *python, const char *word)
{
    size_t len = strlen(word);

    (void) peek(python);
    if ((size_t) (python->end - python->at) < len || memcmp(python->at, word, len) != 0)
        return false;
    python->at += len;
    return true;
}

/* A string in quotes; what is escaped in it stays so. */
static bool accept_string(struct python *python, const char **ret_start, size_t *ret_len)
{
    char quote = peek(python);
    const char *start = python->at + 1;

    if (quote != '\'' && quote != '"')
        return false;
    for (const char *at = start; at < python->end; at++)
        if (*at == quote) {
            *ret_start = start;
            *ret_len = (size_t) (at - start);
            python->at = at + 1;
            return true;
        } else if (*at == '\\') {
            at++;
        }
    return false;
}

/* A number, which Python 2 may have ended with L. */
static bool accept_number(struct python *python, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (peek(python) < '0' || *python->at > '9')
        return false;
    for (; python->at < python->end && *python->at >= '0' && *python->at <= '9'; python->at++)
        if (mul_overflows(number, 10, &number) || add_overflows(number, (uint64_t) (*python->at - '0'), &number))
            number = UINT64_MAX;
    (void) (python->at < python->end && *python->at == 'L' && python->at++);
    *ret_number = MIN(number, FALLS_LIMIT + 1);
    return true;
}

/* -- types -- */

/* Whether it is a letter and a number, <f8, behind a byte order or not, as headers have all types. */
static bool has_number(const char *type)
{
    type += strspn(type, "<>=|");
    return *type != 0 && type[1] >= '0' && type[1] <= '9';
}

/* Reads a type such as '<f8'. The layouts' parser knows how large it is. */
static int read_simple_type(struct python *python, const char *start, size_t len, struct array_header *header)
{
    cleanup(freep) char *text = NULL;
    struct layout_error error;
    struct array array;
    int n;

    if (len > 0 && memchr(start, 'O', len) != NULL)
        return refuse(python,
                      "says that it holds objects of Python, which are pickled: they have no places of their own");
    n = asprintf(&text, "shape=1 type=%.*s", (int) MIN(len, LAYOUT_MAX_TYPE), start);
    if (n < 0)
        return -ENOMEM;
    if (layout_parse_array(text, (size_t) n, &array, header->type, &error) < 0 || strlen(header->type) != len ||
        !has_number(header->type))
        return refuse(python, "has a type of elements that is none of numpy's");
    if (header->type[strcspn(header->type, "0123456789")] == '0') /* V0 */
        array.elem = 0;
    header->array.elem = array.elem;
    return 0;
}

static int read_type(struct python *python, unsigned depth, struct array_header *header);

/* Reads (2, 3), (2,) or (): how many numbers, up to max of them, and their product. */
static int read_tuple(struct python *python, uint64_t number[], uint32_t max, uint32_t *ret_n, uint64_t *ret_product)
{
    uint64_t product = 1;
    uint32_t n = 0;

    if (!accept(python, '('))
        return refuse(python, "has no shape");
    while (!accept(python, ')')) {
        if (n == max)
            return attrs_refuse(python->why, -EINVAL, "its .npy header has more than %" PRIu32 " dimensions", max);
        if (!accept_number(python, &number[n]))
            return refuse(python, "has a shape that is no tuple of numbers");
        if (mul_overflows(product, number[n], &product) || product > FALLS_LIMIT)
            product = FALLS_LIMIT + 1;
        n++;
        if (!accept(python, ',') && peek(python) != ')')
            return refuse(python, "has a shape that is no tuple of numbers");
    }
    *ret_n = n;
    *ret_product = product;
    return 0;
}

/* Reads a field of a structure, ('name', type) or ('name', type, (2, 3)), where the name may be ('title', 'name'); adds
 * its bytes. */
static int read_field(struct python *python, unsigned depth, uint64_t *bytes)
{
    struct array_header field = { 0 };
    uint64_t number[ARRAY_MAX_DIMS], times = 1;
    const char *name;
    uint32_t n;
    size_t len;
    int r;

    if (!accept(python, '('))
        return refuse(python, "has a structure of elements that is none");
    if (accept(python, '(') ? !accept_string(python, &name, &len) || !accept(python, ',') ||
                                  !accept_string(python, &name, &len) || !accept(python, ')')
                            : !accept_string(python, &name, &len))
        return refuse(python, "has a field without a name");
    if (!accept(python, ','))
        return refuse(python, "has a field without a type");
    r = read_type(python, depth + 1, &field);
    if (r == 0 && accept(python, ',') && peek(python) != ')')
        r = peek(python) == '('             ? read_tuple(python, number, ARRAY_MAX_DIMS, &n, &times)
            : accept_number(python, &times) ? 0
                                            : refuse(python, "has a field of a shape that is none");
    if (r == 0 && !accept(python, ')'))
        r = refuse(python, "has a field that does not end");
    if (r == 0 && (mul_overflows(field.array.elem, times, &field.array.elem) ||
                   add_overflows(*bytes, field.array.elem, bytes) || *bytes > FALLS_LIMIT))
        r = refuse(python, "has elements that are too large");
    return r;
}

/* Reads a structure, [('x', '<f8'), ('y', '<i4', (2,))]: bytes one after the other. */
static int read_structure(struct python *python, unsigned depth, struct array_header *header)
{
    uint64_t bytes = 0;
    int r = 0;

    while (r == 0 && !accept(python, ']')) {
        r = read_field(python, depth, &bytes);
        if (r == 0 && !accept(python, ',') && peek(python) != ']')
            r = refuse(python, "has a structure of elements that is none");
    }
    if (r < 0)
        return r;
    header->array.elem = bytes;
    header->unsaid = "its elements are structures, of which only the length is noted: their fields stay in its header, "
                     "where programs that know .npy find them";
    return 0;
}

static int read_type(struct python *python, unsigned depth, struct array_header *header)
{
    const char *start;
    size_t len;

    if (depth > MAX_DEPTH)
        return refuse(python, "has structures within structures, too deep");
    if (accept_string(python, &start, &len))
        return read_simple_type(python, start, len, header);
    if (accept(python, '['))
        return read_structure(python, depth, header);
    return refuse(python, "has no type of elements");
}

/* -- the dictionary -- */

enum key { KEY_TYPE, KEY_ORDER, KEY_SHAPE, N_KEYS };

static int read_order(struct python *python, struct array *array)
{
    if (accept_word(python, "True"))
        array->order = ARRAY_COLUMN_MAJOR;
    else if (accept_word(python, "False"))
        array->order = ARRAY_ROW_MAJOR;
    else
        return refuse(python, "does not say whether the order is Fortran's");
    return 0;
}

static int read_value(struct python *python, enum key key, struct array_header *header)
{
    uint64_t n_elements;

    switch (key) {
    case KEY_TYPE:
        return read_type(python, 0, header);
    case KEY_ORDER:
        return read_order(python, &header->array);
    case KEY_SHAPE:
    case N_KEYS:
        break;
    }
    return read_tuple(python, header->array.size, ARRAY_MAX_DIMS, &header->array.ndims, &n_elements);
}

static int read_dictionary(struct python *python, struct array_header *header)
{
    static const char *const name[N_KEYS] = { "descr", "fortran_order", "shape" };
    bool seen[N_KEYS] = { false };
    const char *start;
    size_t len;
    int r = 0;

    if (!accept(python, '{'))
        return refuse(python, "is no dictionary");
    while (r == 0 && !accept(python, '}')) {
        unsigned key = 0;

        if (!accept_string(python, &start, &len) || !accept(python, ':'))
            return refuse(python, "is no dictionary");
        while (key < N_KEYS && (strlen(name[key]) != len || memcmp(name[key], start, len) != 0))
            key++;
        if (key == N_KEYS || seen[key])
            return refuse(python, "has other keys than descr, fortran_order and shape, once each");
        seen[key] = true;
        r = read_value(python, (enum key) key, header);
        if (r == 0 && !accept(python, ',') && peek(python) != '}')
            r = refuse(python, "is no dictionary");
    }
    if (r == 0 && !(seen[KEY_TYPE] && seen[KEY_ORDER] && seen[KEY_SHAPE]))
        r = refuse(python, "lacks one of descr, fortran_order and shape");
    return r;
}

/* -- the file -- */

/* Reads what comes before the dictionary: how long that is. */
static int read_start(FILE *file, uint64_t *ret_start, uint64_t *ret_len, char why[static ATTRS_WHY])
{
    uint8_t start[12] = { 0 };
    unsigned major;

    if (fread(start, 1, 10, file) < 10)
        return attrs_refuse(why, -EINVAL, "its .npy header is cut off");
    major = start[6];
    if (major < 1 || major > 3 || start[7] != 0)
        return attrs_refuse(why, -EINVAL, "it is of version %u.%u of .npy, and known are 1.0, 2.0 and 3.0", major,
                            (unsigned) start[7]);
    if (major > 1 && fread(start + 10, 1, 2, file) < 2)
        return attrs_refuse(why, -EINVAL, "its .npy header is cut off");
    *ret_start = major == 1 ? 10 : 12;
    *ret_len = start[8] | (uint64_t) start[9] << 8 | (uint64_t) start[10] << 16 | (uint64_t) start[11] << 24;
    if (*ret_len > MAX_HEADER)
        return attrs_refuse(why, -EINVAL, "its .npy header has %" PRIu64 " bytes, more than %u", *ret_len, MAX_HEADER);
    return 0;
}

int array_header_npy(FILE *file, struct array_header *ret_header, char ret_why[static ATTRS_WHY])
{
    struct array_header header = { 0 };
    cleanup(freep) char *text = NULL;
    struct python python;
    uint64_t start = 0, len = 0;
    int r = read_start(file, &start, &len, ret_why);

    if (r < 0)
        return r;
    text = malloc(len + 1);
    if (text == NULL)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    if (fread(text, 1, len, file) < len)
        return attrs_refuse(ret_why, -EINVAL, "its .npy header is cut off");
    python = (struct python){ text, text + len, ret_why };
    r = read_dictionary(&python, &header);
    if (r == 0 && peek(&python) != 0)
        r = refuse(&python, "goes on behind the dictionary");
    header.array.header = start + len;
    if (r == 0 && header.array.ndims == 0)
        r = attrs_refuse(ret_why, -EINVAL,
                         "it has no dimensions, which cannot be noted: programs that know .npy read its header");
    if (r == 0)
        r = array_header_check(&header, ret_why);
    if (r == 0)
        *ret_header = header;
    return r;
}

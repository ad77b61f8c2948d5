/* SPDX-License-Identifier: MIT */
/* Headers of netCDF files of the classic formats, which have numbers of 4 bytes, or of 8 where an 8 stands:
 *
 *                                             counts and sizes    where variables begin
 *     "CDF\1"    classic                             4                      4
 *     "CDF\2"    64-bit offset                       4                      8
 *     "CDF\5"    64-bit data                         8                      8
 *
 *     records | dimensions { name, size } | attributes | variables { name, dimensions, attributes, type, size, begin }
 *
 * A list begins with its kind and how many it has. All is big-endian, and padded to 4 bytes. The dimension of size 0 is
 * that of the records, in which all variables that have it take turns. */
#include "fs/ctl/ask/array_header.h"

#include <string.h>

#define MAX_NAME  1024
#define MAX_ITEMS (1u << 20) /* dimensions, attributes and variables, all together */
#define MAX_SHOWN 20         /* variables that are named to choose from */

enum kind { KIND_DIMENSIONS = 0x0A, KIND_VARIABLES = 0x0B, KIND_ATTRIBUTES = 0x0C };

struct reader {
    FILE *file;
    const char *wanted; /* NULL: the only variable */
    unsigned count_bytes, begin_bytes;
    uint64_t n_items; /* so far */
    uint64_t *dimension, n_dimensions;
    uint32_t n_variables, n_found;
    struct array_header found;
    int why_not; /* of the variable that was found */
    char not_why[ATTRS_WHY];
    char names[ATTRS_WHY - 200]; /* of the first variables */
    char *why;                   /* of ATTRS_WHY bytes */
};

struct type {
    unsigned bytes;
    char name[4];
};

static const struct type *type_of(uint64_t number)
{
    static const struct type types[] = {
        { 1, "i1" }, { 1, "S1" },  { 2, ">i2" }, { 4, ">i4" }, { 4, ">f4" }, { 8, ">f8" },
        { 1, "u1" }, { 2, ">u2" }, { 4, ">u4" }, { 8, ">i8" }, { 8, ">u8" },
    };

    return number >= 1 && number <= ARRAY_SIZE(types) ? &types[number - 1] : NULL;
}

static int refuse(struct reader *reader, const char *what)
{
    return attrs_refuse(reader->why, -EINVAL, "its netCDF header %s", what);
}

static int read_number(struct reader *reader, unsigned bytes, uint64_t *ret_number)
{
    uint8_t raw[8];
    uint64_t number = 0;

    if (fread(raw, 1, bytes, reader->file) < bytes)
        return refuse(reader, "is cut off");
    for (unsigned i = 0; i < bytes; i++)
        number = number << 8 | raw[i];
    *ret_number = number;
    return 0;
}

/* Reads a number that is never negative. */
static int read_length(struct reader *reader, unsigned bytes, uint64_t *ret_length)
{
    int r = read_number(reader, bytes, ret_length);

    return r == 0 && *ret_length >> (8 * bytes - 1) != 0 ? refuse(reader, "has a negative size or place") : r;
}

static int skip(struct reader *reader, uint64_t bytes)
{
    if (bytes > FALLS_LIMIT || fseeko(reader->file, (off_t) bytes, SEEK_CUR) < 0)
        return refuse(reader, "says sizes that cannot be");
    return 0;
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 3) & ~UINT64_C(3);
}

static int read_name(struct reader *reader, char ret_name[static MAX_NAME + 1])
{
    char padding[4];
    uint64_t len = 0;
    int r = read_number(reader, reader->count_bytes, &len);

    if (r < 0)
        return r;
    if (len > MAX_NAME)
        return refuse(reader, "has a name that is too long");
    if (fread(ret_name, 1, len, reader->file) < len)
        return refuse(reader, "is cut off");
    ret_name[len] = 0;
    return fread(padding, 1, padded(len) - len, reader->file) < padded(len) - len ? refuse(reader, "is cut off") : 0;
}

/* Reads how a list begins; one that is not there has no kind. */
static int read_list(struct reader *reader, enum kind kind, uint64_t *ret_n)
{
    uint64_t found = 0, n = 0;
    int r = read_number(reader, 4, &found);

    if (r == 0)
        r = read_number(reader, reader->count_bytes, &n);
    if (r < 0)
        return r;
    if (found != (uint64_t) kind && (found != 0 || n != 0))
        return refuse(reader, "is damaged: a list is of another kind than comes in its place");
    reader->n_items += MIN(n, MAX_ITEMS + 1);
    if (reader->n_items > MAX_ITEMS)
        return refuse(reader, "has more dimensions, attributes and variables than are looked at");
    *ret_n = n;
    return 0;
}

static int read_dimensions(struct reader *reader)
{
    char name[MAX_NAME + 1];
    int r = read_list(reader, KIND_DIMENSIONS, &reader->n_dimensions);

    if (r < 0)
        return r;
    reader->dimension = calloc(MAX(reader->n_dimensions, 1), sizeof reader->dimension[0]);
    if (reader->dimension == NULL)
        return attrs_refuse(reader->why, -ENOMEM, "out of memory");
    for (uint64_t i = 0; r == 0 && i < reader->n_dimensions; i++) {
        r = read_name(reader, name);
        if (r == 0)
            r = read_length(reader, reader->count_bytes, &reader->dimension[i]);
    }
    return r;
}

static int skip_attributes(struct reader *reader)
{
    char name[MAX_NAME + 1];
    uint64_t n = 0, type = 0, n_values = 0;
    int r = read_list(reader, KIND_ATTRIBUTES, &n);

    for (uint64_t i = 0; r == 0 && i < n; i++) {
        r = read_name(reader, name);
        if (r == 0)
            r = read_number(reader, 4, &type);
        if (r == 0)
            r = read_number(reader, reader->count_bytes, &n_values);
        if (r == 0 && (type_of(type) == NULL || n_values > FALLS_LIMIT / 8))
            r = refuse(reader, "has an attribute that cannot be");
        if (r == 0)
            r = skip(reader, padded(n_values * type_of(type)->bytes));
    }
    return r;
}

/* -- variables -- */

struct variable {
    char name[MAX_NAME + 1];
    uint64_t n_dimensions, dimension[ARRAY_MAX_DIMS]; /* the first of them */
    uint64_t type, begin;
};

static int read_variable(struct reader *reader, struct variable *variable)
{
    uint64_t size = 0;
    int r = read_name(reader, variable->name);

    if (r == 0)
        r = read_number(reader, reader->count_bytes, &variable->n_dimensions);
    if (r == 0 && variable->n_dimensions > MAX_ITEMS)
        r = refuse(reader, "has a variable of too many dimensions");
    for (uint64_t i = 0; r == 0 && i < MIN(variable->n_dimensions, ARRAY_MAX_DIMS); i++)
        r = read_number(reader, reader->count_bytes, &variable->dimension[i]);
    if (r == 0 && variable->n_dimensions > ARRAY_MAX_DIMS)
        r = skip(reader, (variable->n_dimensions - ARRAY_MAX_DIMS) * reader->count_bytes);
    if (r == 0)
        r = skip_attributes(reader);
    if (r == 0)
        r = read_number(reader, 4, &variable->type);
    if (r == 0)
        r = read_number(reader, reader->count_bytes, &size);
    return r == 0 ? read_length(reader, reader->begin_bytes, &variable->begin) : r;
}

/* What array the variable is. */
static int say(const struct reader *reader, const struct variable *variable, struct array_header *header,
               char why[static ATTRS_WHY])
{
    const struct type *type = type_of(variable->type);

    if (type == NULL)
        return attrs_refuse(why, -EINVAL, "%s is of a type that netCDF does not have", variable->name);
    if (variable->n_dimensions > ARRAY_MAX_DIMS)
        return attrs_refuse(why, -EINVAL, "%s has more than %u dimensions", variable->name, ARRAY_MAX_DIMS);
    header->array =
        (struct array){ .ndims = (uint32_t) variable->n_dimensions, .elem = type->bytes, .header = variable->begin };
    for (uint32_t i = 0; i < header->array.ndims; i++) {
        if (variable->dimension[i] >= reader->n_dimensions)
            return attrs_refuse(why, -EINVAL, "%s has a dimension that the file has not", variable->name);
        header->array.size[i] = reader->dimension[variable->dimension[i]];
        if (header->array.size[i] == 0)
            return attrs_refuse(
                why, -EINVAL,
                "%s is a record variable: its records lie apart, with those of others between them, and "
                "more may come; nccopy -u makes a file in which it lies in one piece",
                variable->name);
    }
    snprintf(header->type, sizeof header->type, "%s", type->name);
    return array_header_check(header, why);
}

static void note_name(struct reader *reader, const char *name)
{
    size_t at = strlen(reader->names);

    if (reader->n_variables <= MAX_SHOWN)
        snprintf(reader->names + at, sizeof reader->names - at, "%s%s", at > 0 ? ", " : "",
                 reader->n_variables < MAX_SHOWN ? name : "...");
    reader->n_variables++;
}

static int read_variables(struct reader *reader)
{
    struct variable variable = { 0 };
    uint64_t n = 0;
    int r = read_list(reader, KIND_VARIABLES, &n);

    for (uint64_t i = 0; r == 0 && i < n; i++) {
        r = read_variable(reader, &variable);
        if (r < 0)
            break;
        note_name(reader, variable.name);
        if (reader->wanted != NULL && strcmp(reader->wanted, variable.name) != 0)
            continue;
        if (reader->n_found++ == 0)
            reader->why_not = say(reader, &variable, &reader->found, reader->not_why);
    }
    return r;
}

static int choose(struct reader *reader)
{
    if (reader->n_variables == 0)
        return attrs_refuse(reader->why, -EINVAL, "it has no variables");
    if (reader->wanted == NULL && reader->n_variables > 1)
        return attrs_refuse(reader->why, -EINVAL, "it has several arrays, say which, as FILE:NAME: %s", reader->names);
    if (reader->n_found == 0)
        return attrs_refuse(reader->why, -EINVAL, "it has no variable of that name, but %s", reader->names);
    if (reader->why_not < 0)
        snprintf(reader->why, ATTRS_WHY, "%s", reader->not_why);
    else if (reader->found.array.header < (uint64_t) ftello(reader->file))
        return refuse(reader, "has an array begin within itself");
    return reader->why_not;
}

static int read_all(struct reader *reader)
{
    uint8_t start[4] = { 0 };
    uint64_t n_records = 0;
    int r;

    if (fread(start, 1, sizeof start, reader->file) < sizeof start)
        return refuse(reader, "is cut off");
    if (start[3] != 1 && start[3] != 2 && start[3] != 5)
        return attrs_refuse(reader->why, -EINVAL,
                            "it is of version %u of netCDF's classic format, and known are 1, 2 and 5",
                            (unsigned) start[3]);
    reader->count_bytes = start[3] == 5 ? 8 : 4;
    reader->begin_bytes = start[3] == 1 ? 4 : 8;
    r = read_number(reader, reader->count_bytes, &n_records);
    if (r == 0)
        r = read_dimensions(reader);
    if (r == 0)
        r = skip_attributes(reader);
    if (r == 0)
        r = read_variables(reader);
    return r == 0 ? choose(reader) : r;
}

int array_header_netcdf(FILE *file, const char *dataset, struct array_header *ret_header,
                        char ret_why[static ATTRS_WHY])
{
    struct reader reader = { .file = file, .wanted = dataset, .why = ret_why };
    int r = read_all(&reader);

    if (r == 0)
        *ret_header = reader.found;
    free(reader.dimension);
    return r;
}

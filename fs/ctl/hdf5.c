/* SPDX-License-Identifier: MIT */
/* fallsctl-hdf5 FILE [DATASET]: what array a dataset of an HDF5 file is, as user.falls.array has it, or with status 1
 * why it cannot be said. fallsctl runs it as a process of its own, since libhdf5 may die of files that are damaged.
 *
 * Only what lies in one piece of the file is an array there: contiguous, neither chunked, compressed nor elsewhere. */
#include "layout/layout.h"

#include <hdf5.h>
#include <stdarg.h>
#include <string.h>

#define MAX_SHOWN 20 /* datasets that are named to choose from */

PRINTF_LIKE(1, 2) static int refuse(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
    return -EINVAL;
}

/* -- which dataset -- */

struct found {
    uint32_t n;
    char first[256], names[400];
};

static herr_t note(hid_t group, const char *name, const H5O_info_t *info, void *ctx)
{
    struct found *found = ctx;
    size_t at = strlen(found->names);

    (void) group;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    if (found->n++ == 0)
        snprintf(found->first, sizeof found->first, "%s", name);
    snprintf(found->names + at, sizeof found->names - at, "%s%s", at > 0 ? ", " : "",
             found->n <= MAX_SHOWN ? name : "...");
    return found->n > MAX_SHOWN;
}

/* The only one there is. */
static hid_t open_only(hid_t file)
{
    struct found found = { 0 };

    if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, note, &found, H5O_INFO_BASIC) < 0)
        return refuse("libhdf5 cannot list what is in it");
    if (found.n == 0)
        return refuse("it has no datasets");
    if (found.n > 1)
        return refuse("it has several arrays, say which, as FILE:NAME: %s", found.names);
    return H5Dopen2(file, found.first, H5P_DEFAULT);
}

/* -- what it is -- */

static char byte_order(hid_t type, size_t bytes)
{
    return bytes == 1 ? '|' : H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<';
}

/* Whether it is a complex number as h5py and others write them: two equal floats, r and i. */
static bool is_complex(hid_t type, hid_t *ret_float)
{
    char *name[2] = { NULL };
    bool is = H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2 &&
              (name[0] = H5Tget_member_name(type, 0)) != NULL && (name[1] = H5Tget_member_name(type, 1)) != NULL &&
              strcmp(name[0], "r") == 0 && strcmp(name[1], "i") == 0;
    hid_t part = is ? H5Tget_member_type(type, 0) : -1, other = is ? H5Tget_member_type(type, 1) : -1;

    is = is && H5Tget_class(part) == H5T_FLOAT && H5Tequal(part, other) > 0 && H5Tget_member_offset(type, 0) == 0 &&
         2 * H5Tget_size(part) == H5Tget_size(type);
    if (other >= 0)
        (void) H5Tclose(other);
    if (is)
        *ret_float = part;
    else if (part >= 0)
        (void) H5Tclose(part);
    (void) H5free_memory(name[0]);
    (void) H5free_memory(name[1]);
    return is;
}

/* Finds the letter of numpy that the type has; V for bytes that are none of them. What numpy has not is empty. */
static int say_type(hid_t type, uint64_t *ret_elem, char ret_type[static LAYOUT_MAX_TYPE])
{
    size_t bytes = H5Tget_size(type);
    char order = '|', letter = 'V';
    hid_t part;

    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        order = byte_order(type, bytes);
        letter = H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
        break;
    case H5T_FLOAT:
        order = byte_order(type, bytes);
        letter = 'f';
        break;
    case H5T_STRING:
        if (H5Tis_variable_str(type) != 0)
            return refuse("it has texts of varying length, which do not lie with the dataset");
        letter = 'S';
        break;
    case H5T_VLEN:
    case H5T_REFERENCE:
        return refuse("its elements only say where something else lies in the file");
    default:
        if (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_REFERENCE) > 0)
            return refuse("its elements have parts that only say where something else lies in the file");
        if (is_complex(type, &part)) {
            order = byte_order(part, bytes);
            letter = 'c';
            (void) H5Tclose(part);
        }
        break;
    }
    *ret_elem = bytes;
    if (snprintf(ret_type, LAYOUT_MAX_TYPE, "%c%c%zu", order, letter, bytes) >= LAYOUT_MAX_TYPE ||
        !layout_is_type(ret_type))
        ret_type[0] = 0;
    return 0;
}

static int say_shape(hid_t space, struct array *array)
{
    hsize_t size[H5S_MAX_RANK];
    int n = H5Sget_simple_extent_ndims(space);

    if (n < 0 || n > ARRAY_MAX_DIMS)
        return refuse("it has more than %u dimensions", ARRAY_MAX_DIMS);
    if (H5Sget_simple_extent_type(space) == H5S_NULL || H5Sget_simple_extent_dims(space, size, NULL) < 0)
        return refuse("it has no elements");
    for (int i = 0; i < n; i++) {
        if (size[i] == 0)
            return refuse("it has no elements: a dimension is 0");
        array->size[i] = size[i];
    }
    array->ndims = (uint32_t) n;
    if (n == 0)
        array->size[array->ndims++] = 1;
    return 0;
}

/* Finds where it begins, if it lies in one piece. */
static int say_place(hid_t dataset, hid_t how, uint64_t *ret_header)
{
    H5D_space_status_t status;
    haddr_t at;

    switch (H5Pget_layout(how)) {
    case H5D_CONTIGUOUS:
        break;
    case H5D_CHUNKED:
        return H5Pget_nfilters(how) > 0
                   ? refuse("it is compressed, or filtered in another way, in chunks: its elements have no places of "
                            "their own; h5repack -f NONE -l CONTI makes a file in which they have")
                   : refuse(
                         "it is chunked: it does not lie in one piece; h5repack -l CONTI makes a file in which it does");
    case H5D_COMPACT:
        return refuse(
            "it is kept within the file's own structures, which move: h5repack -l CONTI makes a file in which "
            "it lies in one piece");
    default:
        return refuse("it is made of other datasets");
    }
    if (H5Pget_external_count(how) > 0)
        return refuse("its elements lie in other files");
    /* Of what has no place, behind a user's block, the offset is wrong. */
    at = H5Dget_space_status(dataset, &status) < 0 || status == H5D_SPACE_STATUS_NOT_ALLOCATED ? HADDR_UNDEF
                                                                                               : H5Dget_offset(dataset);
    if (at == HADDR_UNDEF)
        return refuse("it has no place in the file yet: nothing was written to it");
    *ret_header = at;
    return 0;
}

static int say(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset), how = H5Dget_create_plist(dataset);
    char name[LAYOUT_MAX_TYPE] = "";
    struct array array = { 0 };
    uint64_t bytes;
    int r;

    if (type < 0 || space < 0 || how < 0)
        return refuse("libhdf5 cannot read what it says of the dataset");
    r = say_shape(space, &array);
    if (r == 0)
        r = say_place(dataset, how, &array.header);
    if (r == 0)
        r = say_type(type, &array.elem, name);
    if (r == 0 && array_bytes(&array, &bytes) < 0)
        r = refuse("the array reaches past byte 2^62");
    if (r < 0)
        return r;
    layout_print_array(stdout, &array, name);
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    hid_t file, dataset;

    if (argc != 2 && argc != 3) {
        puts("usage: fallsctl-hdf5 FILE [DATASET]");
        return 2;
    }
    (void) H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void) H5PLset_loading_state(0); /* no code that a file asks for */
    file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        puts("libhdf5 cannot open it: it is damaged, or somebody writes to it");
        return 1;
    }
    dataset = argc == 3 ? H5Dopen2(file, argv[2], H5P_DEFAULT) : open_only(file);
    if (dataset == -1)
        puts("it has no dataset of that name");
    return dataset < 0 || say(dataset) < 0 || fflush(stdout) != 0;
}

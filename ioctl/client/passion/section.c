/* SPDX-License-Identifier: MIT */
#include "ioctl/client/passion/section.h"

#include "ioctl/client/client.h"
#include "ioctl/client/passion/fail.h"

#include <string.h>

/* -- what is asked for -- */

static int check_access(uint32_t d, const int64_t access[3])
{
    if (access[0] < 0 || access[1] < -1 || access[2] < 1)
        return words(-EINVAL,
                     "bounds %" PRId64 ":%" PRId64 ":%" PRId64 " of dimension %" PRIu32 ": indexes count from "
                     "0, strides from 1",
                     access[0], access[1], access[2], d);
    return 0;
}

static int take_dim(struct section *section, uint32_t d, int64_t index, const int64_t access[3])
{
    uint64_t lower = (uint64_t) access[0], upper = (uint64_t) access[1], stride = (uint64_t) access[2];
    uint64_t n = (upper - lower) / stride + 1;

    if (upper >= section->array.size[d])
        return words(-ERANGE, "index %" PRIu64 " of dimension %" PRIu32 ", which has %" PRIu64 ", counted from 0",
                     upper, d, section->array.size[d]);
    if (index < 0 || (uint64_t) index > section->memory.size[d] || n > section->memory.size[d] - (uint64_t) index)
        return words(-ERANGE,
                     "%" PRIu64 " indexes from %" PRId64 " on do not lie in the memory's %" PRIu64
                     " of dimension %" PRIu32,
                     n, index, section->memory.size[d], d);
    section->range[d] = (struct fallsfs_range){ lower, upper, stride };
    section->place.lower[d] = (uint64_t) index;
    section->place.size[d] = n;
    return 0;
}

static void make_empty(struct section *section)
{
    memset(&section->place, 0, sizeof section->place);
    for (uint32_t d = 0; d < section->array.ndims; d++) {
        section->range[d] = (struct fallsfs_range){ 1, 0, 1 };
        /* An array that has no index here is none that could be asked for. */
        section->what.size[d] = MAX(section->what.size[d], 1);
    }
}

int section_init(struct section *section, const struct array *array, const uint64_t room[], const struct box *memory,
                 const int64_t index[], const int64_t access[][3])
{
    bool is_empty = false;
    int r = access != NULL ? 0 : words(-EINVAL, "which section is not said: AccessArray is NULL");

    *section = (struct section){ .array = *array,
                                 .what = { .ndims = array->ndims,
                                           .order = (uint32_t) array->order,
                                           .elem = array->elem,
                                           .header = array->header },
                                 .memory = *memory,
                                 .is_dense = true };
    memcpy(section->what.size, room, array->ndims * sizeof room[0]);
    for (uint32_t d = 0; d < array->ndims && r == 0; d++) {
        r = check_access(d, access[d]);
        is_empty |= access[d][0] > access[d][1];
    }
    if (r == 0 && is_empty) {
        make_empty(section);
        return 0;
    }
    for (uint32_t d = 0; d < array->ndims && r == 0; d++)
        r = take_dim(section, d, index != NULL ? index[d] : 0, access[d]);
    if (r < 0)
        return r;
    section->bytes = box_elements(&section->place, array->ndims) * array->elem;
    section->is_dense = box_is_dense(array, memory, &section->place);
    return 0;
}

/* -- in memory -- */

uint8_t *section_bytes(const struct section *section, char *Array, uint8_t *staging)
{
    return section->is_dense ? (uint8_t *) Array + box_offset(&section->array, &section->memory, &section->place)
                             : staging;
}

void section_gather(const struct section *section, const char *Array, uint8_t *staging)
{
    if (!section->is_dense)
        box_copy(&section->array, &section->place, &section->memory, Array, &section->place, staging);
}

void section_scatter(const struct section *section, char *Array, const uint8_t *staging)
{
    if (!section->is_dense)
        box_copy(&section->array, &section->place, &section->place, staging, &section->memory, Array);
}

/* -- moved -- */

int section_run(const struct section *section, uint8_t *bytes)
{
    if (section->group != NULL)
        return section->write ? fallsfs_write_all(section->group, &section->what, section->range, bytes)
                              : fallsfs_read_all(section->group, &section->what, section->range, bytes);
    if (section->bytes == 0)
        return 0;
    return section->write ? fallsfs_write_section(section->fd, &section->what, section->range, bytes)
                          : fallsfs_read_section(section->fd, &section->what, section->range, bytes);
}

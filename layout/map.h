/* SPDX-License-Identifier: MIT */
/* File byte ↔ (element, byte): the only place that turns one offset into another.
 *
 * runs_next cuts a byte range of the file into runs, pieces that are contiguous in the file and in one subfile, each as
 * long as it can be, in file order. The iterator is a plain value: it allocates nothing; copy it, or drop it. */
#ifndef FALLSFS_LAYOUT_MAP_H
#define FALLSFS_LAYOUT_MAP_H

#include "layout/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

struct place {
    uint32_t element; /* or ELEMENT_HEADER */
    uint64_t sub_off;
};

struct run {
    uint64_t file_off, sub_off, len;
    uint32_t element;
};

struct runs {
    const struct pattern *pattern;
    uint64_t file_off, end; /* what is still to come */
    uint64_t inside;        /* how far file_off lies in the segment that path leads to */
    struct cover_path path;
};

/* Finds the place of a byte of the file; -EOVERFLOW past FALLS_LIMIT. */
int pattern_map(const struct pattern *pattern, uint64_t file_off, struct place *ret_place);

/* Finds the byte of the file that is byte sub_off of an element: -ENOENT no such element, -ERANGE the element ends
 * before sub_off, -EOVERFLOW the byte lies past FALLS_LIMIT. */
int pattern_unmap(const struct pattern *pattern, uint32_t element, uint64_t sub_off, uint64_t *ret_file_off);

/* Finds the place in to, another partition of the same file, of the byte that is byte sub_off of an element of from. */
int pattern_map_between(const struct pattern *from, uint32_t element, uint64_t sub_off, const struct pattern *to,
                        struct place *ret_place);

/* Begins with the runs of [file_off, file_off + len); -EOVERFLOW past FALLS_LIMIT. */
int runs_init(struct runs *runs, const struct pattern *pattern, uint64_t file_off, uint64_t len);

/* Stores the next run; false when there are no more. */
bool runs_next(struct runs *runs, struct run *ret_run);

#ifdef __cplusplus
}
#endif

#endif

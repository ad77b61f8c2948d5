/* SPDX-License-Identifier: MIT */
/* A view is one element of a pattern over a file, as a file of its own: the bytes of the element, in file order,
 * without the holes between them.
 *
 *     array(shape=4x4, dist=(*,block), grid=1x2) element 1       file   . . 2 3 . . 6 7 . . 10 11 . .  14 15
 *                                                                view       0 1     2 3      4  5       6  7
 *
 * What that means is worked out when the view is set; an access maps its end points and no more. Immutable, shared.
 * Arithmetic only. */
#ifndef FALLSFS_FS_CORE_VIEW_VIEW_H
#define FALLSFS_FS_CORE_VIEW_VIEW_H

#include "layout/layout.h"

#include <stdatomic.h>

struct view {
    atomic_uint refs;
    char *text; /* as typed */
    struct layout *layout;
    uint32_t element;
    const struct nest *nest; /* its bytes, in file coordinates */
};

/* Reads "LAYOUT element N"; N can be left out where the pattern has one element. Disks are not asked: n_disks is how
 * many elements a layout has that names no number. Errors as layout_parse. */
int view_parse(const char *text, size_t len, uint32_t n_disks, struct view **ret_view, struct layout_error *ret_error);
struct view *view_ref(struct view *view);
void view_put(struct view *view);

/* How many bytes of memory a view takes. */
size_t view_bytes(const struct view *view);

/* How long the view of a file of that size is; and the smallest size of a file whose view is so long, -EFBIG: there is
 * no such file. */
uint64_t view_len(const struct view *view, uint64_t file_size);
int view_file_size(const struct view *view, uint64_t len, uint64_t *ret_file_size);

/* Some bytes of a view, and the part of the file from the first of them to the last: as long as they are when they lie
 * one after the other. */
struct view_piece {
    uint64_t len;
    uint64_t file_off, span;
};

#define VIEW_MAX_SPAN (UINT64_C(1) << 20)

/* Finds the next piece of [off, off + len) of the view, len > 0, that is worth one access: a run, or runs so near each
 * other that the holes between them cost less than another access. -EFBIG: past the last byte a file can have. */
int view_next(const struct view *view, uint64_t off, uint64_t len, struct view_piece *ret_piece);

#endif

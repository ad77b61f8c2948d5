/* SPDX-License-Identifier: MIT */
/* A set of another set's bytes: what a section of a view is in the file that the view is of.
 *
 *     outer                   {(2,3,6,3)}      byte    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
 *                                              rank    . . 0 1 . . . . 2 3  .  .  .  .  4  5
 *     inner, of its ranks     {(1,1,2,3)}                    #           #              #
 *     composed                {(3,3,6,3)}
 *
 * Families of the inner set that step over whole blocks of an outer family become families again; others repeat with
 * the least common multiple of both. The work follows the number of FALLS and not that of bytes. */
#ifndef FALLSFS_LAYOUT_COMPOSE_H
#define FALLSFS_LAYOUT_COMPOSE_H

#include "layout/nest.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COMPOSE_MAX_NODES FALLS_MAX_NODES

/* The bytes of outer whose ranks inner selects. -ERANGE: inner selects more than outer has; -E2BIG: the result has no
 * short description, though it can be walked through both; -ENOMEM. */
int nest_compose(const struct nest *outer, const struct nest *inner, struct nest **ret_nest);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* Datatypes as typemaps: MPI tells how a type was made (envelope and contents), and each constructor is a node.
 *
 *     vector(2, 1, 3, contiguous(4, BYTE))  ──  loop of 2, stride 12 ── run of 4
 *
 * A type's typemap is remembered as an attribute of the type, which MPI takes away together with the type, so it is
 * made once and never found under a handle that has come to mean something else. */
#ifndef FALLSFS_IOCTL_MPI_TYPES_H
#define FALLSFS_IOCTL_MPI_TYPES_H

#include "ioctl/mpi/typemap.h"

#include <mpi.h>

/* Whether MPI made the type, and not the program: it has no copies, and is never freed. */
bool types_is_predefined(MPI_Datatype type);

/* With a reference. -EINVAL: no type, or one that MPI says nothing of; -EOVERFLOW beyond TYPEMAP_LIMIT; -ENOMEM. */
int types_get(MPI_Datatype type, struct typemap **ret_typemap);

/* Lets a type have an equal typemap instead of its own: one is enough of what may be very large. */
void types_share(MPI_Datatype type, struct typemap *typemap);

/* As it is, but past what is remembered: for tests. */
int types_parse(MPI_Datatype type, struct typemap **ret_typemap);

#endif

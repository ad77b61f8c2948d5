/* SPDX-License-Identifier: MIT */
/* The MPI's own functions: whoever comes after this library under the same name, which may be another tool that sits
 * before the MPI. A name is looked up once. */
#ifndef FALLSFS_IOCTL_MPI_REAL_H
#define FALLSFS_IOCTL_MPI_REAL_H

#include <stdbool.h>

/* Puts the function into *ret_function, whatever its type. Without it the process ends: the caller's MPI has it. */
void real_find(void **known, const char *name, void *ret_function);

/* REAL(MPI_File_seek, handle, 0, MPI_SEEK_SET): what the library itself asks of the MPI. */
#define REAL(name, ...)                                         \
    (__extension__({                                            \
        static void *known_; /* of the call that stands here */ \
        __typeof__(&name) function_;                            \
        real_find(&known_, "P" #name, &function_);              \
        function_(__VA_ARGS__);                                 \
    }))

/* Whether the process's MPI is the one that this library was built for. */
bool real_is_ours(void);

#endif

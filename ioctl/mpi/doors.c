/* SPDX-License-Identifier: MIT */
/* The functions that programs call. Fortran's come to these as well: some MPIs call MPI_File_open there, others
 * PMPI_File_open, so both names are caught, and no Fortran symbol.
 *
 *     program ──> MPI_File_read ──> fallsfs_MPI_File_read (names.c)         its MPI is the one that this was built for
 *                       │
 *                       └─────────> the next MPI_File_read                  it is another one
 *
 * The other MPI's handles are of another size, so here nothing is known of types. All arguments are integers or
 * pointers, and few enough for registers, on all 64-bit machines there are: what is in these is passed on as it is. */
#include "ioctl/mpi/real.h"

_Static_assert(sizeof(long) == sizeof(void *), "any argument is a long");

#define DOOR(symbol)                                                       \
    long symbol(long a, long b, long c, long d, long e, long f);           \
    long fallsfs_##symbol(long a, long b, long c, long d, long e, long f); \
    long symbol(long a, long b, long c, long d, long e, long f)            \
    {                                                                      \
        static void *known;                                                \
        long (*next)(long, long, long, long, long, long);                  \
                                                                           \
        if (real_is_ours())                                                \
            return fallsfs_##symbol(a, b, c, d, e, f);                     \
        real_find(&known, #symbol, &next);                                 \
        return next(a, b, c, d, e, f);                                     \
    }

#define BOTH(name) DOOR(MPI_File_##name) DOOR(PMPI_File_##name)
#ifdef FALLSFS_MPI_LARGE_COUNTS
#define COUNTED(name) BOTH(name) BOTH(name##_c)
#else
#define COUNTED(name) BOTH(name)
#endif

COUNTED(read)
COUNTED(write)
COUNTED(read_at)
COUNTED(write_at)
COUNTED(iread)
COUNTED(iwrite)
COUNTED(iread_at)
COUNTED(iwrite_at)
COUNTED(read_all)
COUNTED(write_all)
COUNTED(read_at_all)
COUNTED(write_at_all)
COUNTED(iread_all)
COUNTED(iwrite_all)
COUNTED(iread_at_all)
COUNTED(iwrite_at_all)
COUNTED(read_all_begin)
COUNTED(write_all_begin)
COUNTED(read_at_all_begin)
COUNTED(write_at_all_begin)
COUNTED(read_shared)
COUNTED(write_shared)
COUNTED(iread_shared)
COUNTED(iwrite_shared)
COUNTED(read_ordered)
COUNTED(write_ordered)
COUNTED(read_ordered_begin)
COUNTED(write_ordered_begin)
BOTH(read_all_end)
BOTH(write_all_end)
BOTH(read_at_all_end)
BOTH(write_at_all_end)
BOTH(read_ordered_end)
BOTH(write_ordered_end)
BOTH(get_position_shared)
BOTH(seek_shared)
BOTH(set_view)
BOTH(get_view)
BOTH(seek)
BOTH(get_position)
BOTH(get_byte_offset)
BOTH(get_size)
BOTH(preallocate)
BOTH(sync)
BOTH(set_atomicity)
BOTH(get_info)
BOTH(set_info)
BOTH(open)
BOTH(close)

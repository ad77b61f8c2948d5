/* SPDX-License-Identifier: MIT */
/* PASSION's calls: arrays that do not fit into memory, by sections, from one file or from a file for each process.
 *
 *     global placement      FILE              one array file; sections in the whole array's indexes; all processes ask
 *     local placement       FILE:3, or mine   each process' part is a file; sections in the part's own indexes
 *
 * Names and arguments are as the paper prints them, "PASSION Runtime Library for the Intel Paragon"; passion(3) has what
 * was decided where it says nothing or two things. On a fallsfs mount FILE:3 is the part of process 3 of the same bytes
 * that FILE has, and one subfile of it where the layout is the distribution: who goes from one placement to the other
 * writes nothing anew. Elsewhere FILE:3 is a file of that name.
 *
 * Indexes count from 0, upper bounds are included. Functions give -1 or NULL when they fail, with errno set, and
 * fallsfs_strerror_last() says why in words. Memory and strings are only written to where a call reads a file. */
#ifndef FALLSFS_PASSION_H
#define FALLSFS_PASSION_H

#include <fallsfs.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct OCAD OCAD;         /* what an out-of-core array is */
typedef struct PFILE PFILE;       /* an open file of one */
typedef struct PREFETCH PREFETCH; /* a section that is being read */
typedef struct REUSE REUSE;       /* a walk through a local array */

enum { ROW_MAJOR = FALLSFS_ROW_MAJOR, COLUMN_MAJOR = FALLSFS_COLUMN_MAJOR };

/* distribution[i][0]; [i][1] is k of cyclic(k), 0 or 1 is cyclic. */
enum { PASSION_NONE, PASSION_BLOCK, PASSION_CYCLIC };

/* Who this process is among those that open files together; PFILEs keep to what held when they were opened. Without it:
 * FALLSFS_RANK, FALLSFS_SIZE and FALLSFS_TOKEN (32 hexadecimal digits) of the environment; without these: alone. Gives
 * 0 or -errno. token may be NULL for one process. */
int fallsfs_passion_init(int rank, int nprocs, const uint8_t token[16]);

/* -- the array -- */

OCAD *PASSION_malloc_OCAD(int dimensions);

/* size: of the whole array. distribution: NULL: none in any dimension. nprocs: in each dimension; NULL: 1.
 * ocla_size: of the local array's file, 0 or NULL: as large as the process' part. icla_size: [0] elements in memory
 * without overlap, 0 or NULL: all of the part, in global placement what the section has; [1] elements of the memory's
 * dimension, 0: [0] and both overlaps.
 * overlap: below and above; NULL: none. */
int PASSION_fill_OCAD(OCAD *OCADptr, int *size, int distribution[][2], int *nprocs, int *ocla_size, int icla_size[][2],
                      int overlap[][2], int elemsize, int storage);
int PASSION_fill_OCAD_64(OCAD *OCADptr, const int64_t *size, int distribution[][2], int *nprocs,
                         const int64_t *ocla_size, int64_t icla_size[][2], int64_t overlap[][2], int64_t elemsize,
                         int storage);
void PASSION_free_OCAD(OCAD *OCADptr);

/* The distribution as a layout, whose element i is the part of process i: "array(...) disp 512". Gives its length, or
 * -errno; -ERANGE more than len - 1. */
int fallsfs_passion_layout(const OCAD *OCADptr, uint64_t HeaderSize, char *text, size_t len);

/* -- files -- */

PFILE *PASSION_open(char *FileName, unsigned int HeaderSize);
PFILE *PASSION_open_64(char *FileName, uint64_t HeaderSize);
int PASSION_close(PFILE *PFilePtr);
int PASSION_read_header(PFILE *PFilePtr, char *HBuf);
int PASSION_write_header(PFILE *PFilePtr, char *HBuf);

/* -- local placement -- */

/* How many indexes the local array has in each dimension, for PASSION_read and PASSION_write, and the memory Array of
 * the calls that have an Index; for the OCAD's number of dimensions. 0 or -errno. */
int fallsfs_passion_sizes(PFILE *PFilePtr, OCAD *OCADptr, int64_t part[], int64_t memory[]);

/* All of the local array, densely. */
int PASSION_read(PFILE *PFilePtr, OCAD *OCADptr, char *Array);
int PASSION_write(PFILE *PFilePtr, OCAD *OCADptr, char *Array);

/* AccessArray[i]: lower, upper, stride. Index: where in the memory Array the section begins, whose dimensions are those
 * that the OCAD says; it is kept there in its shape, without strides. */
int PASSION_read_section(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3]);
int PASSION_write_section(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3]);
int PASSION_read_section_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index,
                            int64_t AccessArray[][3]);
int PASSION_write_section_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index,
                             int64_t AccessArray[][3]);

/* The same without waiting. Array is the call's until prefetch_wait, which frees the descriptor. */
PREFETCH *PASSION_read_prefetch(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3]);
PREFETCH *PASSION_prefetch_read(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3]);
PREFETCH *PASSION_read_prefetch_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index,
                                   int64_t AccessArray[][3]);
int PASSION_prefetch_wait(PREFETCH *PREFETCHptr);

/* The local array from index start on, an ICLA with its overlaps at a time, in the memory Array, where the ICLA begins
 * behind the lower overlap; what two of them share is read once. Overlaps beyond the array's ends are left alone. Gives
 * how many indexes of the dimension that is cut the ICLA has; -1 and an errno of 0 behind the last one. The descriptor
 * goes with the PFILE. */
REUSE *PASSION_reuse_init(PFILE *PFilePtr, OCAD *OCADptr, int start);
REUSE *PASSION_reuse_init_64(PFILE *PFilePtr, OCAD *OCADptr, int64_t start);
int PASSION_read_reuse(REUSE *REUSEptr, char *Array);

/* -- global placement -- */

/* All of the first nprocs processes ask, each for a section of the whole array. Where sections that are written
 * overlap, the process with the highest number wins. */
int PASSION_global_read(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3], int nprocs);
int PASSION_global_write(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3], int nprocs);
int PASSION_global_read_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index, int64_t AccessArray[][3],
                           int nprocs);
int PASSION_global_write_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index, int64_t AccessArray[][3],
                            int nprocs);

/* -- from one placement to the other: all processes of the OCAD's grid together; 0 or -errno -- */

/* The parts of all processes make the whole array, or the other way round; where the local file is a part of the same
 * bytes, there is nothing to be done. */
int fallsfs_passion_to_global(PFILE *local, PFILE *global, OCAD *OCADptr);
int fallsfs_passion_to_local(PFILE *local, PFILE *global, OCAD *OCADptr);

#ifdef __cplusplus
}
#endif

#endif

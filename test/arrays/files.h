/* SPDX-License-Identifier: MIT */
/* Files of arrays for random cases: below a directory, or in memory when there is none; and the byte where an element
 * lies, found the slow way. */
#ifndef FALLSFS_TEST_ARRAYS_FILES_H
#define FALLSFS_TEST_ARRAYS_FILES_H

#include "test/support/rng.h"

#include <fallsfs.h>

#define EXPECT(condition)                                 \
    do {                                                  \
        if (!(condition))                                 \
            files_missed(__FILE__, __LINE__, #condition); \
    } while (0)

/* Ends the program; says the seed of the case that files_case was told. */
_Noreturn void files_missed(const char *file, int line, const char *what);
void files_case(const struct rng *rng);

/* Where files are; NULL: in memory, without names. */
void files_in(const char *directory);

/* Whether a daemon serves what is made there. */
bool files_are_on_mount(void);

/* A new file with these bytes. */
int files_make(const char *name, const uint8_t *bytes, size_t len);

/* The same file opened again, for a rank of its own. */
int files_open_again(int fd, int flags);

/* The file has these bytes and no others. */
void files_equal(int fd, const uint8_t *bytes, size_t len);

/* Memory that all processes made later see; it has zeros. */
void *files_shared(size_t len);
void files_unshare(void *memory, size_t len);

/* Makes random bytes. */
void files_fill(struct rng *rng, uint8_t *bytes, size_t len);

/* A random array of so many dimensions and not many bytes. */
struct fallsfs_array files_array(struct rng *rng, uint32_t ndims);

/* Bytes of the array, without its header. */
size_t files_array_bytes(const struct fallsfs_array *array);

/* Where the element with these indexes begins, from the array's first byte on, in the memory of a box of these sizes.
 */
size_t files_element(const struct fallsfs_array *array, const uint64_t size[], const uint64_t index[]);

/* Goes from one element of a box to the next; false behind the last one. It begins with index = lower. */
bool files_step(uint32_t ndims, const uint64_t lower[], const uint64_t size[], uint64_t index[]);

#endif

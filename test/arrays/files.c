/* SPDX-License-Identifier: MIT */
#include "test/arrays/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *where;
static uint64_t seed;

void files_missed(const char *file, int line, const char *what)
{
    printf("%s:%d: %s; " RNG_SEED "; %s\n", file, line, what, seed, fallsfs_strerror_last());
    exit(1);
}

void files_case(const struct rng *rng)
{
    seed = rng->seed;
}

void files_in(const char *directory)
{
    where = directory;
}

void *files_shared(size_t len)
{
    void *memory = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(memory != MAP_FAILED);
    return memory;
}

void files_unshare(void *memory, size_t len)
{
    EXPECT(munmap(memory, len) == 0);
}

bool files_are_on_mount(void)
{
    struct fallsfs_ioc_info info;
    int fd = files_make("probe", (const uint8_t *) "", 0);
    bool are = fallsfs_info(fd, &info) == 0;

    close(fd);
    return are;
}

int files_make(const char *name, const uint8_t *bytes, size_t len)
{
    char path[512];
    int fd;

    snprintf(path, sizeof path, "%s/%s", where != NULL ? where : "", name);
    if (where != NULL)
        (void) unlink(path);
    fd = where != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : memfd_create(name, MFD_CLOEXEC);
    EXPECT(fd >= 0);
    EXPECT(pwrite(fd, bytes, len, 0) == (ssize_t) len);
    return fd;
}

int files_open_again(int fd, int flags)
{
    char path[64];
    int again;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    again = open(path, flags | O_CLOEXEC);
    EXPECT(again >= 0);
    return again;
}

void files_equal(int fd, const uint8_t *bytes, size_t len)
{
    uint8_t *got = malloc(len + 1);

    EXPECT(got != NULL && pread(fd, got, len + 1, 0) == (ssize_t) len);
    for (size_t i = 0; i < len; i++)
        EXPECT(got[i] == bytes[i]);
    free(got);
}

void files_fill(struct rng *rng, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i += 8) {
        uint64_t x = rng_u64(rng);

        memcpy(bytes + i, &x, MIN(len - i, 8));
    }
}

struct fallsfs_array files_array(struct rng *rng, uint32_t ndims)
{
    static const uint64_t elems[] = { 1, 1, 2, 3, 4, 8, 8, 13, 64, 1000, 4096 };
    static const uint64_t most[] = { 40, 12, 8, 5 };
    struct fallsfs_array array = { .ndims = ndims,
                                   .order = rng_chance(rng, 50) ? FALLSFS_COLUMN_MAJOR : FALLSFS_ROW_MAJOR,
                                   .elem = elems[rng_below(rng, ARRAY_SIZE(elems))],
                                   .header = rng_chance(rng, 50) ? rng_below(rng, 100) : 0 };

    for (uint32_t d = 0; d < ndims; d++)
        array.size[d] = rng_between(rng, 1, array.elem > 100 ? MIN(most[ndims - 1], 4) : most[ndims - 1]);
    return array;
}

size_t files_array_bytes(const struct fallsfs_array *array)
{
    size_t bytes = array->elem;

    for (uint32_t d = 0; d < array->ndims; d++)
        bytes *= array->size[d];
    return bytes;
}

size_t files_element(const struct fallsfs_array *array, const uint64_t size[], const uint64_t index[])
{
    size_t at = 0;

    for (uint32_t i = 0; i < array->ndims; i++) {
        uint32_t d = array->order == FALLSFS_ROW_MAJOR ? i : array->ndims - 1 - i;

        at = at * size[d] + index[d];
    }
    return at * array->elem;
}

bool files_step(uint32_t ndims, const uint64_t lower[], const uint64_t size[], uint64_t index[])
{
    for (uint32_t d = 0; d < ndims; d++) {
        if (++index[d] < lower[d] + size[d])
            return true;
        index[d] = lower[d];
    }
    return false;
}

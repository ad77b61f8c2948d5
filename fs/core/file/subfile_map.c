/* SPDX-License-Identifier: MIT */
#include "fs/core/file/subfile_map.h"

#include "fs/core/file/subfile.h"

#include <string.h>
#include <sys/mman.h>

#define CHUNK      (UINT64_C(256) << 20)
#define MAX_CHUNKS 4096 /* of a subfile: the kernel counts mappings, and a sparse file may end far away */
#define PAGE       4096u
#define MAX_PAGES  1024

/* The address of a chunk of a subfile, which is mapped if need be; NULL: it cannot be mapped. meta is held. */
static uint8_t *chunk_of(const struct disk *disk, struct subfile *sub, uint64_t number)
{
    if (number >= MAX_CHUNKS)
        return NULL;
    if (number >= sub->n_chunks) {
        uint8_t **chunk = realloc(sub->chunk, (number + 1) * sizeof *chunk);

        if (chunk == NULL)
            return NULL;
        memset(chunk + sub->n_chunks, 0, (number + 1 - sub->n_chunks) * sizeof *chunk);
        sub->chunk = chunk;
        sub->n_chunks = (uint32_t) (number + 1);
    }
    if (sub->chunk[number] == NULL)
        sub->chunk[number] = disk->ops->map(disk->ctx, sub->fd, number * CHUNK, CHUNK);
    return sub->chunk[number];
}

/* How many of the bytes from addr on the page cache has. */
static size_t resident(uint8_t *addr, size_t len)
{
    unsigned char in_core[MAX_PAGES];
    size_t before = (uintptr_t) addr % PAGE, n_pages, i = 0;

    len = MIN(len, MAX_PAGES * (size_t) PAGE - before);
    n_pages = (before + len + PAGE - 1) / PAGE;
    if (mincore(addr - before, n_pages * PAGE, in_core) < 0)
        return 0;
    while (i < n_pages && (in_core[i] & 1) != 0)
        i++;
    return i == 0 ? 0 : MIN(len, i * PAGE - before);
}

size_t subfile_map(struct fs *fs, struct generation *generation, uint32_t slot, uint64_t sub_off, size_t len,
                   uint8_t **ret_addr)
{
    struct subfile *sub = &generation->sub[slot];
    uint64_t in_chunk = sub_off % CHUNK;
    const struct disk *disk;
    uint8_t *addr = NULL;

    if (subfile_disk(fs, generation, slot, &disk) < 0 || disk->ops->map == NULL)
        return 0;
    len = MIN(len, CHUNK - in_chunk);
    mutex_lock(generation->meta);
    if (sub->fd >= 0 && sub->len != SUBFILE_LEN_UNKNOWN && sub_off < sub->len) {
        len = MIN(len, sub->len - sub_off);
        addr = chunk_of(disk, sub, sub_off / CHUNK);
    }
    mutex_unlock(generation->meta);
    if (addr == NULL)
        return 0;
    *ret_addr = addr + in_chunk;
    return resident(*ret_addr, len);
}

void subfile_unmap(const struct disk *disk, struct subfile *sub)
{
    for (uint32_t i = 0; i < sub->n_chunks; i++)
        if (sub->chunk[i] != NULL)
            disk->ops->unmap(disk->ctx, sub->chunk[i], CHUNK);
    free(sub->chunk);
    sub->chunk = NULL;
    sub->n_chunks = 0;
}

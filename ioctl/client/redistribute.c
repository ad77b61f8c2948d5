/* SPDX-License-Identifier: MIT */
/* Bytes from one distribution to another: sets of FALLS in memory, in memory and in a file, elements of two layouts.
 *
 *     element i of a    0 1 . . 2 3 . .      what both have, as sets of their own bytes:  on_a, on_b
 *     element j of b    0 . 1 . 2 . 3 .      on_a gathers, on_b scatters
 */
#include "ioctl/client/client.h"
#include "ioctl/client/element.h"
#include "layout/gather.h"
#include "layout/overlap.h"

#include <string.h>

#define CHUNK  (UINT64_C(64) << 10) /* bytes on their way from memory to memory */
#define AMOUNT (UINT64_C(16) << 20) /* and between a file and memory with holes */

/* -- sets -- */

static int parse(const char *falls, struct nest **ret_nest)
{
    struct layout_error error;
    int r = nest_parse(falls, strlen(falls), ret_nest, &error);

    return r < 0 ? words(r, "column %zu of the set: %s", error.column, error.why) : 0;
}

/* Ranks lo to hi of the set, packed from there on. */
static void gather_ranks(const struct nest *nest, uint64_t lo, uint64_t hi, const uint8_t *spread, uint8_t *packed)
{
    uint64_t first = nest_select(nest, lo);

    nest_gather(nest, first, nest_select(nest, hi - 1) + 1, spread + first, packed);
}

static void scatter_ranks(const struct nest *nest, uint64_t lo, uint64_t hi, uint8_t *spread, const uint8_t *packed)
{
    uint64_t first = nest_select(nest, lo);

    nest_scatter(nest, first, nest_select(nest, hi - 1) + 1, spread + first, packed);
}

uint64_t fallsfs_falls_bytes(const char *falls)
{
    cleanup(nest_freep) struct nest *nest = NULL;

    return parse(falls, &nest) == 0 ? nest->size : 0;
}

int fallsfs_pack(const char *falls, const void *spread, void *packed)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    int r = parse(falls, &nest);

    if (r == 0 && nest->size > 0)
        gather_ranks(nest, 0, nest->size, spread, packed);
    return r;
}

int fallsfs_unpack(const char *falls, const void *packed, void *spread)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    int r = parse(falls, &nest);

    if (r == 0 && nest->size > 0)
        scatter_ranks(nest, 0, nest->size, spread, packed);
    return r;
}

/* -- a set in a file, and one in memory -- */

static int parse_both(const char *falls, const char *mem_falls, struct nest **ret_mem)
{
    cleanup(nest_freep) struct nest *nest = NULL, *mem = NULL;
    int r = parse(falls, &nest);

    if (r == 0)
        r = parse(mem_falls, &mem);
    if (r < 0)
        return r;
    if (nest->size != mem->size)
        return words(-EINVAL, "the set has %" PRIu64 " bytes in the file and %" PRIu64 " in memory", nest->size,
                     mem->size);
    *ret_mem = steal(mem);
    return 0;
}

/* A part of the file's set at a time, through memory that the daemon can reach. */
static int transfer(int fd, bool write, uint64_t disp, const char *falls, const struct nest *mem, uint8_t *spread)
{
    uint64_t amount = MIN(mem->size, AMOUNT);
    uint8_t *packed = fallsfs_alloc(amount);
    int r = 0;

    if (packed == NULL)
        return words(-ENOMEM, "there is not enough memory");
    for (uint64_t k = 0, n; r == 0 && k < mem->size; k += n) {
        struct fallsfs_list list = { .disp = disp, .falls = falls, .skip = k };

        n = list.bytes = MIN(amount, mem->size - k);
        if (write)
            gather_ranks(mem, k, k + n, spread, packed);
        r = write ? fallsfs_write_list(fd, &list, packed) : fallsfs_read_list(fd, &list, packed);
        if (r == 0 && !write)
            scatter_ranks(mem, k, k + n, spread, packed);
    }
    fallsfs_free(packed);
    return r;
}

static int move_falls(int fd, bool write, uint64_t disp, const char *falls, const char *mem_falls, void *mem)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    int r = parse_both(falls, mem_falls, &nest);

    return r == 0 ? transfer(fd, write, disp, falls, nest, mem) : r;
}

int fallsfs_read_falls_into(int fd, uint64_t disp, const char *falls, const char *mem_falls, void *mem)
{
    return move_falls(fd, false, disp, falls, mem_falls, mem);
}

int fallsfs_write_falls_from(int fd, uint64_t disp, const char *falls, const char *mem_falls, const void *mem)
{
    return move_falls(fd, true, disp, falls, mem_falls, drop_const(mem));
}

/* -- elements of two layouts, in memory -- */

/* The part of the file that is spoken of. */
struct extent {
    uint64_t lo, hi;
};

static int find_extent(const struct pattern *from, uint64_t off, uint64_t len, struct extent *ret_extent)
{
    struct extent extent = { from->disp, from->disp + from->size };

    if (len > 0 && (off > FALLS_LIMIT || len > FALLS_LIMIT - off))
        return words(-EOVERFLOW, "that part of the file lies behind the last byte that a file can have");
    if (len > 0)
        extent = (struct extent){ off, off + len };
    *ret_extent = extent;
    return 0;
}

static void move_overlap(const struct overlap *overlap, const uint8_t *from, uint8_t *to)
{
    uint8_t chunk[CHUNK];

    for (uint64_t k = 0, n; k < overlap->size; k += n) {
        n = MIN(CHUNK, overlap->size - k);
        gather_ranks(overlap->on_a, k, k + n, from, chunk);
        scatter_ranks(overlap->on_b, k, k + n, to, chunk);
    }
}

/* The first byte at or after x, and how many follow it without a hole; false: there is none before end. */
static bool next_run(const struct nest *nest, uint64_t x, uint64_t end, uint64_t *ret_rank, uint64_t *ret_off,
                     uint64_t *ret_len)
{
    *ret_rank = nest_rank(nest, x);
    if (*ret_rank == nest->size)
        return false;
    *ret_off = nest_select_run(nest, *ret_rank, ret_len);
    return *ret_off < end;
}

/* Run by run, where what both have in common has no short description. */
static uint64_t walk(const struct nest *a, const struct nest *b, const struct extent *extent, const uint8_t *from,
                     uint8_t *to)
{
    uint64_t x = extent->lo, moved = 0, rank_a, rank_b, off_a, off_b, len_a, len_b;
    const uint64_t first_a = nest_rank(a, extent->lo), first_b = nest_rank(b, extent->lo);

    while (next_run(a, x, extent->hi, &rank_a, &off_a, &len_a) &&
           next_run(b, off_a, extent->hi, &rank_b, &off_b, &len_b)) {
        uint64_t n = 0;

        if (off_b < off_a + len_a) {
            n = MIN(MIN(off_a + len_a, off_b + len_b), extent->hi) - off_b;
            memcpy(to + (rank_b - first_b), from + (rank_a + (off_b - off_a) - first_a), n);
        }
        moved += n;
        x = off_b + n;
    }
    return moved;
}

static int redistribute(const struct nest *a, const struct nest *b, const struct extent *extent, const uint8_t *from,
                        uint8_t *to, uint64_t *ret_bytes)
{
    struct overlap overlap;
    int r = overlap_of_nests(a, b, extent->lo, extent->hi - extent->lo, &overlap);

    if (r == -E2BIG) {
        *ret_bytes = walk(a, b, extent, from, to);
        return 0;
    }
    if (r < 0)
        return words(r, "%s", strerror(-r));
    if (overlap.size > 0)
        move_overlap(&overlap, from, to);
    *ret_bytes = overlap.size;
    overlap_done(&overlap);
    return 0;
}

int fallsfs_redistribute(const struct fallsfs_held *from, const struct fallsfs_held *to, uint64_t off, uint64_t len,
                         uint64_t *ret_bytes)
{
    cleanup(layout_freep) struct layout *a = NULL, *b = NULL;
    struct extent extent = { 0 };
    uint64_t bytes = 0;
    int r = element_find(from->layout, from->element, &a);

    if (r == 0)
        r = element_find(to->layout, to->element, &b);
    if (r == 0)
        r = find_extent(a->pattern, off, len, &extent);
    if (r == 0)
        r = redistribute(pattern_element(a->pattern, from->element), pattern_element(b->pattern, to->element), &extent,
                         from->bytes, to->bytes, &bytes);
    if (r == 0 && ret_bytes != NULL)
        *ret_bytes = bytes;
    return r;
}

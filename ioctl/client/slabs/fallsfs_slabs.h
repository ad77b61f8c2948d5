/* SPDX-License-Identifier: MIT */
/* An array that is larger than memory, slab by slab: the next ones are read while one is computed on.
 *
 *     struct fallsfs_slabs_walk walk = { .axis = 0, .memory = 1 << 30 };
 *     struct fallsfs_slabs_array of[] = {
 *         { .fd = old, .access = FALLSFS_SLABS_READ, .array = &matrix, .halo = { { 1, 1 } } },
 *         { .fd = new, .access = FALLSFS_SLABS_WRITE, .array = &matrix },
 *     };
 *     struct fallsfs_slab slab[2];
 *
 *     fallsfs_slabs_open(&walk, of, 2, &slabs);
 *     while ((r = fallsfs_slabs_next(slabs, slab)) == 1)
 *         compute(slab[0].bytes, slab[1].bytes); // rows slab[1].lower[0] and slab[1].size[0] - 1 more
 *     fallsfs_slabs_close(slabs);
 *
 * A halo is what a slab shows of its neighbours, as the file had it before the walk; each byte is read once, whatever
 * the halo. What is written back is the slab without it. Functions return 0 or more, or -errno, and
 * fallsfs_strerror_last() says in words what went wrong. A walk is for one thread at a time. */
#ifndef FALLSFS_SLABS_H
#define FALLSFS_SLABS_H

#include <fallsfs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FALLSFS_SLABS_READ  1U
#define FALLSFS_SLABS_WRITE 2U

/* One of the arrays that are walked in step; what is not said is 0. They have the same shape; elements, headers, orders
 * and files may differ. A file that is read and written with a halo is so by one process alone: in a group, read one
 * array and write another. */
struct fallsfs_slabs_array {
    int fd;                             /* without a group */
    uint32_t access;                    /* FALLSFS_SLABS_READ, _WRITE or both */
    struct fallsfs_group *group;        /* NULL: alone */
    const struct fallsfs_array *array;  /* looked at by open alone */
    uint64_t halo[FALLSFS_MAX_DIMS][2]; /* elements below and above the slab, as far as the array goes */
    uint64_t reserved[4];
};

#define FALLSFS_SLABS_NO_PREFETCH UINT32_MAX

/* How the walk goes; what is not said is 0, and all ranks of a group say the same, but for part. */
struct fallsfs_slabs_walk {
    uint32_t axis;                    /* the dimension that is cut into slabs, unless tile says more */
    uint32_t prefetch;                /* slabs that are read ahead; 0: one; FALLSFS_SLABS_NO_PREFETCH: none */
    uint64_t memory;                  /* bytes for all of the walk; 0: 64 MiB, or what tile asks for */
    uint64_t tile[FALLSFS_MAX_DIMS];  /* elements of a slab; 0: along the axis as many as memory holds, else all */
    uint64_t grid[FALLSFS_MAX_DIMS];  /* of a group's ranks, as in layouts: each walks a block; all 0: along the axis */
    const struct fallsfs_range *part; /* of the array, with strides of 1, that this process walks; NULL: all of it, or
                                       * the rank's block */
    uint64_t rounds; /* in a group, with part: how many slabs the rank with the most has, or more; others get empty
                      * ones at the end */
    uint64_t reserved[4];
};

/* An array's slab: dense in memory, in the array's order, with its halo. It is the caller's until the next call. Where
 * it is only written, what is in it at first means nothing. */
struct fallsfs_slab {
    void *bytes;
    uint64_t first[FALLSFS_MAX_DIMS], n[FALLSFS_MAX_DIMS]; /* in memory: the index of the first element, and how many */
    uint64_t lower[FALLSFS_MAX_DIMS], size[FALLSFS_MAX_DIMS]; /* the same without the halo; sizes of 0: an empty slab */
};

/* What a walk has done so far. */
struct fallsfs_slabs_stats {
    uint64_t rounds;            /* slabs that were handed out */
    uint64_t bytes_read;        /* that were asked of the files */
    uint64_t bytes_kept;        /* that a slab had from the one before instead */
    uint64_t bytes_written;     /* that were given to the files */
    uint64_t n_ready;           /* slabs that lay there already when they were asked for */
    uint64_t waited_read_ns;    /* in next, for slabs */
    uint64_t waited_written_ns; /* in next and close, for slabs to be written */
    uint64_t memory;            /* that the walk takes */
    uint64_t reserved[4];
};

struct fallsfs_slabs;

/* Begins a walk. -EINVAL what makes no sense, -ENOMEM a slab of a single index does not fit into the memory. */
int fallsfs_slabs_open(const struct fallsfs_slabs_walk *walk, const struct fallsfs_slabs_array arrays[],
                       uint32_t n_arrays, struct fallsfs_slabs **ret_slabs);

/* Takes the slabs in hand back, to be written where they shall be, and hands out the next ones, one for each array: 1.
 * 0: there are no more, and all is written. In a group all ranks get as many. An error is the walk's end. */
int fallsfs_slabs_next(struct fallsfs_slabs *slabs, struct fallsfs_slab slab[]);

/* Ends the walk and frees it, whatever is returned: the first error of what was to be written. Slabs that next has not
 * taken back are not written. */
int fallsfs_slabs_close(struct fallsfs_slabs *slabs);

void fallsfs_slabs_stats(const struct fallsfs_slabs *slabs, struct fallsfs_slabs_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
#include "ioctl/client/slabs/route.h"

#include "ioctl/client/client.h"

#include <fcntl.h>
#include <string.h>

#define DEFAULT_MEMORY (UINT64_C(64) << 20)
#define MAX_REQUESTS   15 /* under way at once: a rank may have 16 */

/* The ranks that walk together. */
struct crew {
    uint32_t rank, n;
    bool is_group;
};

/* -- checks -- */

/* Whether the descriptor is open for what is to be done. What is wrong otherwise is told later. */
static bool is_allowed(int fd, uint32_t access)
{
    int flags = fcntl(fd, F_GETFL);

    return flags < 0 || (((access & FALLSFS_SLABS_READ) == 0 || (flags & O_ACCMODE) != O_WRONLY) &&
                         ((access & FALLSFS_SLABS_WRITE) == 0 || (flags & O_ACCMODE) != O_RDONLY));
}

static int take_array(const struct fallsfs_slabs_array *asked, const struct fallsfs_slabs_array *first,
                      struct track *track)
{
    const struct fallsfs_array *what = asked->array;
    bool has_halo = false;
    uint64_t bytes;

    if (asked->access == 0 || (asked->access & ~(FALLSFS_SLABS_READ | FALLSFS_SLABS_WRITE)) != 0)
        return words(-EINVAL, "an array is read, written, or both: FALLSFS_SLABS_READ, FALLSFS_SLABS_WRITE");
    if (what == NULL)
        return words(-EINVAL, "what array is walked is not said: NULL was given");
    if (!is_allowed(asked->group != NULL ? group_fd(asked->group) : asked->fd, asked->access))
        return words(-EBADF, "the descriptor is not open for what the walk is to do: to read, O_RDONLY or O_RDWR, to "
                             "write, O_WRONLY or O_RDWR");
    if (what->ndims == 0 || what->ndims > FALLSFS_MAX_DIMS || what->order > FALLSFS_COLUMN_MAJOR)
        return words(-EINVAL, "an array has 1 to %d dimensions, and rows or columns come first", FALLSFS_MAX_DIMS);
    *track = (struct track){ .fd = asked->fd,
                             .group = asked->group,
                             .what = *what,
                             .array = { .ndims = what->ndims,
                                        .order = (enum array_order) what->order,
                                        .elem = what->elem,
                                        .header = what->header },
                             .reads = (asked->access & FALLSFS_SLABS_READ) != 0,
                             .writes = (asked->access & FALLSFS_SLABS_WRITE) != 0 };
    if (what->ndims != first->array->ndims ||
        memcmp(what->size, first->array->size, what->ndims * sizeof what->size[0]) != 0)
        return words(-EINVAL, "arrays that are walked in step have the same shape");
    for (uint32_t d = 0; d < what->ndims; d++) {
        track->array.size[d] = what->size[d];
        track->halo.lower[d] = MIN(asked->halo[d][0], what->size[d]);
        track->halo.upper[d] = MIN(asked->halo[d][1], what->size[d]);
        has_halo |= track->halo.lower[d] + track->halo.upper[d] > 0;
    }
    if (array_bytes(&track->array, &bytes) < 0)
        return words(-EINVAL, "an array has elements and indexes, and ends before 2^62 bytes of its file");
    if (has_halo && !track->reads)
        return words(-EINVAL, "a halo is read: an array that is only written has none");
    if (has_halo && track->writes && track->group != NULL)
        return words(-EINVAL,
                     "in a group, what is written in place has no halo, since others would see it written: walk "
                     "two arrays in step, one that is read and one that is written");
    return 0;
}

static int take_arrays(const struct fallsfs_slabs_array arrays[], uint32_t n, struct track tracks[])
{
    int r = 0;

    for (uint32_t i = 0; i < n && r == 0; i++)
        r = take_array(&arrays[i], &arrays[0], &tracks[i]);
    return r;
}

static int find_crew(const struct track tracks[], uint32_t n, struct crew *ret_crew)
{
    struct crew crew = { .n = 1 };

    for (uint32_t i = 0; i < n; i++)
        if (tracks[i].group != NULL) {
            struct crew other = { .is_group = true };

            group_place(tracks[i].group, &other.rank, &other.n);
            if (crew.is_group && (crew.rank != other.rank || crew.n != other.n))
                return words(-EINVAL, "arrays that are walked in step have groups of the same ranks");
            crew = other;
        }
    *ret_crew = crew;
    return 0;
}

/* -- who walks what -- */

static struct box whole(const struct array *array)
{
    struct box box = { .lower = { 0 } };

    memcpy(box.size, array->size, sizeof box.size);
    return box;
}

static int own_part(const struct array *array, const struct fallsfs_range part[], struct box *ret_part)
{
    struct box box = { .lower = { 0 } };

    for (uint32_t d = 0; d < array->ndims; d++) {
        if (part[d].stride != 1)
            return words(-EINVAL, "the part that is walked has strides of 1");
        if (part[d].lower > part[d].upper)
            continue;
        if (part[d].upper >= array->size[d])
            return words(-EINVAL,
                         "the part that is walked reaches from index %" PRIu64 " to %" PRIu64 " of dimension %" PRIu32
                         ", which has %" PRIu64,
                         part[d].lower, part[d].upper, d, array->size[d]);
        box.lower[d] = part[d].lower;
        box.size[d] = part[d].upper - part[d].lower + 1;
    }
    *ret_part = box;
    return 0;
}

/* The block of one rank, as HPF and layouts deal it out: the first ones get the most. */
static int block_part(const struct array *array, const uint64_t grid[], const struct crew *crew, uint32_t rank,
                      struct box *ret_part)
{
    uint64_t rest = rank, n = 1;

    for (uint32_t d = array->ndims; d-- > 0;) {
        uint64_t k, index;

        if (grid[d] == 0 || mul_overflows(n, grid[d], &n))
            return words(-EINVAL,
                         "a grid of ranks has 1 or more in each dimension, together as many as there are ranks");
        k = array->size[d] / grid[d] + (array->size[d] % grid[d] != 0);
        index = rest % grid[d];
        rest /= grid[d];
        ret_part->lower[d] = MIN(index * k, array->size[d]);
        ret_part->size[d] = MIN(k, array->size[d] - ret_part->lower[d]);
    }
    return n == crew->n ? 0
                        : words(-EINVAL, "a grid of %" PRIu64 " ranks is no grid for the group's %" PRIu32, n, crew->n);
}

static bool is_given(const uint64_t grid[])
{
    bool given = false;

    for (uint32_t d = 0; d < FALLSFS_MAX_DIMS; d++)
        given |= grid[d] != 0;
    return given;
}

/* What this rank walks, and what the one with the most does. */
static int find_parts(const struct fallsfs_slabs_walk *asked, const struct array *array, const struct crew *crew,
                      struct box *ret_part, struct box *ret_most)
{
    uint64_t along[FALLSFS_MAX_DIMS];
    const uint64_t *grid = along;
    int r;

    if (is_given(asked->grid) && (!crew->is_group || asked->part != NULL))
        return words(-EINVAL, "a grid deals the array out to a group's ranks, if they name no part");
    *ret_part = whole(array);
    r = asked->part != NULL ? own_part(array, asked->part, ret_part) : 0;
    *ret_most = *ret_part;
    if (r < 0 || asked->part != NULL || !crew->is_group)
        return r;
    for (uint32_t d = 0; d < FALLSFS_MAX_DIMS; d++)
        along[d] = d == asked->axis ? crew->n : 1;
    if (is_given(asked->grid))
        grid = asked->grid;
    r = block_part(array, grid, crew, crew->rank, ret_part);
    return r < 0 ? r : block_part(array, grid, crew, 0, ret_most);
}

/* -- how large a slab is -- */

static uint64_t measure(struct track tracks[], uint32_t n, const struct walk *walk, uint32_t n_ahead)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t len = track_measure(&tracks[i], walk, n_ahead);

        total = len > UINT64_MAX - total ? UINT64_MAX : total + len;
    }
    return total;
}

/* The most indexes of the axis that memory holds a slab of; 0 if it holds not even one. */
static uint64_t most_along(struct track tracks[], uint32_t n, const struct box *most, uint32_t axis, uint64_t tile[],
                           uint32_t n_ahead, uint64_t memory)
{
    uint64_t lo = 0, hi = most->size[axis]; /* lo of them fit */

    while (lo < hi) {
        struct walk walk;

        tile[axis] = lo + (hi - lo + 1) / 2;
        walk_init(&walk, &tracks[0].array, most, tile);
        if (measure(tracks, n, &walk, n_ahead) <= memory)
            lo = tile[axis];
        else
            hi = tile[axis] - 1;
    }
    return lo;
}

static int find_tile(const struct fallsfs_slabs_walk *asked, struct track tracks[], uint32_t n, const struct box *most,
                     uint32_t n_ahead, uint64_t tile[])
{
    uint64_t memory = asked->memory > 0 ? asked->memory : DEFAULT_MEMORY, least;
    bool is_bounded = asked->memory > 0 || asked->tile[asked->axis] == 0;
    struct walk walk;

    for (uint32_t d = 0; d < tracks[0].array.ndims; d++)
        tile[d] = MAX(MIN(asked->tile[d] > 0 ? asked->tile[d] : UINT64_MAX, most->size[d]), 1);
    if (asked->tile[asked->axis] == 0)
        tile[asked->axis] = MAX(most_along(tracks, n, most, asked->axis, tile, n_ahead, memory), 1);
    walk_init(&walk, &tracks[0].array, most, tile);
    least = measure(tracks, n, &walk, n_ahead);
    if (is_bounded && least > memory)
        return words(-ENOMEM,
                     "the walk takes %" PRIu64 " bytes of memory at least, and may have %" PRIu64
                     ": allow more, cut tiles, or read less ahead",
                     least, memory);
    return 0;
}

/* -- the route -- */

int route_init(struct route *route, const struct fallsfs_slabs_walk *asked, const struct fallsfs_slabs_array arrays[],
               uint32_t n, struct track tracks[])
{
    uint64_t tile[FALLSFS_MAX_DIMS];
    struct crew crew = { .n = 1 };
    struct box part = { .lower = { 0 } }, most = part;
    struct walk walk;
    int r = n > 0 ? take_arrays(arrays, n, tracks) : words(-EINVAL, "there is no array to walk");

    if (r == 0)
        r = find_crew(tracks, n, &crew);
    if (r == 0 && asked->axis >= tracks[0].array.ndims)
        r = words(-EINVAL, "there is no dimension %" PRIu32 " to walk along", asked->axis);
    if (r == 0)
        r = find_parts(asked, &tracks[0].array, &crew, &part, &most);
    route->n_ahead = asked->prefetch == 0 ? 1 : asked->prefetch == FALLSFS_SLABS_NO_PREFETCH ? 0 : asked->prefetch;
    if (r == 0 && (n > MAX_REQUESTS || (route->n_ahead + UINT64_C(2)) * n > MAX_REQUESTS))
        r = words(-EINVAL,
                  "%" PRIu32 " arrays of which %" PRIu32 " slabs are read ahead are too many requests at a time", n,
                  route->n_ahead);
    if (r == 0)
        r = find_tile(asked, tracks, n, &most, route->n_ahead, tile);
    if (r < 0)
        return r;
    walk_init(&walk, &tracks[0].array, &most, tile);
    walk_init(&route->walk, &tracks[0].array, &part, tile);
    (void) measure(tracks, n, &route->walk, route->n_ahead);
    route->n_rounds = crew.is_group ? MAX(MAX(walk.n_tiles, route->walk.n_tiles), asked->rounds) : route->walk.n_tiles;
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"
#include "ioctl/client/passion/fail.h"
#include "ioctl/client/passion/section.h"
#include "ioctl/client/slabs/fallsfs_slabs.h"

#include <string.h>

struct REUSE {
    REUSE *next;
    struct fallsfs_slabs *slabs; /* NULL: nothing is to be read */
    struct array part;
    struct box memory;
    uint64_t overlap[ARRAY_MAX_DIMS]; /* below */
    uint32_t axis;                    /* that is cut, the slowest of several */
};

/* The dimension that varies slowest among those that the ICLA has not all of; of all, if it has them all. */
static uint32_t find_axis(const OCAD *ocad, const struct array *part)
{
    for (uint32_t pace = part->ndims; pace-- > 0;) {
        uint32_t d = array_dim(part, pace);

        if (ocad->icla[d] > 0 && ocad->icla[d] < part->size[d])
            return d;
    }
    return array_dim(part, part->ndims - 1);
}

static int begin(const OCAD *ocad, const struct local *local, uint64_t start, REUSE *reuse)
{
    const struct array *part = &reuse->part;
    struct fallsfs_array what = {
        .ndims = part->ndims, .order = (uint32_t) part->order, .elem = part->elem, .header = part->header
    };
    struct fallsfs_slabs_array of = { .fd = local->fd, .access = FALLSFS_SLABS_READ, .array = &what };
    struct fallsfs_slabs_walk walk = { .axis = reuse->axis };
    struct fallsfs_range range[ARRAY_MAX_DIMS];
    bool is_empty = start >= part->size[reuse->axis];

    for (uint32_t d = 0; d < part->ndims; d++) {
        is_empty |= part->size[d] == 0;
        what.size[d] = local->room[d];
        walk.tile[d] = ocad->icla[d] > 0 ? ocad->icla[d] : part->size[d];
        range[d] = (struct fallsfs_range){ d == reuse->axis ? start : 0, part->size[d] - 1, 1 };
        memcpy(of.halo[d], ocad->overlap[d], sizeof of.halo[d]);
        reuse->overlap[d] = ocad->overlap[d][0];
    }
    walk.part = range;
    return is_empty ? 0 : fallsfs_slabs_open(&walk, &of, 1, &reuse->slabs);
}

REUSE *PASSION_reuse_init_64(PFILE *PFilePtr, OCAD *OCADptr, int64_t start)
{
    REUSE *reuse = calloc(1, sizeof *reuse);
    struct local local;
    int r = reuse != NULL ? 0 : words(-ENOMEM, "there is not enough memory");

    if (r == 0 && start < 0)
        r = words(-EINVAL, "a local array begins at index 0, not %" PRId64, start);
    if (r == 0)
        r = pfile_local(PFilePtr, OCADptr, &local);
    if (r == 0) {
        reuse->part = local.part;
        reuse->memory = ocad_memory(OCADptr, &reuse->part);
        reuse->axis = find_axis(OCADptr, &reuse->part);
        r = begin(OCADptr, &local, (uint64_t) start, reuse);
    }
    if (r < 0) {
        free(reuse);
        fail(r);
        return NULL;
    }
    reuse->next = PFilePtr->reuses;
    PFilePtr->reuses = reuse;
    return reuse;
}

REUSE *PASSION_reuse_init(PFILE *PFilePtr, OCAD *OCADptr, int start)
{
    return PASSION_reuse_init_64(PFilePtr, OCADptr, start);
}

/* To where the ICLA begins behind the lower overlap, whether all of that is there or not. An overlap ends with the
 * part, though the file may have room behind it. */
static void place(const REUSE *reuse, const struct fallsfs_slab *slab, char *Array)
{
    struct box all = { .lower = { 0 } }, seen;

    for (uint32_t d = 0; d < reuse->part.ndims; d++) {
        all.lower[d] = reuse->overlap[d] - (slab->lower[d] - slab->first[d]);
        all.size[d] = slab->n[d];
    }
    seen = all;
    for (uint32_t d = 0; d < reuse->part.ndims; d++)
        seen.size[d] = MIN(all.size[d], reuse->part.size[d] - slab->first[d]);
    box_copy(&reuse->part, &seen, &all, slab->bytes, &reuse->memory, Array);
}

int PASSION_read_reuse(REUSE *REUSEptr, char *Array)
{
    struct fallsfs_slab slab;
    int r;

    if (REUSEptr == NULL || Array == NULL)
        return fail(words(-EINVAL, "there is no walk, or no memory for its part: NULL was given"));
    r = REUSEptr->slabs != NULL ? fallsfs_slabs_next(REUSEptr->slabs, &slab) : 0;

    if (r < 0)
        return fail(r);
    if (r == 0) {
        errno = 0;
        return -1;
    }
    place(REUSEptr, &slab, Array);
    return (int) MIN(slab.size[REUSEptr->axis], INT32_MAX);
}

void reuses_finish(PFILE *file)
{
    while (file->reuses != NULL) {
        REUSE *next = file->reuses->next;

        if (file->reuses->slabs != NULL)
            (void) fallsfs_slabs_close(file->reuses->slabs);
        free(file->reuses);
        file->reuses = next;
    }
}

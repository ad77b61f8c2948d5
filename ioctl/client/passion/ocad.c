/* SPDX-License-Identifier: MIT */
#include "ioctl/client/passion/ocad.h"

#include "ioctl/client/client.h"
#include "ioctl/client/passion/fail.h"

#include <stdio.h>
#include <string.h>

#define MAX_IN_MEMORY (INT64_C(1) << 48) /* indexes: no machine has more, and sums of them are numbers */

OCAD *PASSION_malloc_OCAD(int dimensions)
{
    OCAD *ocad = NULL;

    if (dimensions < 1 || dimensions > ARRAY_MAX_DIMS) {
        fail(words(-EINVAL, "an array has 1 to %d dimensions, not %d", ARRAY_MAX_DIMS, dimensions));
        return NULL;
    }
    ocad = calloc(1, sizeof *ocad);
    if (ocad == NULL)
        fail(words(-ENOMEM, "there is not enough memory"));
    else
        ocad->array.ndims = (uint32_t) dimensions;
    return ocad;
}

void PASSION_free_OCAD(OCAD *OCADptr)
{
    free(OCADptr);
}

/* -- filling in -- */

static int fill_deal(const int distribution[2], int nprocs, struct deal *deal)
{
    *deal =
        (struct deal){ .kind = distribution[0], .k = (uint64_t) MAX(distribution[1], 1), .nprocs = (uint64_t) nprocs };
    if (nprocs < 1)
        return words(-EINVAL, "a dimension has 1 process or more, not %d", nprocs);
    if (deal->kind < PASSION_NONE || deal->kind > PASSION_CYCLIC || distribution[1] < 0)
        return words(-EINVAL,
                     "there is no distribution %d with %d: PASSION_NONE, PASSION_BLOCK, or PASSION_CYCLIC with k",
                     distribution[0], distribution[1]);
    if (deal->kind == PASSION_NONE && nprocs > 1)
        return words(-EINVAL, "a dimension that is not distributed has 1 process, not %d", nprocs);
    return 0;
}

static int fill_memory(OCAD *ocad, uint32_t d, const int64_t icla[2], const int64_t overlap[2])
{
    for (int side = 0; side < 2; side++) {
        if (icla[side] < 0 || overlap[side] < 0 || icla[side] > MAX_IN_MEMORY || overlap[side] > MAX_IN_MEMORY)
            return words(-EINVAL, "sizes in memory and overlaps are 0 or more, and less than there is memory");
        ocad->overlap[d][side] = (uint64_t) overlap[side];
    }
    ocad->icla[d] = (uint64_t) icla[0];
    ocad->memory[d] = (uint64_t) icla[1];
    if (icla[1] != 0 && icla[1] < icla[0] + overlap[0] + overlap[1])
        return words(-EINVAL,
                     "in dimension %" PRIu32 " the memory has %" PRId64 " indexes, but ICLA and overlaps need %" PRId64,
                     d, icla[1], icla[0] + overlap[0] + overlap[1]);
    return 0;
}

int PASSION_fill_OCAD_64(OCAD *OCADptr, const int64_t *size, int distribution[][2], int *nprocs,
                         const int64_t *ocla_size, int64_t icla_size[][2], int64_t overlap[][2], int64_t elemsize,
                         int storage)
{
    static const int whole[2] = { PASSION_NONE, 0 };
    static const int64_t none[2];
    OCAD ocad = { .array = { .ndims = OCADptr != NULL ? OCADptr->array.ndims : 0,
                             .order = (enum array_order) storage } };
    uint64_t bytes;
    int r = 0;

    if (OCADptr == NULL)
        return fail(words(-EINVAL, "there is no OCAD: NULL was given"));
    if (size == NULL)
        return fail(words(-EINVAL, "how many indexes the array has is not said: size is NULL"));
    if (elemsize < 1 || (storage != ROW_MAJOR && storage != COLUMN_MAJOR))
        return fail(words(-EINVAL, "elements have 1 byte or more, and lie by ROW_MAJOR or COLUMN_MAJOR"));
    ocad.array.elem = (uint64_t) elemsize;
    for (uint32_t d = 0; d < ocad.array.ndims && r == 0; d++) {
        if (size[d] < 1 || (ocla_size != NULL && ocla_size[d] < 0))
            return fail(words(-EINVAL, "dimension %" PRIu32 " has no index, or a negative size of the local array", d));
        ocad.array.size[d] = (uint64_t) size[d];
        ocad.ocla[d] = ocla_size != NULL ? (uint64_t) ocla_size[d] : 0;
        r = fill_deal(distribution != NULL ? distribution[d] : whole, nprocs != NULL ? nprocs[d] : 1, &ocad.deal[d]);
        if (r == 0)
            r = fill_memory(&ocad, d, icla_size != NULL ? icla_size[d] : none, overlap != NULL ? overlap[d] : none);
    }
    if (r == 0 && array_bytes(&ocad.array, &bytes) < 0)
        r = words(-EOVERFLOW, "the array does not fit into a file");
    if (r < 0)
        return fail(r);
    ocad.is_filled = true;
    *OCADptr = ocad;
    return 0;
}

int ocad_check(const OCAD *ocad)
{
    if (ocad == NULL)
        return words(-EINVAL, "there is no OCAD: NULL was given");
    return ocad->is_filled ? 0 : words(-EINVAL, "the OCAD says nothing yet: PASSION_fill_OCAD does");
}

/* -- parts -- */

uint64_t ocad_n_procs(const OCAD *ocad)
{
    uint64_t n = 1;

    for (uint32_t d = 0; d < ocad->array.ndims; d++)
        if (mul_overflows(n, ocad->deal[d].nprocs, &n))
            return UINT64_MAX;
    return n;
}

void ocad_place(const OCAD *ocad, uint64_t process, uint64_t ret_place[])
{
    for (uint32_t d = ocad->array.ndims; d-- > 0; process /= ocad->deal[d].nprocs)
        ret_place[d] = process % ocad->deal[d].nprocs;
}

uint64_t deal_block(const struct deal *deal, uint64_t size)
{
    return deal->kind == PASSION_CYCLIC ? deal->k : size / deal->nprocs + (size % deal->nprocs != 0);
}

uint64_t deal_n(const struct deal *deal, uint64_t size, uint64_t place)
{
    uint64_t k = deal_block(deal, size);
    uint64_t blocks = size / k, turns = blocks / deal->nprocs, rest = blocks % deal->nprocs;

    return turns * k + (place < rest ? k : place == rest ? size % k : 0);
}

struct array ocad_part(const OCAD *ocad, uint64_t process)
{
    struct array part = ocad->array;
    uint64_t place[ARRAY_MAX_DIMS];

    ocad_place(ocad, process, place);
    for (uint32_t d = 0; d < part.ndims; d++)
        part.size[d] = process < ocad_n_procs(ocad) ? deal_n(&ocad->deal[d], part.size[d], place[d]) : 0;
    return part;
}

struct box ocad_memory(const OCAD *ocad, const struct array *part)
{
    struct box box = { .lower = { 0 } };

    for (uint32_t d = 0; d < part->ndims; d++) {
        uint64_t icla = ocad->icla[d] > 0 ? ocad->icla[d] : part->size[d];

        box.size[d] = ocad->memory[d] > 0 ? ocad->memory[d] : icla + ocad->overlap[d][0] + ocad->overlap[d][1];
    }
    return box;
}

/* -- as a layout -- */

static void print_deal(FILE *out, const struct deal *deal)
{
    if (deal->kind == PASSION_NONE)
        (void) fputc('*', out);
    else if (deal->kind == PASSION_BLOCK)
        (void) fputs("block", out);
    else
        (void) fprintf(out, "cyclic(%" PRIu64 ")", deal->k);
}

static void print_layout(FILE *out, const OCAD *ocad, uint64_t header)
{
    (void) fputs("array(shape=", out);
    for (uint32_t d = 0; d < ocad->array.ndims; d++)
        (void) fprintf(out, "%s%" PRIu64, d > 0 ? "x" : "", ocad->array.size[d]);
    (void) fprintf(out, ", elem=%" PRIu64 ", order=%s, dist=(", ocad->array.elem,
                   ocad->array.order == ARRAY_ROW_MAJOR ? "row" : "col");
    for (uint32_t d = 0; d < ocad->array.ndims; d++) {
        (void) fputs(d > 0 ? "," : "", out);
        print_deal(out, &ocad->deal[d]);
    }
    (void) fputs("), grid=", out);
    for (uint32_t d = 0; d < ocad->array.ndims; d++)
        (void) fprintf(out, "%s%" PRIu64, d > 0 ? "x" : "", ocad->deal[d].nprocs);
    (void) fputc(')', out);
    if (header > 0)
        (void) fprintf(out, " disp %" PRIu64, header);
}

int fallsfs_passion_layout(const OCAD *OCADptr, uint64_t HeaderSize, char *text, size_t len)
{
    char *all = NULL;
    size_t n;
    FILE *out;
    int r = ocad_check(OCADptr);

    if (r < 0)
        return r;
    out = open_memstream(&all, &n);
    if (out != NULL)
        print_layout(out, OCADptr, HeaderSize);
    if (out == NULL || fclose(out) != 0) {
        free(all);
        return words(-ENOMEM, "there is not enough memory");
    }
    if (n < len)
        memcpy(text, all, n + 1);
    free(all);
    return n < len ? (int) n : words(-ERANGE, "the layout has %zu characters", n);
}

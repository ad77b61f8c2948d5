/* SPDX-License-Identifier: MIT */
/* The paper's calls, whose indexes are ints, by those of 64 bits. */
#include "ioctl/client/passion/ocad.h"

struct wide {
    int64_t index[ARRAY_MAX_DIMS], access[ARRAY_MAX_DIMS][3];
};

static struct wide widen(const OCAD *ocad, const int *index, int access[][3])
{
    struct wide wide = { .index = { 0 } };

    for (uint32_t d = 0; ocad != NULL && access != NULL && d < ocad->array.ndims; d++) {
        wide.index[d] = index != NULL ? index[d] : 0;
        for (int i = 0; i < 3; i++)
            wide.access[d][i] = access[d][i];
    }
    return wide;
}

int PASSION_fill_OCAD(OCAD *OCADptr, int *size, int distribution[][2], int *nprocs, int *ocla_size, int icla_size[][2],
                      int overlap[][2], int elemsize, int storage)
{
    int64_t sizes[ARRAY_MAX_DIMS], ocla[ARRAY_MAX_DIMS], icla[ARRAY_MAX_DIMS][2], overlaps[ARRAY_MAX_DIMS][2];

    for (uint32_t d = 0; OCADptr != NULL && size != NULL && d < OCADptr->array.ndims; d++) {
        sizes[d] = size[d];
        ocla[d] = ocla_size != NULL ? ocla_size[d] : 0;
        for (int i = 0; i < 2; i++) {
            icla[d][i] = icla_size != NULL ? icla_size[d][i] : 0;
            overlaps[d][i] = overlap != NULL ? overlap[d][i] : 0;
        }
    }
    return PASSION_fill_OCAD_64(OCADptr, size != NULL ? sizes : NULL, distribution, nprocs, ocla, icla, overlaps,
                                elemsize, storage);
}

int PASSION_read_section(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3])
{
    struct wide wide = widen(OCADptr, Index, AccessArray);

    return PASSION_read_section_64(PFilePtr, OCADptr, Array, wide.index, AccessArray != NULL ? wide.access : NULL);
}

int PASSION_write_section(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3])
{
    struct wide wide = widen(OCADptr, Index, AccessArray);

    return PASSION_write_section_64(PFilePtr, OCADptr, Array, wide.index, AccessArray != NULL ? wide.access : NULL);
}

int PASSION_global_read(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3], int nprocs)
{
    struct wide wide = widen(OCADptr, Index, AccessArray);

    return PASSION_global_read_64(PFilePtr, OCADptr, Array, wide.index, AccessArray != NULL ? wide.access : NULL,
                                  nprocs);
}

int PASSION_global_write(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3], int nprocs)
{
    struct wide wide = widen(OCADptr, Index, AccessArray);

    return PASSION_global_write_64(PFilePtr, OCADptr, Array, wide.index, AccessArray != NULL ? wide.access : NULL,
                                   nprocs);
}

PREFETCH *PASSION_read_prefetch(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3])
{
    struct wide wide = widen(OCADptr, Index, AccessArray);

    return PASSION_read_prefetch_64(PFilePtr, OCADptr, Array, wide.index, AccessArray != NULL ? wide.access : NULL);
}

PREFETCH *PASSION_prefetch_read(PFILE *PFilePtr, OCAD *OCADptr, char *Array, int *Index, int AccessArray[][3])
{
    return PASSION_read_prefetch(PFilePtr, OCADptr, Array, Index, AccessArray);
}

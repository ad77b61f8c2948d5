/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"
#include "ioctl/client/passion/fail.h"
#include "ioctl/client/passion/section.h"

#include <stdio.h>

struct PREFETCH {
    PFILE *file; /* NULL: it is over */
    PREFETCH *next;
    struct section section;
    char *array;
    uint8_t *staging;              /* NULL: straight into the array */
    struct fallsfs_ticket *ticket; /* NULL: nothing was to be read */
    int result;
    char why[512];
};

static int begin(PFILE *file, OCAD *ocad, const int64_t *index, const int64_t access[][3], PREFETCH *prefetch)
{
    struct section *section = &prefetch->section;
    struct local local;
    struct box memory;
    int r = pfile_local(file, ocad, &local);

    if (r < 0)
        return r;
    memory = ocad_memory(ocad, &local.part);
    r = section_init(section, &local.part, local.room, &memory, index, access);
    if (r < 0 || section->bytes == 0)
        return r;
    if (prefetch->array == NULL)
        return words(-EINVAL, "there is no memory for the section: Array is NULL");
    if (!section->is_dense && (prefetch->staging = fallsfs_alloc(section->bytes)) == NULL)
        return words(-ENOMEM, "there are no %" PRIu64 " bytes of memory for a copy: ask for less at a time",
                     section->bytes);
    return fallsfs_iread_section(local.fd, &section->what, section->range,
                                 section_bytes(section, prefetch->array, prefetch->staging), &prefetch->ticket);
}

PREFETCH *PASSION_read_prefetch_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index,
                                   int64_t AccessArray[][3])
{
    PREFETCH *prefetch = calloc(1, sizeof *prefetch);
    int r = prefetch != NULL ? 0 : words(-ENOMEM, "there is not enough memory");

    if (r == 0) {
        prefetch->array = Array;
        r = begin(PFilePtr, OCADptr, Index, (const int64_t(*)[3]) AccessArray, prefetch);
    }
    if (r < 0) {
        if (prefetch != NULL)
            fallsfs_free(prefetch->staging);
        free(prefetch);
        fail(r);
        return NULL;
    }
    prefetch->file = PFilePtr;
    prefetch->next = PFilePtr->prefetches;
    PFilePtr->prefetches = prefetch;
    return prefetch;
}

/* Takes it off its file's list, and notes how it ended. */
static void finish(PREFETCH *prefetch)
{
    PREFETCH **at = &prefetch->file->prefetches;

    while (*at != prefetch)
        at = &(*at)->next;
    *at = prefetch->next;
    prefetch->file = NULL;
    if (prefetch->ticket != NULL)
        prefetch->result = fallsfs_wait(prefetch->ticket);
    if (prefetch->result < 0)
        snprintf(prefetch->why, sizeof prefetch->why, "%s", fallsfs_strerror_last());
    else if (prefetch->staging != NULL)
        section_scatter(&prefetch->section, prefetch->array, prefetch->staging);
    fallsfs_free(prefetch->staging);
}

void prefetches_finish(PFILE *file)
{
    while (file->prefetches != NULL)
        finish(file->prefetches);
}

int PASSION_prefetch_wait(PREFETCH *PREFETCHptr)
{
    int r;

    if (PREFETCHptr == NULL)
        return fail(words(-EINVAL, "nothing is read ahead: NULL was given"));
    if (PREFETCHptr->file != NULL)
        finish(PREFETCHptr);
    r = PREFETCHptr->result;
    if (r < 0)
        (void) words(r, "%s", PREFETCHptr->why);
    free(PREFETCHptr);
    return fail(r);
}

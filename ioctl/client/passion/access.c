/* SPDX-License-Identifier: MIT */
/* Sections and whole local arrays, read and written at once. */
#include "ioctl/client/client.h"
#include "ioctl/client/passion/fail.h"
#include "ioctl/client/passion/section.h"

#include <stdio.h>

/* Between Array and the file. */
static int move(PFILE *file, const struct section *section, char *Array)
{
    uint8_t *staging = section->is_dense ? NULL : pfile_staging(file, section->bytes), *bytes;
    int r;

    if (Array == NULL && section->bytes > 0)
        return words(-EINVAL, "there is no memory for the section: Array is NULL");
    if (!section->is_dense && staging == NULL)
        return words(-ENOMEM, "there are no %" PRIu64 " bytes of memory for a copy: ask for less at a time",
                     section->bytes);
    if (section->write)
        section_gather(section, Array, staging);
    bytes = section_bytes(section, Array, staging);
    r = section_run(section, bytes);
    if (r == 0 && !section->write)
        section_scatter(section, Array, staging);
    return r;
}

/* -- local placement -- */

static int move_local(PFILE *file, OCAD *ocad, char *Array, const int64_t *index, const int64_t access[][3], bool write)
{
    struct section section;
    struct local local;
    struct box memory;
    int r = pfile_local(file, ocad, &local);

    if (r < 0)
        return r;
    memory = ocad_memory(ocad, &local.part);
    r = section_init(&section, &local.part, local.room, &memory, index, access);
    section.fd = local.fd;
    section.write = write;
    return r < 0 ? r : move(file, &section, Array);
}

int PASSION_read_section_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index, int64_t AccessArray[][3])
{
    return fail(move_local(PFilePtr, OCADptr, Array, Index, (const int64_t(*)[3]) AccessArray, false));
}

int PASSION_write_section_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index,
                             int64_t AccessArray[][3])
{
    return fail(move_local(PFilePtr, OCADptr, Array, Index, (const int64_t(*)[3]) AccessArray, true));
}

static int move_whole(PFILE *file, OCAD *ocad, char *Array, bool write)
{
    int64_t access[ARRAY_MAX_DIMS][3];
    struct section section;
    struct local local;
    struct box memory = { .lower = { 0 } };
    int r = pfile_local(file, ocad, &local);

    if (r < 0)
        return r;
    for (uint32_t d = 0; d < local.part.ndims; d++) {
        access[d][0] = 0;
        access[d][1] = (int64_t) local.part.size[d] - 1;
        access[d][2] = 1;
        memory.size[d] = local.part.size[d];
    }
    r = section_init(&section, &local.part, local.room, &memory, NULL, (const int64_t(*)[3]) access);
    section.fd = local.fd;
    section.write = write;
    return r < 0 ? r : move(file, &section, Array);
}

int PASSION_read(PFILE *PFilePtr, OCAD *OCADptr, char *Array)
{
    return fail(move_whole(PFilePtr, OCADptr, Array, false));
}

int PASSION_write(PFILE *PFilePtr, OCAD *OCADptr, char *Array)
{
    return fail(move_whole(PFilePtr, OCADptr, Array, true));
}

/* -- global placement -- */

/* Who has asked for what makes no sense asks for nothing with the others, who would wait for it. */
static void stand_aside(struct fallsfs_group *group, bool write)
{
    uint8_t none = 0;

    if (group == NULL)
        return;
    if (write)
        (void) fallsfs_write_falls_all(group, 0, "{}", &none);
    else
        (void) fallsfs_read_falls_all(group, 0, "{}", &none);
}

/* Where nothing is said of the ICLA, it is the section. */
static struct box global_memory(const OCAD *ocad, const int64_t access[][3])
{
    struct array section = ocad->array;

    for (uint32_t d = 0; access != NULL && d < section.ndims; d++)
        if (access[d][0] >= 0 && access[d][1] >= access[d][0] && access[d][2] > 0)
            section.size[d] = (uint64_t) ((access[d][1] - access[d][0]) / access[d][2]) + 1;
    return ocad_memory(ocad, &section);
}

static int prepare_global(PFILE *file, OCAD *ocad, const int64_t *index, const int64_t access[][3],
                          struct section *ret_section)
{
    struct array array;
    struct box memory;
    int r = ocad_check(ocad);

    if (r == 0 && file->is_part)
        r = words(-EINVAL, "the file was opened as a part: open it without the number behind its name");
    if (r < 0)
        return r;
    array = ocad->array;
    array.header = file->header;
    memory = global_memory(ocad, access);
    return section_init(ret_section, &array, array.size, &memory, index, access);
}

static int move_global(PFILE *file, OCAD *ocad, char *Array, const int64_t *index, const int64_t access[][3],
                       int nprocs, bool write)
{
    struct fallsfs_group *group;
    struct section section;
    int r = pfile_group(file, nprocs, &group);

    if (r < 0)
        return r;
    r = prepare_global(file, ocad, index, access, &section);
    if (r == 0 && Array == NULL && section.bytes > 0)
        r = words(-EINVAL, "there is no memory for the section: Array is NULL");
    if (r == 0 && !section.is_dense && pfile_staging(file, section.bytes) == NULL)
        r = words(-ENOMEM, "there are no %" PRIu64 " bytes of memory for a copy", section.bytes);
    if (r < 0) {
        char why[512];

        snprintf(why, sizeof why, "%s", fallsfs_strerror_last());
        stand_aside(group, write);
        return words(r, "%s", why);
    }
    section.fd = file->fd;
    section.group = group;
    section.write = write;
    return move(file, &section, Array);
}

int PASSION_global_read_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index, int64_t AccessArray[][3],
                           int nprocs)
{
    return fail(move_global(PFilePtr, OCADptr, Array, Index, (const int64_t(*)[3]) AccessArray, nprocs, false));
}

int PASSION_global_write_64(PFILE *PFilePtr, OCAD *OCADptr, char *Array, const int64_t *Index, int64_t AccessArray[][3],
                            int nprocs)
{
    return fail(move_global(PFilePtr, OCADptr, Array, Index, (const int64_t(*)[3]) AccessArray, nprocs, true));
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/status_notes.h"

#include <stdio.h>
#include <string.h>

const char *disk_name(uint32_t index, char name[static 16])
{
    snprintf(name, 16, "d%" PRIu32, index);
    return name;
}

char *next_line(const char **rest)
{
    size_t len = *rest != NULL ? strcspn(*rest, "\n") : 0;
    const char *note = *rest;

    if (len == 0)
        return NULL;
    *rest += len + (note[len] == '\n');
    return strndup(note, len);
}

static uint32_t count(const bool left_out[], uint32_t n)
{
    uint32_t found = 0;

    for (uint32_t i = 0; left_out != NULL && i < n; i++)
        found += left_out[i];
    return found;
}

char *note_on_left_out(const bool left_out[], uint32_t n, const char *mountpoint)
{
    uint32_t left = count(left_out, n), first = left;
    char *note = NULL;
    size_t len;
    FILE *out = left > 0 ? open_memstream(&note, &len) : NULL;

    if (out == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (left_out[i]) {
            fprintf(out, "%sd%" PRIu32, left == first ? "" : left > 1 ? ", " : " and ", i);
            left--;
        }
    fprintf(
        out,
        " %s nearly full: new files go to other disks, if some have room, and files that are there cannot grow much. "
        "'fallsctl disk add %s DISK' brings room, 'fallsctl disk balance %s' and 'fallsctl migrate --restripe' move "
        "files to where it is",
        first == 1 ? "is" : "are", mountpoint, mountpoint);
    if (fclose(out) == 0)
        return note;
    free(note);
    return NULL;
}

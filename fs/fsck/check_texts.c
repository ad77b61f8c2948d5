/* SPDX-License-Identifier: MIT */
/* What users have said of directories and files, and the home disk keeps: layouts for what is made below, and what
 * bytes mean. It was checked when it was set; disks may have gone since, and attributes can be damaged. */
#include "fs/fsck/checking.h"

#include <string.h>

#define MAX_TEXT 65536

/* Whether all disks that a layout names have been disks of the volume, even if they are not now. */
static bool names_members(const struct checking *checking, const char *text)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error why;

    if (layout_parse(text, strlen(text), 1, &layout, &why) < 0 || layout->disks == DISKS_POOL)
        return false;
    for (uint32_t i = 0; layout->disks == DISKS_LIST && i < layout->n_disks; i++)
        if (layout->disk[i] >= checking->volume->n_disks)
            return false;
    for (uint32_t i = 0; layout->element_disk != NULL && i < layout->pattern->n_elements; i++)
        if (layout->element_disk[i] != LAYOUT_ANY_DISK && layout->element_disk[i] >= checking->volume->n_disks)
            return false;
    return true;
}

static bool is_layout(const struct checking *checking, const char *text, size_t len)
{
    struct file_layout *planned = NULL;
    struct layout_error why;
    bool rotates;
    int r = strlen(text) == len ? layouts_plan(checking->layouts, text, &planned, &rotates, &why) : -EINVAL;

    file_layout_free(planned);
    /* Without memory nobody can tell: the text stays. */
    return r == 0 || r == -ENOMEM || (r == -ENODEV && names_members(checking, text));
}

static bool is_array(const struct checking *checking, const char *text, size_t len)
{
    char type[LAYOUT_MAX_TYPE];
    struct layout_error why;
    struct array array;

    (void) checking;
    return layout_parse_array(text, len, &array, type, &why) == 0;
}

static const struct {
    const char *kind, *xattr, *why;
    bool (*is_one)(const struct checking *checking, const char *text, size_t len);
} texts[] = {
    { "default", HIDDEN_PREFIX "layout", "the layout of its own is none for this volume, and does not count",
      is_layout },
    { "array", HIDDEN_PREFIX "array", "what is said of the meaning of its bytes makes no sense", is_array },
};

int check_texts(struct checking *checking, int dir, const char *name, const char *path)
{
    const struct disk *home = volume_home(checking->volume);
    const struct spot spot = { .path = path, .disk = NO_DISK };
    cleanup(freep) char *text = malloc(MAX_TEXT + 1);

    if (text == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        ssize_t n = disk_call(home, get_xattr, dir, name, texts[i].xattr, text, MAX_TEXT);
        int r = 0;

        if (n < 0)
            continue; /* mostly there is none */
        text[n] = 0;
        if (texts[i].is_one(checking, text, (size_t) n))
            continue;
        if (checking->check->repair)
            r = disk_call(home, remove_xattr, dir, name, texts[i].xattr);
        checking_tell_fix(checking, texts[i].kind, &spot, r, "%s: is removed", texts[i].why);
    }
    return 0;
}

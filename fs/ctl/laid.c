/* SPDX-License-Identifier: MIT */
#include "fs/ctl/laid.h"

#include "fs/ctl/json_read.h"

#include <string.h>
#include <sys/stat.h>

void laid_done(struct laid *laid)
{
    free(laid->json);
    free(laid->text);
    free(laid->from);
    free(laid->directory);
    layout_free(laid->layout);
    free(laid->disk);
    free(laid->takes);
    free(laid->array_text);
}

uint32_t laid_disk(const struct laid *laid, uint32_t element)
{
    return element == ELEMENT_HEADER ? laid->header_disk : laid->disk[element];
}

bool laid_takes(const struct laid *laid, uint32_t disk)
{
    for (uint32_t i = 0; i < laid->n_takes; i++)
        if (laid->takes[i] == disk)
            return true;
    return false;
}

/* "d7" */
static bool read_disk(const char *value, uint32_t *ret_disk)
{
    cleanup(freep) char *name = json_read_string(value);
    uint64_t number = 0;

    if (name == NULL || name[0] != 'd' || !json_read_u64(name + 1, &number) || number > LAYOUT_MAX_DISK)
        return false;
    *ret_disk = (uint32_t) number;
    return true;
}

/* One for each element: those that are listed, in turn. */
static int read_disks(struct laid *laid, const char *array, uint32_t n_list)
{
    uint32_t n_elements = laid->layout->pattern->n_elements, n = 0;

    laid->disk = calloc(MAX(n_elements, n_list), sizeof laid->disk[0]);
    if (laid->disk == NULL)
        return -ENOMEM;
    for (const char *value = json_first(array); value != NULL && n < n_list; value = json_next(value))
        if (!read_disk(value, &laid->disk[n++]))
            return -EINVAL;
    for (uint32_t i = n; n > 0 && i < n_elements; i++)
        laid->disk[i] = laid->disk[i % n];
    return n > 0 ? 0 : -EINVAL;
}

static int read_takes(struct laid *laid)
{
    laid->takes = calloc(MAX(laid->n_disks, 1), sizeof laid->takes[0]);
    if (laid->takes == NULL)
        return -ENOMEM;
    for (const char *value = json_first(json_find(laid->json, "takes")); value != NULL; value = json_next(value))
        if (laid->n_takes == laid->n_disks || !read_disk(value, &laid->takes[laid->n_takes++]))
            return -EINVAL;
    return laid->n_takes > 0 ? 0 : -EINVAL;
}

static int read_json(struct laid *laid, const char *path)
{
    const char *disks = json_find(laid->json, "disks");
    struct layout_error error;
    uint64_t n_disks = 0;
    uint32_t n_list = 0;
    int r;

    laid->text = json_read_string(json_find(laid->json, "layout"));
    if (laid->text == NULL) /* too long to be there */
        (void) attrs_get(path, "layout", &laid->text);
    laid->from = json_read_string(json_find(laid->json, "from"));
    laid->directory = json_read_string(json_find(laid->json, "directory"));
    if (laid->text == NULL || laid->from == NULL || !json_read_u64(json_find(laid->json, "n_disks"), &n_disks))
        return -EINVAL;
    laid->n_disks = (uint32_t) n_disks;
    (void) json_read_u64(json_find(laid->json, "size"), &laid->size);
    (void) read_disk(json_find(laid->json, "header_disk"), &laid->header_disk);
    for (const char *value = json_first(disks); value != NULL; value = json_next(value))
        n_list++;
    if (n_list == 0 || read_takes(laid) < 0)
        return -EINVAL;
    r = layout_parse(laid->text, strlen(laid->text), n_list, &laid->layout, &error);
    if (r == 0)
        r = laid->layout->pattern != NULL ? read_disks(laid, disks, n_list) : -EINVAL;
    return r;
}

static int read_array(struct laid *laid, const char *path)
{
    char type[LAYOUT_MAX_TYPE];
    struct layout_error error;
    int r = attrs_get(path, "array", &laid->array_text);

    if (r < 0)
        return r == -ENODATA ? 0 : r;
    return layout_parse_array(laid->array_text, strlen(laid->array_text), &laid->array, type, &error);
}

int laid_init(struct laid *laid, const char *path, char ret_why[static ATTRS_WHY])
{
    struct stat st = { 0 };
    int r;

    *laid = (struct laid){ 0 };
    r = attrs_check(path, &laid->json, ret_why);
    if (r < 0)
        return r;
    r = read_json(laid, path);
    if (r == 0)
        r = read_array(laid, path);
    if (r == 0)
        r = stat(path, &st) < 0 ? -errno : 0;
    if (r < 0)
        snprintf(ret_why, ATTRS_WHY,
                 "what the mount says of its layout makes no sense here: %s; are fallsctl and the "
                 "daemon of one version?",
                 strerror(-r));
    laid->is_dir = S_ISDIR(st.st_mode);
    return r;
}

static char *canonical_text(struct layout *layout, bool with_disks)
{
    enum layout_disks disks = layout->disks;
    char *text;

    if (!with_disks)
        layout->disks = DISKS_ANY;
    text = layout_canonical(layout);
    layout->disks = disks;
    return text;
}

bool laid_is(struct laid *laid, const char *text)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(freep) char *a = NULL, *b = NULL;
    struct layout_error error;
    bool names_disks;

    if (layout_parse(text, strlen(text), laid->n_takes, &layout, &error) < 0)
        return false;
    names_disks = layout->disks == DISKS_LIST || layout->disks == DISKS_POOL;
    a = canonical_text(layout, names_disks);
    b = canonical_text(laid->layout, names_disks);
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

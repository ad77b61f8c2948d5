/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/file_info.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

void file_info_done(struct file_info *info)
{
    json_read_done(&info->said);
    free(info->text);
    free(info->from);
    free(info->directory);
    layout_free(info->layout);
    free(info->disk);
    free(info->takes);
    free(info->array_text);
}

uint32_t file_info_disk(const struct file_info *info, uint32_t element)
{
    return element == ELEMENT_HEADER ? info->header_disk : info->disk[element];
}

bool file_info_takes(const struct file_info *info, uint32_t disk)
{
    for (uint32_t i = 0; i < info->n_takes; i++)
        if (info->takes[i] == disk)
            return true;
    return false;
}

/* Reads the name of one of n_disks disks, such as "d7". */
static bool read_disk(const struct json_object *value, uint32_t n_disks, uint32_t *ret_disk)
{
    const char *name = json_text(value);
    char *end = NULL;
    unsigned long number =
        name != NULL && name[0] == 'd' && isdigit((unsigned char) name[1]) ? strtoul(name + 1, &end, 10) : n_disks;

    if (number >= n_disks || *end != 0)
        return false;
    *ret_disk = (uint32_t) number;
    return true;
}

bool file_info_lists(const struct json_object *said, const char *name, uint32_t disk)
{
    const struct json_object *list = json_member(said, name);
    uint32_t here;

    for (size_t i = 0; i < json_count(list); i++)
        if (read_disk(json_at(list, i), LAYOUT_MAX_DISK + 1, &here) && here == disk)
            return true;
    return false;
}

bool file_info_leaves_out(const struct file_info *info, uint32_t disk)
{
    return file_info_lists(info->said, "left_out", disk);
}

/* Finds the disk of each element: the disks that are listed, in turn. */
static int read_disks(struct file_info *info, const struct json_object *list)
{
    uint32_t n_elements = info->layout->pattern->n_elements, n = (uint32_t) json_count(list);

    info->disk = calloc(MAX(n_elements, n), sizeof info->disk[0]);
    if (info->disk == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        if (!read_disk(json_at(list, i), info->n_disks, &info->disk[i]))
            return -EINVAL;
    for (uint32_t i = n; n > 0 && i < n_elements; i++)
        info->disk[i] = info->disk[i % n];
    return 0;
}

static int read_takes(struct file_info *info)
{
    const struct json_object *list = json_member(info->said, "takes");

    info->n_takes = (uint32_t) json_count(list);
    info->takes = calloc(MAX(info->n_takes, 1), sizeof info->takes[0]);
    if (info->takes == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < info->n_takes; i++)
        if (!read_disk(json_at(list, i), info->n_disks, &info->takes[i]))
            return -EINVAL;
    return info->n_takes > 0 ? 0 : -EINVAL;
}

int file_info_read(struct file_info *info, const char *path, const char *json)
{
    const struct json_object *disks, *header;
    struct layout_error error;
    uint64_t n_disks = 0;
    int r = json_read(json, &info->said);

    if (r < 0)
        return r;
    disks = json_member(info->said, "disks");
    header = json_member(info->said, "header_disk");
    info->text = json_copy(json_member(info->said, "layout"));
    if (info->text == NULL) /* the JSON leaves out a layout that is too long for it */
        (void) attrs_get(path, "layout", &info->text);
    info->from = json_copy(json_member(info->said, "from"));
    info->directory = json_copy(json_member(info->said, "directory"));
    if (info->text == NULL || info->from == NULL || !json_number(json_member(info->said, "n_disks"), &n_disks) ||
        n_disks > LAYOUT_MAX_DISK + 1)
        return -EINVAL;
    info->n_disks = (uint32_t) n_disks;
    info->rotates = json_is_true(json_member(info->said, "rotates"));
    (void) json_number(json_member(info->said, "size"), &info->size);
    if (json_count(disks) == 0 || read_takes(info) < 0 ||
        (header != NULL && !read_disk(header, info->n_disks, &info->header_disk)))
        return -EINVAL;
    r = layout_parse(info->text, strlen(info->text), (uint32_t) json_count(disks), &info->layout, &error);
    if (r == 0)
        r = info->layout->pattern != NULL ? read_disks(info, disks) : -EINVAL;
    return r;
}

static int read_array(struct file_info *info, const char *path)
{
    char type[LAYOUT_MAX_TYPE];
    struct layout_error error;
    int r = attrs_get(path, "array", &info->array_text);

    if (r < 0)
        return r == -ENODATA ? 0 : r;
    return layout_parse_array(info->array_text, strlen(info->array_text), &info->array, type, &error);
}

int file_info_init(struct file_info *info, const char *path, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *json = NULL;
    struct stat st = { 0 };
    int r;

    *info = (struct file_info){ 0 };
    r = attrs_check(path, &json, ret_why);
    if (r < 0)
        return r;
    r = file_info_read(info, path, json);
    if (r == 0)
        r = read_array(info, path);
    if (r == 0)
        r = stat(path, &st) < 0 ? -errno : 0;
    if (r < 0)
        snprintf(ret_why, ATTRS_WHY,
                 "what the mount says of its layout makes no sense here: %s; are fallsctl and the "
                 "daemon of one version?",
                 strerror(-r));
    info->is_dir = S_ISDIR(st.st_mode);
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

bool file_info_is(struct file_info *info, const char *text)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(freep) char *a = NULL, *b = NULL;
    struct layout_error error;
    bool names_disks;

    if (layout_parse(text, strlen(text), info->n_takes, &layout, &error) < 0)
        return false;
    names_disks = layout->disks == DISKS_LIST || layout->disks == DISKS_POOL;
    a = canonical_text(layout, names_disks);
    b = canonical_text(info->layout, names_disks);
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

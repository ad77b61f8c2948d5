/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/volume_disks.h"

#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/show/table.h"

#include <string.h>

/* -- reading -- */

/* Reads a line such as "d2 in - /mnt/d2". */
static int read_line(const char *line, size_t len, uint32_t index, struct volume_disk *ret_disk)
{
    char name[16], pool[128];
    uint32_t number;
    int used = 0;

    /* No daemon sends numbers that do not fit. NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(line, "%15[d0-9] %15s %127s %n", name, ret_disk->state, pool, &used) != 3 || used == 0 ||
        sscanf(name, "d%" SCNu32, &number) != 1 || number != index) /* NOLINT(cert-err34-c) */
        return -EINVAL;
    ret_disk->pool = strdup(pool);
    ret_disk->path = strndup(line + used, len - (size_t) used);
    return ret_disk->pool != NULL && ret_disk->path != NULL ? 0 : -ENOMEM;
}

static int read_lines(struct volume_disks *disks, const char *text)
{
    int r = 0;

    while (r == 0 && *text != 0) {
        size_t len = strcspn(text, "\n");

        if (!array_grow(disks->disk, disks->n))
            return -ENOMEM;
        disks->disk[disks->n] = (struct volume_disk){ .path = NULL };
        r = read_line(text, len, disks->n, &disks->disk[disks->n]);
        disks->n++;
        text += len + (text[len] == '\n');
    }
    return r;
}

/* Finds the top of the mount that a path lies in: trees are gone through from there. */
static int find_top(const char *path, char **ret_top, char why[static ATTRS_WHY])
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(freep) char *full = NULL;
    const struct mount_place *place = NULL;
    const char *below;
    int r = mounts_read(&mounts);

    if (r == 0)
        r = mounts_resolve(&mounts, path, &full);
    if (r == 0)
        place = mounts_around(&mounts, full, &below);
    if (r < 0)
        return attrs_refuse(why, r, "%s", attrs_strerror(r));
    if (place == NULL)
        return attrs_refuse(why, -ENODEV, "is not in a mounted fallsfs: 'fallsctl status' lists those there are");
    *ret_top = strdup(place->target);
    return *ret_top != NULL ? 0 : attrs_refuse(why, -ENOMEM, "out of memory");
}

int volume_disks_init(struct volume_disks *disks, const char *mountpoint, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    int r;

    *disks = (struct volume_disks){ 0 };
    r = find_top(mountpoint, &disks->mountpoint, ret_why);
    if (r < 0)
        return r;
    r = attrs_get(disks->mountpoint, "disks", &text);
    if (r == 0)
        r = read_lines(disks, text);
    if (r < 0)
        (void) attrs_refuse(ret_why, r, "the mount does not tell of its disks: %s", attrs_strerror(r));
    return r;
}

void volume_disks_done(struct volume_disks *disks)
{
    for (uint32_t i = 0; i < disks->n; i++) {
        free(disks->disk[i].pool);
        free(disks->disk[i].path);
    }
    free(disks->disk);
    free(disks->mountpoint);
    *disks = (struct volume_disks){ 0 };
}

static uint32_t find(const struct volume_disks *disks, const char *word, bool is_gone)
{
    cleanup(freep) char *real = realpath(word, NULL);
    char name[16];

    for (uint32_t i = 0; i < disks->n; i++) {
        snprintf(name, sizeof name, "d%" PRIu32, i);
        if ((strcmp(disks->disk[i].state, "gone") == 0) == is_gone &&
            (strcmp(name, word) == 0 || strcmp(disks->disk[i].path, real != NULL ? real : word) == 0))
            return i;
    }
    return UINT32_MAX;
}

uint32_t volume_disks_find(const struct volume_disks *disks, const char *word)
{
    return find(disks, word, false);
}

uint32_t volume_disks_find_gone(const struct volume_disks *disks, const char *word)
{
    return find(disks, word, true);
}

int volume_disks_order(const struct volume_disks *disks, const char *word, uint32_t disk,
                       char ret_why[static ATTRS_WHY])
{
    char text[32];

    snprintf(text, sizeof text, "%s d%" PRIu32, word, disk);
    return attrs_set(disks->mountpoint, "disks", text, ret_why);
}

/* -- telling -- */

static const struct column columns[] = {
    { "DISK", COLUMN_LEFT }, { "PATH", COLUMN_LEFT }, { "BEFORE", COLUMN_RIGHT }, { "AFTER", COLUMN_RIGHT }
};

bool volume_disks_check(const struct table_options *options, const char *verb, enum ctl_status *ret_status)
{
    return table_check(options, verb, columns, ARRAY_SIZE(columns), ret_status);
}

void volume_disks_print(const struct volume_disks *disks, uint32_t n, const uint64_t before[], const uint64_t after[],
                        const struct table_options *options, bool raw)
{
    cleanup(table_done) struct table table;
    char size[SIZE_TEXT];

    table_init(&table, columns, ARRAY_SIZE(columns), NULL, options);
    for (uint32_t i = 0; i < MIN(n, disks->n); i++) {
        if (strcmp(disks->disk[i].state, "gone") == 0)
            continue;
        table_addf(&table, "d%" PRIu32, i);
        table_add(&table, disks->disk[i].path);
        table_add(&table, size_text(before[i], raw, size));
        table_add(&table, size_text(after[i], raw, size));
    }
    (void) table_print(&table, stdout);
}

void volume_disks_json(struct json *json, const struct volume_disks *disks, uint32_t n, const uint64_t before[],
                       const uint64_t after[])
{
    char name[16];

    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < MIN(n, disks->n); i++) {
        snprintf(name, sizeof name, "d%" PRIu32, i);
        json_open(json, NULL, '{');
        json_string(json, "disk", name);
        json_string(json, "path", disks->disk[i].path);
        json_string(json, "state", disks->disk[i].state);
        json_u64(json, "before", before[i]);
        json_u64(json, "after", after[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/volume_disks.h"

#include "fs/ctl/mounts.h"
#include "fs/ctl/table.h"

#include <string.h>
#include <sys/statvfs.h>

/* -- reading -- */

/* "d2 in - /mnt/d2" */
static int read_line(const char *line, size_t len, uint32_t index, struct volume_disk *ret_disk)
{
    char name[16], pool[128];
    uint32_t number;
    int used = 0;

    /* Numbers that do not fit are no numbers of a daemon. NOLINTNEXTLINE(cert-err34-c) */
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
        struct volume_disk *more = realloc(disks->disk, (disks->n + 1) * sizeof *more);

        if (more == NULL)
            return -ENOMEM;
        disks->disk = more;
        more[disks->n] = (struct volume_disk){ .capacity = 1 };
        r = read_line(text, len, disks->n, &more[disks->n]);
        disks->n++;
        text += len + (text[len] == '\n');
    }
    return r;
}

/* Disks on one file system have their part of it. */
static void measure(struct volume_disks *disks)
{
    for (uint32_t i = 0; i < disks->n; i++) {
        uint64_t sharers = 0;
        struct statvfs space;
        struct stat here, there;

        if (strcmp(disks->disk[i].state, "gone") == 0 || stat(disks->disk[i].path, &here) < 0 ||
            statvfs(disks->disk[i].path, &space) < 0)
            continue;
        for (uint32_t j = 0; j < disks->n; j++)
            sharers += volume_disk_takes(&disks->disk[j]) && stat(disks->disk[j].path, &there) == 0 &&
                       there.st_dev == here.st_dev;
        disks->disk[i].capacity = MAX((uint64_t) space.f_blocks * space.f_frsize / MAX(sharers, 1), 1);
    }
}

/* Trees are gone through from the top of the mount. */
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
        return attrs_refuse(why, r, "%s", strerror(-r));
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
        (void) attrs_refuse(ret_why, r, "the mount does not tell of its disks: %s", strerror(-r));
    else
        measure(disks);
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

bool volume_disk_takes(const struct volume_disk *disk)
{
    return strcmp(disk->state, "in") == 0;
}

uint32_t volume_disks_find(const struct volume_disks *disks, const char *word)
{
    cleanup(freep) char *real = realpath(word, NULL);
    char name[16];

    for (uint32_t i = 0; i < disks->n; i++) {
        snprintf(name, sizeof name, "d%" PRIu32, i);
        if (strcmp(disks->disk[i].state, "gone") != 0 &&
            (strcmp(name, word) == 0 || strcmp(disks->disk[i].path, real != NULL ? real : word) == 0))
            return i;
    }
    return UINT32_MAX;
}

int volume_disks_order(const struct volume_disks *disks, const char *word, uint32_t disk,
                       char ret_why[static ATTRS_WHY])
{
    char text[32];

    snprintf(text, sizeof text, "%s d%" PRIu32, word, disk);
    return attrs_set(disks->mountpoint, "disks", text, ret_why);
}

/* -- files -- */

int volume_disks_count(const struct volume_disks *disks, const char *path, const struct stat *st, double bytes[])
{
    const double density = st->st_size > 0 ? MIN((double) st->st_blocks * 512 / (double) st->st_size, 1.0) : 1;
    cleanup(freep) char *map = NULL;
    int r = attrs_get_map(path, &map);

    for (const char *at = r == 0 ? map : NULL; at != NULL; at = strchr(at, '\n')) {
        uint64_t length;
        uint32_t disk;

        at += *at == '\n';
        /* NOLINTNEXTLINE(cert-err34-c) */
        if (sscanf(at, "element=%*s length=%" SCNu64 " state=%*s disk=d%" SCNu32, &length, &disk) == 2 &&
            disk < disks->n)
            bytes[disk] += (double) length * density;
    }
    return r;
}

/* -- telling -- */

void volume_disks_print(const struct volume_disks *disks, const double before[], const double shift[], bool raw)
{
    cleanup(table_done) struct table table;
    char size[SIZE_TEXT];

    table_init(&table, "llrr");
    table_add(&table, "DISK");
    table_add(&table, "PATH");
    table_add(&table, "BEFORE");
    table_add(&table, "AFTER");
    for (uint32_t i = 0; i < disks->n; i++) {
        if (strcmp(disks->disk[i].state, "gone") == 0)
            continue;
        table_addf(&table, "d%" PRIu32, i);
        table_add(&table, disks->disk[i].path);
        table_add(&table, size_text((uint64_t) before[i], raw, size));
        table_add(&table, size_text((uint64_t) MAX(before[i] + shift[i], 0.0), raw, size));
    }
    (void) table_print(&table, stdout);
}

void volume_disks_json(struct json *json, const struct volume_disks *disks, const double before[], const double shift[])
{
    char name[16];

    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < disks->n; i++) {
        snprintf(name, sizeof name, "d%" PRIu32, i);
        json_open(json, NULL, '{');
        json_string(json, "disk", name);
        json_string(json, "path", disks->disk[i].path);
        json_string(json, "state", disks->disk[i].state);
        json_u64(json, "before", (uint64_t) before[i]);
        json_u64(json, "after", (uint64_t) MAX(before[i] + shift[i], 0.0));
        json_close(json, '}');
    }
    json_close(json, ']');
}

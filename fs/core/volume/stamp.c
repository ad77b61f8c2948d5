/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/stamp.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/volume/sealed.h"

#include <fcntl.h>
#include <libconfig.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT   (1 << 20)
#define SPARE_SIZE (64 << 10)

void stamp_done(struct stamp *stamp)
{
    for (uint32_t i = 0; stamp->disk != NULL && i < stamp->n_disks; i++)
        free(stamp->disk[i].path);
    free(stamp->disk);
    stamp->disk = NULL;
    stamp->n_disks = 0;
    epochs_done(&stamp->unclean);
}

int stamp_copy(const struct stamp *stamp, struct stamp *ret_stamp)
{
    struct stamp copy = *stamp;

    copy.disk = calloc(stamp->n_disks + 1, sizeof *copy.disk);
    copy.unclean = (struct epochs){ 0 };
    if (copy.disk == NULL || epochs_copy(&stamp->unclean, &copy.unclean) < 0) {
        free(copy.disk);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < copy.n_disks; i++) {
        copy.disk[i] = stamp->disk[i];
        copy.disk[i].path = NULL;
    }
    for (uint32_t i = 0; i < copy.n_disks; i++)
        if ((copy.disk[i].path = strdup(stamp->disk[i].path)) == NULL) {
            stamp_done(&copy);
            return -ENOMEM;
        }
    *ret_stamp = copy;
    return 0;
}

int64_t stamp_find_gone(const struct stamp *stamp, const char *path)
{
    int64_t found = -1;

    for (uint32_t i = 0; i < stamp->n_disks; i++) {
        if (strcmp(stamp->disk[i].path, path) != 0)
            continue;
        if (stamp->disk[i].standing != DISK_GONE)
            return -1;
        found = i;
    }
    return found;
}

uint32_t stamp_n_members(const struct stamp *stamp)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < stamp->n_disks; i++)
        n += stamp->disk[i].standing != DISK_GONE;
    return n;
}

bool stamp_is_pool(const char *name)
{
    static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

    return *name != 0 && name[strspn(name, may)] == 0 && strlen(name) < STAMP_MAX_POOL;
}

/* -- text -- */

static const char *const standing_name[] = { [DISK_LEAVING] = "leaving", [DISK_GONE] = "gone" };

/* Prints a string that may hold anything but NUL. Newlines are escaped: libconfig takes an @ at the beginning of a line
 * for an include. */
static void print_string(FILE *out, const char *key, const char *value)
{
    fprintf(out, "%s = \"", key);
    for (; *value != 0; value++) {
        unsigned char c = (unsigned char) *value;

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ' || c == 127)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputs("\";", out);
}

static void print_body(FILE *out, const void *what)
{
    const struct stamp *stamp = what;

    fprintf(out, "format = %" PRIu32 ";\n", stamp->format);
    sealed_print_id(out, "volume", stamp->volume);
    fprintf(out, "\nindex = %" PRIu32 ";\nhome = %" PRIu32 ";\nfanout = %" PRIu32 ";\n", stamp->index, stamp->home,
            stamp->fanout);
    fprintf(out, "epoch = \"%" PRIu64 "\";\nnext = \"%" PRIu64 "\";\nclean = \"%" PRIu64 "\";\nunclean = \"",
            stamp->epoch, stamp->next, stamp->clean);
    if (stamp->format == 1)
        fprintf(out, "%" PRIu64, epochs_last(&stamp->unclean));
    else
        epochs_print(&stamp->unclean, out);
    fputs("\";\n", out);
    if (stamp->changes > 0)
        fprintf(out, "changes = \"%" PRIu64 "\";\n", stamp->changes);
    fputs("disks = (\n", out);
    for (uint32_t i = 0; i < stamp->n_disks; i++) {
        fputs("    { ", out);
        sealed_print_id(out, "uuid", stamp->disk[i].uuid);
        fputc(' ', out);
        print_string(out, "path", stamp->disk[i].path);
        fputc(' ', out);
        print_string(out, "pool", stamp->disk[i].pool);
        if (stamp->disk[i].standing != DISK_IN)
            fprintf(out, " state = \"%s\";", standing_name[stamp->disk[i].standing]);
        fprintf(out, " }%s\n", i + 1 < stamp->n_disks ? "," : "");
    }
    fputs(");\n", out);
}

/* Reads the standing of a listed disk; one without a state is in the volume, as most are. */
static bool look_up_standing(const config_setting_t *in, enum disk_standing *ret)
{
    const char *name;

    *ret = DISK_IN;
    if (!config_setting_lookup_string(in, "state", &name))
        return config_setting_get_member(in, "state") == NULL;
    for (*ret = DISK_LEAVING; *ret < ARRAY_SIZE(standing_name); ++*ret)
        if (strcmp(name, standing_name[*ret]) == 0)
            return true;
    return false;
}

static int read_disk(const config_setting_t *in, struct stamp_disk *disk)
{
    const char *path, *pool;

    if (in == NULL || !sealed_id(in, "uuid", disk->uuid) || !config_setting_lookup_string(in, "path", &path) ||
        !config_setting_lookup_string(in, "pool", &pool) || strlen(pool) >= sizeof disk->pool ||
        !look_up_standing(in, &disk->standing))
        return -EUCLEAN;
    snprintf(disk->pool, sizeof disk->pool, "%s", pool);
    disk->path = strdup(path);
    return disk->path != NULL ? 0 : -ENOMEM;
}

static int read_disks(const config_setting_t *in, struct stamp *stamp)
{
    int n = in != NULL && config_setting_is_list(in) ? config_setting_length(in) : 0, r = 0;

    if (n < 1 || n > STAMP_MAX_DISKS)
        return -EUCLEAN;
    stamp->disk = calloc((size_t) n, sizeof *stamp->disk);
    if (stamp->disk == NULL)
        return -ENOMEM;
    stamp->n_disks = (uint32_t) n;
    for (uint32_t i = 0; r == 0 && i < stamp->n_disks; i++)
        r = read_disk(config_setting_get_elem(in, i), &stamp->disk[i]);
    return r;
}

/* Reads the epochs that did not end well. Format 1 tells the last of them alone: all before it count as such, too. */
static int read_unclean(const config_setting_t *in, struct stamp *stamp)
{
    uint64_t last;
    const char *text;
    int r;

    if (stamp->format == 1) {
        if (!sealed_number(in, "unclean", &last) || last == UINT64_MAX)
            return -EUCLEAN;
        return last > 0 ? epochs_add_up_to(&stamp->unclean, last) : 0;
    }
    if (!config_setting_lookup_string(in, "unclean", &text))
        return -EUCLEAN;
    r = epochs_parse(text, &stamp->unclean);
    return r == -EINVAL ? -EUCLEAN : r;
}

static int read_settings(const config_setting_t *in, void *ret_stamp)
{
    struct stamp *stamp = ret_stamp;
    int r;

    if (!sealed_small(in, "format", &stamp->format) || stamp->format < 1 || !sealed_id(in, "volume", stamp->volume) ||
        !sealed_small(in, "index", &stamp->index) || !sealed_small(in, "home", &stamp->home) ||
        !sealed_small(in, "fanout", &stamp->fanout) || !sealed_number(in, "epoch", &stamp->epoch) ||
        !sealed_number(in, "next", &stamp->next) || !sealed_number(in, "clean", &stamp->clean) ||
        (config_setting_get_member(in, "changes") != NULL && !sealed_number(in, "changes", &stamp->changes)))
        return -EUCLEAN;
    r = read_unclean(in, stamp);
    if (r == 0)
        r = read_disks(config_setting_get_member(in, "disks"), stamp);
    if (r == 0 && (stamp->index >= stamp->n_disks || stamp->home >= stamp->n_disks || stamp->fanout < 1 ||
                   stamp->fanout > 256 || stamp->disk[stamp->home].standing != DISK_IN))
        r = -EUCLEAN;
    return r;
}

static const struct sealed_kind kind = { STAMP_FORMAT, print_body, read_settings };

int stamp_print(const struct stamp *stamp, char **ret_text)
{
    return sealed_print(&kind, stamp, ret_text);
}

int stamp_parse(const char *text, size_t len, struct stamp *ret_stamp)
{
    cleanup(stamp_done) struct stamp stamp = { 0 };
    int r = sealed_parse(&kind, text, len, &stamp);

    if (r == 0) {
        *ret_stamp = stamp;
        stamp = (struct stamp){ 0 };
    }
    return r;
}

/* -- file -- */

int stamp_read(const struct disk *disk, struct stamp *ret_stamp)
{
    cleanup(freep) char *text = NULL;
    size_t len;
    int r = file_text_read(disk, STAMP_NAME, MAX_TEXT, &text, &len);

    return r < 0 ? r : stamp_parse(text, len, ret_stamp);
}

static void keep_spare(const struct disk *disk)
{
    int fd = disk_call(disk, open, disk->root, STAMP_SPARE, O_WRONLY | O_CREAT | O_EXCL, 0600);

    if (fd >= 0 && disk_call(disk, allocate, fd, 0, 0, SPARE_SIZE) < 0)
        (void) disk_call(disk, unlink, disk->root, STAMP_SPARE, 0);
    disk_close(disk, &fd);
}

int stamp_write(const struct disk *disk, const struct stamp *stamp)
{
    cleanup(freep) char *text = NULL;
    int r = stamp_print(stamp, &text);

    if (r == 0)
        r = file_text_replace(disk, STAMP_NAME, text, strlen(text));
    if ((r == -ENOSPC || r == -EDQUOT) && disk_call(disk, unlink, disk->root, STAMP_SPARE, 0) == 0)
        r = file_text_replace(disk, STAMP_NAME, text, strlen(text));
    if (r == 0)
        keep_spare(disk);
    return r;
}

/* SPDX-License-Identifier: MIT */
/* user.falls.layout and what tells where a file's bytes lie. */
#include "fs/core/file/file_replicas.h"
#include "fs/core/tree/defaults.h"
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/serve/handle.h"
#include "fs/json/json.h"
#include "layout/map.h"

#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

/* A file's layout and record as they were at one moment. */
struct look {
    struct fs *fs;
    struct file *file;
    struct record record;
    struct file_layout *layout;
};

static int look_init(struct look *look, const struct virtual_call *call)
{
    int r = file_get(call->fs, call->inode, &look->file);

    if (r < 0)
        return r;
    look->fs = call->fs;
    look->layout = file_look(call->fs, look->file, &look->record);
    return 0;
}

static void look_done(struct look *look)
{
    if (look->layout == NULL)
        return;
    layouts_put(look->fs->layouts, look->layout);
    file_put(look->fs, look->file);
}

static bool is_directory(const struct virtual_call *call)
{
    return call->inode->fmt == S_IFDIR;
}

int layout_get(const struct virtual_call *call, FILE *out)
{
    cleanup(look_done) struct look look = { 0 };
    cleanup(freep) char *text = NULL;
    int r = is_directory(call) ? defaults_get(call->fs, call->inode, &text) : look_init(&look, call);

    if (r == 0)
        fputs(is_directory(call) ? text : look.layout->layout->text, out);
    return r;
}

bool layout_is_listed(const struct virtual_call *call)
{
    cleanup(freep) char *text = NULL;

    return is_directory(call) && defaults_get(call->fs, call->inode, &text) == 0;
}

/* -- setting -- */

static int set_default(const struct virtual_call *call, const char *value, size_t len)
{
    struct layout_error error = { 0 };
    int r = defaults_set(call->fs, call->inode, value, &error);

    if (r == -E2BIG && error.why[0] == 0)
        return virtual_refuse(call, r,
                              "the home disk has no room for %zu bytes of attributes: a directory's layout must be "
                              "shorter, as with array(...) or with n and p of FALLS, or other attributes of it go",
                              len);
    return virtual_refuse_text(call, r, &error);
}

static int refuse_data(const struct virtual_call *call, const struct file *file)
{
    return virtual_refuse(call, -ENOTEMPTY,
                          "the file has %" PRIu64
                          " bytes, so its layout is not changed at once: set user.falls.migrate "
                          "to this layout, or 'fallsctl migrate -L LAYOUT FILE'",
                          file_size(drop_const(file)));
}

/* Sets a file's layout. Where the file has bytes, the text is only compared with the layout it has: a text that is
 * refused is never kept on the disks. */
static int set_of_file(const struct virtual_call *call, struct file *file, const char *value)
{
    struct layout_error error = { 0 };
    struct file_layout *planned = NULL, *layout;
    bool rotates;
    int r = layouts_plan(call->fs->layouts, value, &planned, &rotates, &error);

    if (r < 0)
        return virtual_refuse_text(call, r, &error);
    if (file_size(file) > 0) {
        struct record record;

        layout = file_look(call->fs, file, &record);
        r = file_layout_equals(layout, planned) ? 0 : refuse_data(call, file);
        layouts_put(call->fs->layouts, layout);
        file_layout_free(planned);
        return r;
    }
    r = layouts_keep_if_there(call->fs->layouts, planned, &layout, &error);
    if (r < 0)
        return virtual_refuse_text(call, r, &error);
    r = virtual_charge(call, file, layout);
    if (r == 0)
        r = file_set_layout(call->fs, file, layout, rotates);
    if (r == 0) /* those, too, who have opened it meanwhile */
        (void) handles_recharge(call->handles, call->inode, file_weight(file));
    layouts_put(call->fs->layouts, layout);
    if (r == -EBUSY)
        return virtual_refuse(call, r, "the file is being migrated: wait, or cancel that with user.falls.migrate");
    return r == -ENOTEMPTY ? refuse_data(call, file) : r;
}

int layout_set(const struct virtual_call *call, const char *value, size_t len)
{
    struct file *file;
    int r = virtual_check_may_lay_out(call);

    if (r < 0)
        return r;
    if (is_directory(call))
        return set_default(call, value, len);
    r = file_get(call->fs, call->inode, &file);
    if (r < 0)
        return r;
    r = set_of_file(call, file, value);
    file_put(call->fs, file);
    return r;
}

int layout_remove(const struct virtual_call *call)
{
    int r = virtual_check_may_lay_out(call);

    if (r < 0)
        return r;
    if (!is_directory(call))
        return virtual_refuse(call, -EPERM, "a file always has a layout: set another one");
    return defaults_remove(call->fs, call->inode);
}

/* -- where bytes lie -- */

#define MAX_PART 60000 /* bytes: one more line, with a path, still fits a value */

static uint32_t disk_of(const struct look *look, uint32_t slot)
{
    return file_layout_disk(look->layout, look->fs->volume->home, look->record.rotate, slot);
}

static void print_element(FILE *out, const struct look *look, uint32_t slot)
{
    if (file_layout_element(look->layout, slot) == ELEMENT_HEADER)
        fputs("element=h", out);
    else
        fprintf(out, "element=%" PRIu32, slot);
}

static void print_object(FILE *out, const struct look *look, uint32_t slot)
{
    uint32_t disk = disk_of(look, slot);
    char object[OBJECT_PATH];

    object_path(look->fs->volume, look->record.id, look->record.gen, slot, look->layout, object);
    fprintf(out, "disk=d%" PRIu32 " object=%s/" STAMP_DIR "/%s", disk, look->fs->volume->disk[disk].path, object);
}

/* Tells how a subfile is: "offline", "hole", "present", "missing" or "short". Where asking the disk might wait, a
 * subfile that the record names counts as present. */
static const char *state_of(const struct look *look, uint32_t slot)
{
    const struct volume *volume = look->fs->volume;
    const struct disk *disk = &volume->disk[disk_of(look, slot)];
    char object[OBJECT_PATH];
    struct stat st;
    int r;

    if (!disk_is_present(disk))
        return "offline";
    if (!bits_has(&look->record.bits, slot))
        return "hole";
    object_path(volume, look->record.id, look->record.gen, slot, look->layout, object);
    if (!watch_is_prompt(disk->watch))
        return "present";
    r = disk_call(disk, stat, disk->root, object, &st);
    if (r == -ENOENT && file_layout_len(look->layout, slot, look->record.size) > 0)
        return "missing";
    return r == 0 && (uint64_t) st.st_size < file_must_have(look->file, slot) ? "short" : "present";
}

/* Prints a line for each subfile from number first on, until out has max bytes. */
static int print_map(const struct virtual_call *call, FILE *out, uint64_t first, long max)
{
    cleanup(look_done) struct look look = { 0 };
    int r = look_init(&look, call);

    for (uint64_t at = first; r == 0 && at < file_layout_slots(look.layout) && ftell(out) < max; at++) {
        uint32_t slot = (uint32_t) at;

        print_element(out, &look, slot);
        fprintf(out, " length=%" PRIu64 " state=%s ", file_layout_len(look.layout, slot, look.record.size),
                state_of(&look, slot));
        print_object(out, &look, slot);
        fputc('\n', out);
    }
    return r;
}

int map_get(const struct virtual_call *call, FILE *out)
{
    return print_map(call, out, 0, LONG_MAX);
}

int map_get_from(const struct virtual_call *call, FILE *out)
{
    uint64_t first;

    if (layout_parse_size(call->rest, &first) < 0)
        return -ENODATA;
    return print_map(call, out, first, MAX_PART);
}

int at_get(const struct virtual_call *call, FILE *out)
{
    cleanup(look_done) struct look look = { 0 };
    struct place place;
    uint64_t file_off;
    uint32_t slot;
    int r = layout_parse_size(call->rest, &file_off);

    if (r < 0)
        return -ENODATA; /* the rest is no offset, so there is no such attribute */
    r = look_init(&look, call);
    if (r == 0)
        r = pattern_map(look.layout->pattern, file_off, &place) < 0 ? -ENODATA : 0;
    if (r < 0)
        return r;
    slot = file_layout_slot(look.layout, place.element);
    print_element(out, &look, slot);
    fprintf(out, " suboffset=%" PRIu64 " ", place.sub_off);
    print_object(out, &look, slot);
    return 0;
}

/* -- everything, for programs -- */

static void json_disk(struct json *json, const char *name, uint32_t disk)
{
    char text[16];

    snprintf(text, sizeof text, "d%" PRIu32, disk);
    json_string(json, name, text);
}

#define LONG_TEXT 12288 /* longer texts are null: with the disks of many elements, the value must stay below 64 KiB */

static void json_text(struct json *json, const char *name, const char *text)
{
    json_string(json, name, strlen(text) <= LONG_TEXT ? text : NULL);
}

#define LONG_LIST    512  /* disks; a longer list is left out */
#define LONG_DEVICES 128  /* disks; where there are more, their devices are left out */
#define LONG_POOLS   4096 /* bytes; where all names together are longer, they are left out */

/* Prints the file system that each disk of the volume lies on, by the number of its device; null for an absent one. */
static void json_devices(struct json *json, const struct volume *volume)
{
    if (volume->n_disks > LONG_DEVICES)
        return;
    json_open(json, "devices", '[');
    for (uint32_t i = 0; i < volume->n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        char text[32];

        snprintf(text, sizeof text, "%u:%u", major(disk->dev), minor(disk->dev));
        json_string(json, NULL, disk_is_present(disk) ? text : NULL);
    }
    json_close(json, ']');
}

/* Prints what holds of a layout, whether a file has it or a new file would get it. */
static int json_layout(struct json *json, const struct file_layout *layout, const struct volume *volume)
{
    cleanup(freep) char *canonical = layout_canonical(layout->layout);
    const struct pattern *pattern = layout->pattern;

    if (canonical == NULL)
        return -ENOMEM;
    json_text(json, "canonical", canonical);
    json_u64(json, "disp", pattern->disp);
    json_u64(json, "period", pattern->size);
    json_u64(json, "elements", pattern->n_elements);
    json_u64(json, "copies", layout->layout->copies);
    if (pattern->disp > 0)
        json_disk(json, "header_disk", volume->home);
    if (layout->layout->copies > 1)
        json_devices(json, volume);
    return 0;
}

static int file_json(const struct virtual_call *call, struct json *json)
{
    cleanup(look_done) struct look look = { 0 };
    char id[2 * ID_SIZE + 1];
    int r = look_init(&look, call);

    if (r < 0)
        return r;
    json_text(json, "layout", look.layout->layout->text);
    json_string(json, "from", "file");
    r = json_layout(json, look.layout, call->fs->volume);
    json_u64(json, "rotate", look.record.rotate);
    hex_print(look.record.id, ID_SIZE, id);
    json_string(json, "id", id);
    json_u64(json, "generation", look.record.gen);
    json_u64(json, "size", look.record.size);
    json_u64(json, "replicas", file_count_replicas(look.file));
    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < look.layout->pattern->n_elements; i++)
        json_disk(json, NULL, disk_of(&look, i));
    json_close(json, ']');
    return r;
}

/* Prints from which directory new files have their layout: from the one that was asked about, or from one above. */
static int json_origin(const struct virtual_call *call, struct json *json, struct inode *origin)
{
    cleanup(freep) char *text = NULL, *path = NULL;
    int r = defaults_get(call->fs, origin, &text);

    if (r == 0 && origin != inodes_root(call->fs->inodes))
        r = inode_path(call->fs->inodes, origin, &path);
    if (r < 0)
        return r;
    json_text(json, "layout", text);
    json_string(json, "from", origin == call->inode ? "directory" : "ancestor");
    json_string(json, "directory", path != NULL ? path : "");
    return 0;
}

static int directory_json(const struct virtual_call *call, struct json *json)
{
    struct inode *origin = NULL;
    struct chosen_layout choice = { 0 };
    int r = defaults_origin(call->fs, call->inode, &origin);

    if (r == 0)
        r = defaults_plan(call->fs, call->inode, &choice);
    if (r < 0) {
        inode_unref(call->fs->inodes, origin);
        return r;
    }
    if (origin != NULL) {
        r = json_origin(call, json, origin);
    } else {
        json_text(json, "layout", choice.layout->layout->text);
        json_string(json, "from", "mount");
    }
    if (r == 0)
        r = json_layout(json, choice.layout, call->fs->volume);
    json_bool(json, "rotates", choice.rotates);
    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < choice.layout->n_list; i++)
        json_disk(json, NULL, choice.layout->list[i]);
    json_close(json, ']');
    file_layout_free(choice.layout);
    inode_unref(call->fs->inodes, origin);
    return r;
}

/* Prints the pool of each disk of the volume, "" where it is in none; nothing when no disk is in any. */
static void json_pools(struct json *json, const struct volume *volume)
{
    size_t names = 0, len = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++) {
        names += strlen(volume->disk[i].pool);
        len += strlen(volume->disk[i].pool) + sizeof "\"\"";
    }
    if (names == 0 || len > LONG_POOLS)
        return;
    json_open(json, "pools", '[');
    for (uint32_t i = 0; i < volume->n_disks; i++)
        json_string(json, NULL, volume->disk[i].pool);
    json_close(json, ']');
}

/* Prints the disks that new files leave out, as they are nearly full or read-only; nothing when there are none, or too
 * many. */
static void json_left_out(struct json *json, const struct volume *volume)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < volume->n_disks; i++)
        n += disk_is_left_out(&volume->disk[i]);
    if (n == 0 || n > LONG_LIST)
        return;
    json_open(json, "left_out", '[');
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (disk_is_left_out(&volume->disk[i]))
            json_disk(json, NULL, i);
    json_close(json, ']');
}

int layout_json_get(const struct virtual_call *call, FILE *out)
{
    const struct volume *volume = call->fs->volume;
    struct json json;
    int r;

    json_begin(&json, out);
    json_u64(&json, "n_disks", volume->n_disks);
    json_open(&json, "takes", '['); /* the disks that new bytes may go to */
    for (uint32_t i = 0; i < volume->n_disks; i++)
        if (volume_takes(volume, i))
            json_disk(&json, NULL, i);
    json_close(&json, ']');
    json_left_out(&json, volume);
    json_pools(&json, volume);
    r = is_directory(call) ? directory_json(call, &json) : file_json(call, &json);
    json_close(&json, '}');
    return r;
}

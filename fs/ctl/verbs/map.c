/* SPDX-License-Identifier: MIT */
/* fallsctl map: where the bytes of files lie. */
#include "fs/core/stub/stub.h"
#include "fs/core/volume/file_layouts.h"
#include "fs/core/volume/promise.h"
#include "fs/ctl/ask/attrs.h"
#include "fs/ctl/ask/view.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

static const char help[] =
    "usage: fallsctl map [-b] [--replicas] " TABLE_USAGE " [--json] FILE...\n"
    "\n"
    "Says for files in a mounted volume which subfile is which file on which disk: the layout, then a line for each\n"
    "element, h being the header. A subfile is\n"
    "\n"
    "  present   there, as long as it says\n"
    "  hole      not there, as nothing was written to it yet\n"
    "  short     shorter than it must be: bytes are lost, and the exit status is 3\n"
    "  missing   not there, and it must be: likewise\n"
    "  offline   on a disk that is missing\n"
    "\n"
    "The record, which says what must be there, lags behind while a file is being written. Whether it is there can tell\n"
    "who may look at the disks: who mounted the volume, and root. Others read what the mount says.\n"
    "\n"
    "  -b              sizes in bytes; else in powers of 1024\n"
    "  --replicas      the subfiles of its replicas, too, as the mount tells of them; one that is a hole is no loss\n" TABLE_HELP
    "  --json          machine-readable output; size is the file's, recorded_size what its record says\n"
    "\n"
    "examples:\n"
    "  fallsctl map /fast/a.dat\n"
    "  fallsctl map -b /fast/run7/*.h5\n"
    "  fallsctl map --raw -o FILE,OBJECT /fast/run7/*.h5\n"
    "  fallsctl map --json /fast/a.dat | jq -r '.files[].subfiles[].object'\n";

struct request {
    bool raw, replicas;
    struct table_options options;
    struct paths paths;
    uint64_t n_lost;                 /* subfiles that lack bytes */
    const struct mount_place *place; /* whose volume view has; NULL: none yet */
    struct view view;
    struct mount_info *mount; /* what its mount says; NULL: nothing */
    struct layouts *layouts;
};

/* A file whose subfiles are shown. */
struct target {
    const char *name; /* as typed */
    uint64_t size;
    struct record record;
    struct file_layout *layout;
};

struct piece {
    const struct disk *disk;
    char path[OBJECT_PATH];
    const char *state;
    uint64_t len, expected;
};

/* -- finding the record -- */

static void forget_volume(struct request *request)
{
    if (request->place == NULL)
        return;
    layouts_free(request->layouts);
    request->layouts = NULL;
    view_done(&request->view);
    mount_info_free(steal(request->mount));
    request->place = NULL;
}

static int use_volume(struct request *request, const struct mounts *mounts, const struct mount_place *place)
{
    int r;

    if (request->place == place)
        return request->layouts != NULL ? 0 : -ENODEV;
    forget_volume(request);
    request->place = place;
    request->mount = mount_info_ask(place->target);
    r = view_init(&request->view, mounts, place,
                  request->mount != NULL && request->mount->error == 0 ? request->mount : NULL, place->disk,
                  place->n_disks, VIEW_LAYOUT);
    if (r == 0 && request->view.volume == NULL)
        r = -ENODEV;
    return r < 0 ? r : layouts_new(request->view.volume, &request->layouts);
}

/* Opens the stub at a path below ns/, name by name and without following a symlink, which could lead anywhere. */
static int open_stub(struct volume *volume, const char *path, int *ret_fd)
{
    const struct disk *home = volume_home(volume);
    int fd = disk_call(home, open, volume->ns, ".", O_PATH | O_DIRECTORY, 0);

    while (fd >= 0 && *path != 0) {
        size_t len = strcspn(path, "/");
        char name[NAME_MAX + 1];
        int dir = fd;

        if (len > NAME_MAX) {
            fd = -ENAMETOOLONG;
        } else {
            memcpy(name, path, len);
            name[len] = 0;
            fd = disk_call(home, open, dir, name, O_PATH, 0);
        }
        disk_close(home, &dir);
        path += len + (path[len] == '/');
    }
    *ret_fd = fd;
    return MIN(fd, 0);
}

static int read_stub(struct volume *volume, const char *path, struct record *ret_record)
{
    const struct disk *home = volume_home(volume);
    struct stat st;
    int fd, r = open_stub(volume, path, &fd);

    if (r == 0)
        r = disk_call(home, stat, fd, "", &st);
    if (r == 0 && !S_ISREG(st.st_mode))
        r = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    if (r == 0)
        r = stub_read_record(volume, fd, "", ret_record);
    disk_close(home, &fd);
    return r;
}

/* -- showing -- */

static void look_at(struct volume *volume, const struct target *target, uint32_t slot, struct piece *piece)
{
    const struct record *record = &target->record;
    uint32_t index = file_layout_disk(target->layout, volume->home, record->rotate, slot);
    const struct promise promise = record_promise(volume, record);
    struct stat st;
    int r = -EIO;

    *piece = (struct piece){ .disk = &volume->disk[index] };
    if (bits_has(&promise.bits, slot))
        piece->expected = file_layout_len(target->layout, slot, promise.size);
    object_path(volume, record->id, record->gen, slot, target->layout, piece->path);
    if (disk_is_present(piece->disk))
        r = disk_call(piece->disk, stat, piece->disk->root, piece->path, &st);
    if (r == 0)
        piece->len = (uint64_t) st.st_size;
    if (!disk_is_present(piece->disk))
        piece->state = "offline";
    else if (r == 0)
        piece->state = piece->len < piece->expected ? "short" : "present";
    else
        piece->state = piece->expected > 0 ? "missing" : "hole";
}

static void note_state(struct request *request, const char *state)
{
    request->n_lost += strcmp(state, "short") == 0 || strcmp(state, "missing") == 0;
}

static const char *element_name(const struct target *target, uint32_t slot, char name[static 16])
{
    uint32_t element = file_layout_element(target->layout, slot);

    if (element == ELEMENT_HEADER)
        return "h";
    snprintf(name, 16, "%" PRIu32, element);
    return name;
}

static char *full_path(const struct piece *piece)
{
    char *path;

    return asprintf(&path, "%s/" STAMP_DIR "/%s", piece->disk->path, piece->path) < 0 ? NULL : path;
}

static void json_piece(struct json *json, const struct target *target, uint32_t slot, const struct piece *piece)
{
    cleanup(freep) char *path = full_path(piece);
    char name[16];

    json_open(json, NULL, '{');
    if (file_layout_element(target->layout, slot) == ELEMENT_HEADER)
        json_string(json, "element", "h");
    else
        json_u64(json, "element", slot);
    snprintf(name, sizeof name, "d%" PRIu32, piece->disk->index);
    json_string(json, "disk", name);
    json_string(json, "object", path);
    json_u64(json, "length", piece->len);
    json_u64(json, "expected", piece->expected);
    json_string(json, "state", piece->state);
    json_close(json, '}');
}

/* -- lines of a mount -- */

/* Cuts a line such as "element=0 length=4096 state=present disk=d1 object=/mnt/d1/..." into its values; the last, the
 * object's path, may have blanks. */
static bool read_line(char *line, char *field[static 5])
{
    static const char *const name[] = { "element=", "length=", "state=", "disk=", "object=" };

    for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
        if (line == NULL || strncmp(line, name[i], strlen(name[i])) != 0)
            return false;
        field[i] = line + strlen(name[i]);
        line = field[i];
        if (i + 1 < ARRAY_SIZE(name))
            (void) strsep(&line, " ");
    }
    return true;
}

static void json_line(struct json *json, const char *replica, char *const field[static 5])
{
    json_open(json, NULL, '{');
    if (replica != NULL)
        json_u64(json, "replica", strtoull(replica, NULL, 10));
    if (*field[0] == 'h')
        json_string(json, "element", "h");
    else
        json_u64(json, "element", strtoull(field[0], NULL, 10));
    json_string(json, "disk", field[3]);
    json_string(json, "object", field[4]);
    json_u64(json, "length", strtoull(field[1], NULL, 10));
    json_string(json, "state", field[2]);
    json_close(json, '}');
}

static void add_line(const struct request *request, struct table *table, const char *name, const char *replica,
                     char *const field[static 5])
{
    char text[SIZE_TEXT];

    table_add(table, name);
    table_add(table, replica);
    table_add(table, field[0]);
    table_add(table, field[3]);
    table_add(table, field[2]);
    table_add(table, size_text(strtoull(field[1], NULL, 10), request->raw, text));
    table_add(table, field[4]);
}

/* Reads the number before a line of a replica's subfile, and returns what is behind it; NULL: it is no such line. */
static char *read_replica(char *line, char **ret_number)
{
    static const char name[] = "replica=";

    if (strncmp(line, name, strlen(name)) != 0)
        return NULL;
    *ret_number = line + strlen(name);
    line = *ret_number;
    (void) strsep(&line, " ");
    return line;
}

/* Tells of the subfiles of replicas: as rows, or as values of an array where table is NULL. */
static void tell_replicas(struct request *request, struct table *table, const char *name)
{
    cleanup(freep) char *map = NULL;
    char *rest, *line, *number, *field[5];

    if (!request->replicas || attrs_get(name, "replicas.map", &map) < 0)
        return;
    for (rest = map; (line = strsep(&rest, "\n")) != NULL;) {
        if ((line = read_replica(line, &number)) == NULL || !read_line(line, field))
            continue;
        if (table != NULL)
            add_line(request, table, name, number, field);
        else
            json_line(&request->paths.json, number, field);
    }
}

static void json_replicas(struct request *request, const char *name)
{
    if (!request->replicas)
        return;
    json_open(&request->paths.json, "replicas", '[');
    tell_replicas(request, NULL, name);
    json_close(&request->paths.json, ']');
}

static void json_target(struct request *request, const struct target *target)
{
    struct json *json = &request->paths.json;
    char id[2 * ID_SIZE + 1];

    hex_print(target->record.id, ID_SIZE, id);
    json_open(json, NULL, '{');
    json_string(json, "file", target->name);
    json_string(json, "layout", target->layout->layout->text);
    json_string(json, "id", id);
    json_u64(json, "generation", target->record.gen);
    json_u64(json, "rotate", target->record.rotate);
    json_u64(json, "size", target->size);
    json_u64(json, "recorded_size", target->record.size);
    json_open(json, "subfiles", '[');
    for (uint32_t slot = 0; slot < file_layout_slots(target->layout); slot++) {
        struct piece piece;

        look_at(request->view.volume, target, slot, &piece);
        note_state(request, piece.state);
        json_piece(json, target, slot, &piece);
    }
    json_close(json, ']');
    json_replicas(request, target->name);
    json_close(json, '}');
}

static const struct column columns[] = { { "FILE", COLUMN_LEFT },     { "REPLICA", COLUMN_RIGHT },
                                         { "ELEMENT", COLUMN_RIGHT }, { "DISK", COLUMN_LEFT },
                                         { "STATE", COLUMN_LEFT },    { "LENGTH", COLUMN_RIGHT },
                                         { "OBJECT", COLUMN_LEFT } };

/* Begins the table of a file. With --raw the tables of all files are to be read as one, which has headings once. */
static void begin_table(const struct request *request, struct table *table)
{
    struct table_options options = request->options;

    options.no_headings |= options.raw && request->paths.done > 0;
    table_init(table, columns, ARRAY_SIZE(columns),
               request->replicas ? "REPLICA,ELEMENT,DISK,STATE,LENGTH,OBJECT" : "ELEMENT,DISK,STATE,LENGTH,OBJECT",
               &options);
}

static void print_heading(const struct request *request, const char *name, const char *layout)
{
    if (request->paths.done > 0)
        putchar('\n');
    utf8_print_line(stdout, name, false);
    putchar('\n');
    utf8_print_line(stdout, layout, false);
    putchar('\n');
}

static void print_target(struct request *request, const struct target *target)
{
    cleanup(table_done) struct table table;
    char text[SIZE_TEXT];

    if (!table_is_alone(&request->options)) {
        print_heading(request, target->name, target->layout->layout->text);
        printf("generation %" PRIu64 "  rotate %u  size %s\n", target->record.gen, target->record.rotate,
               size_text(target->size, request->raw, text));
    }
    begin_table(request, &table);
    for (uint32_t slot = 0; slot < file_layout_slots(target->layout); slot++) {
        cleanup(freep) char *path = NULL;
        struct piece piece;
        char name[16];

        look_at(request->view.volume, target, slot, &piece);
        note_state(request, piece.state);
        path = full_path(&piece);
        table_add(&table, target->name);
        table_add(&table, "");
        table_add(&table, element_name(target, slot, name));
        table_addf(&table, "d%" PRIu32, piece.disk->index);
        table_add(&table, piece.state);
        table_add(&table, size_text(piece.len, request->raw, text));
        table_add(&table, path != NULL ? path : "");
    }
    tell_replicas(request, &table, target->name);
    (void) table_print(&table, stdout);
}

/* -- what the mount tells, to who may not look at the disks -- */

/* Tells what should be there, as the daemon knows it, since nobody can look whether it is; false: the mount does not
 * say. */
static bool tell_as_mount(struct request *request, const char *name)
{
    cleanup(freep) char *map = NULL, *layout = NULL;
    cleanup(table_done) struct table table = { 0 };
    char *rest, *line, *field[5];

    if (attrs_get_map(name, &map) < 0 || attrs_get(name, "layout", &layout) < 0)
        return false;
    begin_table(request, &table);
    if (request->paths.as_json) {
        json_open(&request->paths.json, NULL, '{');
        json_string(&request->paths.json, "file", name);
        json_string(&request->paths.json, "layout", layout);
        json_open(&request->paths.json, "subfiles", '[');
    } else if (!table_is_alone(&request->options)) {
        print_heading(request, name, layout);
        puts("as its mount says; nobody has looked at the disks");
    }
    for (rest = map; (line = strsep(&rest, "\n")) != NULL;) {
        if (!read_line(line, field))
            continue;
        note_state(request, field[2]);
        if (request->paths.as_json) {
            json_line(&request->paths.json, NULL, field);
            continue;
        }
        add_line(request, &table, name, "", field);
    }
    if (request->paths.as_json) {
        json_close(&request->paths.json, ']');
        json_replicas(request, name);
        json_close(&request->paths.json, '}');
    } else {
        tell_replicas(request, &table, name);
        (void) table_print(&table, stdout);
    }
    request->paths.done++;
    return true;
}

/* -- one file after another -- */

static void explain(struct request *request, const char *name, int r)
{
    if (r == -EISDIR)
        paths_fail(&request->paths, name, "is a directory: name files");
    else if (r == -EINVAL || r == -ELOOP)
        paths_fail(&request->paths, name, "is no regular file: only those have subfiles");
    else if (r == -EUCLEAN)
        paths_fail(&request->paths, name,
                   "its record is damaged: unmount the volume and run fsck.fallsfs on its disks");
    else
        paths_fail(&request->paths, name, "cannot read its record on the home disk: %s", volume_strerror(-r));
}

static void map_from_disks(struct request *request, const char *real, const char *below, struct target *target)
{
    struct stat st;
    int r = read_stub(request->view.volume, below, &target->record);

    if (r == 0)
        r = layouts_get(request->layouts, target->record.layout, &target->layout);
    if (r < 0) {
        explain(request, target->name, r);
        return;
    }
    target->size = real != NULL && stat(real, &st) == 0 ? (uint64_t) st.st_size : target->record.size;
    if (request->paths.as_json)
        json_target(request, target);
    else
        print_target(request, target);
    layouts_put(request->layouts, target->layout);
    request->paths.done++;
}

static void map_one(struct request *request, const struct mounts *mounts, const char *name)
{
    cleanup(freep) char *real = realpath(name, NULL), *spelled = NULL;
    struct target target = { .name = name };
    const struct mount_place *place;
    const char *below;

    if (real == NULL && mounts_resolve(mounts, name, &spelled) < 0) {
        paths_fail(&request->paths, name, "%s", strerror(errno));
        return;
    }
    place = mounts_around(mounts, real != NULL ? real : spelled, &below);
    if (place == NULL)
        paths_fail(&request->paths, name, "%s",
                   real == NULL ? strerror(ENOENT) : "lies in no mounted fallsfs; 'fallsctl status' lists those");
    else if (use_volume(request, mounts, place) == 0)
        map_from_disks(request, real, below, &target);
    else if (!tell_as_mount(request, name))
        paths_fail(&request->paths, name, "the disks of %s cannot be read: %s", place->target,
                   request->view.n_actions > 0 ? request->view.action[0] : request->view.error.why);
}

enum ctl_status ctl_map(int argc, char **argv)
{
    struct request request = { .raw = false };
    bool as_json = false;
    struct arg arg[3 + TABLE_ARGS] = { { .name = "-b", .other = "--bytes", .set = &request.raw },
                                       { .name = "--replicas", .set = &request.replicas },
                                       { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "map", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(mounts_done) struct mounts mounts = { 0 };
    enum ctl_status status;

    table_args(&request.options, arg + 3);
    if (!args_read(&args, argc, argv, &status) ||
        !table_check(&request.options, "map", columns, ARRAY_SIZE(columns), &status))
        return status;
    if (args.n == 0)
        return args_complain("map", "which files?", NULL);
    if (mounts_read(&mounts) < 0)
        return report(as_json, "cannot read /proc/self/mountinfo, which lists the mounts: is /proc mounted?");
    paths_begin(&request.paths, as_json);
    for (int i = 0; i < args.n; i++)
        map_one(&request, &mounts, args.word[i]);
    forget_volume(&request);
    status = paths_end(&request.paths);
    return status == CTL_OK && request.n_lost > 0 ? CTL_PARTIAL : status;
}

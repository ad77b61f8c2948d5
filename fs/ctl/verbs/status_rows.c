/* SPDX-License-Identifier: MIT */
#include "fs/ctl/verbs/status_rows.h"

#include "fs/ctl/verbs/status_notes.h"

/* A line of a table: what is known of a disk, or of all. */
struct shown_disk {
    const char *mountpoint, *name, *path, *fs_type, *state, *pool; /* NULL: unknown, or none */
    bool is_home, has_sizes;
    uint64_t size, used, avail;
    const uint64_t *n_errors;
};

static const struct column columns[] = {
    { "MOUNTPOINT", COLUMN_CUT }, { "DISK", COLUMN_LEFT },  { "PATH", COLUMN_LEFT },  { "FS", COLUMN_LEFT },
    { "STATE", COLUMN_LEFT },     { "SIZE", COLUMN_RIGHT }, { "USED", COLUMN_RIGHT }, { "FREE", COLUMN_RIGHT },
    { "USED%", COLUMN_RIGHT },    { "POOL", COLUMN_LEFT },  { "HOME", COLUMN_LEFT },  { "ERRORS", COLUMN_RIGHT },
};

#define STATUS_COLUMNS  "DISK,PATH,FS,STATE,SIZE,FREE,POOL,HOME"
#define MOUNTED_COLUMNS "DISK,PATH,STATE,SIZE,FREE,POOL,ERRORS"
#define DF_COLUMNS      "DISK,PATH,SIZE,USED,FREE,USED%"

/* Begins the table of a volume. With --raw the tables of all volumes are to be read as one, which has headings once. */
static void begin_table(const struct disk_rows *rows, struct table *table, const char *usual)
{
    struct table_options options = rows->options;

    options.no_headings |= options.raw && rows->goes_on;
    table_init(table, columns, ARRAY_SIZE(columns), rows->is_df ? DF_COLUMNS : usual, &options);
}

static void add_word(struct table *table, const char *word)
{
    table_add(table, word != NULL && word[0] != 0 ? word : "-");
}

static void add_size(const struct disk_rows *rows, struct table *table, bool is_known, uint64_t size)
{
    char text[SIZE_TEXT];

    table_add(table, is_known ? size_text(size, rows->raw, text) : "-");
}

static void add_disk(const struct disk_rows *rows, struct table *table, const struct shown_disk *disk)
{
    add_word(table, disk->mountpoint);
    table_add(table, disk->name);
    table_add(table, disk->path != NULL ? disk->path : "");
    add_word(table, disk->fs_type);
    add_word(table, disk->state);
    add_size(rows, table, disk->has_sizes, disk->size);
    add_size(rows, table, disk->has_sizes, disk->used);
    add_size(rows, table, disk->has_sizes, disk->avail);
    if (disk->has_sizes && disk->size > 0)
        table_addf(table, "%.0f%%", 100.0 * (double) disk->used / (double) disk->size);
    else
        table_add(table, "-");
    add_word(table, disk->pool);
    table_add(table, disk->is_home ? "home" : "");
    if (disk->n_errors != NULL)
        table_addf(table, "%" PRIu64, *disk->n_errors);
    else
        table_add(table, "-");
}

static void add_disk_of_view(const struct disk_rows *rows, const struct view *view, uint32_t i, struct table *table)
{
    const struct probe *probe = view->disk[i].probe;
    char name[16];
    struct shown_disk disk = {
        .mountpoint = view->place != NULL ? view->place->target : NULL,
        .name = disk_name(i, name),
        .path = view->disk[i].path,
        .fs_type = view->disk[i].fs_type,
        .state = view_state(&view->disk[i]),
        .pool = view->stamp->disk[i].pool,
        .is_home = i == view->stamp->home,
        .n_errors = view->mount != NULL && i < view->mount->disks.n ? &view->mount->n_errors[i] : NULL,
    };

    if (probe != NULL) {
        disk.has_sizes = true;
        disk.size = probe->size;
        disk.used = probe->size - probe->free;
        disk.avail = probe->avail;
    }
    add_disk(rows, table, &disk);
}

void disk_rows_of_view(const struct disk_rows *rows, const struct view *view)
{
    cleanup(table_done) struct table table;

    begin_table(rows, &table, STATUS_COLUMNS);
    for (uint32_t i = 0; i < view->stamp->n_disks; i++)
        if (view_shows(view, i))
            add_disk_of_view(rows, view, i, &table);
    if (rows->is_df) {
        const char *mountpoint = view->place != NULL ? view->place->target : NULL;

        add_disk(rows, &table,
                 &(struct shown_disk){ .mountpoint = mountpoint,
                                       .name = "all",
                                       .path = mountpoint,
                                       .has_sizes = true,
                                       .size = view->size,
                                       .used = view->used,
                                       .avail = view->avail });
    }
    (void) table_print(&table, stdout);
}

static void add_disk_of_mount(const struct disk_rows *rows, const struct mount_info *mount, uint32_t i,
                              struct table *table)
{
    const struct volume_disk *disk = &mount->disks.disk[i];
    struct mount_info_sizes sizes = { 0 };
    bool is_known = mount_info_sizes(mount, i, &sizes);
    char name[16];

    add_disk(rows, table,
             &(struct shown_disk){ .mountpoint = mount->mountpoint,
                                   .name = disk_name(i, name),
                                   .path = disk->path,
                                   .state = disk->state,
                                   .pool = disk->pool,
                                   .has_sizes = is_known,
                                   .size = sizes.size,
                                   .used = sizes.used,
                                   .avail = sizes.avail,
                                   .n_errors = &mount->n_errors[i] });
}

void disk_rows_of_mount(const struct disk_rows *rows, const struct mount_info *mount)
{
    cleanup(table_done) struct table table;

    begin_table(rows, &table, MOUNTED_COLUMNS);
    for (uint32_t i = 0; i < mount->disks.n; i++)
        if (mount_info_shows(mount, i))
            add_disk_of_mount(rows, mount, i, &table);
    (void) table_print(&table, stdout);
}

bool disk_rows_check(const struct disk_rows *rows, const char *verb, enum ctl_status *ret_status)
{
    return table_check(&rows->options, verb, columns, ARRAY_SIZE(columns), ret_status);
}

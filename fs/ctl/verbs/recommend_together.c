/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/verbs/recommend.h"

static const struct column column[] = {
    { "BUSY", COLUMN_RIGHT },  { "NOW", COLUMN_RIGHT }, { "DEGREE", COLUMN_RIGHT }, { "FIRST", COLUMN_RIGHT },
    { "MOVES", COLUMN_RIGHT }, { "FILE", COLUMN_CUT },  { "LAYOUT", COLUMN_CUT },
};

static uint32_t first_disk(const struct together_file *file)
{
    return file->disk != NULL ? file->disk[file->chosen_start] : file->chosen_start;
}

static void add_row(struct table *table, const struct together_file *file)
{
    char text[SIZE_TEXT];

    table_addf(table, "%.3g s", (double) file->chosen->busy.most / 1e9);
    if (file->found.now != NULL)
        table_addf(table, "%.3g s", (double) file->found.now->busy.most / 1e9);
    else
        table_add(table, "");
    table_addf(table, "%.2f", file->chosen->degree);
    table_addf(table, "d%" PRIu32, first_disk(file));
    if (file->found.now == NULL)
        table_add(table, "");
    else
        table_add(table, together_changes(file) ? size_text(file->moves, false, text) : "stays");
    table_add(table, file->profile.file->path);
    table_add(table, file->chosen->text);
}

static enum ctl_status print_commands(const struct together *together)
{
    for (size_t i = 0; i < together->n; i++) {
        const struct together_file *file = &together->file[i];
        cleanup(freep) char *text = together_text(file);

        if (text == NULL)
            return report(false, "out of memory");
        if (file->found.now == NULL || !together_changes(file))
            continue;
        recommend_to_do(&file->asked, text);
    }
    return CTL_OK;
}

static enum ctl_status print_together(const struct together *together, bool applies)
{
    struct table table;
    int r;

    printf("%zu files together; disks: %" PRIu32 "\n", together->n, together->n_disks);
    table_init(&table, column, ARRAY_SIZE(column), NULL, NULL);
    for (size_t i = 0; i < together->n; i++)
        add_row(&table, &together->file[i]);
    r = table_print(&table, stdout);
    table_done(&table);
    if (r < 0)
        return report(false, "out of memory");
    printf("together: %.3g s on the disk that has most to do", (double) together->most / 1e9);
    if (together->knows_now)
        printf(", now %.3g s", (double) together->most_now / 1e9);
    putchar('\n');
    if (!together_is_worth(together)) {
        puts("no gain: no layouts that were tried take much less than the present ones");
        return CTL_OK;
    }
    return applies ? CTL_OK : print_commands(together);
}

static void json_chosen(struct json *json, const struct together_file *file, const char *text)
{
    json_open(json, NULL, '{');
    recommend_json(json, &file->asked, &file->found);
    json_open(json, "chosen", '{');
    json_string(json, "layout", text);
    json_u64(json, "first_disk", first_disk(file));
    json_seconds(json, "busy", (double) file->chosen->busy.most / 1e9);
    if (file->found.now != NULL) {
        json_bool(json, "changes", together_changes(file));
        json_bool(json, "knows_first_disk", file->knows_start);
        json_u64(json, "bytes_to_move", file->moves);
        json_seconds(json, "seconds_to_move", (double) file->moves_ns / 1e9);
    }
    json_close(json, '}');
    json_close(json, '}');
}

static enum ctl_status json_together(const struct together *together)
{
    struct json json;

    json_begin(&json, stdout);
    json_u64(&json, "n_disks", together->n_disks);
    json_bool(&json, "gain", together_is_worth(together));
    json_seconds(&json, "busy", (double) together->most / 1e9);
    if (together->knows_now)
        json_seconds(&json, "busy_now", (double) together->most_now / 1e9);
    json_open(&json, "files", '[');
    for (size_t i = 0; i < together->n; i++) {
        cleanup(freep) char *text = together_text(&together->file[i]);

        json_chosen(&json, &together->file[i], text);
    }
    json_close(&json, ']');
    json_end(&json);
    return CTL_OK;
}

enum ctl_status recommend_say_together(const struct together *together, bool as_json, bool applies)
{
    return as_json ? json_together(together) : print_together(together, applies);
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/moves.h"

#include "fs/core/record.h"
#include "fs/ctl/json_read.h"
#include "fs/ctl/table.h"
#include "layout/overlap.h"

#include <stdarg.h>
#include <string.h>

#define MAX_PAIRS 65536 /* of elements that are held against each other */

void moves_done(struct moves *moves)
{
    free(moves->bytes);
    moves->bytes = NULL;
}

/* The file's id decides which disk is the first, where the volume chooses. */
static int read_id(const struct laid *laid, uint8_t ret_id[static ID_SIZE])
{
    cleanup(freep) char *text = json_read_string(json_find(laid->json, "id"));

    return text != NULL && strlen(text) == 2 * ID_SIZE ? hex_parse(text, ID_SIZE, ret_id) : -EINVAL;
}

/* A layout on the disks of a volume, as the daemon will have it. */
struct placed {
    struct layout *layout;
    uint32_t n_list, rotate;
};

static int place(const struct laid *laid, const char *text, struct placed *placed, char why[static ATTRS_WHY])
{
    struct layout_error error;
    uint8_t id[ID_SIZE];
    struct layout *layout;
    int r = layout_parse(text, strlen(text), laid->n_takes, &layout, &error);

    if (r < 0)
        return attrs_refuse(why, r, "column %zu: %s", error.column, error.why);
    placed->layout = layout;
    if (layout->disks == DISKS_POOL)
        return attrs_refuse(why, -EINVAL,
                            "what is in a pool only the volume knows: name the disks to see what would move");
    placed->n_list = layout->disks == DISKS_LIST ? layout->n_disks : laid->n_takes;
    for (uint32_t i = 0; layout->disks == DISKS_LIST && i < layout->n_disks; i++)
        if (!laid_takes(laid, layout->disk[i]))
            return attrs_refuse(why, -ENODEV, "the volume has no disk d%" PRIu32 ", or it is to leave",
                                layout->disk[i]);
    if (layout->pattern == NULL || read_id(laid, id) < 0 || placed->n_list == 0)
        return attrs_refuse(why, -EINVAL, "the mount does not tell what is needed: is its daemon as new as fallsctl?");
    if (layout->disks != DISKS_LIST || layout->n_disks > layout->pattern->n_elements)
        placed->rotate = (id[1] * 256U + id[2]) % placed->n_list;
    return 0;
}

static uint32_t disk_of(const struct laid *laid, const struct placed *placed, uint32_t element)
{
    const struct layout *layout = placed->layout;
    uint32_t at;

    if (element == ELEMENT_HEADER)
        return laid->header_disk;
    if (layout->element_disk != NULL && layout->element_disk[element] != LAYOUT_ANY_DISK)
        return MIN(layout->element_disk[element], laid->n_disks - 1);
    at = (placed->rotate + element) % MAX(placed->n_list, 1);
    return layout->disks == DISKS_LIST ? layout->disk[at] : laid->takes[at];
}

/* Elements, and the header behind the last. */
static uint32_t n_parts(const struct pattern *pattern)
{
    return pattern->n_elements + (pattern->disp > 0);
}

static uint32_t part(const struct pattern *pattern, uint32_t i)
{
    return i < pattern->n_elements ? i : ELEMENT_HEADER;
}

static int add_pair(struct moves *moves, const struct laid *laid, const struct placed *placed, uint32_t i, uint32_t j)
{
    const struct pattern *from = laid->layout->pattern, *to = placed->layout->pattern;
    uint32_t a = laid_disk(laid, part(from, i)), b = disk_of(laid, placed, part(to, j));
    uint64_t bytes, runs;
    int r = overlap_count(pattern_element(from, part(from, i)), pattern_element(to, part(to, j)), 0, laid->size, &bytes,
                          &runs);

    if (r < 0)
        return r;
    moves->bytes[(size_t) a * moves->n_disks + b] += bytes;
    moves->total += bytes;
    return 0;
}

static int count(struct moves *moves, const struct laid *laid, const struct placed *placed)
{
    uint32_t n = n_parts(laid->layout->pattern), m = n_parts(placed->layout->pattern);
    int r = (uint64_t) n * m > MAX_PAIRS ? -E2BIG : 0;

    for (uint32_t i = 0; r == 0 && laid->size > 0 && i < n; i++)
        for (uint32_t j = 0; r == 0 && j < m; j++)
            r = add_pair(moves, laid, placed, i, j);
    return r;
}

int moves_init(struct moves *moves, const struct laid *laid, const char *text, char ret_why[static ATTRS_WHY])
{
    struct placed placed = { .layout = NULL };
    int r;

    *moves = (struct moves){ .n_disks = laid->n_disks };
    r = place(laid, text, &placed, ret_why);
    if (r == 0) {
        moves->bytes = calloc((size_t) laid->n_disks * laid->n_disks, sizeof moves->bytes[0]);
        r = moves->bytes != NULL ? count(moves, laid, &placed) : -ENOMEM;
        if (r == -E2BIG || r == -EOVERFLOW)
            (void) attrs_refuse(ret_why, r, "the two layouts have too little in common to say what would move where");
        else if (r < 0)
            (void) attrs_refuse(ret_why, r, "%s", strerror(-r));
    }
    layout_free(placed.layout);
    if (r < 0)
        moves_done(moves);
    return r;
}

void moves_add(struct moves *sum, const struct moves *more)
{
    if (sum->bytes == NULL) {
        *sum = (struct moves){ .n_disks = more->n_disks };
        sum->bytes = calloc((size_t) more->n_disks * more->n_disks, sizeof sum->bytes[0]);
    }
    if (sum->bytes == NULL || sum->n_disks != more->n_disks)
        return;
    for (size_t i = 0; i < (size_t) sum->n_disks * sum->n_disks; i++)
        sum->bytes[i] += more->bytes[i];
    sum->total += more->total;
}

/* Tables have room for a few columns: of more disks, only pairs that move something are listed. */
static void print_pairs(const struct moves *moves, bool raw)
{
    cleanup(table_done) struct table table;
    char size[SIZE_TEXT];

    table_init(&table, "llr");
    table_add(&table, "FROM");
    table_add(&table, "TO");
    table_add(&table, "BYTES");
    for (uint32_t from = 0; from < moves->n_disks; from++)
        for (uint32_t to = 0; to < moves->n_disks; to++) {
            uint64_t bytes = moves->bytes[(size_t) from * moves->n_disks + to];

            if (bytes == 0)
                continue;
            table_addf(&table, "d%" PRIu32, from);
            table_addf(&table, "d%" PRIu32, to);
            table_add(&table, size_text(bytes, raw, size));
        }
    (void) table_print(&table, stdout);
}

void moves_print(const struct moves *moves, bool raw)
{
    static const char align[TABLE_MAX_COLUMNS + 1] = "lrrrrrrrrrrr";
    cleanup(table_done) struct table table;
    char columns[TABLE_MAX_COLUMNS + 1], size[SIZE_TEXT];

    if (moves->bytes == NULL)
        return;
    if (moves->n_disks + 1 > TABLE_MAX_COLUMNS) {
        print_pairs(moves, raw);
        return;
    }
    snprintf(columns, sizeof columns, "%.*s", (int) moves->n_disks + 1, align);
    table_init(&table, columns);
    table_add(&table, "FROM\\TO");
    for (uint32_t to = 0; to < moves->n_disks; to++)
        table_addf(&table, "d%" PRIu32, to);
    for (uint32_t from = 0; from < moves->n_disks; from++) {
        table_addf(&table, "d%" PRIu32, from);
        for (uint32_t to = 0; to < moves->n_disks; to++)
            table_add(&table, size_text(moves->bytes[(size_t) from * moves->n_disks + to], raw, size));
    }
    (void) table_print(&table, stdout);
}

void moves_json(struct json *json, const struct moves *moves)
{
    json_open(json, "moves", '[');
    for (uint32_t from = 0; moves->bytes != NULL && from < moves->n_disks; from++) {
        json_open(json, NULL, '[');
        for (uint32_t to = 0; to < moves->n_disks; to++)
            json_u64(json, NULL, moves->bytes[(size_t) from * moves->n_disks + to]);
        json_close(json, ']');
    }
    json_close(json, ']');
}

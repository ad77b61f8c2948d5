/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/moves.h"

#include "fs/core/volume/file_layouts.h"
#include "fs/ctl/show/table.h"
#include "layout/overlap.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define MAX_PAIRS  65536 /* of elements that are held against each other, for all pieces of data between holes */
#define MAX_PIECES 256

void moves_done(struct moves *moves)
{
    free(moves->bytes);
    moves->bytes = NULL;
}

/* A layout on the disks of a volume, as the daemon will have it. */
struct placed {
    struct layout *layout;
    uint32_t *list, n_list, rotate;
    bool is_copy; /* the second one is looked at */
};

static void placed_done(struct placed *placed)
{
    layout_free(placed->layout);
    free(placed->list);
}

static bool is_in_pool(const struct json_object *value, const char *pool)
{
    const char *name = json_text(value);

    return name != NULL && strcmp(name, pool) == 0;
}

/* Lists the disks of a pool, or, when that is NULL, of the volume, that new bytes may go to. Those that new files leave
 * out are listed only when all is set. */
static uint32_t list_such(const struct file_info *info, const char *pool, bool all, uint32_t list[])
{
    const struct json_object *pools = json_member(info->said, "pools");
    uint32_t n = 0;

    for (uint32_t i = 0; i < info->n_disks; i++)
        if (file_info_takes(info, i) && (all || !file_info_leaves_out(info, i)) &&
            (pool == NULL || is_in_pool(json_at(pools, i), pool)))
            list[n++] = i;
    return n;
}

/* Where fewer disks have room than each byte has copies, all are listed. */
static uint32_t list_disks(const struct file_info *info, const char *pool, uint32_t copies, uint32_t list[])
{
    uint32_t n = list_such(info, pool, false, list);

    return n >= copies ? n : list_such(info, pool, true, list);
}

static int find_list(const struct file_info *info, struct placed *placed, char why[static ATTRS_WHY])
{
    const struct layout *layout = placed->layout;

    placed->list = calloc(MAX(layout->n_disks, info->n_disks), sizeof placed->list[0]);
    if (placed->list == NULL)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    if (layout->disks != DISKS_LIST)
        placed->n_list =
            list_disks(info, layout->disks == DISKS_POOL ? layout->pool : NULL, layout->copies, placed->list);
    for (uint32_t i = 0; layout->disks == DISKS_LIST && i < layout->n_disks; i++) {
        if (!file_info_takes(info, layout->disk[i]))
            return attrs_refuse(why, -ENODEV, "the volume has no disk d%" PRIu32 ", or it is to leave",
                                layout->disk[i]);
        placed->list[placed->n_list++] = layout->disk[i];
    }
    return placed->n_list > 0
               ? 0
               : attrs_refuse(why, -ENODEV, "no disk of the volume is known to be in a pool '%s'", layout->pool);
}

/* Parses the text for n_disks disks, in place of what was parsed before: some layouts have as many elements as
 * disks. */
static int parse(const char *text, uint32_t n_disks, struct layout **layout, char why[static ATTRS_WHY])
{
    struct layout_error error;
    int r;

    layout_free(*layout);
    *layout = NULL;
    r = layout_parse(text, strlen(text), n_disks, layout, &error);
    return r < 0 ? attrs_refuse(why, r, "column %zu: %s", error.column, error.why) : 0;
}

/* Finds with which disk of the list the file starts: with start, if that is listed, so a file stays where it starts as
 * long as it can; else as the mount says. */
static int find_start(const struct file_info *info, struct placed *placed, uint32_t start)
{
    uint64_t rotate;

    for (uint32_t i = 0; i < placed->n_list; i++)
        if (placed->list[i] == start) {
            placed->rotate = i;
            return 0;
        }
    if (placed->layout->disks == DISKS_LIST && placed->n_list <= placed->layout->pattern->n_elements)
        return 0;
    if (!json_number(json_member(info->said, "rotate"), &rotate) || placed->n_list == 0)
        return -EINVAL;
    placed->rotate = (uint32_t) (rotate % placed->n_list);
    return 0;
}

static int place(const struct file_info *info, const char *text, uint32_t start, struct placed *placed,
                 char why[static ATTRS_WHY])
{
    int r = parse(text, info->n_takes, &placed->layout, why);

    if (r == 0)
        r = find_list(info, placed, why);
    if (r == 0 && placed->layout->disks != DISKS_LIST && placed->n_list != info->n_takes)
        r = parse(text, placed->n_list, &placed->layout, why);
    if (r < 0)
        return r;
    if (placed->layout->pattern == NULL || find_start(info, placed, start) < 0)
        return attrs_refuse(why, -EINVAL, "the mount does not tell what is needed: is its daemon as new as fallsctl?");
    return 0;
}

/* The copy of a header is not looked at: it is small, and only the daemon knows all of where it lies. */
static uint32_t disk_of(const struct file_info *info, const struct placed *placed, uint32_t element)
{
    const struct layout *layout = placed->layout;
    uint32_t n = MAX(placed->n_list, 1), at = (placed->rotate + element) % n;

    if (element == ELEMENT_HEADER)
        return info->header_disk;
    if (layout->element_disk != NULL && layout->element_disk[element] != LAYOUT_ANY_DISK)
        return MIN(layout->element_disk[element], info->n_disks - 1);
    return placed->list[placed->is_copy ? disks_next_other(placed->list, n, at) : at];
}

/* How many parts a pattern has: its elements, and the header behind the last of them. */
static uint32_t n_parts(const struct pattern *pattern)
{
    return pattern->n_elements + (pattern->disp > 0);
}

static uint32_t part(const struct pattern *pattern, uint32_t i)
{
    return i < pattern->n_elements ? i : ELEMENT_HEADER;
}

/* Bytes [lo, hi) of the file, which have no hole. */
struct piece {
    uint64_t lo, hi;
};

/* Finds the data of a file between its holes. Where there are too many holes, or they cannot be found, all the rest is
 * data. */
static uint32_t find_pieces(const char *path, uint64_t size, uint32_t room, struct piece piece[])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint64_t at = 0;
    uint32_t n = 0;

    while (at < size) {
        off_t lo = fd >= 0 ? lseek(fd, (off_t) at, SEEK_DATA) : (off_t) at, hi = (off_t) size;

        if (lo < 0 && errno == ENXIO)
            break;
        lo = lo < 0 ? (off_t) at : lo;
        if (fd >= 0 && n + 1 < room)
            hi = lseek(fd, lo, SEEK_HOLE);
        hi = hi <= lo || (uint64_t) hi > size ? (off_t) size : hi;
        piece[n++] = (struct piece){ (uint64_t) lo, (uint64_t) hi };
        at = (uint64_t) hi;
    }
    if (fd >= 0)
        close(fd);
    return n;
}

/* Whether part j of the new layout stays: some subfile has its bytes already, on its disk. */
static bool is_kept(const struct file_info *info, const struct placed *placed, uint32_t j)
{
    const struct pattern *from = info->layout->pattern, *to = placed->layout->pattern;

    for (uint32_t i = 0; i < n_parts(from); i++)
        if (file_info_disk(info, part(from, i)) == disk_of(info, placed, part(to, j)) &&
            nest_equals(pattern_element(from, part(from, i)), pattern_element(to, part(to, j))))
            return true;
    return false;
}

static int add_pair(struct moves *moves, const struct file_info *info, const struct placed *placed, uint32_t i,
                    uint32_t j, const struct piece *piece)
{
    const struct pattern *from = info->layout->pattern, *to = placed->layout->pattern;
    uint32_t a = file_info_disk(info, part(from, i)), b = disk_of(info, placed, part(to, j));
    uint64_t bytes, runs;
    int r = overlap_count(pattern_element(from, part(from, i)), pattern_element(to, part(to, j)), piece->lo,
                          piece->hi - piece->lo, &bytes, &runs);

    if (r < 0)
        return r;
    moves->bytes[(size_t) a * moves->n_disks + b] += bytes;
    moves->total += bytes;
    return 0;
}

static int add_part(struct moves *moves, const struct file_info *info, const struct placed *placed, uint32_t j,
                    const struct piece piece[], uint32_t n_pieces)
{
    const struct nest *nest = pattern_element(placed->layout->pattern, part(placed->layout->pattern, j));
    bool stays = !placed->is_copy && is_kept(info, placed, j); /* copies are made anew */
    int r = 0;

    for (uint32_t k = 0; stays && k < n_pieces; k++)
        moves->stays += nest_rank(nest, piece[k].hi) - nest_rank(nest, piece[k].lo);
    for (uint32_t k = 0; r == 0 && !stays && k < n_pieces; k++)
        for (uint32_t i = 0; r == 0 && i < n_parts(info->layout->pattern); i++)
            r = add_pair(moves, info, placed, i, j, &piece[k]);
    return r;
}

static int count(struct moves *moves, const struct file_info *info, const char *path, struct placed *placed)
{
    uint64_t pairs = (uint64_t) n_parts(info->layout->pattern) * n_parts(placed->layout->pattern);
    struct piece piece[MAX_PIECES];
    uint32_t n_pieces;
    int r = pairs > MAX_PAIRS ? -E2BIG : 0;

    if (r < 0)
        return r;
    n_pieces = find_pieces(path, info->size, (uint32_t) MIN(MAX_PIECES, MAX_PAIRS / pairs), piece);
    for (uint32_t j = 0; r == 0 && j < n_parts(placed->layout->pattern); j++)
        r = add_part(moves, info, placed, j, piece, n_pieces);
    placed->is_copy = placed->layout->copies > 1;
    for (uint32_t j = 0; r == 0 && placed->is_copy && j < placed->layout->pattern->n_elements; j++)
        r = add_part(moves, info, placed, j, piece, n_pieces);
    return r;
}

int moves_init(struct moves *moves, const struct file_info *info, const char *path, const char *text, uint32_t start,
               char ret_why[static ATTRS_WHY])
{
    cleanup(placed_done) struct placed placed = { .layout = NULL };
    int r;

    *moves = (struct moves){ .n_disks = info->n_disks };
    r = place(info, text, start, &placed, ret_why);
    if (r == 0) {
        moves->bytes = calloc((size_t) info->n_disks * info->n_disks, sizeof moves->bytes[0]);
        r = moves->bytes != NULL ? count(moves, info, path, &placed) : -ENOMEM;
        if (r == -E2BIG || r == -EOVERFLOW)
            (void) attrs_refuse(ret_why, r, "the two layouts have too little in common to say what would move where");
        else if (r < 0)
            (void) attrs_refuse(ret_why, r, "%s", strerror(-r));
    }
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
    sum->stays += more->stays;
}

#define MATRIX_MAX 11 /* disks */

/* Prints a row for each pair of disks between which something moves: lines have no room for a matrix of so many
 * disks. */
static void print_pairs(const struct moves *moves, bool raw)
{
    static const struct column columns[] = { { "FROM", COLUMN_LEFT },
                                             { "TO", COLUMN_LEFT },
                                             { "BYTES", COLUMN_RIGHT } };
    cleanup(table_done) struct table table;
    char size[SIZE_TEXT];

    table_init(&table, columns, ARRAY_SIZE(columns), NULL, NULL);
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

static void print_matrix(const struct moves *moves, bool raw)
{
    struct column columns[1 + MATRIX_MAX] = { { "FROM\\TO", COLUMN_LEFT } };
    cleanup(table_done) struct table table;
    char name[MATRIX_MAX][16], size[SIZE_TEXT];

    for (uint32_t to = 0; to < moves->n_disks; to++) {
        snprintf(name[to], sizeof name[to], "d%" PRIu32, to);
        columns[1 + to] = (struct column){ name[to], COLUMN_RIGHT };
    }
    table_init(&table, columns, 1 + moves->n_disks, NULL, NULL);
    for (uint32_t from = 0; from < moves->n_disks; from++) {
        table_addf(&table, "d%" PRIu32, from);
        for (uint32_t to = 0; to < moves->n_disks; to++)
            table_add(&table, size_text(moves->bytes[(size_t) from * moves->n_disks + to], raw, size));
    }
    (void) table_print(&table, stdout);
}

void moves_print(const struct moves *moves, bool raw)
{
    if (moves->bytes == NULL)
        return;
    if (moves->n_disks > MATRIX_MAX)
        print_pairs(moves, raw);
    else
        print_matrix(moves, raw);
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

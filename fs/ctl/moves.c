/* SPDX-License-Identifier: MIT */
#include "fs/ctl/moves.h"

#include "fs/core/record.h"
#include "fs/ctl/json_read.h"
#include "fs/ctl/table.h"
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

/* The file's id decides which disk is the first, where the volume chooses. */
static int read_id(const struct laid *laid, uint8_t ret_id[static ID_SIZE])
{
    cleanup(freep) char *text = json_read_string(json_find(laid->json, "id"));

    return text != NULL && strlen(text) == 2 * ID_SIZE ? hex_parse(text, ID_SIZE, ret_id) : -EINVAL;
}

/* A layout on the disks of a volume, as the daemon will have it. */
struct placed {
    struct layout *layout;
    uint32_t *list, n_list, rotate;
};

static void placed_done(struct placed *placed)
{
    layout_free(placed->layout);
    free(placed->list);
}

static bool is_in_pool(const char *value, const char *pool)
{
    cleanup(freep) char *name = json_read_string(value);

    return name != NULL && strcmp(name, pool) == 0;
}

/* The disks that a pool has, or all, of those that new bytes may go to. */
static uint32_t list_disks(const struct laid *laid, const char *pool, uint32_t list[])
{
    const char *value = pool != NULL ? json_first(json_find(laid->json, "pools")) : NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < laid->n_disks; i++) {
        if (laid_takes(laid, i) && (pool == NULL || (value != NULL && is_in_pool(value, pool))))
            list[n++] = i;
        value = value != NULL ? json_next(value) : NULL;
    }
    return n;
}

static int find_list(const struct laid *laid, struct placed *placed, char why[static ATTRS_WHY])
{
    const struct layout *layout = placed->layout;

    placed->list = calloc(MAX(layout->n_disks, laid->n_disks), sizeof placed->list[0]);
    if (placed->list == NULL)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    if (layout->disks != DISKS_LIST)
        placed->n_list = list_disks(laid, layout->disks == DISKS_POOL ? layout->pool : NULL, placed->list);
    for (uint32_t i = 0; layout->disks == DISKS_LIST && i < layout->n_disks; i++) {
        if (!laid_takes(laid, layout->disk[i]))
            return attrs_refuse(why, -ENODEV, "the volume has no disk d%" PRIu32 ", or it is to leave",
                                layout->disk[i]);
        placed->list[placed->n_list++] = layout->disk[i];
    }
    return placed->n_list > 0
               ? 0
               : attrs_refuse(why, -ENODEV, "no disk of the volume is known to be in a pool '%s'", layout->pool);
}

/* Parsed once more where the number of elements is that of the disks. */
static int parse(const char *text, uint32_t n_disks, struct layout **layout, char why[static ATTRS_WHY])
{
    struct layout_error error;
    int r;

    layout_free(*layout);
    *layout = NULL;
    r = layout_parse(text, strlen(text), n_disks, layout, &error);
    return r < 0 ? attrs_refuse(why, r, "column %zu: %s", error.column, error.why) : 0;
}

static int place(const struct laid *laid, const char *text, struct placed *placed, char why[static ATTRS_WHY])
{
    uint8_t id[ID_SIZE];
    int r = parse(text, laid->n_takes, &placed->layout, why);

    if (r == 0)
        r = find_list(laid, placed, why);
    if (r == 0 && placed->layout->disks == DISKS_POOL)
        r = parse(text, placed->n_list, &placed->layout, why);
    if (r < 0)
        return r;
    if (placed->layout->pattern == NULL || read_id(laid, id) < 0)
        return attrs_refuse(why, -EINVAL, "the mount does not tell what is needed: is its daemon as new as fallsctl?");
    if (placed->layout->disks != DISKS_LIST || placed->n_list > placed->layout->pattern->n_elements)
        placed->rotate = (id[1] * 256U + id[2]) % MAX(placed->n_list, 1);
    return 0;
}

static uint32_t disk_of(const struct laid *laid, const struct placed *placed, uint32_t element)
{
    const struct layout *layout = placed->layout;

    if (element == ELEMENT_HEADER)
        return laid->header_disk;
    if (layout->element_disk != NULL && layout->element_disk[element] != LAYOUT_ANY_DISK)
        return MIN(layout->element_disk[element], laid->n_disks - 1);
    return placed->list[(placed->rotate + element) % MAX(placed->n_list, 1)];
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

/* Bytes of the file [lo, hi) without a hole. */
struct piece {
    uint64_t lo, hi;
};

/* The data of a file between its holes; where there are many, or they cannot be found, all behind one is data. */
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

/* Whether some subfile has the bytes of this part, on its disk. */
static bool is_kept(const struct laid *laid, const struct placed *placed, uint32_t j)
{
    const struct pattern *from = laid->layout->pattern, *to = placed->layout->pattern;

    for (uint32_t i = 0; i < n_parts(from); i++)
        if (laid_disk(laid, part(from, i)) == disk_of(laid, placed, part(to, j)) &&
            nest_equals(pattern_element(from, part(from, i)), pattern_element(to, part(to, j))))
            return true;
    return false;
}

static int add_pair(struct moves *moves, const struct laid *laid, const struct placed *placed, uint32_t i, uint32_t j,
                    const struct piece *piece)
{
    const struct pattern *from = laid->layout->pattern, *to = placed->layout->pattern;
    uint32_t a = laid_disk(laid, part(from, i)), b = disk_of(laid, placed, part(to, j));
    uint64_t bytes, runs;
    int r = overlap_count(pattern_element(from, part(from, i)), pattern_element(to, part(to, j)), piece->lo,
                          piece->hi - piece->lo, &bytes, &runs);

    if (r < 0)
        return r;
    moves->bytes[(size_t) a * moves->n_disks + b] += bytes;
    moves->total += bytes;
    return 0;
}

static int add_part(struct moves *moves, const struct laid *laid, const struct placed *placed, uint32_t j,
                    const struct piece piece[], uint32_t n_pieces)
{
    const struct nest *nest = pattern_element(placed->layout->pattern, part(placed->layout->pattern, j));
    bool stays = is_kept(laid, placed, j);
    int r = 0;

    for (uint32_t k = 0; stays && k < n_pieces; k++)
        moves->stays += nest_rank(nest, piece[k].hi) - nest_rank(nest, piece[k].lo);
    for (uint32_t k = 0; r == 0 && !stays && k < n_pieces; k++)
        for (uint32_t i = 0; r == 0 && i < n_parts(laid->layout->pattern); i++)
            r = add_pair(moves, laid, placed, i, j, &piece[k]);
    return r;
}

static int count(struct moves *moves, const struct laid *laid, const char *path, const struct placed *placed)
{
    uint64_t pairs = (uint64_t) n_parts(laid->layout->pattern) * n_parts(placed->layout->pattern);
    struct piece piece[MAX_PIECES];
    uint32_t n_pieces;
    int r = pairs > MAX_PAIRS ? -E2BIG : 0;

    if (r < 0)
        return r;
    n_pieces = find_pieces(path, laid->size, (uint32_t) MIN(MAX_PIECES, MAX_PAIRS / pairs), piece);
    for (uint32_t j = 0; r == 0 && j < n_parts(placed->layout->pattern); j++)
        r = add_part(moves, laid, placed, j, piece, n_pieces);
    return r;
}

int moves_init(struct moves *moves, const struct laid *laid, const char *path, const char *text,
               char ret_why[static ATTRS_WHY])
{
    cleanup(placed_done) struct placed placed = { .layout = NULL };
    int r;

    *moves = (struct moves){ .n_disks = laid->n_disks };
    r = place(laid, text, &placed, ret_why);
    if (r == 0) {
        moves->bytes = calloc((size_t) laid->n_disks * laid->n_disks, sizeof moves->bytes[0]);
        r = moves->bytes != NULL ? count(moves, laid, path, &placed) : -ENOMEM;
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

/* SPDX-License-Identifier: MIT */
#include "fs/core/change/relocation.h"

#include "fs/core/change/room_watch.h"
#include "fs/core/volume/space.h"

#include <stdio.h>
#include <string.h>

#define BLOCK UINT64_C(4096)

/* -- the disks -- */

static uint32_t group_of(const struct volume *volume, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (disk_is_present(&volume->disk[k]) && volume->disk[k].dev == volume->disk[i].dev)
            return k;
    return i;
}

/* Gives a pool a number: that of its first disk, counted from 1; 0: the disk is in no pool. */
static uint32_t pool_of(const struct volume *volume, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(volume->disk[k].pool, volume->disk[i].pool) == 0)
            return volume->disk[i].pool[0] == 0 ? 0 : k + 1;
    return volume->disk[i].pool[0] == 0 ? 0 : i + 1;
}

static uint64_t count_sharing(const struct placement *placement, uint32_t group)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < placement->n; i++)
        n += placement->disk[i].takes && placement->disk[i].group == group;
    return MAX(n, 1);
}

static void describe(struct fs *fs, uint32_t i, bool stands, struct placement_disk *ret)
{
    const struct disk *disk = &fs->volume->disk[i];
    struct statvfs st = { 0 };
    bool is_known = disk_is_present(disk) && space_of_disk(disk, &st) == 0;

    *ret =
        (struct placement_disk){ .group = disk_is_present(disk) ? group_of(fs->volume, i) : i,
                                 .pool = pool_of(fs->volume, i),
                                 .size = (uint64_t) st.f_blocks * st.f_frsize,
                                 .free = (uint64_t) st.f_bavail * st.f_frsize,
                                 .stands = stands,
                                 .is_home = i == fs->volume->home,
                                 .takes = stands && is_known && !disk_is_read_only(disk) && !space_lacks_inodes(&st) };
    ret->reserve = is_known ? room_kept_back(fs->room, ret->size, ret->is_home) : 0;
    ret->used = ret->size - MIN((uint64_t) st.f_bfree * st.f_frsize, ret->size);
}

/* Divides each file system among the disks that share it. */
static void share(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->n; i++) {
        struct placement_disk *disk = &placement->disk[i];
        uint64_t sharers = count_sharing(placement, disk->group);

        disk->size /= sharers;
        disk->left = (int64_t) (placement->disk[disk->group].free / sharers);
    }
}

int relocation_look(struct fs *fs, uint32_t thought, struct placement *ret_placement)
{
    uint32_t n = fs->volume->n_disks;

    *ret_placement = (struct placement){ .n = n, .disk = calloc(n, sizeof ret_placement->disk[0]) };
    if (ret_placement->disk == NULL)
        return -ENOMEM;
    room_ask(fs->room);
    for (uint32_t i = 0; i < n; i++)
        describe(fs, i, i != thought && volume_takes(fs->volume, i), &ret_placement->disk[i]);
    share(ret_placement);
    return 0;
}

void relocation_forget(struct placement *placement)
{
    free(placement->disk);
    *placement = (struct placement){ 0 };
}

void relocation_look_again(struct fs *fs, struct placement *placement)
{
    room_ask(fs->room);
    for (uint32_t i = 0; i < placement->n; i++) {
        const struct disk *disk = &fs->volume->disk[i];

        if (!volume_takes(fs->volume, i) || !disk_is_present(disk) || disk_is_read_only(disk))
            placement->disk[i].takes = false;
        else
            placement_note_free(placement, i, space_left(disk));
    }
}

/* -- the parts of a file -- */

/* The parts of a file: first the places of the list of disks, then elements that name their disk. */
struct pieces {
    const struct file_layout *layout;
    uint32_t n, n_list, rotate; /* the first element lies at place rotate of the list */
    struct placement_part *part;
    uint32_t *list;       /* the disks of the places */
    uint32_t was;         /* the disk at place rotate, before anything is decided */
    uint32_t *element;    /* the element that each part behind the list is */
    uint32_t *n_at;       /* how many elements, or copies of some, lie at each place of the list */
    uint64_t *of_element; /* bytes of each element */
};

static void pieces_done(struct pieces *pieces)
{
    free(pieces->part);
    free(pieces->list);
    free(pieces->element);
    free(pieces->n_at);
    free(pieces->of_element);
}

static bool is_fixed(const struct file_layout *layout, uint32_t element)
{
    const uint32_t *fixed = layout->layout->element_disk;

    return fixed != NULL && fixed[element] != LAYOUT_ANY_DISK;
}

/* Estimates how many bytes of disk each element takes: as if holes were spread evenly over the file, and in whole
 * blocks. */
static void measure(struct pieces *pieces, const struct record *record)
{
    double total = 0, density;

    for (uint32_t i = 0; i < pieces->layout->pattern->n_elements; i++) {
        pieces->of_element[i] = bits_has(&record->bits, i) ? file_layout_len(pieces->layout, i, record->size) : 0;
        total += (double) pieces->of_element[i];
    }
    density = total > 0 ? MIN((double) record->blocks * 512 / total, 1.0) : 0;
    for (uint32_t i = 0; i < pieces->layout->pattern->n_elements; i++)
        pieces->of_element[i] = (uint64_t) ((double) pieces->of_element[i] * density + BLOCK - 1) / BLOCK * BLOCK;
}

/* Makes the places of the list: n of them, the first on the disk that the layout's list has at start. */
static void set_list(struct pieces *pieces, uint32_t n, uint32_t start)
{
    pieces->n = pieces->n_list = n;
    for (uint32_t i = 0; i < n; i++) {
        pieces->list[i] = pieces->layout->list[(start + i) % MAX(pieces->layout->n_list, 1)];
        pieces->part[i] = (struct placement_part){ .disk = pieces->list[i] };
        pieces->n_at[i] = 0;
    }
}

static void add_at(struct pieces *pieces, uint32_t at, uint32_t element)
{
    pieces->n_at[at]++;
    pieces->part[at].bytes += pieces->of_element[element];
}

/* Adds what lies at places of the list: elements, each at one, and their copies. */
static void fill_list(struct pieces *pieces)
{
    const struct file_layout *layout = pieces->layout;

    for (uint32_t i = 0; i < layout->pattern->n_elements; i++) {
        uint32_t at = (pieces->rotate + i) % pieces->n_list;

        if (is_fixed(layout, i))
            continue;
        add_at(pieces, at, i);
        if (layout->layout->copies > 1)
            add_at(pieces, disks_next_other(pieces->list, pieces->n_list, at), i);
    }
    for (uint32_t i = 0; i < pieces->n_list; i++)
        pieces->part[i].is_idle = pieces->n_at[i] == 0;
}

static void fill(struct pieces *pieces)
{
    const struct file_layout *layout = pieces->layout;

    set_list(pieces, layout->n_list, 0);
    fill_list(pieces);
    for (uint32_t i = 0; i < layout->pattern->n_elements; i++)
        if (is_fixed(layout, i)) {
            pieces->element[pieces->n - pieces->n_list] = i;
            pieces->part[pieces->n++] =
                (struct placement_part){ .disk = layout->layout->element_disk[i], .bytes = pieces->of_element[i] };
        }
}

static bool are_known(const struct placement *placement, const struct pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->n; i++)
        if (pieces->part[i].disk >= placement->n)
            return false;
    return true;
}

static int pieces_init(struct pieces *pieces, const struct placement *placement, const struct file_layout *layout,
                       const struct record *record)
{
    uint32_t n_elements = layout->pattern->n_elements;

    *pieces = (struct pieces){ .layout = layout, .n_list = layout->n_list, .rotate = record->rotate % layout->n_list };
    pieces->part = calloc((size_t) layout->n_list + n_elements, sizeof pieces->part[0]);
    pieces->list = calloc(MAX(layout->n_list, n_elements), sizeof pieces->list[0]);
    pieces->element = calloc(MAX(n_elements, 1), sizeof pieces->element[0]);
    pieces->n_at = calloc(MAX(layout->n_list, n_elements), sizeof pieces->n_at[0]);
    pieces->of_element = calloc(MAX(n_elements, 1), sizeof pieces->of_element[0]);
    if (pieces->part == NULL || pieces->list == NULL || pieces->element == NULL || pieces->n_at == NULL ||
        pieces->of_element == NULL) {
        pieces_done(pieces);
        return -ENOMEM;
    }
    measure(pieces, record);
    fill(pieces);
    pieces->was = pieces->part[pieces->rotate].disk;
    if (are_known(placement, pieces))
        return 0;
    pieces_done(pieces);
    return -ENODEV;
}

/* Gives each element a place of its own in the list, which gets longer, with smaller parts that fit more easily. False:
 * that cannot be done, or changes nothing. */
static bool split(struct pieces *pieces)
{
    const struct file_layout *layout = pieces->layout;
    uint32_t n = layout->pattern->n_elements;

    if (layout->layout->element_disk != NULL || pieces->n_list != layout->n_list || n <= layout->n_list)
        return false;
    set_list(pieces, n, pieces->rotate);
    pieces->rotate = 0;
    fill_list(pieces);
    return true;
}

/* Drops places of the list that no element lies at, on disks where nothing may lie. One place stays at least: a list is
 * never empty. */
static void drop_idle(struct pieces *pieces, const struct placement *placement)
{
    uint32_t first = pieces->rotate, n = 0, dropped = 0;

    for (uint32_t i = 0; i < pieces->n_list; i++) {
        bool is_last = n == 0 && i + 1 == pieces->n_list;

        if (pieces->n_at[i] == 0 && !placement->disk[pieces->part[i].disk].stands && !is_last) {
            dropped++;
            continue;
        }
        if (i == first)
            pieces->rotate = n;
        pieces->n_at[n] = pieces->n_at[i];
        pieces->part[n++] = pieces->part[i];
    }
    memmove(&pieces->part[n], &pieces->part[pieces->n_list], (pieces->n - pieces->n_list) * sizeof pieces->part[0]);
    pieces->n_list = n;
    pieces->n -= dropped;
    pieces->rotate %= MAX(n, 1);
}

/* -- as a layout -- */

static void print_list(FILE *out, const struct layout *layout)
{
    const char *before = " on ";

    for (uint32_t i = 0, n; i < layout->n_disks; i += n) {
        for (n = 1; i + n < layout->n_disks && layout->disk[i + n] == layout->disk[i] + n;)
            n++;
        fprintf(out, "%sd%" PRIu32, before, layout->disk[i]);
        if (n > 1)
            fprintf(out, "-d%" PRIu32, layout->disk[i + n - 1]);
        before = ",";
    }
}

/* Prints a layout as it was typed but for its disks. Where elements name their disks, in the midst of the text, the
 * canonical text is printed. */
static char *print(const struct layout *layout)
{
    cleanup(freep) char *disks = NULL;
    size_t len;
    FILE *out;

    if (layout->element_disk != NULL)
        return layout_canonical(layout);
    out = open_memstream(&disks, &len);
    if (out == NULL)
        return NULL;
    print_list(out, layout);
    return fclose(out) == 0 ? layout_with_disks(layout, disks) : NULL;
}

/* Chooses the place where the first element starts. A file of one element moves to another place of its list where that
 * has the chosen disk, so that its text stays the same; the place that it had is dropped if nothing may lie there. One
 * that has a copy stays: the copy lies behind it, and would move, too. */
static uint32_t choose_start(struct pieces *pieces, const struct placement *placement)
{
    struct placement_part *part = pieces->part;
    uint32_t was = pieces->rotate, start = was;

    bool is_single = pieces->layout->pattern->n_elements == 1 && pieces->layout->layout->copies == 1;

    for (uint32_t i = 0; is_single && i < pieces->n_list; i++)
        if (i != was && pieces->n_at[was] > 0 && part[i].disk == part[was].disk)
            start = i;
    if (start == was)
        return was;
    part[was].disk = pieces->was;
    if (placement->disk[pieces->was].stands)
        return start;
    memmove(&part[was], &part[was + 1], (--pieces->n_list - was) * sizeof part[0]);
    pieces->n--;
    return start > was ? start - 1 : start;
}

static int put_in_words(struct pieces *pieces, const struct placement *placement, struct relocation *ret)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    const char *text = pieces->layout->layout->text;
    struct layout_error error;
    uint32_t *list;
    int r = layout_parse(text, strlen(text), 0, &layout, &error);

    if (r < 0)
        return r == -ENOMEM ? r : -EUCLEAN;
    list = calloc(pieces->n_list, sizeof *list);
    if (list == NULL)
        return -ENOMEM;
    ret->start = choose_start(pieces, placement);
    for (uint32_t i = 0; i < pieces->n_list; i++)
        list[i] = pieces->part[i].disk;
    free(layout->disk);
    layout->disk = list;
    layout->n_disks = pieces->n_list;
    for (uint32_t i = pieces->n_list; i < pieces->n; i++)
        layout->element_disk[pieces->element[i - pieces->n_list]] = pieces->part[i].disk;
    ret->text = print(layout);
    ret->is_typed = pieces->layout->is_typed;
    return ret->text != NULL ? 1 : -ENOMEM;
}

void relocation_done(struct relocation *relocation)
{
    free(relocation->text);
    *relocation = (struct relocation){ .text = NULL };
}

/* -- who chose the disks -- */

/* Whether a layout's disks were written by an earlier version, not typed: where it had no room for a second copy it
 * named a disk for each element, out of a list shorter than there are elements. */
static bool was_written_out(const struct layout *layout)
{
    cleanup(freep) char *canonical = NULL;

    if (layout->element_disk == NULL || layout->disks != DISKS_LIST || layout->n_disks >= layout->pattern->n_elements)
        return false;
    for (uint32_t i = 0; i < layout->pattern->n_elements; i++)
        if (layout->element_disk[i] == LAYOUT_ANY_DISK)
            return false;
    canonical = layout_canonical(layout);
    return canonical != NULL && strcmp(canonical, layout->text) == 0;
}

/* Whether somebody has named the disks of a file, in a list or before elements: balancing leaves such a file where it
 * is. */
static bool is_bound(const struct file_layout *layout)
{
    return layout->is_typed || (layout->layout->element_disk != NULL && !was_written_out(layout->layout));
}

static uint64_t bytes_above(const struct placement *placement, const struct pieces *pieces)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < pieces->n; i++)
        bytes += placement_is_above(placement, pieces->part[i].disk) ? pieces->part[i].bytes : 0;
    return bytes;
}

/* -- one file -- */

int relocation_count(struct placement *placement, const struct file_layout *layout, const struct record *record)
{
    cleanup(pieces_done) struct pieces pieces = { .part = NULL };
    int r = pieces_init(&pieces, placement, layout, record);

    for (uint32_t i = 0; r == 0 && i < pieces.n; i++)
        placement->disk[pieces.part[i].disk].ours += pieces.part[i].bytes;
    return r;
}

static uint64_t ours_in(const struct placement *placement, uint32_t group)
{
    uint64_t ours = 0;

    for (uint32_t i = 0; i < placement->n; i++)
        ours += placement->disk[i].group == group ? placement->disk[i].ours : 0;
    return ours;
}

void relocation_end_count(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->n; i++) {
        uint32_t group = placement->disk[i].group;
        uint64_t used = placement->disk[group].used, ours = ours_in(placement, group);

        placement->disk[i].others = (used - MIN(ours, used)) / count_sharing(placement, group);
    }
}

static bool must_move(const struct placement *placement, const struct pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->n; i++)
        if (!placement->disk[pieces->part[i].disk].stands)
            return true;
    return false;
}

static uint64_t bytes_leaving(const struct placement *placement, const struct pieces *pieces)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < pieces->n; i++)
        bytes += placement->disk[pieces->part[i].disk].stands ? 0 : pieces->part[i].bytes;
    return bytes;
}

bool relocation_has_to_leave(const struct placement *placement, const struct file_layout *layout,
                             const struct record *record)
{
    cleanup(pieces_done) struct pieces pieces = { .part = NULL };

    return pieces_init(&pieces, placement, layout, record) == 0 && must_move(placement, &pieces);
}

int relocation_leave(struct placement *placement, const struct file_layout *layout, const struct record *record,
                     struct relocation *ret_relocation, uint64_t *ret_lacking)
{
    cleanup(pieces_done) struct pieces pieces = { .part = NULL };
    int r = pieces_init(&pieces, placement, layout, record);

    *ret_relocation = (struct relocation){ .text = NULL };
    if (r < 0 || !must_move(placement, &pieces))
        return r;
    ret_relocation->bytes = bytes_leaving(placement, &pieces);
    drop_idle(&pieces, placement);
    pieces.was = pieces.part[pieces.rotate].disk;
    r = placement_leave(placement, pieces.part, pieces.n, layout->layout->copies, ret_lacking);
    if ((r == -ENOSPC || r == -EEXIST) && split(&pieces))
        r = placement_leave(placement, pieces.part, pieces.n, layout->layout->copies, ret_lacking);
    return r < 0 ? r : put_in_words(&pieces, placement, ret_relocation);
}

int relocation_even(struct placement *placement, const struct file_layout *layout, const struct record *record,
                    struct placement_stays *stays, struct relocation *ret_relocation)
{
    cleanup(pieces_done) struct pieces pieces = { .part = NULL };
    cleanup(freep) uint32_t *before = NULL;
    int r = pieces_init(&pieces, placement, layout, record);

    *ret_relocation = (struct relocation){ .text = NULL };
    if (r < 0)
        return r;
    if (is_bound(layout)) {
        stays->named += bytes_above(placement, &pieces);
        return 0;
    }
    before = calloc(pieces.n, sizeof *before);
    for (uint32_t i = 0; before != NULL && i < pieces.n; i++)
        before[i] = pieces.part[i].disk;
    r = before != NULL ? placement_even(placement, pieces.part, pieces.n, layout->layout->copies, stays) : -ENOMEM;
    for (uint32_t i = 0; r > 0 && i < pieces.n; i++)
        ret_relocation->bytes += pieces.part[i].disk != before[i] ? pieces.part[i].bytes : 0;
    return r <= 0 ? r : put_in_words(&pieces, placement, ret_relocation);
}

/* -- spreading anew -- */

char *relocation_bare(const struct layout *layout)
{
    cleanup(layout_freep) struct layout *copy = NULL;
    struct layout_error error;

    if (!was_written_out(layout))
        return layout_without_disks(layout);
    if (layout_parse(layout->text, strlen(layout->text), 0, &copy, &error) < 0)
        return NULL;
    free(copy->element_disk);
    copy->element_disk = NULL;
    copy->disks = DISKS_ANY;
    return layout_canonical(copy);
}

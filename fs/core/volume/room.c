/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/room.h"

#include "fs/core/volume/space.h"

#include <string.h>

#define UNITS 16
#define UNIT  (UINT64_C(1) << 20)

/* -- the table -- */

uint64_t room_unit(const char *text)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;

    return layout_parse(text, strlen(text), 0, &layout, &error) == 0 && layout->unit > 0 ? layout->unit : UNIT;
}

uint64_t room_reserve(const struct room_rule *rule, uint64_t size, bool is_home)
{
    uint64_t units = rule->unit < UINT64_MAX / UNITS ? UNITS * rule->unit : UINT64_MAX;
    uint64_t wanted = rule->reserve == ROOM_USUAL ? MAX(size / 20, units) : rule->reserve;

    return MIN(wanted, size / 4) * (is_home ? 2 : 1);
}

/* A disk that was left out is taken again when twice the reserve is free. A small home disk keeps back half of itself,
 * and is never empty: three quarters free are enough for it. */
bool room_is_tight(uint64_t reserve, uint64_t size, uint64_t free, bool was)
{
    return was ? free <= MIN(2 * reserve, size / 4 * 3) : free < reserve;
}

static bool takes_now(const struct volume *volume, uint32_t i)
{
    return disk_is_present(&volume->disk[i]) && volume_takes(volume, i) && !disk_is_read_only(&volume->disk[i]);
}

/* How many of the disks that take new bytes lie on the same file system. */
static uint32_t count_sharing(const struct volume *volume, uint32_t n_disks, dev_t dev)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_disks; i++)
        n += takes_now(volume, i) && volume->disk[i].dev == dev;
    return MAX(n, 1);
}

/* Whether hardly an inode is left. A file takes one on every disk that has bytes of it. */
static bool has_few_inodes(const struct statvfs *st)
{
    return st->f_files > 0 && st->f_favail <= st->f_files / 1024;
}

static bool look_at(struct volume *volume, const struct room_rule *rule, uint32_t n_disks, uint32_t i,
                    struct room_budget *budget)
{
    struct disk *disk = &volume->disk[i];
    bool was = atomic_load(&disk->is_tight), is = false;
    struct statvfs st;

    if (takes_now(volume, i) && space_of_disk(disk, &st) == 0) {
        uint64_t size = (uint64_t) st.f_blocks * st.f_frsize, free = (uint64_t) st.f_bavail * st.f_frsize;

        uint64_t reserve = room_reserve(rule, size, i == volume->home);

        is = room_is_tight(reserve, size, free, was) || (reserve > 0 && has_few_inodes(&st));
        if (!is && reserve > 0) {
            uint64_t due = MAX(free - MIN(free, reserve), reserve / 4);

            budget->due = MIN(budget->due, due);
            budget->overdue = MIN(budget->overdue, due + reserve / 4);
        }
        atomic_store(&disk->share, free / count_sharing(volume, n_disks, disk->dev));
    }
    atomic_store(&disk->is_tight, is);
    return is != was;
}

struct room_budget room_look(struct volume *volume, const struct room_rule *rule)
{
    struct room_budget budget = { UINT64_MAX, UINT64_MAX };
    uint32_t n_disks = volume->n_disks;
    bool changes = false;

    for (uint32_t i = 0; i < n_disks; i++)
        changes |= look_at(volume, rule, n_disks, i, &budget);
    if (changes)
        atomic_fetch_add(&volume->room_turn, 1);
    return budget;
}

/* -- where files start -- */

#define TRIES 16

/* The chances of a disk to be the start of a new file, as against other disks: what it has free. A disk that is nearly
 * full has none, unless all is set. */
static uint64_t chances(const struct volume *volume, uint32_t index, bool all)
{
    const struct disk *disk = &volume->disk[index];

    if (disk_is_read_only(disk) || (!all && disk_is_left_out(disk)))
        return 0;
    return atomic_load_explicit(&disk->share, memory_order_relaxed);
}

/* The chances of the disk that has the least of them, among those that a file with this start uses, in one of its
 * copies. Disks that elements are bound to do not count. */
static uint64_t least_chances_of(const struct volume *volume, const struct file_layout *layout, uint16_t rotate,
                                 bool all)
{
    const uint32_t *fixed = layout->layout->element_disk;
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < MIN(layout->pattern->n_elements, layout->n_list); i++)
        if (fixed == NULL || fixed[i] == LAYOUT_ANY_DISK)
            least = MIN(least, chances(volume, file_layout_disk(layout, volume->home, rotate, i), all));
    return least;
}

static uint64_t least_chances(const struct volume *volume, const struct file_layout *layout, uint32_t start, bool all)
{
    uint16_t rotate = (uint16_t) start;
    uint64_t least = least_chances_of(volume, layout, rotate, all);

    return layout->layout->copies < 2
               ? least
               : MIN(least, least_chances_of(volume, layout, file_layout_copy_rotate(layout, rotate), all));
}

/* Draws a number from 0 to less than 1, by splitmix64. */
static double next(uint64_t *bits)
{
    uint64_t mixed = *bits += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double) ((mixed ^ mixed >> 31) >> 11) * 0x1p-53;
}

/* Picks a start by the chances of its own disk alone: the one that at, a part of the sum of all chances, falls on. */
static uint32_t pick(const struct volume *volume, const struct file_layout *layout, bool all, double at)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < layout->n_list; i++) {
        double here = (double) chances(volume, layout->list[i], all);

        if (here > 0)
            last = i;
        if (at < here)
            return i;
        at -= here;
    }
    return last;
}

static uint32_t find_best(const struct volume *volume, const struct file_layout *layout, bool all)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < layout->n_list; i++)
        if (least_chances(volume, layout, i, all) > least_chances(volume, layout, best, all))
            best = i;
    return best;
}

/* Draws a start; false: all have no chances. A file that uses all disks of its list starts on each as often as the
 * chances of that disk say. A file that uses some of them shall start on each as often as the least chances of these
 * say: a start that pick found is taken with the probability of least chances to own chances; else another is picked.
 * After TRIES of them the best start is taken. */
static bool draw(const struct volume *volume, const struct file_layout *layout, bool all, uint64_t *bits,
                 uint32_t *ret_start)
{
    bool uses_all = layout->pattern->n_elements >= layout->n_list;
    double sum = 0;

    for (uint32_t i = 0; i < layout->n_list; i++)
        sum += (double) chances(volume, layout->list[i], all);
    for (int i = 0; sum > 0 && i < TRIES; i++) {
        uint32_t start = pick(volume, layout, all, next(bits) * sum);
        double own = (double) chances(volume, layout->list[start], all);

        if (uses_all || next(bits) * own < (double) least_chances(volume, layout, start, all)) {
            *ret_start = start;
            return true;
        }
    }
    *ret_start = find_best(volume, layout, all);
    return least_chances(volume, layout, *ret_start, all) > 0;
}

uint16_t room_draw_start(const struct volume *volume, const struct file_layout *layout, uint64_t bits)
{
    uint32_t start;

    if (layout->n_list > 1 && (draw(volume, layout, false, &bits, &start) || draw(volume, layout, true, &bits, &start)))
        return (uint16_t) start;
    return (uint16_t) (next(&bits) * layout->n_list);
}

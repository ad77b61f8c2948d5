/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/space.h"

#include <stdio.h>

#define UNIT 4096

/* A file system that disks of the volume lie on. */
struct pool {
    dev_t dev;
    uint32_t disk; /* a disk on it that has a share */
    double share;  /* of a file's bytes that go to its disks */
    struct statvfs st;
};

static uint32_t pool_of(const struct pool pool[], uint32_t n, dev_t dev)
{
    uint32_t i = 0;

    while (i < n && pool[i].dev != dev)
        i++;
    return i;
}

/* A disk that is watched is not asked here: what it last told counts, to a thread that may wait for it. */
int space_of_disk(const struct disk *disk, struct statvfs *ret_statfs)
{
    if (disk->watch != NULL)
        return watch_last_space(disk->watch, ret_statfs) ? 0 : -EIO;
    return disk_call(disk, statfs, disk->root, ret_statfs);
}

#define NO_POOL UINT32_MAX

bool space_lacks_inodes(const struct statvfs *space)
{
    return space->f_files > 0 && space->f_favail == 0;
}

/* A name takes an inode and a block of the home disk, which must not be read-only. */
bool space_takes_names(const struct disk *home, const struct statvfs *space)
{
    return !disk_is_read_only(home) && space->f_bavail > 0 && !space_lacks_inodes(space);
}

/* The room of the file system that a disk lies on. What is free on a read-only one is no room: it counts as being as
 * large as what it holds. Where no inode is free there is no room for a new file. */
static int ask_pool(const struct disk *disk, struct statvfs *ret_statfs)
{
    int r = space_of_disk(disk, ret_statfs);

    if (r == 0 && disk_is_read_only(disk)) {
        ret_statfs->f_blocks -= MIN(ret_statfs->f_bfree, ret_statfs->f_blocks);
        ret_statfs->f_bfree = ret_statfs->f_bavail = 0;
    }
    if (r == 0 && space_lacks_inodes(ret_statfs))
        ret_statfs->f_bavail = 0;
    return r;
}

/* Finds the file systems that the first n_disks disks lie on, and for each disk which one it is. A disk that is absent,
 * or that takes nothing new, is on none (NO_POOL). */
static int find_pools(const struct volume *volume, uint32_t n_disks, struct pool pool[], uint32_t *ret_n,
                      uint32_t ret_pool_of_disk[])
{
    *ret_n = 0;
    for (uint32_t i = 0; i < n_disks; i++) {
        const struct disk *disk = &volume->disk[i];
        int r;

        ret_pool_of_disk[i] = NO_POOL;
        if (!disk_is_present(disk) || !volume_takes(volume, i))
            continue;
        ret_pool_of_disk[i] = pool_of(pool, *ret_n, disk->dev);
        if (ret_pool_of_disk[i] < *ret_n)
            continue;
        pool[*ret_n] = (struct pool){ .dev = disk->dev };
        r = ask_pool(disk, &pool[*ret_n].st);
        if (r < 0)
            return r;
        ++*ret_n;
    }
    return 0;
}

/* The file systems of a volume, and how one file shares them. */
struct pools {
    uint32_t n_disks, n;
    struct pool *pool;
    uint32_t *of_disk;    /* the pool of each disk; NO_POOL: none */
    uint32_t *of_element; /* the pool of each element of the file that is looked at, and then of the copies of all;
                             NO_POOL: it needs no room */
};

static void pools_done(struct pools *pools)
{
    free(pools->pool);
    free(pools->of_disk);
    free(pools->of_element);
}

static uint32_t copies_of(const struct file_layout *layout)
{
    return layout->layout->copies;
}

/* Finds the pools of a volume, to look at files with this layout. */
static int pools_init(struct pools *pools, const struct volume *volume, const struct file_layout *layout)
{
    *pools = (struct pools){ .n_disks = volume->n_disks };
    pools->pool = calloc(pools->n_disks, sizeof *pools->pool);
    pools->of_disk = calloc(pools->n_disks, sizeof *pools->of_disk);
    pools->of_element = calloc((size_t) layout->pattern->n_elements * copies_of(layout), sizeof *pools->of_element);
    if (pools->pool == NULL || pools->of_disk == NULL || pools->of_element == NULL)
        return -ENOMEM;
    return find_pools(volume, pools->n_disks, pools->pool, &pools->n, pools->of_disk);
}

/* Notes that an element has a part of the file's bytes on a disk. */
static void add_share(struct pools *pools, const struct pattern *pattern, uint32_t element, uint32_t disk,
                      uint32_t *of_element)
{
    struct pool *here;

    *of_element = disk < pools->n_disks ? pools->of_disk[disk] : NO_POOL;
    if (*of_element == NO_POOL)
        return;
    here = &pools->pool[*of_element];
    if (here->share == 0)
        here->disk = disk;
    here->share += (double) pattern->element[element].once->size / (double) pattern->size;
}

/* Sets the share of each pool in the bytes of a file that lies as to says. Elements that stay where they are when the
 * file comes from another laying need no room, but their copies are made anew; from is NULL for a new file. */
static void set_shares(const struct volume *volume, const struct placed_layout *from, const struct placed_layout *to,
                       struct pools *pools)
{
    const struct pattern *pattern = to->layout->pattern;
    uint16_t copy = file_layout_copy_rotate(to->layout, to->rotate);
    uint32_t n = pattern->n_elements;

    for (uint32_t i = 0; i < pools->n; i++)
        pools->pool[i].share = 0;
    for (uint32_t i = 0; i < n; i++) {
        pools->of_element[i] = NO_POOL;
        if (from == NULL || placed_layout_same(from, to, volume->home, i) == UINT32_MAX)
            add_share(pools, pattern, i, file_layout_disk(to->layout, volume->home, to->rotate, i),
                      &pools->of_element[i]);
        if (copies_of(to->layout) > 1)
            add_share(pools, pattern, i, file_layout_disk(to->layout, volume->home, copy, i),
                      &pools->of_element[n + i]);
    }
}

/* Whether a file of so many bytes fits into a pool, each of its subfiles in whole blocks. */
static bool fits(const struct layout *layout, const uint32_t of_element[], uint32_t pool, uint64_t avail,
                 uint64_t block, uint64_t size)
{
    uint32_t n = layout->pattern->n_elements;
    uint64_t left = avail / block;

    for (uint32_t i = 0; i < n * layout->copies; i++) {
        uint64_t blocks = 0;

        if (of_element[i] == pool)
            blocks = (nest_rank(pattern_element(layout->pattern, i % n), size) + block - 1) / block;
        if (blocks > left)
            return false;
        left -= blocks;
    }
    return true;
}

uint64_t space_of_pool(const struct layout *layout, const uint32_t of_element[], uint32_t pool, uint64_t avail,
                       uint64_t block)
{
    const struct pattern *pattern = layout->pattern;
    uint64_t share = 0, lo = 0, hi = FALLS_LIMIT, periods = hi / pattern->size;
    uint32_t n = pattern->n_elements;

    for (uint32_t i = 0; i < n * layout->copies; i++)
        share += of_element[i] == pool ? pattern->element[i % n].once->size : 0;
    if ((double) avail / (double) share + 3 < (double) periods)
        hi = ((uint64_t) ((double) avail / (double) share) + 2) * pattern->size;
    if (fits(layout, of_element, pool, avail, block, hi))
        return hi;
    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (fits(layout, of_element, pool, avail, block, mid))
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Lowers *avail, below 0 when nothing is known yet, to what a file with the shares set last can take; *limit is then a
 * disk on the pool that ends it. */
static void note_least(const struct pools *pools, const struct layout *layout, double *avail, uint32_t *limit)
{
    for (uint32_t i = 0; i < pools->n; i++) {
        const struct pool *pool = &pools->pool[i];
        uint64_t block = MAX(pool->st.f_frsize, 1), left = (uint64_t) pool->st.f_bavail * block;
        double here;

        if (pool->share <= 0 || (*avail >= 0 && fits(layout, pools->of_element, i, left, block, (uint64_t) *avail)))
            continue;
        here = (double) space_of_pool(layout, pools->of_element, i, left, block);
        if (*avail < 0 || here < *avail) {
            *avail = here;
            *limit = pool->disk;
        }
    }
}

/* Whether a file that lies so, or the copy of one, uses a disk which is left out. */
static bool has_tight(const struct volume *volume, const struct file_layout *layout, uint16_t rotate)
{
    for (uint32_t i = 0; i < layout->pattern->n_elements; i++) {
        uint32_t disk = file_layout_disk(layout, volume->home, rotate, i);

        if (disk < volume->n_disks && disk_is_left_out(&volume->disk[disk]))
            return true;
    }
    return false;
}

static bool uses_tight(const struct volume *volume, const struct file_layout *layout, uint16_t rotate)
{
    return has_tight(volume, layout, rotate) ||
           (copies_of(layout) > 1 && has_tight(volume, layout, file_layout_copy_rotate(layout, rotate)));
}

/* How many bytes a file of this choice can take from the start where that is least; below 0: there is no start to look
 * at. Starts that use a disk which is left out are looked at only with all set, or if there is no other start; starts
 * that use a full disk count only if all do. */
static double find_least(const struct volume *volume, const struct chosen_layout *choice, bool all, struct pools *pools,
                         uint32_t *limit)
{
    uint32_t n_starts = choice->rotates ? choice->layout->n_list : 1;
    double least = -1;

    for (uint32_t i = 0; i < n_starts; i++) {
        const struct placed_layout laying = { choice->layout, (uint16_t) i };
        uint32_t where = UINT32_MAX;
        double here = -1;

        if (!all && n_starts > 1 && uses_tight(volume, laying.layout, laying.rotate))
            continue;
        set_shares(volume, NULL, &laying, pools);
        note_least(pools, choice->layout->layout, &here, &where);
        if (here >= 0 && (least <= 0 || (here > 0 && here < least))) {
            least = here;
            *limit = where;
        }
    }
    return least;
}

int space_of_chosen(const struct volume *volume, const struct chosen_layout *choice, struct statvfs *ret_statfs,
                    uint32_t *ret_limit)
{
    uint32_t limit = UINT32_MAX;
    cleanup(pools_done) struct pools pools;
    struct statvfs st = { 0 };
    double avail;
    int r = pools_init(&pools, volume, choice->layout);

    if (r == 0)
        r = space_of_disk(&volume->disk[volume->home], &st);
    if (r < 0)
        return r;
    *ret_statfs = (struct statvfs){ .f_bsize = UNIT,
                                    .f_frsize = UNIT,
                                    .f_files = st.f_files,
                                    .f_ffree = st.f_ffree,
                                    .f_favail = st.f_favail,
                                    .f_namemax = st.f_namemax };
    for (uint32_t i = 0; i < pools.n; i++) {
        const struct statvfs *here = &pools.pool[i].st;

        ret_statfs->f_blocks += (fsblkcnt_t) ((double) here->f_blocks * (double) here->f_frsize / UNIT);
        ret_statfs->f_bfree += (fsblkcnt_t) ((double) here->f_bfree * (double) here->f_frsize / UNIT);
    }
    avail = find_least(volume, choice, false, &pools, &limit);
    if (avail < 0)
        avail = find_least(volume, choice, true, &pools, &limit);
    ret_statfs->f_bavail = avail < 0 ? 0 : (fsblkcnt_t) (avail / UNIT);
    if (!space_takes_names(&volume->disk[volume->home], &st)) {
        ret_statfs->f_bavail = 0;
        ret_statfs->f_ffree = ret_statfs->f_favail = 0;
        limit = volume->home;
    }
    if (ret_limit != NULL)
        *ret_limit = limit;
    return 0;
}

bool space_fits(const struct volume *volume, const struct placed_layout *from, const struct placed_layout *to,
                uint64_t bytes)
{
    cleanup(pools_done) struct pools pools;
    uint32_t limit;
    double avail = -1;

    if (pools_init(&pools, volume, to->layout) < 0)
        return true;
    set_shares(volume, from, to, &pools);
    note_least(&pools, to->layout->layout, &avail, &limit);
    return avail < 0 || (double) bytes <= avail;
}

uint64_t space_left(const struct disk *disk)
{
    struct statvfs st;

    return space_of_disk(disk, &st) < 0 ? 0 : (uint64_t) st.f_bavail * st.f_frsize;
}

/* What it means for the volume that a disk is read-only. */
static const char *read_only_means(bool is_home)
{
    return is_home ? "It is the home disk: nothing can be made, renamed or removed" : "New files go to other disks";
}

static const char *full_means(bool is_home)
{
    return is_home ? "It is the home disk: no name can be made until it has room, and 'fallsctl disk add' does not help"
                   : "Files with bytes there cannot grow";
}

bool space_advice(const struct space_of *of, char ret_text[static SPACE_ADVICE])
{
    const struct statvfs *space = of->space;
    bool is_full = (uint64_t) space->f_bavail * space->f_frsize < SPACE_FULL;

    if (of->is_read_only)
        snprintf(ret_text, SPACE_ADVICE,
                 "disk d%" PRIu32
                 " is read-only: dmesg says why if nobody wanted that. %s; what lies there can be read. "
                 "'mount -o remount,rw' lets it be written again; if it had errors, unmount the volume, repair it, and "
                 "mount both again",
                 of->index, read_only_means(of->is_home));
    else if (space_lacks_inodes(space))
        snprintf(ret_text, SPACE_ADVICE,
                 "disk d%" PRIu32 " has no free inode: remove files, or give its file system more inodes. %s",
                 of->index, of->is_home ? full_means(true) : "New files cannot have bytes there");
    else if (is_full)
        snprintf(ret_text, SPACE_ADVICE,
                 "disk d%" PRIu32 " is full: remove files, or make room on its file system, or make that larger. %s",
                 of->index, full_means(of->is_home && space->f_bavail == 0));
    return of->is_read_only || space_lacks_inodes(space) || is_full;
}

/* SPDX-License-Identifier: MIT */
/* What becomes of replicas when their file changes. */
#include "fs/core/file/replicas.h"

#include "fs/core/file/fill.h"
#include "fs/core/file/plan.h"
#include "fs/core/file/subfile.h"
#include "fs/core/file/subfiles.h"
#include "fs/core/file/transfer.h"

#include <string.h>

#include <linux/falloc.h>

#define AHEAD 64 /* windows that are taken back together, so that writing on is not held up at each */

/* -- windows -- */

bool replica_span(const struct replica_map *map, const struct replica_entry *entry, uint64_t lo, uint64_t hi,
                  uint64_t *ret_from, uint64_t *ret_to)
{
    lo = MAX(lo, entry->lo);
    hi = MIN(hi, entry->hi);
    if (lo >= hi || (entry->flags & REPLICA_ENDED) != 0)
        return false;
    *ret_from = MIN(lo >> map->shift, WINDOWS_MAX);
    *ret_to = MIN(((hi - 1) >> map->shift) + 1, WINDOWS_MAX);
    return *ret_from < *ret_to;
}

void replica_mark_wrong(struct replica *replica, uint64_t from, uint64_t to)
{
    if (!windows_add(&replica->wrong, from, to))
        replica->is_lost = true;
    windows_remove(&replica->still, from, to);
}

void replica_doubt(const struct replica_map *map, const struct replica_entry *entry, uint64_t size,
                   struct replica *replica)
{
    uint64_t from, to;

    if (replica_span(map, entry, 0, size, &from, &to))
        for (uint64_t window = from; window < to; window++)
            if (!windows_has(&replica->right, window))
                replica_mark_wrong(replica, window, window + 1);
}

bool replicas_follow_apart(const struct file *file)
{
    bool apart = false;

    if (!atomic_load(&file->follows))
        return false;
    for (uint32_t i = 0; !apart && i < file->replicas->map.n; i++)
        apart = (file->replicas->map.replica[i].flags & (REPLICA_UPDATE | REPLICA_ENDED)) == REPLICA_UPDATE &&
                !replica_is_copy(file, &file->replicas->map.replica[i]);
    return apart;
}

bool replicas_are_due(struct file *file)
{
    struct replicas *replicas = file->replicas;
    bool due = false;

    if (replicas == NULL)
        return false;
    mutex_lock(&file->meta);
    mutex_lock(&replicas->lock);
    for (uint32_t i = 0; !due && i < replicas->map.n; i++) {
        const struct replica_entry *entry = &replicas->map.replica[i];
        uint64_t from, to;

        if ((entry->flags & REPLICA_ENDED) != 0)
            due = true;
        else if (!replicas->replica[i].is_lost && replica_span(&replicas->map, entry, 0, file->record.size, &from, &to))
            due = !windows_has_all(&replicas->replica[i].right, from, to);
    }
    mutex_unlock(&replicas->lock);
    mutex_unlock(&file->meta);
    return due;
}

/* -- before bytes change -- */

int replicas_write_list(struct fs *fs, const struct file *file, struct replicas *replicas)
{
    int r;

    replicas->map.gen = replicas->map.also_gen = file->record.gen;
    r = replica_map_replace(fs->volume, &replicas->places, &replicas->map);
    replicas->shall_replace = r != 0;
    return MIN(r, 0);
}

/* Makes a map with the same replicas and larger windows. */
static int coarsen(const struct replica_map *map, unsigned shift, struct replica_map *ret_map)
{
    struct replica_map coarse = *map;
    int r = 0;

    coarse.shift = shift;
    for (uint32_t i = 0; i < coarse.n; i++)
        coarse.replica[i].right = coarse.replica[i].safe = (struct windows){ 0 };
    for (uint32_t i = 0; r == 0 && i < coarse.n; i++) {
        r = windows_copy(&map->replica[i].right, &coarse.replica[i].right);
        if (r == 0)
            r = replica_coarsen(&coarse.replica[i].right, shift - map->shift);
        if (r == 0)
            r = windows_copy(&map->replica[i].safe, &coarse.replica[i].safe);
        if (r == 0)
            r = replica_coarsen(&coarse.replica[i].safe, shift - map->shift);
    }
    if (r < 0)
        replica_map_done(&coarse);
    else
        *ret_map = coarse;
    return r;
}

/* Gives a map the windows of a coarse one; its list stays as it is, which others read. */
static void take_larger(struct replica_map *map, struct replica_map *coarse)
{
    map->gen = map->also_gen = coarse->gen;
    map->series = coarse->series;
    map->shift = coarse->shift;
    replica_map_void(map);
    for (uint32_t i = 0; i < map->n; i++) {
        map->replica[i].right = coarse->replica[i].right;
        map->replica[i].safe = coarse->replica[i].safe;
    }
}

/* What is not called right any more counts as wrong: few files become so long that their windows grow. */
static void know_larger(struct file *file, struct replica *replica, const struct replica_entry *entry, uint64_t size)
{
    windows_done(&replica->right);
    windows_done(&replica->wrong);
    windows_done(&replica->still);
    if (windows_copy(&entry->right, &replica->right) < 0)
        replica->is_lost = true;
    else
        replica_doubt(&file->replicas->map, entry, size, replica);
}

/* Makes the windows of a file larger, which becomes longer than they reach. */
static int enlarge(struct fs *fs, struct file *file, unsigned shift)
{
    struct replicas *replicas = file->replicas;
    const uint64_t size = file_size(file);
    struct replica_map coarse;
    int r = 0;

    mutex_lock(&replicas->changing);
    if (shift > replicas->map.shift && (r = coarsen(&replicas->map, shift, &coarse)) == 0) {
        coarse.gen = coarse.also_gen = file->record.gen;
        r = replica_map_replace(fs->volume, &replicas->places, &coarse);
        if (r < 0) {
            replica_map_done(&coarse);
        } else {
            mutex_lock(&replicas->lock);
            take_larger(&replicas->map, &coarse);
            for (uint32_t i = 0; i < replicas->map.n; i++)
                know_larger(file, &replicas->replica[i], &replicas->map.replica[i], size);
            mutex_unlock(&replicas->lock);
            replicas->shall_replace = r == REPLICA_MAP_BEHIND;
        }
    }
    mutex_unlock(&replicas->changing);
    return MIN(r, 0);
}

/* Has no disk call any window right any more: the map goes. Its list is written again by the next sync. */
static int forget_all(struct fs *fs, const struct file *file, struct replicas *replicas) REQUIRES(replicas->changing)
{
    int r = replica_map_remove(fs->volume, &replicas->places, file->record.id);

    if (r == 0) {
        replica_map_void(&replicas->map);
        replicas->shall_replace = true;
    }
    return r;
}

/* Has no disk call windows right from that of lo on, at least as far as hi. */
static int take_back(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi)
{
    struct replicas *replicas = file->replicas;
    struct replica_map *map = &replicas->map;
    uint64_t from, to, end;
    int r;

    mutex_lock(&replicas->changing);
    from = MIN(lo >> map->shift, WINDOWS_MAX - 1);
    to = MIN(MAX(((hi - 1) >> map->shift) + 1, from + AHEAD), WINDOWS_MAX);
    end = 0;
    for (uint32_t i = 0; i < map->n; i++) {
        end = MAX(end, windows_end(&map->replica[i].right));
        windows_remove(&map->replica[i].right, from, to);
    }
    r = replica_map_update(fs->volume, &replicas->places, map, from, MIN(to, MAX(end, from + 1)));
    replicas->shall_replace |= r == REPLICA_MAP_BEHIND;
    if (r < 0 && (r = forget_all(fs, file, replicas)) == 0)
        to = WINDOWS_MAX;
    if (r >= 0) {
        mutex_lock(&replicas->lock);
        for (uint32_t i = 0; i < map->n; i++)
            windows_remove(&replicas->replica[i].right, from, to);
        mutex_unlock(&replicas->lock);
    }
    mutex_unlock(&replicas->changing);
    return MIN(r, 0);
}

/* Notes that bytes [lo, hi) are about to change; whether some disk calls them right. */
static bool note_change(struct file *file, uint64_t lo, uint64_t hi, bool drops)
{
    struct replicas *replicas = file->replicas;
    bool is_right = false;

    mutex_lock(&replicas->lock);
    for (uint32_t i = 0; i < replicas->map.n; i++) {
        const struct replica_entry *entry = &replicas->map.replica[i];
        struct replica *replica = &replicas->replica[i];
        uint64_t from, to;

        if (!replica_span(&replicas->map, entry, lo, hi, &from, &to))
            continue;
        windows_remove(&replica->still, from, to);
        if (drops && (entry->flags & REPLICA_UPDATE) == 0)
            replica_mark_wrong(replica, from, to);
        is_right |= windows_has_any(&replica->right, from, to);
    }
    mutex_unlock(&replicas->lock);
    return is_right;
}

int replicas_take_back(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi)
{
    return file->replicas != NULL && note_change(file, lo, hi, false) ? take_back(fs, file, lo, hi) : 0;
}

/* A file that grows gets zeros behind its former end: a window there that is right was never made so long. */
static int grow_to(struct fs *fs, struct file *file, uint64_t size)
{
    const uint64_t old = file_size(file);
    unsigned shift;
    int r = 0;

    if (size <= old)
        return 0;
    mutex_lock(&file->replicas->lock);
    shift = file->replicas->map.shift;
    mutex_unlock(&file->replicas->lock);
    if (replica_shift(fs->replica_shift, size) > shift)
        r = enlarge(fs, file, replica_shift(fs->replica_shift, size));
    return r == 0 && note_change(file, old, size, false) ? take_back(fs, file, old, size) : r;
}

int replicas_will_grow(struct fs *fs, struct file *file, uint64_t size)
{
    if (file->replicas == NULL)
        return 0;
    atomic_store(&file->replicas->changed_at, clock_ms());
    fs->calls->follow(fs, file->inode);
    return grow_to(fs, file, size);
}

int replicas_will_change(struct fs *fs, struct file *file, uint64_t lo, uint64_t hi)
{
    int r = replicas_will_grow(fs, file, hi);

    if (r < 0 || file->replicas == NULL || lo >= hi)
        return r;
    return note_change(file, lo, hi, true) ? take_back(fs, file, lo, hi) : 0;
}

/* -- after the file was written -- */

/* Makes the windows of [lo, hi) wrong in one replica. */
static void lose(struct file *file, uint32_t i, uint64_t lo, uint64_t hi)
{
    struct replicas *replicas = file->replicas;
    uint64_t from, to;

    mutex_lock(&replicas->lock);
    if (replica_span(&replicas->map, &replicas->map.replica[i], lo, hi, &from, &to))
        replica_mark_wrong(&replicas->replica[i], from, to);
    mutex_unlock(&replicas->lock);
}

void replicas_lose(struct file *file, uint64_t lo, uint64_t hi)
{
    for (uint32_t i = 0; file->replicas != NULL && i < file->replicas->map.n; i++)
        lose(file, i, lo, hi);
}

/* Makes a plan of the shares that were done to their ends, to be done again. */
static int plan_again(const struct plan *plan, struct plan *ret_again)
{
    *ret_again = *plan;
    ret_again->share = malloc(plan->n_shares * sizeof *plan->share);
    ret_again->n_shares = 0;
    if (ret_again->share == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].done == plan->share[i].len) {
            ret_again->share[ret_again->n_shares] = plan->share[i];
            ret_again->share[ret_again->n_shares++].done = 0;
        }
    return 0;
}

/* How many bytes of a plan lie before the first one that was not done. A plan for one share has just those. */
static uint64_t done_of(const struct plan *plan, const struct plan *again)
{
    return plan->share == &plan->only ? again->share[0].done : plan_prefix(again);
}

static int write_again(struct fs *fs, struct generation *copy, const struct plan *plan, struct plan *again,
                       uint64_t *written)
{
    int r = fill_run(fs, copy, again);

    if (r == 0)
        r = plan_error(again);
    if (r < 0)
        *written = MIN(*written, done_of(plan, again));
    return r;
}

static int write_one_copy(struct fs *fs, struct file *file, uint32_t i, const struct plan *plan, uint64_t *written)
{
    struct generation *copy = file->replicas->replica[i].generation;
    struct plan again;
    int r = copy == NULL || file->replicas->replica[i].is_lost ? -EIO : plan_again(plan, &again);

    if (r < 0) {
        *written = 0;
        return r;
    }
    r = write_again(fs, copy, plan, &again, written);
    free(again.share);
    return r;
}

int replicas_write_copy(struct fs *fs, struct file *file, const struct plan *plan, uint64_t lo, uint64_t hi,
                        uint64_t *written)
{
    int r = 0;

    if (!atomic_load(&file->follows) || plan->n_shares == 0)
        return 0;
    for (uint32_t i = 0; r == 0 && i < file->replicas->map.n; i++) {
        if (!replica_is_copy(file, &file->replicas->map.replica[i]))
            continue;
        r = write_one_copy(fs, file, i, plan, written);
        if (r < 0 || *written < plan->len)
            lose(file, i, lo, hi);
    }
    return r;
}

/* Writes to a replica that lies otherwise what of [lo, hi) it is to have. */
static int write_one(struct fs *fs, struct generation *generation, const struct replica_entry *entry,
                     const struct plan *plan, uint64_t written)
{
    uint64_t lo = MAX(plan->file_off, entry->lo), hi = MIN(plan->file_off + written, entry->hi);

    return lo < hi ? fill_write(fs, generation, lo, hi, plan->buf + (lo - plan->file_off), false) : 0;
}

void replicas_write(struct fs *fs, struct file *file, const struct plan *plan, uint64_t written)
{
    if (!atomic_load(&file->follows))
        return;
    for (uint32_t i = 0; i < file->replicas->map.n; i++) {
        const struct replica_entry *entry = &file->replicas->map.replica[i];
        struct generation *generation = file->replicas->replica[i].generation;

        if ((entry->flags & (REPLICA_UPDATE | REPLICA_ENDED)) != REPLICA_UPDATE || replica_is_copy(file, entry) ||
            generation == NULL || file->replicas->replica[i].is_lost)
            continue;
        if (written < plan->len || write_one(fs, generation, entry, plan, written) < 0)
            lose(file, i, plan->file_off, plan->file_off + plan->len);
    }
}

/* -- cuts and holes -- */

int replicas_will_cut(struct fs *fs, struct file *file, uint64_t size)
{
    if (file->replicas == NULL)
        return 0;
    return note_change(file, size, FALLS_LIMIT, false) ? take_back(fs, file, size, FALLS_LIMIT) : 0;
}

void replicas_cut_tails(struct fs *fs, struct file *file)
{
    uint64_t size = file_size(file);

    for (uint32_t i = 0; file->replicas != NULL && i < file->replicas->map.n; i++) {
        struct replica *replica = &file->replicas->replica[i];

        if (replica->generation == NULL)
            continue;
        mutex_lock(&file->meta);
        replica->generation->strict = MIN(replica->generation->strict, size);
        mutex_unlock(&file->meta);
        subfiles_cut_later(fs, replica->generation, size);
    }
}

void replicas_cut(struct fs *fs, struct file *file, uint64_t size)
{
    struct replicas *replicas = file->replicas;
    uint64_t end;

    if (replicas == NULL)
        return;
    replicas_cut_tails(fs, file);
    mutex_lock(&replicas->lock);
    end = (size + (UINT64_C(1) << replicas->map.shift) - 1) >> replicas->map.shift;
    for (uint32_t i = 0; i < replicas->map.n; i++)
        windows_remove(&replicas->replica[i].wrong, end, WINDOWS_MAX);
    mutex_unlock(&replicas->lock);
    mutex_lock(&replicas->changing);
    for (uint32_t i = 0; i < replicas->map.n; i++)
        windows_remove(&replicas->map.replica[i].safe, end, WINDOWS_MAX);
    mutex_unlock(&replicas->changing);
}

int replicas_allocate(struct fs *fs, struct file *file, int mode, uint64_t off, uint64_t len)
{
    int r = 0;

    for (uint32_t i = 0; file->replicas != NULL && i < file->replicas->map.n; i++) {
        const struct replica_entry *entry = &file->replicas->map.replica[i];
        struct generation *generation = file->replicas->replica[i].generation;
        uint64_t lo = MAX(off, entry->lo), hi = MIN(off + len, entry->hi);
        int one = 0;

        if (lo >= hi || (entry->flags & (REPLICA_UPDATE | REPLICA_ENDED)) != REPLICA_UPDATE)
            continue;
        if (generation == NULL || file->replicas->replica[i].is_lost)
            one = -EIO;
        else
            one = subfiles_allocate(fs, generation, mode, lo, hi - lo);
        if (one < 0)
            lose(file, i, off, off + len);
        if (r == 0 && replica_is_copy(file, entry))
            r = one;
    }
    return r;
}

/* -- other generations of the file -- */

int replicas_will_restart(struct fs *fs, struct file *file, uint64_t gen)
{
    struct replicas *replicas = file->replicas;
    int r = 0;

    if (replicas == NULL)
        return 0;
    mutex_lock(&replicas->changing);
    if (replica_map_is_of(&replicas->map, gen)) { /* a switch that failed was to have it */
        r = replicas_write_list(fs, file, replicas);
        if (r < 0)
            r = forget_all(fs, file, replicas);
    }
    mutex_unlock(&replicas->changing);
    return MIN(r, 0);
}

void replicas_restart(struct fs *fs, struct file *file)
{
    struct replicas *replicas = file->replicas;

    if (replicas == NULL)
        return;
    mutex_lock(&replicas->changing);
    replica_map_void(&replicas->map);
    replicas->map.gen = replicas->map.also_gen = file->record.gen;
    replicas->shall_replace = true;
    mutex_lock(&replicas->lock);
    for (uint32_t i = 0; i < replicas->map.n; i++) {
        windows_done(&replicas->replica[i].right);
        windows_done(&replicas->replica[i].wrong);
        windows_done(&replicas->replica[i].still);
    }
    mutex_unlock(&replicas->lock);
    mutex_unlock(&replicas->changing);
    for (uint32_t i = 0; i < replicas->map.n; i++)
        if (replicas->replica[i].generation != NULL) {
            mutex_lock(&file->meta);
            generation_demand(replicas->replica[i].generation, 0);
            mutex_unlock(&file->meta);
        }
    replicas_cut_tails(fs, file);
}

int replicas_will_switch(struct fs *fs, struct file *file, uint64_t gen)
{
    struct replicas *replicas = file->replicas;
    int r;

    if (replicas == NULL)
        return 0;
    mutex_lock(&replicas->changing);
    replicas->map.gen = file->record.gen;
    replicas->map.also_gen = gen;
    r = replica_map_replace(fs->volume, &replicas->places, &replicas->map);
    replicas->shall_replace = true; /* to tell of one generation alone */
    mutex_unlock(&replicas->changing);
    return MIN(r, 0);
}

/* Removes the second map from where it lay, once it is where it is to lie now; else fsck finds it. */
static void move_second(struct fs *fs, const struct file *file, struct replicas *replicas, const struct disk *former)
    REQUIRES(replicas->changing)
{
    const struct replica_places places = { .first = former };
    int r;

    if (former == NULL || former == replicas->places.second)
        return;
    r = replicas_write_list(fs, file, replicas);
    if (r == 0 && !replicas->shall_replace)
        (void) replica_map_remove(fs->volume, &places, file->record.id);
}

/* Replicas have what they had; a second copy that lay as the file did stays until there is one that lies as it does. */
int replicas_switched(struct fs *fs, struct file *file)
{
    struct replicas *replicas = file->replicas;
    const struct disk *former;
    int r = 0;

    if (replicas == NULL && file->now->layout->layout->copies > 1 && (r = replicas_new(fs, file, &replicas)) == 0)
        file->replicas = replicas;
    if (r < 0 || replicas == NULL)
        return r;
    mutex_lock(&replicas->changing);
    replicas->map.gen = replicas->map.also_gen = file->record.gen;
    former = replicas->places.second;
    r = replicas_agree(fs, file, replicas);
    if (r == 0)
        move_second(fs, file, replicas, former);
    mutex_unlock(&replicas->changing);
    fs->calls->follow(fs, file->inode);
    return r;
}

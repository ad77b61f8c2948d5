/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/together.h"

#include <math.h>
#include <stdio.h>

/* A candidate of a file, and the disk that its first element is on. */
struct spot {
    const struct candidate *candidate;
    uint32_t start;
};

static uint32_t disk_at(const struct together_file *file, uint32_t i)
{
    uint32_t at = i % file->asked.n_disks;

    return file->disk != NULL ? file->disk[at] : at;
}

/* Adds what a file laid out so has to do on each disk, or takes it away. */
static void load(uint64_t ns[], const struct together_file *file, const struct spot *spot, bool adds)
{
    for (uint32_t i = 0; spot->candidate != NULL && i < file->asked.n_disks; i++) {
        uint64_t *disk = &ns[disk_at(file, i + spot->start)];

        *disk = adds ? *disk + spot->candidate->busy.ns[i] : *disk - spot->candidate->busy.ns[i];
    }
}

static uint64_t most_of(const uint64_t ns[], uint32_t n)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < n; i++)
        most = MAX(most, ns[i]);
    return most;
}

/* How bad it is. What one file can do about the busiest disk is often nothing, until another has moved; squares tell of
 * each step on the way. */
enum measure {
    BY_SQUARES,
    BY_MOST,
};

static double measure(const struct together *together, enum measure by)
{
    double squares = 0;

    for (uint32_t i = 0; by == BY_SQUARES && i < together->n_disks; i++)
        squares += (double) together->ns[i] * (double) together->ns[i];
    return by == BY_SQUARES ? squares : (double) most_of(together->ns, together->n_disks);
}

static double measure_with(const struct together *together, const struct together_file *file, const struct spot *spot,
                           enum measure by)
{
    double bad;

    load(together->ns, file, spot, true);
    bad = measure(together, by);
    load(together->ns, file, spot, false);
    return bad;
}

/* Finds what is least bad, then what gives all disks least to do; what is there already stays unless something is
 * better. The file's own load is not in ns. */
static struct spot best_spot(const struct together *together, const struct together_file *file, struct spot best,
                             enum measure by)
{
    uint32_t n = file->asked.n_disks, step = MAX(1, (n + TOGETHER_STARTS - 1) / TOGETHER_STARTS);
    double least = best.candidate != NULL ? measure_with(together, file, &best, by) : INFINITY;

    for (size_t i = 0; i < file->found.n; i++) {
        const struct candidate *candidate = &file->found.candidate[i];

        if (i >= TOGETHER_CANDIDATES && !candidate->is_now)
            continue;
        for (uint32_t start = candidate->is_now ? file->start % step : 0; start < n; start += step) {
            struct spot spot = { candidate, start };
            double bad = measure_with(together, file, &spot, by);

            if (bad < least ||
                (bad <= least && best.candidate != NULL && candidate->busy.all < best.candidate->busy.all)) {
                best = spot;
                least = bad;
            }
        }
    }
    return best;
}

static struct spot spot_of(const struct together_file *file)
{
    return (struct spot){ file->chosen, file->chosen_start };
}

static void put(struct together *together, struct together_file *file, struct spot spot)
{
    load(together->ns, file, &spot, true);
    file->chosen = spot.candidate;
    file->chosen_start = spot.start;
}

static struct spot take(struct together *together, const struct together_file *file)
{
    struct spot spot = spot_of(file);

    load(together->ns, file, &spot, false);
    return spot;
}

/* Lets each file in turn have what is best beside the others. */
static bool sweep(struct together *together, enum measure by)
{
    bool has_changed = false;

    for (size_t i = 0; i < together->n; i++) {
        struct together_file *file = &together->file[i];
        struct spot before = take(together, file), best = best_spot(together, file, before, by);

        put(together, file, best);
        has_changed |= best.candidate != before.candidate || best.start != before.start;
    }
    return has_changed;
}

/* What gains less than a hundredth stays where it is. */
static void keep_present(struct together *together)
{
    uint64_t most = most_of(together->ns, together->n_disks), allowed = most + most / 100;

    for (size_t i = 0; i < together->n; i++) {
        struct together_file *file = &together->file[i];
        struct spot before, now = { file->found.now, file->start };

        if (now.candidate == NULL)
            continue;
        before = take(together, file);
        put(together, file, measure_with(together, file, &now, BY_MOST) <= (double) allowed ? now : before);
    }
}

static int by_busy(const void *a, const void *b)
{
    const struct together_file *const *x = a, *const *y = b;
    uint64_t p = (*x)->found.candidate[0].busy.most, q = (*y)->found.candidate[0].busy.most;

    return p > q ? -1 : p < q;
}

/* Places files one after the other, those with most to do first, and lets them change. */
static int search(struct together *together, enum measure by)
{
    cleanup(freep) struct together_file **file = calloc(together->n, sizeof(struct together_file *));

    if (file == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < together->n; i++)
        file[i] = &together->file[i];
    qsort(file, together->n, sizeof(struct together_file *), by_busy);
    for (size_t i = 0; i < together->n; i++)
        put(together, file[i], best_spot(together, file[i], (struct spot){ NULL, 0 }, by));
    for (unsigned i = 0; i < TOGETHER_SWEEPS && sweep(together, by); i++)
        ;
    for (unsigned i = 0; by != BY_MOST && i < TOGETHER_SWEEPS && sweep(together, BY_MOST); i++)
        ;
    return 0;
}

/* Searches in both ways, and keeps what is better. */
static int search_both(struct together *together)
{
    cleanup(freep) struct spot *spot = calloc(together->n, sizeof *spot);
    uint64_t most;
    int r = spot == NULL ? -ENOMEM : search(together, BY_SQUARES);

    if (r < 0)
        return r;
    most = most_of(together->ns, together->n_disks);
    for (size_t i = 0; i < together->n; i++)
        spot[i] = take(together, &together->file[i]);
    r = search(together, BY_MOST);
    if (r < 0 || most_of(together->ns, together->n_disks) < most)
        return r;
    for (size_t i = 0; i < together->n; i++) {
        (void) take(together, &together->file[i]);
        put(together, &together->file[i], spot[i]);
    }
    return 0;
}

/* Where files begin now, what the disks have to do then, and how many disks there are. */
static int know_present(struct together *together)
{
    cleanup(freep) uint64_t *now = NULL;

    together->knows_now = true;
    for (size_t i = 0; i < together->n; i++) {
        struct together_file *file = &together->file[i];

        if (!file->knows_start)
            file->start = (uint32_t) (i % file->asked.n_disks);
        together->knows_now &= file->found.now != NULL;
        for (uint32_t k = 0; k < file->asked.n_disks; k++)
            together->n_disks = MAX(together->n_disks, disk_at(file, k) + 1);
    }
    together->ns = calloc(MAX(together->n_disks, 1), sizeof *together->ns);
    now = calloc(MAX(together->n_disks, 1), sizeof *now);
    if (together->ns == NULL || now == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < together->n; i++)
        load(now, &together->file[i], &(struct spot){ together->file[i].found.now, together->file[i].start }, true);
    together->most_now = most_of(now, together->n_disks);
    return 0;
}

int together_choose(struct together *together)
{
    int r = know_present(together);

    if (r == 0)
        r = search_both(together);
    if (r == 0)
        keep_present(together);
    for (size_t i = 0; r == 0 && i < together->n; i++) {
        struct together_file *file = &together->file[i];
        uint32_t n = file->asked.n_disks, shift = (file->chosen_start + n - file->start) % n;

        if (file->found.now != NULL)
            r = recommend_moves(&file->asked, file->found.now, file->chosen, shift, &file->moves, &file->moves_ns);
        r = r == -ENOMEM ? r : 0;
    }
    if (r == 0)
        together->most = most_of(together->ns, together->n_disks);
    return r;
}

bool together_is_worth(const struct together *together)
{
    return !together->knows_now || together->most + together->most / 10 < together->most_now;
}

char *together_text(const struct together_file *file)
{
    const struct layout *layout = file->chosen->layout;
    uint32_t n = MIN(layout->pattern->n_elements + layout->copies - 1, file->asked.n_disks);
    cleanup(freep) char *disks = NULL;
    size_t len;
    FILE *out;

    if (file->disk == NULL || n == 0)
        return strdup(file->chosen->text);
    out = open_memstream(&disks, &len);
    if (out == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "%sd%" PRIu32, i == 0 ? " on " : ",", disk_at(file, i + file->chosen_start));
    return fclose(out) == 0 ? layout_with_disks(layout, disks) : NULL;
}

void together_done(struct together *together)
{
    for (size_t i = 0; together->file != NULL && i < together->n; i++) {
        recommend_done(&together->file[i].found);
        file_costs_done(&together->file[i].costs);
        profile_done(&together->file[i].profile);
    }
    free(together->file);
    free(together->ns);
    *together = (struct together){ 0 };
}

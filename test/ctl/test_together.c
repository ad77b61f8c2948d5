/* SPDX-License-Identifier: MIT */
/* Layouts of several files on the same disks: what is chosen is added up again, and no file alone could do better. */
#include "fs/ctl/think/together.h"
#include "test/support/rng.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>

#define MAX_FILES      4
#define MAX_DISKS      4
#define MAX_CANDIDATES 5

/* Files with candidates of any load, which are not those of their layouts. */
struct made {
    struct together_file file[MAX_FILES];
    struct candidate candidate[MAX_FILES][MAX_CANDIDATES];
    uint64_t ns[MAX_FILES][MAX_CANDIDATES][MAX_DISKS];
};

static struct disk_costs cost_of_each[MAX_DISKS];
static const struct file_costs costs = { .n = MAX_DISKS, .disk = cost_of_each };

static struct together make(struct made *made, struct rng *rng, struct layout *layout)
{
    uint32_t n_disks = (uint32_t) rng_between(rng, 1, MAX_DISKS);
    struct together together = { .file = made->file, .n = rng_between(rng, 1, MAX_FILES) };

    memset(made, 0, sizeof *made);
    for (uint32_t i = 0; i < MAX_DISKS; i++)
        cost_of_each[i] = (struct disk_costs){ { .rate = 1000 }, { .rate = 1000 } };
    for (size_t i = 0; i < together.n; i++) {
        struct together_file *file = &made->file[i];

        file->asked = (struct recommending){ .profile = &file->profile, .n_disks = n_disks, .costs = &costs };
        file->profile.size = 100;
        file->found.candidate = made->candidate[i];
        file->found.n = rng_between(rng, 1, MAX_CANDIDATES);
        file->knows_start = rng_chance(rng, 50);
        file->start = (uint32_t) rng_below(rng, n_disks);
        for (size_t k = 0; k < file->found.n; k++) {
            struct candidate *candidate = &made->candidate[i][k];

            candidate->layout = layout;
            candidate->busy = (struct busy){ .n_disks = n_disks, .ns = made->ns[i][k] };
            for (uint32_t disk = 0; disk < n_disks; disk++) {
                candidate->busy.ns[disk] = rng_chance(rng, 40) ? 0 : rng_between(rng, 1, 1000);
                candidate->busy.all += candidate->busy.ns[disk];
                candidate->busy.most = MAX(candidate->busy.most, candidate->busy.ns[disk]);
            }
        }
        if (rng_chance(rng, 70)) {
            file->found.now = &made->candidate[i][rng_below(rng, file->found.n)];
            made->candidate[i][file->found.now - made->candidate[i]].is_now = true;
        }
    }
    return together;
}

/* The busiest disk when all files are as chosen, but for one. */
static uint64_t most_with(const struct together *together, size_t other, const struct candidate *candidate,
                          uint32_t start)
{
    uint64_t ns[MAX_DISKS] = { 0 }, most = 0;

    for (size_t i = 0; i < together->n; i++) {
        const struct together_file *file = &together->file[i];
        const struct candidate *one = i == other ? candidate : file->chosen;
        uint32_t n = file->asked.n_disks;

        for (uint32_t disk = 0; disk < n; disk++)
            ns[(disk + (i == other ? start : file->chosen_start)) % n] += one->busy.ns[disk];
    }
    for (uint32_t disk = 0; disk < MAX_DISKS; disk++)
        most = MAX(most, ns[disk]);
    return most;
}

/* The least that any choice leaves to the busiest disk. */
static uint64_t least_of_all(struct together *together, size_t from)
{
    struct together_file *file = &together->file[from];
    uint64_t least = UINT64_MAX;

    if (from == together->n)
        return most_with(together, SIZE_MAX, NULL, 0);
    for (size_t i = 0; i < file->found.n; i++)
        for (uint32_t start = 0; start < file->asked.n_disks; start++) {
            file->chosen = &file->found.candidate[i];
            file->chosen_start = start;
            least = MIN(least, least_of_all(together, from + 1));
        }
    return least;
}

Test(together, no_file_alone_could_do_better)
{
    static struct made made;
    cleanup(layout_freep) struct layout *layout = layout_of("stripe(7,3)");
    uint64_t sum = 0, sum_of_least = 0;

    for (struct rng rng = rng_from_env(500); rng_next(&rng);) {
        struct together together = make(&made, &rng, layout);
        uint64_t least;

        cr_assert_eq(together_choose(&together), 0);
        cr_assert_eq(together.most, most_with(&together, SIZE_MAX, NULL, 0), RNG_SEED, rng.seed);
        cr_assert(!together.knows_now || together.most <= together.most_now + together.most_now / 50,
                  RNG_SEED ": worse than now", rng.seed);
        for (size_t i = 0; i < together.n; i++)
            for (size_t k = 0; k < together.file[i].found.n; k++)
                for (uint32_t start = 0; start < together.file[i].asked.n_disks; start++)
                    cr_assert_geq(most_with(&together, i, &together.file[i].found.candidate[k], start) * 102 / 100 + 1,
                                  together.most, RNG_SEED ": file %zu", rng.seed, i);
        least = together.n <= 3 ? least_of_all(&together, 0) : together.most;
        cr_assert_geq(together.most, least, RNG_SEED, rng.seed);
        sum += together.most;
        sum_of_least += least;
        free(together.ns);
    }
    cr_log_info("%.4f of the least", (double) sum / (double) sum_of_least);
    cr_expect_lt((double) sum, 1.05 * (double) sum_of_least);
}

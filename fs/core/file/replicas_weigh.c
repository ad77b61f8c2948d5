/* SPDX-License-Identifier: MIT */
/* What reading a part of a file would take, for who asks. */
#include "fs/core/file/file_replicas.h"

#include "fs/core/file/replicas.h"
#include "fs/core/file/touched.h"

static void add_up(struct replica_cost *cost, double ns, bool is_chosen)
{
    cost->chosen += is_chosen;
    if (ns < 0)
        return;
    cost->ns += ns;
    cost->n++;
}

static void weigh_window(struct fs *fs, struct file *file, const struct nest_selection *wanted, uint64_t lo,
                         uint64_t hi, struct replica_costs *costs)
{
    struct replicas_costs here;

    replicas_weigh(fs, file, lo, hi - lo, &wanted->selection, true, &here);
    add_up(&costs->of[0], here.now, here.best == REPLICAS_NONE);
    for (uint32_t i = 0; i + 1 < costs->n_of; i++)
        add_up(&costs->of[1 + i], here.of[i], here.best == i);
    costs->n++;
}

void file_weigh_replicas(struct fs *fs, struct file *file, const struct nest *nest, uint64_t window, uint64_t most,
                         struct replica_costs *ret_costs)
{
    const struct nest_selection wanted = nest_selection_of(nest);
    uint64_t lo, last;
    bool goes_on;

    *ret_costs = (struct replica_costs){ .n_of = 1 };
    pthread_rwlock_rdlock(&file->io);
    for (uint32_t i = 0; file->replicas != NULL && i < file->replicas->map.n; i++)
        ret_costs->of[ret_costs->n_of++].number = file->replicas->map.replica[i].number;
    goes_on = nest_next(nest, 0, &lo) && lo < file_size(file);
    while (goes_on && ret_costs->n < most) {
        uint64_t end = MIN(lo + window, file_size(file));

        goes_on = nest_prev(nest, end - 1, &last) && last >= lo;
        if (goes_on)
            weigh_window(fs, file, &wanted, lo, last + 1, ret_costs);
        goes_on = goes_on && nest_next(nest, end, &lo) && lo < file_size(file);
    }
    pthread_rwlock_unlock(&file->io);
}

/* SPDX-License-Identifier: MIT */
/* Files are moved until all disks are about as full.
 *
 *     count all files ──> try the ways of moving them ──> move them, large files first ──> say how even it is */
#include "fs/core/volume/file_layouts.h"
#include "fs/daemon/mover/kinds.h"
#include "fs/daemon/mover/pass.h"

#include <string.h>

#define PERCENT 0.01
#define N_SIZES 64

/* The whole of it: files are gone through once for each size that some have. */
struct evening {
    struct pass pass;
    struct placement_stays stays;
    uint64_t n_sized[N_SIZES]; /* files with about so many bytes */
    unsigned size;             /* of the files that are looked at; N_SIZES: all are counted */
};

static int decide_to_even(struct pass *pass, const struct found *found, struct relocation *ret_relocation, void *ctx)
{
    struct evening *evening = ctx;

    return relocation_even(pass->disks, found->layout, &found->record, &evening->stays, ret_relocation);
}

static unsigned size_of(const struct record *record)
{
    uint64_t blocks = record->blocks;
    unsigned size = 0;

    while (blocks >>= 2)
        size++;
    return size;
}

static int even_one(struct pass *pass, const struct walk_entry *entry, void *ctx)
{
    struct evening *evening = ctx;
    struct found found;
    int r = 0;

    if (!pass_look_at(pass, entry, &found))
        return 0;
    if (evening->size == N_SIZES) {
        moving_count_file(pass->moving);
        evening->n_sized[size_of(&found.record)]++;
        r = relocation_count(pass->disks, found.layout, &found.record);
    } else if (size_of(&found.record) == evening->size && record_migrates(&found.record)) {
        pass->n_busy++;
    } else if (size_of(&found.record) == evening->size && !placement_is_even(pass->disks)) {
        r = pass_move(pass, &found, decide_to_even, evening);
    }
    layouts_put(moving_fs(pass->moving)->layouts, found.layout);
    return r == -ENODEV ? 0 : r;
}

static int walk(struct evening *evening, unsigned size)
{
    evening->size = size;
    return pass_go(&evening->pass, even_one, evening);
}

static void find_ends(const struct placement *disks, uint32_t *ret_fullest, uint32_t *ret_emptiest)
{
    *ret_fullest = *ret_emptiest = disks->n;
    for (uint32_t i = 0; i < disks->n; i++) {
        double fill = placement_fill(&disks->disk[i]);

        if (!disks->disk[i].takes)
            continue;
        if (disks->disk[i].ours > 0 && (*ret_fullest == disks->n || fill > placement_fill(&disks->disk[*ret_fullest])))
            *ret_fullest = i;
        if (*ret_emptiest == disks->n || fill < placement_fill(&disks->disk[*ret_emptiest]))
            *ret_emptiest = i;
    }
}

/* What keeps the disks as they are, the weightiest reason. */
static const char *reason_for(const struct evening *evening)
{
    const struct placement_stays *stays = &evening->stays;

    if (moving_failed(evening->pass.moving) > 0)
        return "files could not be moved, see there";
    if (stays->named > 0 && stays->named >= stays->room && stays->named >= stays->pool && stays->named >= stays->large)
        return "what lies on the fuller ones is of files whose disks somebody has named";
    if (stays->room > 0 && stays->room >= stays->pool && stays->room >= stays->large)
        return "the emptier disks would have less than what is kept back there (-o reserve)";
    if (stays->pool > 0 && stays->pool >= stays->large)
        return "what lies on the fuller ones is for the disks of a pool, which are all about as full";
    if (stays->large > 0)
        return "what could be moved is so large that the emptier disk would become the fuller one";
    return evening->pass.n_busy > 0 ? "files are on their way to other layouts"
                                    : "no file has bytes there that can be moved";
}

static void say_how_even(const struct evening *evening)
{
    const struct placement *disks = evening->pass.disks;
    struct moving *moving = evening->pass.moving;
    uint32_t fullest, emptiest;

    find_ends(disks, &fullest, &emptiest);
    if (placement_is_even(disks) || fullest == disks->n || emptiest == disks->n ||
        placement_fill(&disks->disk[fullest]) - placement_fill(&disks->disk[emptiest]) < PERCENT)
        return;
    moving_say(moving, "d%" PRIu32 " %s %.0f %% full, d%" PRIu32 " %.0f %%: %s", fullest,
               moving->order.is_plan ? "would stay" : "stays", 100 * placement_fill(&disks->disk[fullest]), emptiest,
               100 * placement_fill(&disks->disk[emptiest]), reason_for(evening));
}

/* Moves large files first, so that as few are moved as it takes. Files are not remembered, but found again. */
static int even_all(struct evening *evening)
{
    struct pass *pass = &evening->pass;
    int r = 0;

    for (unsigned size = N_SIZES; r == 0 && size-- > 0;)
        if (evening->n_sized[size] > 0 && !placement_is_even(pass->disks) && moving_wait(pass->moving, MOVE_JOBS - 1)) {
            r = walk(evening, size);
            if (!pass->is_trial)
                pass_show_disks(pass, false);
        }
    return r;
}

/* Finds how even the disks would become if files were moved this way. The disks are then counted as before. */
static int try_way(struct evening *evening, enum placement_way way, double *ret_spread)
{
    struct placement *disks = evening->pass.disks;
    cleanup(freep) struct placement_disk *counted = calloc(disks->n, sizeof *counted);
    int r;

    if (counted == NULL)
        return -ENOMEM;
    memcpy(counted, disks->disk, disks->n * sizeof *counted);
    evening->pass.is_trial = true;
    disks->way = way;
    r = even_all(evening);
    *ret_spread = placement_spread(disks);
    evening->pass.is_trial = false;
    evening->pass.n_busy = 0;
    evening->stays = (struct placement_stays){ 0 };
    memcpy(disks->disk, counted, disks->n * sizeof *counted);
    return r;
}

/* Chooses the gentlest way that makes the disks even, or where none does, the gentlest that is hardly worse than the
 * best. */
static int choose_way(struct evening *evening)
{
    double spread[PLACEMENT_WAYS] = { 1, 1, 1 }, close = placement_tolerance(evening->pass.disks), best = 1;
    unsigned way = 0;
    int r = 0;

    for (unsigned i = 0; r == 0 && i < PLACEMENT_WAYS && (i == 0 || spread[i - 1] > close); i++) {
        r = try_way(evening, (enum placement_way) i, &spread[i]);
        best = MIN(best, spread[i]);
        way = i;
    }
    while (r == 0 && way > 0 && spread[way - 1] <= best + close)
        way--;
    evening->pass.disks->way = (enum placement_way) way;
    return r;
}

int move_balance(struct moving *moving)
{
    cleanup(relocation_forget) struct placement disks = { 0 };
    struct evening evening = { .pass = { .moving = moving, .disks = &disks } };
    int r = relocation_look(moving_fs(moving), RELOCATION_NONE, &disks);

    if (r == 0)
        r = walk(&evening, N_SIZES);
    if (r < 0)
        return r;
    relocation_end_count(&disks);
    pass_show_disks(&evening.pass, true);
    r = choose_way(&evening);
    if (r == 0)
        r = even_all(&evening);
    pass_show_disks(&evening.pass, false);
    if (r == 0 && !moving_wait(moving, 0))
        r = -ECANCELED;
    if (r == 0)
        say_how_even(&evening);
    return r;
}

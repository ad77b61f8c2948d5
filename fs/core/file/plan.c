/* SPDX-License-Identifier: MIT */
#include "fs/core/file/plan.h"

#include "fs/core/file/touched.h"
#include "ioctl/per_thread.h"
#include "layout/gather.h"
#include "layout/map.h"

#include <limits.h>
#include <string.h>

/* Pieces shorter than this on average are cheaper copied once more than listed. */
#define SHORT_PIECE 1024
/* How many pieces are looked at before that is decided. */
#define PROBE       64

/* -- memory -- */

/* The kernel clears new memory page by page: much of it costs more than what is done with it. So each thread keeps the
 * memory of its last packed plan, unless that was little, or more than a request wants. */
#define SPARE     (UINT64_C(1) << 20)
#define MIN_SPARE (UINT64_C(64) << 10)

PER_THREAD(spare_key, free)

static bool is_for_spare(uint64_t len)
{
    return len >= MIN_SPARE && len <= SPARE;
}

static void *take_memory(uint64_t len)
{
    void *spare;

    if (!is_for_spare(len))
        return malloc(len);
    spare = pthread_getspecific(spare_key);
    if (spare == NULL)
        return malloc(SPARE);
    (void) pthread_setspecific(spare_key, NULL);
    return spare;
}

static void give_memory(void *memory, uint64_t len)
{
    if (memory == NULL || !is_for_spare(len) || pthread_getspecific(spare_key) != NULL ||
        pthread_setspecific(spare_key, memory) != 0)
        free(memory);
}

static const struct nest *nest_of(const struct plan *plan, const struct share *share)
{
    return file_layout_nest(plan->layout, share->slot);
}

void plan_done(struct plan *plan)
{
    if (plan->share != &plan->only) {
        free(plan->share);
        free(plan->iov);
    }
    give_memory(plan->scratch, plan->len);
    *plan = (struct plan){ 0 };
}

/* Whether the request has many pieces, and the first ones are short on average. */
static bool is_fine_grained(const struct plan *plan)
{
    struct runs runs;
    struct run run;
    uint64_t bytes = 0;
    uint32_t n = 0;

    if (runs_init(&runs, plan->layout->pattern, plan->file_off, plan->len) < 0)
        return false;
    for (; n < PROBE && runs_next(&runs, &run); n++)
        bytes += run.len;
    return n == PROBE && bytes / PROBE < SHORT_PIECE;
}

/* -- shares with lists of pieces -- */

/* Finds the share of a slot; NULL: there is none yet. The last ones are looked at first: the subfile of a run is mostly
 * one of those seen last. */
static struct share *find_share(struct plan *plan, uint32_t slot)
{
    for (uint32_t i = plan->n_shares; i-- > 0;)
        if (plan->share[i].slot == slot)
            return &plan->share[i];
    return NULL;
}

struct piece {
    uint32_t share;
    uint64_t at, len;
};

struct pieces {
    struct piece *piece;
    uint32_t n;
};

static int add_piece(struct pieces *pieces, uint32_t share, uint64_t at, uint64_t len)
{
    if (!array_grow(pieces->piece, pieces->n))
        return -ENOMEM;
    pieces->piece[pieces->n++] = (struct piece){ share, at, len };
    return 0;
}

static int add_share(struct plan *plan, uint32_t slot, uint64_t sub_off, struct share **ret_part)
{
    if (!array_grow(plan->share, plan->n_shares))
        return -ENOMEM;
    *ret_part = &plan->share[plan->n_shares++];
    **ret_part = (struct share){ .slot = slot, .sub_off = sub_off };
    return 0;
}

static int collect(struct plan *plan, struct pieces *pieces)
{
    struct runs runs;
    struct run run;
    int r = runs_init(&runs, plan->layout->pattern, plan->file_off, plan->len);

    while (r == 0 && runs_next(&runs, &run)) {
        uint32_t slot = file_layout_slot(plan->layout, run.element);
        struct share *share = find_share(plan, slot);

        if (share == NULL)
            r = add_share(plan, slot, run.sub_off, &share);
        if (r == 0)
            r = add_piece(pieces, (uint32_t) (share - plan->share), run.file_off - plan->file_off, run.len);
        if (r == 0) {
            share->len += run.len;
            share->n_iov++;
        }
    }
    return r;
}

static int list_pieces(struct plan *plan)
{
    struct pieces pieces = { 0 };
    uint32_t at = 0;
    int r = collect(plan, &pieces);

    if (r == 0) {
        plan->iov = malloc(MAX(pieces.n, 1) * sizeof *plan->iov);
        r = plan->iov != NULL ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; r == 0 && i < plan->n_shares; i++) {
        plan->share[i].iov = plan->iov + at;
        at += plan->share[i].n_iov;
        plan->share[i].n_iov = 0;
    }
    for (uint32_t i = 0; r == 0 && i < pieces.n; i++) {
        struct share *share = &plan->share[pieces.piece[i].share];

        share->iov[share->n_iov++] = (struct iovec){ plan->buf + pieces.piece[i].at, pieces.piece[i].len };
    }
    free(pieces.piece);
    return r;
}

/* -- packed shares -- */

static int pack(struct plan *plan)
{
    uint32_t n_slots = file_layout_slots(plan->layout);
    uint64_t at = 0;
    int r = 0;

    plan->packed = true;
    plan->scratch = take_memory(plan->len);
    if (plan->scratch == NULL)
        return -ENOMEM;
    for (uint32_t slot = 0; r == 0 && slot < n_slots; slot++) {
        uint64_t lo = file_layout_len(plan->layout, slot, plan->file_off);
        uint64_t hi = file_layout_len(plan->layout, slot, plan->file_off + plan->len);
        struct share *share;

        if (lo == hi)
            continue;
        r = add_share(plan, slot, lo, &share);
        if (r == 0)
            share->len = hi - lo;
    }
    plan->iov = r == 0 ? malloc(MAX(plan->n_shares, 1) * sizeof *plan->iov) : NULL;
    if (plan->iov == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        plan->iov[i] = (struct iovec){ plan->scratch + at, plan->share[i].len };
        plan->share[i].iov = &plan->iov[i];
        plan->share[i].n_iov = 1;
        at += plan->share[i].len;
    }
    return 0;
}

void plan_gather(struct plan *plan)
{
    for (uint32_t i = 0; plan->packed && i < plan->n_shares; i++)
        (void) nest_gather(nest_of(plan, &plan->share[i]), plan->file_off, plan->file_off + plan->len, plan->buf,
                           plan->share[i].iov[0].iov_base);
}

void plan_scatter(struct plan *plan, const struct share *share)
{
    if (plan->packed)
        (void) nest_scatter(nest_of(plan, share), plan->file_off, plan->file_off + plan->len, plan->buf,
                            share->iov[0].iov_base);
}

/* -- both -- */

/* Gives a plan its only share: all bytes lie side by side in one subfile. */
static void set_only(struct plan *plan, uint32_t slot, uint64_t sub_off)
{
    plan->only_iov = (struct iovec){ plan->buf, plan->len };
    plan->only =
        (struct share){ .slot = slot, .sub_off = sub_off, .len = plan->len, .n_iov = 1, .iov = &plan->only_iov };
    plan->share = &plan->only;
    plan->n_shares = 1;
}

/* Plans a request that is one run, as small ones mostly are, without asking for memory; false: it is not one run. */
static bool is_one_run(struct plan *plan)
{
    struct runs runs;
    struct run run;

    if (runs_init(&runs, plan->layout->pattern, plan->file_off, plan->len) < 0 || !runs_next(&runs, &run) ||
        run.len < plan->len)
        return false;
    set_only(plan, file_layout_slot(plan->layout, run.element), run.sub_off);
    return true;
}

void plan_init_share(struct plan *plan, const struct file_layout *layout, uint32_t slot, uint64_t sub_off, uint64_t len,
                     void *buf)
{
    *plan = (struct plan){ .layout = layout, .len = len, .buf = buf };
    set_only(plan, slot, sub_off);
}

int plan_init(struct plan *plan, const struct file_layout *layout, uint64_t file_off, uint64_t len, void *buf)
{
    uint64_t end;
    int r;

    *plan = (struct plan){ .layout = layout, .file_off = file_off, .len = len, .buf = buf };
    if (add_overflows(file_off, len, &end) || end > FALLS_LIMIT)
        return -EFBIG;
    if (is_one_run(plan))
        return 0;
    r = is_fine_grained(plan) ? pack(plan) : list_pieces(plan);
    if (r < 0)
        plan_done(plan);
    return r;
}

int plan_select(struct plan *plan, struct selection *only, bool must_be_apart)
{
    cleanup(touched_done) struct touched touched = { 0 };
    int r = touched_find(plan->layout, plan->file_off, plan->len, only, &touched);
    uint32_t n = 0;

    if (r < 0)
        return r;
    if (must_be_apart && !touched_is_apart(&touched))
        return -EAGAIN;
    for (uint32_t i = 0; i < plan->n_shares; i++) {
        if (touched_has(&touched, plan->share[i].slot))
            plan->share[n++] = plan->share[i];
        else
            only->left_out += plan->share[i].len;
    }
    plan->n_shares = n;
    return 0;
}

int plan_error(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_shares; i++)
        if (plan->share[i].done < plan->share[i].len)
            return plan->share[i].error != 0 ? plan->share[i].error : -EIO;
    return 0;
}

uint64_t plan_left_out(const struct plan *plan)
{
    uint64_t bytes = plan->len;

    for (uint32_t i = 0; i < plan->n_shares; i++)
        bytes -= plan->share[i].len;
    return bytes;
}

uint64_t plan_prefix(const struct plan *plan)
{
    uint64_t prefix = plan->len;

    for (uint32_t i = 0; i < plan->n_shares; i++) {
        const struct share *share = &plan->share[i];

        if (share->done < share->len)
            prefix = MIN(prefix, nest_select(nest_of(plan, share), share->sub_off + share->done) - plan->file_off);
    }
    return prefix;
}

void plan_zero_rest(struct share *share)
{
    uint64_t skip = share->done;

    for (uint32_t i = 0; i < share->n_iov; i++) {
        const struct iovec *iov = &share->iov[i];
        uint64_t here = MIN(skip, iov->iov_len);

        memset((uint8_t *) iov->iov_base + here, 0, iov->iov_len - here);
        skip -= here;
    }
}

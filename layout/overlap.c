/* SPDX-License-Identifier: MIT */
#include "layout/overlap.h"

#include <string.h>

#define COUNT_WORK (1u << 22) /* a fraction of a second */

/* Every piece is described in three spaces at once: the file, and the own bytes of a and of b. */
enum space { IN_FILE, IN_A, IN_B, N_SPACES };

/* n pieces of the common bytes; each is contiguous in all spaces, or holds inner pieces. Positions are relative to the
 * block around the piece. */
struct piece {
    uint64_t at[N_SPACES], step[N_SPACES];
    uint64_t len, n;
    struct piece *inner, *next;
};

/* What has been found so far: how much, in how many runs, where it starts and ends. The pieces themselves are kept only
 * where somebody will describe them; to count them takes no memory. */
struct found {
    bool keep;
    struct piece *first, *last;
    uint64_t bytes, runs;
    uint64_t start[N_SPACES], end[N_SPACES];
};

/* What is left of one of the two sets on the way down: some members of it, or a block selected whole. */
struct side {
    const struct nest *nest;
    uint32_t first, count; /* members nest->node[first .. first + count); of a whole block: none */
    uint64_t file_off;     /* where the block around them starts */
    uint64_t rank;         /* bytes of the set before that */
};

struct meeting {
    struct draft *draft;
    struct side side[2];
    uint64_t lo, hi;
};

static bool is_whole(const struct side *side)
{
    return side->count == 0;
}

static const struct nest_node *member(const struct side *side)
{
    return &side->nest->node[side->first];
}

static uint64_t side_rank(const struct side *side, uint64_t file_off)
{
    uint64_t x = file_off - side->file_off;

    return side->rank + (is_whole(side) ? x : nest_rank_in(side->nest, side->first, side->count, x));
}

/* Where the first block of the side's only member starts. */
static uint64_t family_off(const struct side *side)
{
    return side->file_off + member(side)->f.l;
}

static struct side one_member(const struct side *side, uint32_t i)
{
    struct side one = *side;

    one.first += i;
    one.count = 1;
    return one;
}

/* The side that is left within one block of the side's only member. */
static struct side one_block(const struct side *side, uint64_t block)
{
    const struct nest_node *node = member(side);

    return (struct side){ .nest = side->nest,
                          .first = node->child,
                          .count = node->n_child,
                          .file_off = family_off(side) + block * node->f.s,
                          .rank = side->rank + node->before + block * node->block };
}

static bool goes_on(const uint64_t end[N_SPACES], const uint64_t start[N_SPACES])
{
    return end[IN_A] == start[IN_A] && end[IN_B] == start[IN_B];
}

/* Adds what one repetition has found n times, each time step further on. */
static void add_repeated(struct found *found, const struct found *one, uint64_t n, const uint64_t step[N_SPACES])
{
    uint64_t second[N_SPACES];

    for (unsigned space = 0; space < N_SPACES; space++)
        second[space] = one->start[space] + step[space];
    found->runs += n * one->runs - (goes_on(one->end, second) ? n - 1 : 0);
    if (found->bytes == 0)
        memcpy(found->start, one->start, sizeof found->start);
    else if (goes_on(found->end, one->start))
        found->runs--;
    found->bytes += n * one->bytes;
    for (unsigned space = 0; space < N_SPACES; space++)
        found->end[space] = one->end[space] + (n - 1) * step[space];
}

static void keep_piece(struct draft *draft, struct found *found, const struct piece *piece)
{
    struct piece *kept = draft_alloc(draft, sizeof *kept);

    if (kept == NULL)
        return;
    if (++draft->n_parts > DRAFT_MAX_PARTS) {
        draft->error = -E2BIG;
        return;
    }
    *kept = *piece;
    if (found->last != NULL)
        found->last->next = kept;
    else
        found->first = kept;
    found->last = kept;
}

static struct piece piece_at(const struct meeting *m)
{
    return (struct piece){ .at = { m->lo, side_rank(&m->side[0], m->lo), side_rank(&m->side[1], m->lo) },
                           .len = m->hi - m->lo,
                           .n = 1 };
}

/* Adds all of the window: both sides select it whole. */
static void meet_whole(const struct meeting *m, struct found *found)
{
    static const uint64_t no_step[N_SPACES] = { 0 };
    struct piece piece = piece_at(m);
    struct found one = { .bytes = piece.len, .runs = 1 };

    for (unsigned space = 0; space < N_SPACES; space++) {
        one.start[space] = piece.at[space];
        one.end[space] = piece.at[space] + piece.len;
    }
    add_repeated(found, &one, 1, no_step);
    if (found->keep)
        keep_piece(m->draft, found, &piece);
}

static void meet(struct meeting m, struct found *found);

/* Meets each member of a side that has several in its turn. */
static void meet_members(const struct meeting *m, unsigned which, struct found *found)
{
    const struct side *side = &m->side[which];
    uint64_t lo = m->lo > side->file_off ? m->lo - side->file_off : 0;
    uint32_t i = nest_find(side->nest, side->first, side->count, lo);

    for (i = i == side->count ? 0 : i; i < side->count && m->draft->error == 0; i++) {
        struct meeting one = *m;

        one.side[which] = one_member(side, i);
        if (family_off(&one.side[which]) >= m->hi)
            break;
        meet(one, found);
    }
}

static void meet_block(const struct meeting *m, unsigned which, uint64_t block, struct found *found)
{
    struct meeting one = *m;
    const struct nest_node *node = member(&m->side[which]);

    one.side[which] = one_block(&m->side[which], block);
    one.lo = MAX(m->lo, one.side[which].file_off);
    one.hi = MIN(m->hi, one.side[which].file_off + falls_len(&node->f));
    meet(one, found);
}

/* Blocks of a family that lie in the window, or reach into it. */
struct blocks {
    uint64_t first, last;
};

static struct blocks blocks_in(const struct meeting *m, unsigned which)
{
    const struct nest_node *node = member(&m->side[which]);
    uint64_t off = family_off(&m->side[which]);

    return (struct blocks){ (m->lo - off) / node->f.s, (m->hi - 1 - off) / node->f.s };
}

static void meet_blocks(const struct meeting *m, unsigned which, struct found *found)
{
    struct blocks blocks = blocks_in(m, which);

    for (uint64_t i = blocks.first; i <= blocks.last && m->draft->error == 0; i++)
        meet_block(m, which, i, found);
}

static uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t mod)
{
    uint64_t product = 0;

    for (a %= mod; b > 0; b >>= 1) { /* mod < 2^62: sums of two residues fit */
        if (b & 1)
            product = (product + a) % mod;
        a = (a + a) % mod;
    }
    return product;
}

/* The inverse of a modulo mod; they have no common divisor. */
static uint64_t inverse_mod(uint64_t a, uint64_t mod)
{
    int64_t x = 0, next_x = 1;
    uint64_t rest = mod, next_rest = a % mod;

    while (next_rest != 0) {
        uint64_t quotient = rest / next_rest, new_rest = rest % next_rest;
        int64_t new_x = x - (int64_t) quotient * next_x;

        x = next_x;
        next_x = new_x;
        rest = next_rest;
        next_rest = new_rest;
    }
    return x < 0 ? mod - (uint64_t) -x : (uint64_t) x % mod;
}

/* Two blocks meet when one starts less than its length before the other. Of the possible distances only every
 * gcd-th occurs, each once a period. */
struct encounters {
    uint64_t a_off, b_off, a_step, b_step; /* first blocks in the window, strides */
    uint64_t n_a, n_b;                     /* blocks in the window */
    uint64_t ahead, behind;                /* a's block may start up to so much before b's, or after it */
    uint64_t gcd;
};

struct encounter {
    uint64_t a, b; /* blocks, from the first in the window */
};

static struct encounters encounters_of(const struct meeting *m)
{
    const struct nest_node *a = member(&m->side[0]), *b = member(&m->side[1]);
    struct blocks in_a = blocks_in(m, 0), in_b = blocks_in(m, 1);

    return (struct encounters){ .a_off = family_off(&m->side[0]) + in_a.first * a->f.s,
                                .b_off = family_off(&m->side[1]) + in_b.first * b->f.s,
                                .a_step = a->f.s,
                                .b_step = b->f.s,
                                .n_a = in_a.last - in_a.first + 1,
                                .n_b = in_b.last - in_b.first + 1,
                                .ahead = falls_len(&a->f) - 1,
                                .behind = falls_len(&b->f) - 1,
                                .gcd = gcd_u64(a->f.s, b->f.s) };
}

static uint64_t n_distances(const struct encounters *e)
{
    return (e->ahead + e->behind) / e->gcd + 1;
}

static int compare_encounters(const void *x, const void *y)
{
    const struct encounter *p = x, *q = y;

    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

/* Finds the pairs of blocks that meet in the window, ordered by a's block, and returns how many. found has room for
 * three pairs of each distance: the window is shorter than two periods. */
static size_t find_encounters(const struct encounters *e, struct encounter *found)
{
    uint64_t mod = e->b_step / e->gcd, inverse = inverse_mod(e->a_step / e->gcd, mod);
    /* a's block i starts at b's block j plus distance, -ahead <= distance <= behind. Shifted by ahead nothing is
     * negative: a_off + ahead + i * a_step = b_off + j * b_step + shifted. */
    uint64_t a_off = e->a_off + e->ahead, last = e->ahead + e->behind;
    uint64_t a_rest = a_off % e->gcd, b_rest = e->b_off % e->gcd;
    size_t n = 0;

    for (uint64_t shifted = a_rest >= b_rest ? a_rest - b_rest : a_rest + e->gcd - b_rest; shifted <= last;
         shifted += e->gcd) {
        /* i = (b_off + shifted - a_off) / gcd / (a_step / gcd)  modulo  b_step / gcd */
        uint64_t target = e->b_off + shifted, gap, i;

        if (target >= a_off)
            gap = (target - a_off) / e->gcd % mod;
        else
            gap = (mod - (a_off - target) / e->gcd % mod) % mod;
        for (i = mul_mod(inverse, gap, mod); i < e->n_a; i += mod) {
            uint64_t at = a_off + i * e->a_step;

            if (at >= target && (at - target) / e->b_step < e->n_b)
                found[n++] = (struct encounter){ i, (at - target) / e->b_step };
        }
    }
    qsort(found, n, sizeof found[0], compare_encounters);
    return n;
}

static void meet_encounters(const struct meeting *m, const struct encounters *e, struct found *found)
{
    struct blocks in_a = blocks_in(m, 0), in_b = blocks_in(m, 1);
    cleanup(freep) struct encounter *meets = NULL;
    size_t n;

    if (!draft_work(m->draft, n_distances(e)))
        return;
    meets = malloc(n_distances(e) * 3 * sizeof meets[0]);
    if (meets == NULL) {
        m->draft->error = -ENOMEM;
        return;
    }
    n = find_encounters(e, meets);

    for (size_t i = 0; i < n && m->draft->error == 0; i++) {
        struct meeting one = *m;
        const struct nest_node *b = member(&m->side[1]);

        one.side[1] = one_block(&m->side[1], in_b.first + meets[i].b);
        one.lo = MAX(m->lo, one.side[1].file_off);
        one.hi = MIN(m->hi, one.side[1].file_off + falls_len(&b->f));
        meet_block(&one, 0, in_a.first + meets[i].a, found);
    }
}

/* Meets two sides in a window of less than two periods: block by block of the family with the longer stride, or pair by
 * pair where few blocks meet. */
static void meet_apart(const struct meeting *m, struct found *found)
{
    unsigned longer;
    struct encounters e;

    if (is_whole(&m->side[0]) || is_whole(&m->side[1])) {
        meet_blocks(m, is_whole(&m->side[0]), found);
        return;
    }
    longer = member(&m->side[1])->f.s > member(&m->side[0])->f.s;
    e = encounters_of(m);
    if (n_distances(&e) < MIN(MIN(e.n_a, e.n_b), DRAFT_MAX_PARTS))
        meet_encounters(m, &e, found);
    else
        meet_blocks(m, longer, found);
}

static uint64_t common_period(const struct meeting *m)
{
    uint64_t period = 1;

    for (unsigned which = 0; which < 2; which++)
        if (!is_whole(&m->side[which]) && lcm_overflows(period, member(&m->side[which])->f.s, &period))
            return 0;
    return period;
}

/* Meets both sides in one period, which stands for all whole ones in the window, then in what is left of the window. */
static void meet_periods(const struct meeting *m, uint64_t period, struct found *found)
{
    struct meeting one = *m, rest = *m;
    struct found inner = { .keep = found->keep };

    one.hi = m->lo + period;
    meet(one, &inner);
    if (inner.bytes > 0 && m->draft->error == 0) {
        struct piece piece = piece_at(&one);

        piece.n = (m->hi - m->lo) / period;
        piece.inner = inner.first;
        piece.step[IN_FILE] = period;
        piece.step[IN_A] = side_rank(&m->side[0], one.hi) - piece.at[IN_A];
        piece.step[IN_B] = side_rank(&m->side[1], one.hi) - piece.at[IN_B];
        for (struct piece *p = inner.first; p != NULL; p = p->next)
            for (unsigned space = 0; space < N_SPACES; space++)
                p->at[space] -= piece.at[space];
        add_repeated(found, &inner, piece.n, piece.step);
        if (found->keep)
            keep_piece(m->draft, found, &piece);
    }
    rest.lo = m->lo + (m->hi - m->lo) / period * period;
    meet(rest, found);
}

/* Adds what both sides select of [lo, hi), positions absolute. */
static void meet(struct meeting m, struct found *found)
{
    uint64_t period;

    if (m.lo >= m.hi || !draft_work(m.draft, 1))
        return;
    for (unsigned which = 0; which < 2; which++) {
        const struct side *side = &m.side[which];
        struct blocks blocks;

        if (is_whole(side))
            continue;
        if (side->count > 1) {
            meet_members(&m, which, found);
            return;
        }
        m.lo = MAX(m.lo, family_off(side));
        m.hi = MIN(m.hi, side->file_off + falls_end(&member(side)->f));
        if (m.lo >= m.hi)
            return;
        blocks = blocks_in(&m, which);
        if (blocks.first == blocks.last) {
            meet_block(&m, which, blocks.first, found);
            return;
        }
    }
    if (is_whole(&m.side[0]) && is_whole(&m.side[1])) {
        meet_whole(&m, found);
        return;
    }
    period = common_period(&m);
    if (period > 0 && (m.hi - m.lo) / period > 1)
        meet_periods(&m, period, found);
    else
        meet_apart(&m, found);
}

/* Describes the pieces as parts of one space, with positions counted from origin. */
static struct part *project(struct draft *draft, const struct piece *first, enum space space, uint64_t origin)
{
    struct parts out = { 0 };

    for (const struct piece *p = first; p != NULL && draft->error == 0; p = p->next) {
        struct part part = { .inner = p->inner != NULL ? project(draft, p->inner, space, 0) : NULL, .swept = true };
        uint64_t at = p->at[space] - origin, len = p->inner != NULL ? parts_end(part.inner) : p->len;

        part.f = (struct falls){ at, at + len - 1, p->n > 1 ? p->step[space] : len, p->n };
        parts_reduce(draft, &out, &part);
    }
    return parts_tidy(draft, out.first);
}

static struct meeting meeting_of(struct draft *draft, const struct nest *a, const struct nest *b, uint64_t lo,
                                 uint64_t period)
{
    return (struct meeting){ .draft = draft,
                             .side = { { .nest = a, .count = a->n_top }, { .nest = b, .count = b->n_top } },
                             .lo = lo,
                             .hi = lo + period };
}

int overlap_of_nests(const struct nest *a, const struct nest *b, uint64_t lo, uint64_t period,
                     struct overlap *ret_overlap)
{
    cleanup(draft_done) struct draft draft = { 0 };
    cleanup(overlap_done) struct overlap overlap = { .lo = lo, .period = period };
    struct found found = { .keep = true };
    struct part *common, *on_a, *on_b;
    uint64_t rank_a = nest_rank(a, lo), rank_b = nest_rank(b, lo);
    int r;

    if (a->n_top > 0 && b->n_top > 0)
        meet(meeting_of(&draft, a, b, lo, period), &found);
    overlap.size_a = nest_rank(a, lo + period) - rank_a;
    overlap.size_b = nest_rank(b, lo + period) - rank_b;
    overlap.size = found.bytes;
    overlap.runs = found.runs;
    common = project(&draft, found.first, IN_FILE, lo);
    on_a = project(&draft, found.first, IN_A, rank_a);
    on_b = project(&draft, found.first, IN_B, rank_b);
    r = draft.error != 0 ? draft.error : nest_new(common, &overlap.common);
    if (r == 0)
        r = nest_new(on_a, &overlap.on_a);
    if (r == 0)
        r = nest_new(on_b, &overlap.on_b);
    if (r < 0)
        return r;
    *ret_overlap = overlap;
    overlap.common = overlap.on_a = overlap.on_b = NULL;
    return 0;
}

int overlap_period(const struct pattern *a, const struct pattern *b, uint64_t *ret_lo, uint64_t *ret_period)
{
    uint64_t lo = MAX(a->disp, b->disp), period;

    if (lcm_overflows(a->size, b->size, &period) || period > FALLS_LIMIT - lo)
        return -EOVERFLOW;
    *ret_lo = lo;
    *ret_period = period;
    return 0;
}

int overlap_of_elements(const struct pattern *a, uint32_t i, const struct pattern *b, uint32_t j,
                        struct overlap *ret_overlap)
{
    const struct nest *in_a = pattern_element(a, i), *in_b = pattern_element(b, j);
    uint64_t lo, period;
    int r;

    if (in_a == NULL || in_b == NULL)
        return -ENOENT;
    r = overlap_period(a, b, &lo, &period);
    return r < 0 ? r : overlap_of_nests(in_a, in_b, lo, period, ret_overlap);
}

int overlap_count(const struct nest *a, const struct nest *b, uint64_t lo, uint64_t period, uint64_t *ret_size,
                  uint64_t *ret_runs)
{
    cleanup(draft_done) struct draft draft = { .more_work = COUNT_WORK };
    struct found found = { 0 };

    if (a->n_top > 0 && b->n_top > 0)
        meet(meeting_of(&draft, a, b, lo, period), &found);
    if (draft.error != 0)
        return draft.error;
    *ret_size = found.bytes;
    *ret_runs = found.runs;
    return 0;
}

void overlap_done(struct overlap *overlap)
{
    nest_free(overlap->common);
    nest_free(overlap->on_a);
    nest_free(overlap->on_b);
}

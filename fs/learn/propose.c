/* SPDX-License-Identifier: MIT */
#include "fs/learn/propose.h"

#include "fs/learn/fold.h"

#define STRIPED    UINT32_MAX
#define MAX_PHASES 16
#define MAX_UNITS  65536 /* of stripes: a file that has more gets larger ones */
#define MIN_CELL   512
#define MAX_PIECES 16384 /* of cells: what has more will not fold into FALLS_MAX_NODES */

struct piece {
    uint64_t off, end;
    uint32_t element; /* or STRIPED */
};

/* The whole file, piece by piece, in order; neighbours have different elements. */
struct pieces {
    struct piece *piece;
    size_t n;
};

static int add_piece(struct pieces *pieces, uint64_t off, uint64_t end, uint32_t element)
{
    if (off >= end)
        return 0;
    if (pieces->n > 0 && pieces->piece[pieces->n - 1].element == element) {
        pieces->piece[pieces->n - 1].end = end;
        return 0;
    }
    if (!array_grow(pieces->piece, pieces->n))
        return -ENOMEM;
    pieces->piece[pieces->n++] = (struct piece){ off, end, element };
    return 0;
}

static void pieces_done(struct pieces *pieces)
{
    free(pieces->piece);
    *pieces = (struct pieces){ 0 };
}

/* What is to be proposed, and which element is whose. */
struct plan {
    const struct proposing *asked;
    uint64_t unit;
    uint32_t *slot; /* of each rank, its first element */
    uint32_t pace;  /* elements from one phase of a rank to the next: they lie on the same disk */
};

static void plan_done(struct plan *plan)
{
    free(plan->slot);
}

static uint32_t rank_of(const struct plan *plan, size_t chunk)
{
    return partition_of(&plan->asked->chunks->chunk[chunk], plan->asked->reading);
}

/* Gives elements to the ranks that get something, and so many to what is striped that each disk has one. */
static int plan_init(struct plan *plan, const struct proposing *asked)
{
    uint32_t n = 0, n_disks = MAX(asked->n_disks, 1);

    *plan = (struct plan){ .asked = asked, .unit = asked->unit, .slot = calloc(MAX(asked->n_ranks, 1), sizeof n) };
    if (plan->slot == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < asked->chunks->n; i++)
        if (rank_of(plan, i) != PARTITION_SHARED)
            plan->slot[rank_of(plan, i)] = 1;
    for (uint32_t rank = 0; rank < asked->n_ranks; rank++)
        if (plan->slot[rank] > 0)
            plan->slot[rank] = n++;
    if (n == 0 && asked->n_disks == 0)
        n = asked->n_ranks;
    plan->pace = (MAX(n, 1) + n_disks - 1) / n_disks * n_disks;
    while (asked->size / plan->unit > MAX_UNITS)
        plan->unit *= 2;
    return plan->pace > FALLS_MAX_NODES / 2 ? -E2BIG : 0;
}

/* -- phases -- */

/* Finds the phase of each chunk: one more whenever its rank goes back. Returns the number of phases, or -ENOMEM. */
static int64_t find_phases(const struct plan *plan, uint32_t phase[])
{
    const struct chunks *chunks = plan->asked->chunks;
    cleanup(freep) uint32_t *order = partition_order(chunks, plan->asked->reading);
    uint32_t now = 0, most = 0;

    if (order == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < chunks->n; i++) {
        if (i == 0 || rank_of(plan, order[i - 1]) != rank_of(plan, order[i]))
            now = 0;
        else if (chunks->chunk[order[i]].off < chunks->chunk[order[i - 1]].off)
            now++;
        phase[order[i]] = now;
        most = MAX(most, now);
    }
    return (int64_t) most + 1;
}

/* -- pieces -- */

static uint32_t element_of(const struct plan *plan, size_t chunk, const uint32_t phase[])
{
    uint32_t rank = rank_of(plan, chunk);

    if (rank == PARTITION_SHARED)
        return STRIPED;
    return plan->slot[rank] + (phase != NULL ? phase[chunk] * plan->pace : 0);
}

/* Adds what nobody touched between what stands before and to. */
static int add_gap(const struct plan *plan, struct pieces *pieces, uint64_t from, uint64_t to)
{
    bool joins = pieces->n > 0 && to - from < plan->unit;

    return add_piece(pieces, from, to, joins ? pieces->piece[pieces->n - 1].element : STRIPED);
}

static int find_pieces(const struct plan *plan, const uint32_t phase[], struct pieces *pieces)
{
    const struct chunks *chunks = plan->asked->chunks;
    uint64_t at = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < chunks->n; i++) {
        r = add_gap(plan, pieces, at, chunks->chunk[i].off);
        if (r == 0)
            r = add_piece(pieces, chunks->chunk[i].off, chunks->chunk[i].end, element_of(plan, i, phase));
        at = chunks->chunk[i].end;
    }
    return r < 0 ? r : add_gap(plan, pieces, at, MAX(plan->asked->size, at));
}

/* The element that has most of [at, to), of equals the first there; i is the first piece that ends behind at. share has
 * a place for each element, all 0. */
static uint32_t most_of(const struct pieces *fine, size_t i, uint64_t at, uint64_t to, uint64_t share[])
{
    uint32_t best = STRIPED;
    uint64_t most = 0;

    for (size_t j = i; j < fine->n && fine->piece[j].off < to; j++) {
        uint64_t *has = &share[fine->piece[j].element + 1]; /* STRIPED comes first, at 0 */

        *has += MIN(fine->piece[j].end, to) - MAX(fine->piece[j].off, at);
        if (*has > most) {
            most = *has;
            best = fine->piece[j].element;
        }
    }
    for (size_t j = i; j < fine->n && fine->piece[j].off < to; j++)
        share[fine->piece[j].element + 1] = 0;
    return best;
}

/* Gives each cell to who has most of it. -E2BIG when that leaves too many pieces. */
static int cut_cells(const struct pieces *fine, uint64_t cell, uint64_t share[], struct pieces *pieces)
{
    uint64_t end = fine->piece[fine->n - 1].end, to;
    size_t i = 0;
    int r = 0;

    for (uint64_t at = 0; r == 0 && at < end; at = to) {
        uint32_t best;

        to = MIN(at + cell, end);
        best = most_of(fine, i, at, to, share);
        while (i < fine->n && fine->piece[i].end <= to)
            i++;
        if (i < fine->n && fine->piece[i].off <= at) /* a long piece is passed in one step, not cell by cell */
            to += (fine->piece[i].end - to) / cell * cell;
        r = pieces->n > MAX_PIECES ? -E2BIG : add_piece(pieces, at, to, best);
    }
    return r;
}

/* Replaces what is striped by pieces of the elements that have the units. */
static int stripe_pieces(const struct plan *plan, const struct pieces *from, struct pieces *pieces)
{
    uint64_t unit = plan->unit;
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n; i++) {
        const struct piece *piece = &from->piece[i];
        uint64_t to;

        if (piece->element != STRIPED) {
            r = add_piece(pieces, piece->off, piece->end, piece->element);
            continue;
        }
        for (uint64_t at = piece->off; r == 0 && at < piece->end; at = to) {
            to = MIN((at / unit + 1) * unit, piece->end);
            r = add_piece(pieces, at, to, (uint32_t) (at / unit % plan->pace));
        }
    }
    return r;
}

/* -- text -- */

/* Folds the pieces of each element and prints them; -E2BIG when that is no layout. */
static int print_elements(const struct pieces *pieces, uint32_t n_elements, FILE *out)
{
    cleanup(freep) struct segment *segment = malloc(pieces->n * sizeof *segment);
    cleanup(freep) size_t *next = calloc((size_t) n_elements + 1, sizeof *next);
    uint64_t nodes = 0;
    int r = segment == NULL || next == NULL ? -ENOMEM : 0;

    for (size_t i = 0; r == 0 && i < pieces->n; i++)
        next[pieces->piece[i].element + 1]++;
    for (uint32_t i = 0; r == 0 && i < n_elements; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; r == 0 && i < pieces->n; i++)
        segment[next[pieces->piece[i].element]++] = (struct segment){ pieces->piece[i].off, pieces->piece[i].end };
    for (uint32_t i = 0; r == 0 && i < n_elements; i++) {
        size_t first = i > 0 ? next[i - 1] : 0;
        cleanup(fold_freep) struct fold *fold = NULL;

        r = fold_new(&segment[first], next[i] - first, FALLS_MAX_NODES, &fold);
        if (r == 0 && (nodes += fold_nodes(fold)) > FALLS_MAX_NODES)
            r = -E2BIG;
        if (r == 0) {
            fputs(i > 0 ? ";" : "{", out);
            fold_print(out, fold);
        }
    }
    fputc('}', out);
    return r;
}

/* Makes the layout of pieces; -E2BIG when they do not fit into one. */
static int make_layout(const struct plan *plan, const struct pieces *from, uint32_t n_elements,
                       struct proposal *proposal, struct pieces *pieces)
{
    struct layout_error error;
    char *text = NULL;
    size_t len = 0;
    FILE *out;
    int r = stripe_pieces(plan, from, pieces);

    if (r < 0)
        return r;
    out = open_memstream(&text, &len);
    if (out == NULL)
        return -ENOMEM;
    r = print_elements(pieces, n_elements, out);
    if (fclose(out) != 0 && r == 0)
        r = -ENOMEM;
    if (r == 0 && len > FALLS_MAX_TEXT)
        r = -E2BIG;
    if (r == 0)
        r = layout_parse(text, len, n_elements, &proposal->layout, &error);
    if (r == 0)
        proposal->text = steal(text);
    free(text);
    return r == 0 || r == -ENOMEM ? r : -E2BIG;
}

/* -- how good it is -- */

/* Counts the bytes of ranks that the pieces have elsewhere. */
static uint64_t count_misplaced(const struct plan *plan, const struct pieces *pieces)
{
    const struct chunks *chunks = plan->asked->chunks;
    uint64_t misplaced = 0;
    size_t at = 0;

    for (size_t i = 0; i < chunks->n; i++) {
        const struct chunk *chunk = &chunks->chunk[i];
        uint32_t rank = rank_of(plan, i);

        while (pieces->piece[at].end <= chunk->off)
            at++;
        for (size_t j = at; rank != PARTITION_SHARED && j < pieces->n && pieces->piece[j].off < chunk->end; j++)
            if (pieces->piece[j].element % plan->pace != plan->slot[rank])
                misplaced += MIN(pieces->piece[j].end, chunk->end) - MAX(pieces->piece[j].off, chunk->off);
    }
    return misplaced;
}

static void judge(struct proposal *proposal, const struct plan *plan, const struct pieces *pieces,
                  const uint32_t phase[])
{
    const struct chunks *chunks = plan->asked->chunks;

    proposal->misplaced = count_misplaced(plan, pieces);
    for (size_t i = 0; i < chunks->n; i++) {
        uint64_t len = chunks->chunk[i].end - chunks->chunk[i].off;

        if (rank_of(plan, i) == PARTITION_SHARED)
            continue;
        proposal->placed += len;
        if (proposal->phases == 1 && phase[i] > 0)
            proposal->disordered += len;
    }
}

/* -- choosing -- */

/* Tries to make a layout in which every chunk has its place. */
static int try_exact(struct proposal *proposal, const struct plan *plan, const uint32_t phase[], uint32_t n_phases,
                     struct pieces *pieces)
{
    cleanup(pieces_done) struct pieces fine = { 0 };
    int r = find_pieces(plan, n_phases > 1 ? phase : NULL, &fine);

    proposal->phases = n_phases;
    pieces->n = 0;
    return r < 0 ? r : make_layout(plan, &fine, n_phases * plan->pace, proposal, pieces);
}

static int try_cells(struct proposal *proposal, const struct plan *plan, struct pieces *pieces)
{
    cleanup(freep) uint64_t *share = calloc((size_t) plan->pace + 1, sizeof *share);
    cleanup(pieces_done) struct pieces fine = { 0 }, cells = { 0 };
    int r = share == NULL ? -ENOMEM : find_pieces(plan, NULL, &fine);

    if (r < 0)
        return r;
    proposal->phases = 1;
    for (proposal->cell = MIN_CELL; proposal->cell < FALLS_LIMIT; proposal->cell *= 2) {
        cells.n = pieces->n = 0;
        r = cut_cells(&fine, proposal->cell, share, &cells);
        if (r == 0)
            r = make_layout(plan, &cells, plan->pace, proposal, pieces);
        if (r != -E2BIG)
            return r;
    }
    return -E2BIG;
}

int proposal_init(struct proposal *proposal, const struct proposing *proposing)
{
    cleanup(freep) uint32_t *phase = calloc(MAX(proposing->chunks->n, 1), sizeof *phase);
    cleanup(pieces_done) struct pieces pieces = { 0 };
    cleanup(plan_done) struct plan plan = { 0 };
    int64_t n_phases = 0;
    int r;

    *proposal = (struct proposal){ 0 };
    if (proposing->chunks->n == 0)
        return -ENODATA;
    r = phase == NULL ? -ENOMEM : plan_init(&plan, proposing);
    if (r == 0)
        n_phases = find_phases(&plan, phase);
    if (r < 0 || n_phases < 0)
        return r < 0 ? r : (int) n_phases;
    r = n_phases > 1 && n_phases <= MAX_PHASES ? try_exact(proposal, &plan, phase, (uint32_t) n_phases, &pieces)
                                               : -E2BIG;
    if (r == -E2BIG)
        r = try_exact(proposal, &plan, phase, 1, &pieces);
    if (r == -E2BIG)
        r = try_cells(proposal, &plan, &pieces);
    if (r == 0)
        judge(proposal, &plan, &pieces, phase);
    else
        proposal_done(proposal);
    return r;
}

void proposal_done(struct proposal *proposal)
{
    free(proposal->text);
    layout_free(proposal->layout);
    *proposal = (struct proposal){ 0 };
}

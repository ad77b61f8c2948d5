/* SPDX-License-Identifier: MIT */
/* Layouts and what they are said to be worth, beside a reading of every byte. */
#include "fs/learn/fit.h"
#include "fs/learn/propose.h"
#include "layout/map.h"
#include "layout/match.h"
#include "test/learn/learned.h"
#include "test/support/oracle.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>

/* -- fit -- */

/* Counts the runs of what a rank reads, or writes, byte by byte, and the elements it touches. */
static struct fit_row count_row(const struct oracle *oracle, const struct touches *touches, uint32_t rank, bool writes)
{
    struct fit_row row = { 0 };
    bool touched[ORACLE_MAX_ELEMENTS + 1] = { 0 };
    struct oracle_place before = { 0 };

    for (uint64_t byte = 0; byte < touches->end; byte++) {
        struct oracle_place place = oracle_map(oracle, byte);
        bool is_his = false;

        for (size_t i = 0; i < touches->n; i++)
            is_his |= touches->touch[i].rank == rank && touches->touch[i].writes == writes &&
                      touches->touch[i].off <= byte && byte < touches->touch[i].end;
        if (!is_his)
            continue;
        row.runs += row.bytes == 0 || place.element != before.element || place.sub_off != before.sub_off + 1;
        row.bytes++;
        touched[MIN(place.element, oracle->n_elements)] = true;
        before = place;
    }
    for (size_t i = 0; i < ARRAY_SIZE(touched); i++)
        row.touched += touched[i];
    return row;
}

static void check_side(const struct oracle *oracle, const struct touches *touches, const struct fit_side *side,
                       bool writes, uint64_t seed)
{
    uint64_t runs = 0, least = 0;

    for (uint32_t rank = 0; rank < touches->n_ranks; rank++) {
        struct fit_row want = count_row(oracle, touches, rank, writes), found = side->row[rank];

        cr_assert(found.bytes == want.bytes && found.runs == want.runs && found.touched == want.touched,
                  RNG_SEED ": rank %" PRIu32 ": %" PRIu64 " runs of %" PRIu64 " bytes in %" PRIu32 ", counted %" PRIu64
                           " of %" PRIu64 " in %" PRIu32 "\n%s",
                  seed, rank, found.runs, found.bytes, found.touched, want.runs, want.bytes, want.touched,
                  oracle->text);
        runs += want.runs;
        least += want.bytes > 0;
    }
    cr_assert(side->runs == runs && side->least == least, RNG_SEED, seed);
}

static void check_moved(const struct oracle *oracle, const struct touches *touches, const struct fit *fit,
                        uint64_t seed)
{
    uint64_t moved[ORACLE_MAX_ELEMENTS + 1] = { 0 };

    for (size_t i = 0; i < touches->n; i++)
        for (uint64_t byte = touches->touch[i].off; byte < touches->touch[i].end; byte++)
            moved[MIN(oracle_map(oracle, byte).element, oracle->n_elements)]++;
    for (uint32_t i = 0; i <= oracle->n_elements; i++)
        cr_assert_eq(fit->moved[i], moved[i], RNG_SEED ": element %" PRIu32, seed, i);
}

Test(fit, counts_what_is_there)
{
    static struct oracle oracle;
    static struct learned learned;

    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        cleanup(layout_freep) struct layout *layout = NULL;
        struct extents reads, writes;
        struct touches touches;
        struct fit fit;

        oracle_random(&oracle, &rng);
        learned_random(&learned, &rng);
        layout = layout_of(oracle.text);
        cr_assert_eq(touches_init(&touches, &learned.trace, 0, NULL), 0);
        cr_assert_eq(extents_init(&reads, &touches, EXTENTS_READ), 0);
        cr_assert_eq(extents_init(&writes, &touches, EXTENTS_WRITTEN), 0);
        cr_assert_eq(fit_init(&fit, layout->pattern, &touches, &reads, &writes), 0);
        check_side(&oracle, &touches, &fit.reads, false, rng.seed);
        check_side(&oracle, &touches, &fit.writes, true, rng.seed);
        check_moved(&oracle, &touches, &fit, rng.seed);
        fit_done(&fit);
        extents_done(&reads);
        extents_done(&writes);
        touches_done(&touches);
    }
}

/* What each element of asked has of one common period with stored is read by a rank of its own: the degree is the one
 * of 'fallsctl layout match'. */
static void check_degree(const struct pattern *stored, const struct pattern *asked, const char *what)
{
    cleanup(match_freep) struct match *match = NULL;
    struct touches touches = { .n_ranks = asked->n_elements };
    struct extents reads, writes;
    struct runs runs;
    struct run run;
    struct fit fit;
    uint64_t lo, period;

    cr_assert_eq(match_new(stored, asked, &match), 0, "%s", what);
    cr_assert_eq(overlap_period(stored, asked, &lo, &period), 0);
    cr_assert_eq(runs_init(&runs, asked, lo, period), 0);
    while (runs_next(&runs, &run)) {
        cr_assert(array_grow(touches.touch, touches.n));
        touches.touch[touches.n++] =
            (struct touch){ run.file_off, run.file_off + run.len, 0, run.element, false, false };
    }
    cr_assert_eq(extents_init(&reads, &touches, EXTENTS_READ), 0);
    cr_assert_eq(extents_init(&writes, &touches, EXTENTS_WRITTEN), 0);
    cr_assert_eq(fit_init(&fit, stored, &touches, &reads, &writes), 0);
    cr_assert(fit.reads.runs == match->runs && fit.reads.least == match->least && !match->is_estimated,
              "%s: %" PRIu64 " runs, %" PRIu64 " by match", what, fit.reads.runs, match->runs);
    for (uint32_t i = 0; i < match->n_rows; i++)
        cr_assert(fit.reads.row[i].touched == match->row[i].touched && fit.reads.row[i].runs == match->row[i].runs &&
                      fit.reads.row[i].bytes == match->row[i].bytes,
                  "%s: element %" PRIu32, what, i);
    fit_done(&fit);
    extents_done(&reads);
    extents_done(&writes);
    touches_done(&touches);
}

Test(fit, is_the_match_of_layouts)
{
    static struct oracle stored, asked;

    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        cleanup(layout_freep) struct layout *a = NULL, *b = NULL;
        uint64_t lo, period;
        char what[64];

        oracle_random(&stored, &rng);
        oracle_random(&asked, &rng);
        a = layout_of(stored.text);
        b = layout_of(asked.text);
        snprintf(what, sizeof what, RNG_SEED, rng.seed);
        if (overlap_period(a->pattern, b->pattern, &lo, &period) == 0 && period <= 20000)
            check_degree(a->pattern, b->pattern, what);
    }
}

/* A layout whose elements have pieces anywhere, of any length: what is left of it where it meets another one has no
 * short description, and none that could be counted by arithmetic. */
static struct layout *irregular(struct rng *rng, uint32_t n_elements, size_t n_pieces, uint64_t longest)
{
    cleanup(freep) char *text = NULL;
    struct layout *layout;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (uint32_t element = 0; element < n_elements; element++) {
        struct rng same = *rng;
        uint64_t at = 0;

        fputs(element == 0 ? "{" : ";", out);
        for (size_t i = 0, n = 0; i < n_pieces; i++) {
            uint64_t len = rng_between(&same, 1, longest);
            bool is_its = rng_below(&same, n_elements) == element;

            if (i < n_elements ? i == element : is_its)
                fprintf(out, "%s(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",1)", n++ > 0 ? "," : "", at, at + len - 1, len);
            at += len;
        }
    }
    fputc('}', out);
    fclose(out);
    layout = layout_of(text);
    for (size_t i = 0; i < n_pieces; i++)
        (void) rng_below(rng, 2);
    return layout;
}

Test(fit, is_the_match_of_irregular_layouts)
{
    struct rng rng = rng_from_seed(8);
    cleanup(layout_freep) struct layout *a = irregular(&rng, 2, 700, 9), *b = irregular(&rng, 2, 70, 999);
    uint64_t lo, period, size, runs;

    cr_assert_eq(overlap_period(a->pattern, b->pattern, &lo, &period), 0);
    cr_assert_eq(
        overlap_count(pattern_element(a->pattern, 0), pattern_element(b->pattern, 0), lo, period, &size, &runs),
        -E2BIG);
    check_degree(a->pattern, b->pattern, "irregular");
}

/* More pieces than anybody looks at: the first ones tell of the others. */
Test(fit, is_estimated_beyond)
{
    static const char wide[] = "array(shape=10007x30011, dist=(cyclic(7),cyclic(13)), grid=5x3)";
    struct rng rng = rng_from_seed(6);
    cleanup(layout_freep) struct layout *a = irregular(&rng, 3, 700, 9), *b = layout_of(wide);
    cleanup(match_freep) struct match *match = NULL;
    double degree;

    cr_assert_eq(match_new(a->pattern, b->pattern, &match), 0);
    cr_assert(match->is_estimated);
    cr_assert_eq(match->least, 15);
    /* pieces of either are 5 and 13 bytes on average, of which a third begins in the element before */
    degree = match_degree(match) * 15 / (double) match->period;
    cr_assert(degree > 0.1 && degree < 0.4, "%g", degree);
    for (uint32_t i = 0, sum = 0; i < match->n_rows; i++) {
        sum += match->row[i].bytes > 0;
        cr_assert_leq(match->row[i].touched, 3);
        cr_assert(i + 1 < match->n_rows || sum == 15);
    }
}

/* -- proposals -- */

/* The ranks that get something, in order. */
static uint32_t slots_of(const struct chunks *chunks, const struct proposing *proposing, uint32_t slot[])
{
    uint32_t n = 0;

    for (uint32_t rank = 0; rank < proposing->n_ranks; rank++) {
        bool has = false;

        for (size_t i = 0; i < chunks->n; i++)
            has |= partition_of(&chunks->chunk[i], proposing->reading) == rank;
        slot[rank] = has ? n++ : UINT32_MAX;
    }
    return n > 0 || proposing->n_disks > 0 ? MAX(n, 1) : proposing->n_ranks;
}

/* Looks where the layout has every byte that a rank gets. */
static void check_proposal(const struct proposal *proposal, const struct proposing *proposing, uint64_t seed)
{
    const struct chunks *chunks = proposing->chunks;
    uint32_t slot[64], n = slots_of(chunks, proposing, slot), n_disks = MAX(proposing->n_disks, 1);
    uint32_t pace = (n + n_disks - 1) / n_disks * n_disks;
    uint64_t placed = 0, misplaced = 0;

    cr_assert_eq(proposal->layout->pattern->n_elements, pace * proposal->phases, RNG_SEED ": %s", seed, proposal->text);
    cr_assert_leq(strlen(proposal->text), FALLS_MAX_TEXT);
    for (size_t i = 0; i < chunks->n; i++) {
        uint32_t rank = partition_of(&chunks->chunk[i], proposing->reading);

        for (uint64_t byte = chunks->chunk[i].off; rank != PARTITION_SHARED && byte < chunks->chunk[i].end; byte++) {
            struct place place;

            cr_assert_eq(pattern_map(proposal->layout->pattern, byte, &place), 0);
            placed++;
            misplaced += place.element % pace != slot[rank];
        }
    }
    cr_assert(proposal->placed == placed && proposal->misplaced == misplaced,
              RNG_SEED ": %" PRIu64 " of %" PRIu64 " misplaced, counted %" PRIu64 " of %" PRIu64 "\n%s", seed,
              proposal->misplaced, proposal->placed, misplaced, placed, proposal->text);
    cr_assert(proposal->cell > 0 || misplaced == 0, RNG_SEED ": %s", seed, proposal->text);
}

/* With phases, what is touched first stands first among a rank's bytes: phase by phase, place by place. */
static void check_order(const struct proposal *proposal, const struct proposing *proposing, uint64_t seed)
{
    cleanup(freep) uint32_t *order = partition_order(proposing->chunks, proposing->reading);
    struct place before = { 0 };

    if (proposal->disordered > 0 || proposal->misplaced > 0)
        return;
    for (size_t i = 0; i < proposing->chunks->n; i++) {
        const struct chunk *chunk = &proposing->chunks->chunk[order[i]];
        uint32_t rank = partition_of(chunk, proposing->reading);
        struct place place;

        cr_assert_eq(pattern_map(proposal->layout->pattern, chunk->off, &place), 0);
        if (i > 0 && rank != PARTITION_SHARED &&
            partition_of(&proposing->chunks->chunk[order[i - 1]], proposing->reading) == rank)
            cr_assert(place.element > before.element ||
                          (place.element == before.element && place.sub_off > before.sub_off),
                      RNG_SEED ": chunk at %" PRIu64 "\n%s", seed, chunk->off, proposal->text);
        before = place;
    }
}

Test(propose, gives_ranks_their_bytes)
{
    static struct learned learned;

    for (struct rng rng = rng_from_env(10000); rng_next(&rng);) {
        struct touches touches;
        struct chunks chunks;

        learned_random(&learned, &rng);
        cr_assert_eq(touches_init(&touches, &learned.trace, 0, NULL), 0);
        cr_assert_eq(chunks_init(&chunks, &touches), 0);
        for (int reading = PARTITION_TEXT; reading <= PARTITION_FIGURE && chunks.n > 0; reading++) {
            const struct proposing proposing = {
                .chunks = &chunks,
                .n_ranks = touches.n_ranks,
                .n_disks = (uint32_t) rng_below(&rng, 5),
                .reading = (enum partition_reading) reading,
                .size = touches.end + rng_below(&rng, 100),
                .unit = UINT64_C(1) << rng_below(&rng, 8),
            };
            struct proposal proposal;

            cr_assert_eq(proposal_init(&proposal, &proposing), 0, RNG_SEED, rng.seed);
            check_proposal(&proposal, &proposing, rng.seed);
            check_order(&proposal, &proposing, rng.seed);
            proposal_done(&proposal);
        }
        chunks_done(&chunks);
        touches_done(&touches);
    }
}

/* Records of anybody anywhere: no layout has room for that, so the nearest is taken. A case takes long, so there are
 * always as many. */
Test(propose, takes_the_nearest_that_is_a_layout)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct rng rng = rng_from_seed(seed);
        struct touches touches = { .n_ranks = 1 + (uint32_t) rng_below(&rng, 30) };
        struct proposing proposing;
        struct proposal proposal;
        struct chunks chunks;

        for (uint64_t at = 0; touches.n < 20000; at += 100) {
            uint32_t rank = (uint32_t) rng_below(&rng, touches.n_ranks);

            cr_assert(array_grow(touches.touch, touches.n));
            touches.touch[touches.n++] = (struct touch){ at, at + rng_between(&rng, 1, 100), 0, rank, true, false };
            touches.end = at + 100;
        }
        cr_assert_eq(chunks_init(&chunks, &touches), 0);
        proposing =
            (struct proposing){ .chunks = &chunks, .n_ranks = touches.n_ranks, .size = touches.end, .unit = 4096 };
        cr_assert_eq(proposal_init(&proposal, &proposing), 0, RNG_SEED, rng.seed);
        cr_assert(touches.n_ranks == 1 || proposal.cell > 0, RNG_SEED, rng.seed);
        check_proposal(&proposal, &proposing, rng.seed);
        proposal_done(&proposal);
        chunks_done(&chunks);
        touches_done(&touches);
    }
}

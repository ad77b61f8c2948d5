/* SPDX-License-Identifier: MIT */
/* Random patterns against the byte-by-byte oracle. */
#include "layout/map.h"
#include "test/support/oracle.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#define SHARDS      8
#define CASES       20000
#define MATCH_EVERY 8

/* One pattern of the pair that is being compared. */
struct subject {
    struct oracle oracle;
    struct layout *layout;
};

static void fail_case(const struct rng *rng, const struct subject *subject, const char *why)
{
    cr_assert_fail(RNG_SEED ": %s\n%s", rng->seed, why, subject->oracle.text);
}

static void parse(const struct rng *rng, struct subject *subject)
{
    struct layout_error error;

    if (layout_parse(subject->oracle.text, strlen(subject->oracle.text), 0, &subject->layout, &error) < 0)
        fail_case(rng, subject, error.why);
}

static void check_one(struct rng *rng, const struct subject *subject, struct verdict *verdict)
{
    const struct pattern *pattern = subject->layout->pattern;

    check_map(&subject->oracle, pattern, verdict);
    check_next_prev(&subject->oracle, pattern, rng, verdict);
    for (unsigned i = 0; i < 4; i++)
        check_runs(&subject->oracle, pattern, rng, verdict);
    check_cut(&subject->oracle, pattern, rng, verdict);
    check_gather(&subject->oracle, pattern, rng, verdict);
    check_print(&subject->oracle, subject->layout, verdict);
}

/* Whether the common period is small enough to be walked byte by byte. */
static bool comparable(const struct oracle *a, const struct oracle *b, uint64_t most)
{
    return a->size / gcd_u64(a->size, b->size) * b->size <= most;
}

ParameterizedTestParameters(oracle, agrees)
{
    static uint64_t shards[SHARDS];

    for (uint64_t i = 0; i < SHARDS; i++)
        shards[i] = i;
    return cr_make_param_array(uint64_t, shards, SHARDS);
}

ParameterizedTest(uint64_t *shard, oracle, agrees)
{
    static struct subject subject[2]; /* each case is compared with the one before it */
    unsigned now = 0, compared = 0;

    for (struct rng rng = rng_shard_from_env(CASES, *shard, SHARDS); rng_next(&rng); now = !now) {
        struct subject *this = &subject[now], *other = &subject[!now];
        struct verdict verdict = { { 0 } };

        layout_free(this->layout);
        this->layout = NULL;
        oracle_random(&this->oracle, &rng);
        parse(&rng, this);
        check_one(&rng, this, &verdict);
        if (other->layout == NULL) { /* the first case, or the only one: make its partner from the same seed */
            struct rng partner = rng_from_seed(rng.seed - 1);

            oracle_random(&other->oracle, &partner);
            parse(&rng, other);
        }
        if (comparable(&this->oracle, &other->oracle, 20000)) {
            check_overlap(&this->oracle, this->layout->pattern, &other->oracle, other->layout->pattern, &rng, &verdict);
            if (++compared % MATCH_EVERY == 0 && comparable(&this->oracle, &other->oracle, 1000))
                check_match(&this->oracle, this->layout->pattern, &other->oracle, other->layout->pattern, &verdict);
        }
        if (verdict.why[0] != 0)
            fail_case(&rng, this, verdict.why);
    }
    layout_free(subject[0].layout);
    layout_free(subject[1].layout);
}

/* Checks any FALLS: they are taken when each byte is covered once, else refused with the first byte that is not. */
static void check_sets(const struct rng *rng, const struct oracle_sets *sets)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error = { 0 };
    char said[64];
    uint64_t x = 0;
    int r = layout_parse(sets->text, strlen(sets->text), 0, &layout, &error);

    while (x < sets->end && sets->count[x] == 1)
        x++;
    if (x == sets->end) {
        cr_assert_eq(r, 0, RNG_SEED ": refused: %s\n%s", rng->seed, error.why, sets->text);
        for (x = 0; x < sets->end; x++) {
            struct place place;

            cr_assert_eq(pattern_map(layout->pattern, x, &place), 0);
            cr_assert_eq(place.element, sets->owner[x], RNG_SEED ": byte %" PRIu64 "\n%s", rng->seed, x, sets->text);
        }
        return;
    }
    cr_assert_eq(r, -ERANGE, RNG_SEED ": %d %s, expected byte %" PRIu64 "\n%s", rng->seed, r, error.why, x, sets->text);
    snprintf(said, sizeof said, sets->count[x] == 0 ? "no FALLS covers byte %" PRIu64 "," : "at byte %" PRIu64, x);
    cr_assert_not_null(strstr(error.why, said), RNG_SEED ": %s, expected %s\n%s", rng->seed, error.why, said,
                       sets->text);
}

Test(oracle, names_the_first_bad_byte)
{
    static struct oracle_sets sets;

    for (struct rng rng = rng_from_env(100000); rng_next(&rng);) {
        oracle_random_sets(&sets, &rng);
        check_sets(&rng, &sets);
    }
}

/* Faults inside members that were written back to front: the first byte is still the first. */
Test(oracle, names_the_first_of_a_thousand_faults)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error error;
    static char text[1 << 16] = "{";

    for (unsigned i = 1000; i-- > 0;)
        sprintf(text + strlen(text), "(%u,%u,4,1,{(0,1,2,1),(1,3,3,1)})%s", 4 * i, 4 * i + 3, i > 0 ? "," : "}");
    cr_assert_eq(layout_parse(text, strlen(text), 0, &layout, &error), -ERANGE);
    cr_expect_str_eq(error.why, "FALLS 999 overlaps itself at byte 1");
}

/* SPDX-License-Identifier: MIT */
/* Random patterns against the byte-by-byte oracle. */
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

/* The common period must be small enough to be walked byte by byte. */
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

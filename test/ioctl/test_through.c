/* SPDX-License-Identifier: MIT */
/* What is asked of a view, walked through both sets, byte by byte against the oracle of the view. */
#include "ioctl/fad.h"
#include "test/support/oracle.h"

#include <criterion/criterion.h>
#include <string.h>

#define ROOM 6000 /* bytes of the file */

struct subject {
    struct oracle oracle;
    uint32_t element;
    uint32_t at[ROOM], n; /* of each byte of the view */
    uint32_t file[ROOM];  /* of each byte that is asked for */
    bool is_asked[ROOM];
    struct asked asked;
    struct list list;
};

/* Bytes of the view in ascending pieces, as a list or as FALLS. */
static void ask(struct rng *rng, struct subject *subject, struct nest **ret_nest, struct pieces **ret_pieces)
{
    struct fallsfs_ioc_piece piece[60];
    static const struct payer nobody;
    struct list_source from = { .at = (const uint8_t *) piece };
    struct layout_error error;
    char text[4000] = "{";
    uint64_t n = 0, end = 0, size = 0;
    size_t at = 1;

    while (n < ARRAY_SIZE(piece)) {
        uint64_t off = end + rng_below(rng, 30), len = rng_between(rng, 1, 20);

        if (off + len > subject->n)
            break;
        piece[n] = (struct fallsfs_ioc_piece){ off, len };
        at += (size_t) snprintf(text + at, sizeof text - at, "%s(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",1)",
                                n++ > 0 ? "," : "", off, off + len - 1, len);
        for (uint64_t k = 0; k < len; k++)
            subject->file[size++] = subject->at[off + k];
        end = off + len;
    }
    for (uint64_t k = 0; k < size; k++)
        subject->is_asked[subject->file[k]] = true;
    strcpy(text + at, "}");
    if (n > 0 && rng_chance(rng, 50)) {
        from.n = n;
        cr_assert(pieces_copy(&from, &nobody, ret_pieces) == 0);
        cr_assert(list_init(&subject->list, *ret_pieces, 0, 0, 0, size) == 0);
        subject->asked.list = &subject->list;
    } else {
        cr_assert(nest_parse(text, strlen(text), ret_nest, &error) == 0);
        subject->asked.nest = *ret_nest;
    }
}

static void compare(const struct rng *rng, const struct subject *subject, uint64_t lo, uint64_t hi)
{
    static uint8_t spread[ROOM], packed[ROOM + 1], back[ROOM];
    const struct asked *asked = &subject->asked;
    uint64_t rank = asked_rank(asked, lo), n = 0;

    for (uint64_t x = 0; x < ROOM; x++)
        spread[x] = (uint8_t) (x * 7 + (x >> 8));
    memset(packed, 0xEE, sizeof packed);
    memset(back, 0xEE, sizeof back);
    for (uint64_t x = lo; x < hi; x++)
        n += subject->is_asked[x];
    cr_assert(asked_gather(asked, lo, hi, spread + lo, packed) == n && packed[n] == 0xEE, RNG_SEED, rng->seed);
    for (uint64_t k = 0; k < n; k++)
        cr_assert(packed[k] == spread[subject->file[rank + k]], RNG_SEED ": byte %" PRIu64, rng->seed, k);
    cr_assert(asked_scatter(asked, lo, hi, back + lo, packed) == n, RNG_SEED, rng->seed);
    for (uint64_t x = 0; x < ROOM; x++) /* no other byte is touched */
        cr_assert(back[x] == (subject->is_asked[x] && x >= lo && x < hi ? spread[x] : 0xEE), RNG_SEED ": byte %" PRIu64,
                  rng->seed, x);
}

Test(through, as_the_oracle_has_it, .timeout = 300)
{
    static struct subject subject;

    for (struct rng rng = rng_from_env(1500); rng_next(&rng);) {
        cleanup(layout_freep) struct layout *layout = NULL;
        cleanup(nest_freep) struct nest *nest = NULL;
        struct pieces *pieces = NULL;
        struct layout_error error;
        uint64_t rank = 0, byte;

        oracle_random(&subject.oracle, &rng);
        cr_assert(layout_parse(subject.oracle.text, strlen(subject.oracle.text), 0, &layout, &error) == 0);
        subject.element = (uint32_t) rng_below(&rng, subject.oracle.n_elements);
        subject.asked = (struct asked){ .through = pattern_element(layout->pattern, subject.element) };
        memset(subject.is_asked, 0, sizeof subject.is_asked);
        subject.n = 0;
        for (uint32_t x = 0; x < ROOM; x++)
            if (oracle_map(&subject.oracle, x).element == subject.element)
                subject.at[subject.n++] = x;
        if (subject.asked.through->size == 0)
            continue;
        ask(&rng, &subject, &nest, &pieces);
        for (uint64_t x = 0; x < ROOM; x++) {
            uint64_t len = 0;

            cr_assert(asked_rank(&subject.asked, x) == rank, RNG_SEED ": rank of %" PRIu64, rng.seed, x);
            if (!subject.is_asked[x])
                continue;
            cr_assert(asked_select_run(&subject.asked, rank, &len) == x && len > 0, RNG_SEED, rng.seed);
            for (uint64_t k = 0; k < len; k++)
                cr_assert(subject.is_asked[x + k], RNG_SEED ": run at %" PRIu64, rng.seed, x);
            rank++;
        }
        cr_assert(rank == asked_size(&subject.asked) && !asked_next(&subject.asked, ROOM, &byte), RNG_SEED, rng.seed);
        for (int i = 0; i < 5; i++) {
            uint64_t lo = rng_below(&rng, ROOM);

            compare(&rng, &subject, lo, rng_between(&rng, lo, ROOM));
        }
        pieces_put(pieces);
    }
}

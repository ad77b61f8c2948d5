/* SPDX-License-Identifier: MIT */
/* What replicas would take, beside a reading of every byte, and what they would be worth. */
#include "fs/learn/replicas.h"
#include "test/learn/learned.h"
#include "test/support/texts.h"

#include <criterion/criterion.h>

#define COST                                           \
    {                                                  \
        .seek = 1000000, .call = 1000, .rate = 1000000 \
    }

static const struct disk_cost cost = COST;
static const struct disk_costs costs[] = { { COST, COST }, { COST, COST }, { COST, COST } };

Test(replicas, take_the_room_of_all_but_one_reader)
{
    static struct learned learned;
    static struct chunk chunk[LEARNED_BYTES];
    cleanup(layout_freep) struct layout *layout = layout_of("stripe(16,3)");

    for (struct rng rng = rng_from_env(3000); rng_next(&rng);) {
        enum chunk_class class = rng_chance(&rng, 50) ? CHUNK_READ : CHUNK_WRITTEN_ONE;
        uint64_t bytes = 0, room = 0, n = 0;
        struct replica replica;
        struct touches touches;
        struct chunks chunks;

        learned_random(&learned, &rng);
        cr_assert_eq(touches_init(&touches, &learned.trace, 0, NULL), 0);
        cr_assert_eq(chunks_init(&chunks, &touches), 0);
        cr_assert_eq(replica_judge(&replica, class, &touches, &chunks, layout->pattern, 3, EXTENTS_ALL, costs), 0);
        for (size_t i = learned_chunks(&learned, chunk); i-- > 0;) {
            uint64_t len = chunk[i].end - chunk[i].off;

            if (chunk_class(&chunk[i]) != class || chunk[i].readers < 2)
                continue;
            bytes += len;
            room += len * (chunk[i].readers - 1);
            n++;
        }
        cr_assert(replica.bytes == bytes && replica.room == room && replica.chunks == n,
                  RNG_SEED ": %" PRIu64 " bytes in %" PRIu64 " chunks, %" PRIu64 " of room", rng.seed, replica.bytes,
                  replica.chunks, replica.room);
        chunks_done(&chunks);
        touches_done(&touches);
    }
}

/* 3 ranks read the same 8 pieces of 10 bytes, one by one and all at a time. */
static struct touches read_all(void)
{
    struct touches touches = { .n_ranks = 3 };

    for (uint64_t i = 0; i < 24; i++) {
        cr_assert(array_grow(touches.touch, touches.n));
        touches.touch[touches.n++] = (struct touch){ i / 3 * 10, i / 3 * 10 + 10, i, (uint32_t) (i % 3), false };
    }
    touches.end = 80;
    return touches;
}

static struct replica judge_all(const struct touches *touches, uint32_t n_disks, enum extents_of of)
{
    cleanup(layout_freep) struct layout *layout = layout_of("stripe(40,2)");
    struct replica replica;
    struct chunks chunks;

    cr_assert_eq(chunks_init(&chunks, touches), 0);
    cr_assert_eq(replica_judge(&replica, CHUNK_READ, touches, &chunks, layout->pattern, n_disks, of, costs), 0);
    chunks_done(&chunks);
    return replica;
}

/* Ranks 0 and 2 are on the first of two disks, which goes back and forth; of 3 disks each seeks once. */
Test(replicas, are_read_in_order)
{
    struct touches touches = read_all();
    struct replica two = judge_all(&touches, 2, EXTENTS_ALL), three = judge_all(&touches, 3, EXTENTS_ALL);

    cr_expect_eq(two.bytes, 80);
    cr_expect_eq(two.room, 160);
    cr_expect_eq(two.most, 16 * (cost.seek + cost.call + 10000));
    cr_expect_eq(three.most, cost.seek + 8 * (cost.call + 10000));
    touches_done(&touches);
}

/* What is left to the file: bytes 200 to 209, in its second subfile, read once. */
Test(replicas, leave_the_rest_to_the_file)
{
    struct touches touches = read_all();
    struct replica replica;

    cr_assert(array_grow(touches.touch, touches.n));
    touches.touch[touches.n++] = (struct touch){ 200, 210, 24, 0, false };
    touches.end = 210;
    replica = judge_all(&touches, 3, EXTENTS_READ);
    cr_expect_eq(replica.bytes, 80);
    cr_expect_eq(replica.most, 2 * cost.seek + 9 * (cost.call + 10000));
    replica = judge_all(&touches, 3, EXTENTS_WRITTEN);
    cr_expect_eq(replica.most, 0);
    touches_done(&touches);
}

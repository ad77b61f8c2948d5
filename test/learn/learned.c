/* SPDX-License-Identifier: MIT */
#include "test/learn/learned.h"

static bool is_seen(const struct traced_access *access)
{
    return access->file == 0 && (access->flags & TRACE_FAILED) == 0 && access->len > 0;
}

void learned_add(struct learned *learned, uint32_t process, bool writes, uint64_t offset, uint64_t len)
{
    size_t n = learned->trace.n_accesses++;

    learned->trace.process = learned->process;
    learned->trace.n_processes = LEARNED_PROCESSES;
    learned->trace.access = learned->access;
    learned->access[n] = (struct traced_access){ .offset = offset,
                                                 .len = len,
                                                 .at = n,
                                                 .process = process,
                                                 .pattern = TRACE_NOBODY,
                                                 .flags = writes ? TRACE_WRITES : 0 };
}

void learned_random(struct learned *learned, struct rng *rng)
{
    uint64_t n = rng_between(rng, 1, LEARNED_ACCESSES), n_processes = rng_between(rng, 1, LEARNED_PROCESSES);
    uint64_t unit = rng_chance(rng, 50) ? 1 : rng_between(rng, 2, 32), times = rng_between(rng, 1, n);
    unsigned writes = (unsigned) rng_below(rng, 101), regular = (unsigned) rng_below(rng, 101);

    *learned = (struct learned){ 0 };
    for (uint64_t i = 0; i < n; i++) {
        uint32_t process = (uint32_t) rng_below(rng, n_processes);
        uint64_t offset =
            rng_chance(rng, regular) ? (i * unit) % LEARNED_BYTES : rng_below(rng, LEARNED_BYTES) / unit * unit;
        struct traced_access *access = &learned->access[i];
        uint64_t len = rng_chance(rng, regular) ? unit : rng_below(rng, 3 * unit + 1);

        learned_add(learned, rng_chance(rng, 3) ? TRACE_NOBODY : process, rng_chance(rng, writes), offset,
                    MIN(len, LEARNED_BYTES - offset));
        access->at = rng_chance(rng, 50) ? i * times : rng_below(rng, times);
        access->file = rng_chance(rng, 5);
        if (rng_chance(rng, 5))
            access->flags |= TRACE_FAILED;
    }
}

/* Whether access a comes before access b: by time, then as they stand. */
static bool is_before(const struct learned *learned, size_t a, size_t b)
{
    uint64_t at = learned->access[a].at, other = learned->access[b].at;

    return at != other ? at < other : a < b;
}

/* How many seen accesses come before this one: its place in the order of time. */
static uint32_t place_of(const struct learned *learned, size_t access)
{
    uint32_t place = 0;

    for (size_t i = 0; i < learned->trace.n_accesses; i++)
        place += is_seen(&learned->access[i]) && is_before(learned, i, access);
    return place;
}

static uint32_t bit_of(uint32_t process)
{
    return UINT32_C(1) << MIN(process, LEARNED_PROCESSES);
}

uint32_t learned_process(const struct learned *learned, uint32_t rank)
{
    uint32_t seen = 0;

    for (uint32_t place = 0;; place++)
        for (size_t i = 0; i < learned->trace.n_accesses; i++) {
            uint32_t process = learned->access[i].process;

            if (!is_seen(&learned->access[i]) || place_of(learned, i) != place || (seen & bit_of(process)) != 0)
                continue;
            if ((uint32_t) __builtin_popcount(seen) == rank)
                return process;
            seen |= bit_of(process);
        }
}

static uint32_t rank_of(const struct learned *learned, uint32_t process)
{
    uint32_t rank = 0;

    while (learned_process(learned, rank) != process)
        rank++;
    return rank;
}

/* Who reads, or writes, a byte: a bit for each process. */
static uint32_t users_of(const struct learned *learned, uint64_t byte, bool writes)
{
    uint32_t users = 0;

    for (size_t i = 0; i < learned->trace.n_accesses; i++) {
        const struct traced_access *access = &learned->access[i];

        if (is_seen(access) && ((access->flags & TRACE_WRITES) != 0) == writes && byte >= access->offset &&
            byte < access->offset + access->len)
            users |= bit_of(access->process);
    }
    return users;
}

static uint32_t most(const uint32_t count[static LEARNED_PROCESSES + 1])
{
    uint32_t best = 0;

    for (uint32_t rank = 1; rank <= LEARNED_PROCESSES; rank++)
        if (count[rank] > count[best])
            best = rank;
    return best;
}

/* Fills in what the accesses say that have some byte of the chunk. */
static void count_chunk(const struct learned *learned, struct chunk *chunk)
{
    uint32_t all[LEARNED_PROCESSES + 1] = { 0 }, reads[LEARNED_PROCESSES + 1] = { 0 };

    chunk->first = UINT32_MAX;
    for (size_t i = 0; i < learned->trace.n_accesses; i++) {
        const struct traced_access *access = &learned->access[i];
        bool writes = (access->flags & TRACE_WRITES) != 0;

        if (!is_seen(access) || access->offset >= chunk->end || access->offset + access->len <= chunk->off)
            continue;
        chunk->first = MIN(chunk->first, place_of(learned, i));
        chunk->writes += writes;
        chunk->reads += !writes;
        all[rank_of(learned, access->process)]++;
        reads[rank_of(learned, access->process)] += !writes;
    }
    chunk->top = most(all);
    chunk->top_reader = chunk->readers > 0 ? most(reads) : chunk->top;
}

size_t learned_chunks(const struct learned *learned, struct chunk chunk[static LEARNED_BYTES])
{
    uint32_t readers = 0, writers = 0;
    size_t n = 0;

    for (uint64_t byte = 0; byte < LEARNED_BYTES; byte++) {
        uint32_t reads = users_of(learned, byte, false), writes = users_of(learned, byte, true);

        if ((reads | writes) != 0 && (reads != readers || writes != writers))
            chunk[n++] = (struct chunk){ .off = byte,
                                         .readers = (uint32_t) __builtin_popcount(reads),
                                         .writers = (uint32_t) __builtin_popcount(writes),
                                         .ranks = (uint32_t) __builtin_popcount(reads | writes) };
        if ((reads | writes) != 0)
            chunk[n - 1].end = byte + 1;
        readers = reads;
        writers = writes;
    }
    for (size_t i = 0; i < n; i++)
        count_chunk(learned, &chunk[i]);
    return n;
}

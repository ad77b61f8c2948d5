/* SPDX-License-Identifier: MIT */
#include "fs/learn/replicas.h"

/* What a disk was asked for last: by whom, one more than the chunk, and where that ended. */
struct head {
    uint32_t rank;
    size_t after;
    uint64_t end;
};

struct judging {
    struct replica *replica;
    const struct chunks *chunks;
    const struct disk_costs *costs; /* of each disk */
    struct touches rest;            /* what the file itself still has to do */
    struct head *head;              /* of each disk */
    uint64_t *ns;                   /* of each disk, with replicas alone */
    uint32_t n_disks;
};

static bool is_replicated(const struct judging *judging, const struct chunk *chunk)
{
    return chunk->readers > 1 && chunk_class(chunk) == judging->replica->class;
}

/* The first chunk that ends behind a byte. */
static size_t chunk_at(const struct chunks *chunks, uint64_t byte)
{
    size_t lo = 0, hi = chunks->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (chunks->chunk[mid].end <= byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint64_t ns_of(const struct disk_cost *cost, uint64_t bytes)
{
    return cost->call + (uint64_t) ((double) bytes / (double) cost->rate * 1e9);
}

/* A reader finds a piece of a chunk on its own disk; what follows in the file, or is the next chunk, follows there,
 * unless another one with copies there was in between. */
static void read_copy(struct judging *judging, uint32_t rank, size_t chunk, uint64_t off, uint64_t end)
{
    uint32_t disk = rank % judging->n_disks;
    const struct disk_cost *cost = &judging->costs[disk].read;
    struct head *head = &judging->head[disk];
    bool is_next = head->after == chunk && judging->chunks->chunk[chunk].off == off;
    bool follows = head->rank == rank && (head->end == off || is_next);

    judging->ns[disk] += ns_of(cost, end - off) + (follows ? 0 : cost->seek);
    *head = (struct head){ rank, chunk + 1, end };
}

/* A writer has all copies updated, wherever they are. */
static void update_copies(struct judging *judging, const struct chunk *chunk, uint64_t bytes)
{
    for (uint32_t i = 0; i < judging->n_disks; i++)
        judging->ns[i] += ns_of(&judging->costs[i].write, bytes) * (chunk->readers - 1) / judging->n_disks;
}

static int keep(struct judging *judging, const struct touch *touch, uint64_t off, uint64_t end)
{
    struct touches *rest = &judging->rest;

    if (rest->n > 0 && rest->touch[rest->n - 1].at == touch->at && rest->touch[rest->n - 1].rank == touch->rank &&
        rest->touch[rest->n - 1].end == off) {
        rest->touch[rest->n - 1].end = end;
        return 0;
    }
    if (!array_grow(rest->touch, rest->n))
        return -ENOMEM;
    rest->touch[rest->n] = *touch;
    rest->touch[rest->n].off = off;
    rest->touch[rest->n++].end = end;
    return 0;
}

/* Divides a touch among the copies and the file. */
static int divide(struct judging *judging, const struct touch *touch)
{
    uint64_t at = touch->off;
    int r = 0;

    for (size_t i = chunk_at(judging->chunks, at); r == 0 && at < touch->end; i++) {
        const struct chunk *chunk = &judging->chunks->chunk[i];
        uint64_t end = MIN(chunk->end, touch->end);
        bool is_copied = is_replicated(judging, chunk);

        if (is_copied && touch->writes)
            update_copies(judging, chunk, end - at);
        if (is_copied && !touch->writes)
            read_copy(judging, touch->rank, i, at, end);
        else
            r = keep(judging, touch, at, end);
        at = end;
    }
    return r;
}

static void count_room(const struct judging *judging, struct replica *replica)
{
    for (size_t i = 0; i < judging->chunks->n; i++) {
        const struct chunk *chunk = &judging->chunks->chunk[i];

        if (!is_replicated(judging, chunk))
            continue;
        replica->bytes += chunk->end - chunk->off;
        replica->room += (chunk->end - chunk->off) * (chunk->readers - 1);
        replica->chunks++;
    }
}

static int count_without(const struct judging *judging, const struct pattern *pattern, const struct touches *touches,
                         enum extents_of of)
{
    struct busy busy;
    int r = busy_init(&busy, pattern, judging->n_disks, touches, of, judging->costs);

    if (r == 0) {
        judging->replica->without = busy.most;
        busy_done(&busy);
    }
    return r;
}

static int add_rest(struct judging *judging, const struct pattern *pattern)
{
    struct busy busy;
    int r = busy_init(&busy, pattern, judging->n_disks, &judging->rest, EXTENTS_ALL, judging->costs);

    for (uint32_t i = 0; r == 0 && i < judging->n_disks; i++)
        judging->replica->most = MAX(judging->replica->most, busy.ns[i] + judging->ns[i]);
    if (r == 0)
        busy_done(&busy);
    return r;
}

int replica_judge(struct replica *replica, enum chunk_class class, const struct touches *touches,
                  const struct chunks *chunks, const struct pattern *pattern, uint32_t n_disks, enum extents_of of,
                  const struct disk_costs costs[])
{
    cleanup(freep) struct head *head = calloc(n_disks, sizeof *head);
    cleanup(freep) uint64_t *ns = calloc(n_disks, sizeof *ns);
    struct judging judging = { replica, chunks, costs, { .n_ranks = touches->n_ranks }, head, ns, n_disks };
    int r = head == NULL || ns == NULL ? -ENOMEM : 0;

    *replica = (struct replica){ .class = class };
    count_room(&judging, replica);
    if (r < 0 || replica->bytes == 0)
        return r;
    for (uint32_t i = 0; i < n_disks; i++)
        head[i].rank = UINT32_MAX;
    for (size_t i = 0; r == 0 && i < touches->n; i++)
        if ((of & (touches->touch[i].writes ? EXTENTS_WRITTEN : EXTENTS_READ)) != 0)
            r = divide(&judging, &touches->touch[i]);
    if (r == 0)
        r = add_rest(&judging, pattern);
    if (r == 0)
        r = count_without(&judging, pattern, touches, of);
    touches_done(&judging.rest);
    return r;
}

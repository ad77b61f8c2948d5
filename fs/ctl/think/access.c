/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/access.h"

#include "layout/overlap.h"

#define MAX_PIECES (UINT64_C(1) << 20) /* that are looked at one by one, of one element */
#define MAX_WINDOW (UINT64_C(4) << 20) /* of one request */

struct load {
    uint32_t disk;
    uint64_t ns;
};

/* Puts the pieces of one subfile, which come in order, together to requests, and counts what these read. */
struct sieving {
    const struct store_cost *cost;
    uint64_t start, end; /* of the request that is being put together; equal: none is */
    uint64_t requests, read;
};

static void finish(struct sieving *sieving)
{
    if (sieving->start == sieving->end)
        return;
    sieving->requests += (sieving->end - sieving->start + MAX_WINDOW - 1) / MAX_WINDOW;
    sieving->read += sieving->end - sieving->start;
    sieving->start = sieving->end = 0;
}

static void add_piece(struct sieving *sieving, uint64_t off, uint64_t len)
{
    bool follows = sieving->end > sieving->start;

    if (follows && (off - sieving->end) * sieving->cost->read_kib / 1024 > sieving->cost->read_call) {
        finish(sieving);
        follows = false;
    }
    if (!follows)
        sieving->start = off;
    sieving->end = off + len;
}

/* Adds the pieces of a set in a subfile, MAX_PIECES at most. Returns how many bytes they have. */
static uint64_t sieve(const struct nest *pieces, struct sieving *sieving)
{
    uint64_t done = 0;

    for (uint64_t n = 0; n < MAX_PIECES && done < pieces->size; n++) {
        uint64_t len, off = nest_select_run(pieces, done, &len);

        add_piece(sieving, off, len);
        done += len;
    }
    finish(sieving);
    return done;
}

static uint64_t scale(uint64_t value, uint64_t whole, uint64_t part)
{
    return (uint64_t) ((double) value * (double) whole / (double) part);
}

static int count_element(const struct pattern *pattern, uint32_t element, const struct nest *wanted, uint64_t lo,
                         uint64_t len, struct sieving *sieving, struct access *access)
{
    struct overlap overlap = { 0 };
    uint64_t done;
    int r = overlap_of_nests(pattern_element(pattern, element), wanted, lo, len, &overlap);

    if (r == 0 && overlap.size > 0) {
        done = sieve(overlap.on_a, sieving);
        if (done < overlap.size) {
            sieving->requests = scale(sieving->requests, overlap.size, done);
            sieving->read = scale(sieving->read, overlap.size, done);
            access->estimated = true;
        }
        access->runs += overlap.runs;
        access->wanted += overlap.size;
    }
    overlap_done(&overlap);
    return r;
}

static void add_load(struct load load[], uint32_t *n, uint32_t disk, uint64_t ns)
{
    for (uint32_t i = 0; i < *n; i++)
        if (load[i].disk == disk) {
            load[i].ns += ns;
            return;
        }
    load[(*n)++] = (struct load){ disk, ns };
}

int access_count(const struct pattern *pattern, const uint32_t *disk, uint32_t header_disk, const struct nest *wanted,
                 const struct store_cost *cost, struct access *ret_access)
{
    cleanup(freep) struct load *load = calloc((size_t) pattern->n_elements + 1, sizeof *load);
    struct access access = { 0 };
    uint64_t lo = 0, hi = 0;
    int r = load == NULL ? -ENOMEM : 0;

    (void) nest_next(wanted, 0, &lo);
    (void) nest_prev(wanted, FALLS_LIMIT, &hi);
    for (uint32_t i = 0; r == 0 && wanted->size > 0 && i <= pattern->n_elements; i++) {
        bool is_header = i == pattern->n_elements;
        struct sieving sieving = { .cost = cost };

        if (is_header && pattern->disp == 0)
            break;
        r = count_element(pattern, is_header ? ELEMENT_HEADER : i, wanted, lo, hi - lo + 1, &sieving, &access);
        if (r == 0 && sieving.requests > 0) {
            access.requests += sieving.requests;
            access.read += sieving.read;
            add_load(load, &access.n_disks, is_header ? header_disk : disk[i],
                     sieving.requests * cost->read_call + sieving.read / 1024 * cost->read_kib);
        }
    }
    for (uint32_t i = 0; r == 0 && i < access.n_disks; i++) {
        access.ns = MAX(access.ns, load[i].ns);
        access.work += load[i].ns;
    }
    if (r == 0)
        *ret_access = access;
    return r;
}

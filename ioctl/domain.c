/* SPDX-License-Identifier: MIT */
#include "ioctl/domain.h"

#define PAGE      UINT64_C(4096)
#define MAX_LOOKS 64

/* The first multiple at or after x of what domains are best cut at: a stripe, or a page where domains are smaller. */
static uint64_t align_up(const struct fad *fad, const struct division *division, const struct store *store, uint64_t x)
{
    uint64_t unit = store->stripe > 0 && store->stripe <= (fad->hi - fad->lo) / division->n ? store->stripe : PAGE;
    uint64_t rest = x % unit;

    return rest == 0 || x > UINT64_MAX - unit ? x : x + (unit - rest);
}

/* a * i / n for i <= n. */
static uint64_t part_of(uint64_t a, uint32_t i, uint32_t n)
{
    return a / n * i + a % n * i / n;
}

/* Where domain i begins; domain n begins where the last one ends. */
static uint64_t border(const struct fad *fad, const struct division *division, const struct store *store, uint32_t i)
{
    uint64_t at;

    if (i == 0)
        return fad->lo;
    if (i == division->n)
        return fad->hi;
    at = part_of(MAX(division->array_end, fad->hi), i, division->n);
    return MIN(MAX(align_up(fad, division, store, at), fad->lo), fad->hi);
}

static uint32_t cut_array(const struct fad *fad, const struct division *division, const struct store *store,
                          struct domain ret_domain[])
{
    uint64_t lo = fad->lo;
    uint32_t n = 0;

    for (uint32_t i = 1; i <= division->n; i++) {
        uint64_t hi = border(fad, division, store, i);

        if (hi <= lo)
            continue;
        ret_domain[n++] = (struct domain){ .lo = lo, .hi = hi, .disk = DOMAIN_ANY_DISK };
        lo = hi;
    }
    return n;
}

/* Chunks begin at multiples of their size, so that equal requests are cut equally wherever they lie. */
static uint32_t cut_cyclic(const struct fad *fad, const struct division *division, struct domain ret_domain[])
{
    uint64_t chunk = MAX(division->chunk, 1), first = fad->lo - fad->lo % chunk;
    uint32_t n = 0;

    for (uint32_t i = 0; i < division->n; i++) {
        uint64_t lo = first + i * chunk;

        if (lo >= fad->hi)
            break;
        ret_domain[n++] = (struct domain){
            .lo = lo, .hi = fad->hi, .chunk = chunk, .every = division->n * chunk, .disk = DOMAIN_ANY_DISK
        };
    }
    return n;
}

static uint32_t cut_disks(const struct fad *fad, const struct store *store, struct domain ret_domain[])
{
    for (uint32_t i = 0; i < store->n_disks; i++)
        ret_domain[i] = (struct domain){ .lo = fad->lo, .hi = fad->hi, .disk = i };
    return store->n_disks;
}

/* From a few of them. */
bool domains_are_fine(const struct fad *fad, const struct division *division, const struct store *store)
{
    uint64_t x = fad->lo, len;
    uint32_t n = 0;

    for (; division->kind == DOMAINS_DISK && n < MAX_LOOKS && x < fad->hi; x += len, n++)
        (void) store->ops->disk(store->ctx, x, &len);
    return n == MAX_LOOKS && x - fad->lo < n * PAGE;
}

bool domains_are_shared(const struct division *division)
{
    return division->kind == DOMAINS_DEFAULT || division->kind == DOMAINS_DYNAMIC;
}

uint32_t domains_max(const struct division *division, const struct store *store)
{
    return division->kind == DOMAINS_DISK ? MAX(store->n_disks, 1) : MAX(division->n, 1);
}

uint32_t domains_cut(const struct fad *fad, const struct division *division, const struct store *store,
                     struct domain ret_domain[])
{
    if (fad->lo == fad->hi)
        return 0;
    switch (division->kind) {
    case DOMAINS_STATIC:
        return cut_array(fad, division, store, ret_domain);
    case DOMAINS_CYCLIC:
        return cut_cyclic(fad, division, ret_domain);
    case DOMAINS_DISK:
        return cut_disks(fad, store, ret_domain);
    default:
        ret_domain[0] = (struct domain){ .lo = fad->lo, .hi = fad->hi, .disk = DOMAIN_ANY_DISK };
        return 1;
    }
}

/* Without asking for the disk. */
static bool next_range(const struct domain *domain, uint64_t x, uint64_t *ret_lo, uint64_t *ret_hi)
{
    x = MAX(x, domain->lo);
    if (x >= domain->hi)
        return false;
    *ret_hi = domain->hi;
    if (domain->chunk > 0) {
        uint64_t inside = (x - domain->lo) % domain->every;

        if (inside >= domain->chunk) {
            if (domain->every - inside >= domain->hi - x)
                return false;
            x += domain->every - inside;
            inside = 0;
        }
        *ret_hi = domain->hi - x < domain->chunk - inside ? domain->hi : x + (domain->chunk - inside);
    }
    *ret_lo = x;
    return true;
}

bool domain_next(const struct domain *domain, const struct store *store, uint64_t x, uint64_t *ret_lo, uint64_t *ret_hi)
{
    while (next_range(domain, x, ret_lo, ret_hi)) {
        uint64_t len;

        if (domain->disk == DOMAIN_ANY_DISK)
            return true;
        if (store->ops->disk(store->ctx, *ret_lo, &len) == domain->disk) {
            *ret_hi = *ret_hi - *ret_lo < len ? *ret_hi : *ret_lo + len;
            return true;
        }
        if (len >= domain->hi - *ret_lo)
            return false;
        x = *ret_lo + len;
    }
    return false;
}

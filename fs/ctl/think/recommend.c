/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/recommend.h"

#include "fs/core/disk/disk.h"
#include "fs/ctl/ask/replicas_info.h"
#include "fs/ctl/think/candidates.h"
#include "layout/map.h"

#define MAX_MOVES (UINT64_C(1) << 22) /* runs that are compared to count what moves */

/* Replicas that the file has already. */
struct present {
    struct layout *layout[REPLICAS_MOST];
    struct busy_layout has[REPLICAS_MOST];
    uint32_t n;
};

struct search {
    const struct recommending *asked;
    struct recommendation *found;
};

static void candidate_done(struct candidate *candidate)
{
    free(candidate->text);
    layout_free(candidate->layout);
    busy_done(&candidate->busy);
}

void recommend_done(struct recommendation *recommendation)
{
    for (size_t i = 0; i < recommendation->n; i++)
        candidate_done(&recommendation->candidate[i]);
    free(recommendation->candidate);
    *recommendation = (struct recommendation){ 0 };
}

/* -- judging -- */

static bool is_known(const struct recommendation *found, const char *text)
{
    for (size_t i = 0; i < found->n; i++)
        if (strcmp(found->candidate[i].text, text) == 0)
            return true;
    return false;
}

static double degree_of(const struct fit *fit, enum extents_of of)
{
    return of == EXTENTS_ALL ? fit_degree(fit) : fit_side_degree(of == EXTENTS_READ ? &fit->reads : &fit->writes);
}

static int judge(const struct recommending *asked, struct candidate *candidate)
{
    const struct profile *profile = asked->profile;
    struct layout_error error;
    struct fit fit;
    int r = layout_parse(candidate->text, strlen(candidate->text), asked->n_disks, &candidate->layout, &error);

    if (r == 0)
        r = busy_init_cached(&candidate->busy, candidate->layout->pattern, asked->n_disks, &profile->touches, asked->of,
                             asked->costs->disk, asked->cache);
    if (r == 0)
        r = fit_init(&fit, candidate->layout->pattern, &profile->touches, &profile->read, &profile->written);
    if (r == 0) {
        candidate->degree = degree_of(&fit, asked->of);
        fit_done(&fit);
    }
    return r;
}

/* Judges the layout of a text, which it takes. What is no layout, is known already, or has too many pieces to be
 * counted, is passed over. */
static int try_text(void *ctx, char *text)
{
    struct search *search = ctx;
    struct recommendation *found = search->found;
    struct candidate candidate = { .text = candidates_keep_copies(text, search->asked->profile->now.layout) };
    int r = candidate.text == NULL            ? -ENOMEM
            : is_known(found, candidate.text) ? -EEXIST
                                              : judge(search->asked, &candidate);

    if (r == 0 && !array_grow(found->candidate, found->n))
        r = -ENOMEM;
    if (r == 0)
        found->candidate[found->n++] = candidate;
    else
        candidate_done(&candidate);
    return r == -ENOMEM ? r : 0;
}

static int try_stripes(struct search *search)
{
    static const char *const unit[] = { "4K", "16K", "64K", "256K", "1M", "4M", "16M" };
    uint32_t n_disks = search->asked->n_disks;
    int r = 0;

    for (uint32_t n = n_disks; r == 0 && n > 1 && n >= n_disks / 4; n = (n + 1) / 2)
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(unit); i++) {
            char text[64];

            snprintf(text, sizeof text, "stripe(%s,%" PRIu32 ")", unit[i], n);
            r = try_text(search, strdup(text));
            if (r == 0 && n == n_disks && n >= 4) {
                snprintf(text, sizeof text, "twod(%s,2,4)", unit[i]);
                r = try_text(search, strdup(text));
            }
        }
    return r;
}

/* What follows reads that another run does not do again is tried for none. */
static int try_proposed(struct search *search)
{
    const struct profile *profile = search->asked->profile;
    int r = 0;

    if (profile->by_chance && (search->asked->of & EXTENTS_READ) != 0)
        return 0;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(profile->proposed); i++)
        if (profile->proposed[i].text != NULL)
            r = try_text(search, strdup(profile->proposed[i].text));
    return r;
}

static int try_all(struct search *search)
{
    const struct recommending *asked = search->asked;
    const struct profile *profile = asked->profile;
    int r = 0;

    if (profile->now.layout != NULL)
        r = try_text(search, layout_without_disks(profile->now.layout));
    if (r == 0 && search->found->n > 0)
        search->found->candidate[0].is_now = true;
    if (r == 0)
        r = candidates_stripes(0, asked->n_disks, try_text, search);
    if (r == 0)
        r = try_stripes(search);
    if (r == 0 && profile->knows_array)
        r = candidates_array(&profile->array, asked->n_disks, try_text, search);
    return r < 0 ? r : try_proposed(search);
}

/* -- what a change costs -- */

static uint32_t disk_of(const struct recommending *asked, uint32_t element, uint32_t shift)
{
    return (element == ELEMENT_HEADER ? shift : element % asked->n_disks + shift) % asked->n_disks;
}

int recommend_moves(const struct recommending *asked, const struct candidate *now, const struct candidate *then,
                    uint32_t shift, uint64_t *ret_moves, uint64_t *ret_ns)
{
    cleanup(freep) double *seconds = calloc(asked->n_disks, sizeof *seconds);
    uint64_t size = asked->profile->size, left = MAX_MOVES, moves = 0, ns = 0;
    struct runs from, to;
    struct run a = { 0 }, b = { 0 };
    int r = seconds == NULL ? -ENOMEM : runs_init(&from, now->layout->pattern, 0, size);

    if (r == 0)
        r = runs_init(&to, then->layout->pattern, 0, size);
    for (uint64_t at = 0; r == 0 && at < size;) {
        uint32_t from_disk, to_disk;
        uint64_t next;

        if (a.file_off + a.len <= at)
            (void) runs_next(&from, &a);
        if (b.file_off + b.len <= at)
            (void) runs_next(&to, &b);
        next = MIN(a.file_off + a.len, b.file_off + b.len);
        from_disk = disk_of(asked, a.element, 0);
        to_disk = disk_of(asked, b.element, shift);
        if (from_disk != to_disk) {
            moves += next - at;
            seconds[from_disk] += (double) (next - at) / (double) asked->costs->disk[from_disk].read.rate;
            seconds[to_disk] += (double) (next - at) / (double) asked->costs->disk[to_disk].write.rate;
        }
        at = next;
        if (left-- == 0)
            return -E2BIG;
    }
    for (uint32_t i = 0; r == 0 && i < asked->n_disks; i++)
        ns = MAX(ns, (uint64_t) (seconds[i] * 1e9));
    if (r == 0) {
        *ret_moves = moves;
        *ret_ns = ns;
    }
    return r;
}

uint64_t candidate_pays_after(const struct candidate *candidate, const struct candidate *now)
{
    if (!candidate->knows_moves || candidate->busy.elapsed >= now->busy.elapsed)
        return 0;
    return candidate->moves_ns / (now->busy.elapsed - candidate->busy.elapsed) + 1;
}

bool candidate_is_worth(const struct candidate *a, const struct candidate *b)
{
    return a->busy.elapsed + a->busy.elapsed / 10 < b->busy.elapsed;
}

/* -- the order -- */

/* What differs by less than a hundredth or so is the same: the 7 leading bits of a time. */
static uint64_t roughly(uint64_t ns)
{
    unsigned bits = ns > 0 ? 64 - (unsigned) __builtin_clzll(ns) : 0, unit = bits > 7 ? bits - 7 : 0;

    return ns >> unit << unit;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* The time until all is done; then that of the disk that has most to do, then what the match degree says, then the time
 * of all disks together, then the shorter text. */
static int by_time(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int order = compare(roughly(x->busy.elapsed), roughly(y->busy.elapsed));

    if (order == 0)
        order = compare(roughly(x->busy.most), roughly(y->busy.most));
    if (order == 0)
        order = x->degree < y->degree ? -1 : x->degree > y->degree;
    if (order == 0)
        order = compare(x->busy.all, y->busy.all);
    if (order == 0)
        order = compare(strlen(x->text), strlen(y->text));
    return order != 0 ? order : strcmp(x->text, y->text);
}

/* -- replicas -- */

static int add_present(const struct replica_info *info, uint32_t n_disks, struct present *present)
{
    struct layout_error error;
    int r = info->layout != NULL
                ? layout_parse(info->layout, strlen(info->layout), n_disks, &present->layout[present->n], &error)
                : -EINVAL;

    if (r < 0)
        return r;
    present->has[present->n] = (struct busy_layout){
        present->layout[present->n]->pattern,
        info->offset,
        info->length == UINT64_MAX ? UINT64_MAX : info->offset + info->length,
        info->on_write != NULL && strcmp(info->on_write, "update") == 0,
    };
    present->n++;
    return 0;
}

/* The replicas that the file has on its mount. Where the mount does not tell there are none. */
static int know_present(const struct recommending *asked, struct present *present)
{
    cleanup(replicas_info_done) struct replicas_info info = { 0 };
    char ignored[ATTRS_WHY];
    int r = 0;

    if (asked->called == NULL || replicas_info_init(&info, asked->called, ignored) < 0)
        return 0;
    for (uint32_t i = 0; r != -ENOMEM && i < info.n && present->n < REPLICAS_MOST; i++)
        if (!info.replica[i].is_copy)
            r = add_present(&info.replica[i], asked->n_disks, present);
    return r == -ENOMEM ? r : 0;
}

static void present_done(struct present *present)
{
    for (uint32_t i = 0; i < present->n; i++)
        layout_free(present->layout[i]);
}

/* What the mount goes by where it chooses: of disks that nobody has measured it thinks better than assume does in
 * file_costs.c, so that it reads on from where it always did. What is on no mount may be on one that was measured. */
static int know_reckoned(const struct recommending *asked, struct disk_costs **ret_costs)
{
    const struct disk_cost cost = { 0, DISK_READ_CALL, (UINT64_C(1000000000) << 20) / DISK_READ_MIB };
    struct disk_costs *costs = malloc(asked->n_disks * sizeof *costs);

    if (costs == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < asked->n_disks; i++)
        costs[i] = asked->called == NULL || asked->costs->is_measured ? asked->costs->disk[i]
                                                                      : (struct disk_costs){ cost, cost };
    *ret_costs = costs;
    return 0;
}

/* Finds out which layout the file is to have, and which replicas. Where those cannot be counted there are none. */
static int find_replicas(struct recommendation *found, const struct recommending *asked)
{
    cleanup(freep) const struct pattern **pattern = malloc(found->n * sizeof(const struct pattern *));
    cleanup(freep) struct disk_costs *reckoned = NULL;
    cleanup(present_done) struct present present = { .n = 0 };
    const struct profile *profile = asked->profile;
    struct replicas_asked replicas = { .touches = &profile->touches,
                                       .chunks = &profile->chunks,
                                       .pattern = pattern,
                                       .n = found->n,
                                       .base = (size_t) (found->chosen - found->candidate),
                                       .now = found->now != NULL ? (size_t) (found->now - found->candidate) : SIZE_MAX,
                                       .has = present.has,
                                       .n_disks = asked->n_disks,
                                       .of = asked->of,
                                       .costs = asked->costs->disk };
    int r = pattern == NULL ? -ENOMEM : know_present(asked, &present);

    for (size_t i = 0; r == 0 && i < found->n; i++)
        pattern[i] = found->candidate[i].layout->pattern;
    replicas.n_has = present.n;
    if (r == 0)
        r = know_reckoned(asked, &reckoned);
    replicas.reckoned = reckoned;
    if (r == 0)
        r = replicas_find(&found->replicas, &replicas);
    if (r == 0)
        found->chosen = &found->candidate[found->replicas.base];
    else
        found->replicas = (struct replicas){ .n = 0 };
    return r == -ENOMEM ? r : 0;
}

int recommend_init(struct recommendation *recommendation, const struct recommending *recommending)
{
    struct search search = { recommending, recommendation };
    int r;

    *recommendation = (struct recommendation){ 0 };
    r = try_all(&search);
    if (r == 0 && recommendation->n == 0)
        r = -E2BIG;
    if (r == 0)
        qsort(recommendation->candidate, recommendation->n, sizeof *recommendation->candidate, by_time);
    for (size_t i = 0; r == 0 && i < recommendation->n; i++)
        if (recommendation->candidate[i].is_now)
            recommendation->now = &recommendation->candidate[i];
    for (size_t i = 0; r == 0 && recommendation->now != NULL && i < recommendation->n; i++) {
        struct candidate *candidate = &recommendation->candidate[i];

        r = recommend_moves(recommending, recommendation->now, candidate, 0, &candidate->moves, &candidate->moves_ns);
        candidate->knows_moves = r == 0;
        r = r == -ENOMEM ? r : 0;
    }
    if (r == 0) {
        const struct candidate *best = &recommendation->candidate[0], *now = recommendation->now;

        recommendation->chosen = now == NULL || candidate_is_worth(best, now) ? best : now;
        if (recommending->alone)
            r = find_replicas(recommendation, recommending);
    }
    if (r < 0)
        recommend_done(recommendation);
    return r;
}

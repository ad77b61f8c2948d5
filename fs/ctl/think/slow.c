/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/slow.h"

/* When something counts, and why. */
static const struct {
    double worth;      /* a share: what would save less than a fifth is not why it is slow */
    double in_use;     /* of the seconds measured: who waits less than that for the file waits for other things */
    double full;       /* a disk that is busy so much of the time has little left to give */
    double slower;     /* times as long: equal disks differ by two, as their files lie */
    double as_much;    /* as many calls as others, at most: one with more to do answers later, being hot */
    uint64_t calls;    /* of a disk: of fewer a mean says nothing */
    uint64_t accesses; /* of a file: likewise, of sizes and borders */
    uint64_t request_is_half; /* bytes that take as long as the request that is for them: 30 us to the daemon and back,
                               * 1 GB/s; where requests cost more, as on disks that seek, that is more */
} bound = { .worth = 0.2,
            .in_use = 0.05,
            .full = 0.8,
            .slower = 3,
            .as_much = 2,
            .calls = 8,
            .accesses = 16,
            .request_is_half = 32 << 10 };

const char *slow_cause_name(enum slow_cause cause)
{
    static const char *const name[SLOW_CAUSES] = {
        [SLOW_FAILING_DISK] = "failing_disk",
        [SLOW_LOCK_WAITS] = "lock_waits",
        [SLOW_MIGRATION] = "migration",
        [SLOW_DISK] = "slow_disk",
        [SLOW_HOT_DISK] = "hot_disk",
        [SLOW_LAYOUT] = "layout",
        [SLOW_HOLES] = "holes",
        [SLOW_UNALIGNED] = "unaligned",
        [SLOW_SMALL_REQUESTS] = "small_requests",
    };

    return name[cause];
}

const char *slow_limit_name(enum slow_limit limit)
{
    static const char *const name[] = {
        [SLOW_IDLE] = "idle", [SLOW_NOT_FILE] = "not_the_file", [SLOW_DISKS] = "disks", [SLOW_ELSEWHERE] = "elsewhere"
    };

    return name[limit];
}

static double share_of(double part, double whole)
{
    return whole > 0 ? MAX(MIN(part / whole, 1), 0) : 0;
}

double slow_busy_share(const struct slow_figures *figures, const struct slow_disk *disk)
{
    return share_of(disk->busy, figures->active);
}

/* Of the disks that the file lies on. */
static double busiest_share(const struct slow_figures *figures)
{
    double most = 0;

    for (uint32_t i = 0; i < figures->n_disks; i++)
        if (figures->disk[i].has_file)
            most = MAX(most, slow_busy_share(figures, &figures->disk[i]));
    return most;
}

/* -- disks -- */

static struct slow_finding find_failing(const struct slow_figures *figures)
{
    struct slow_finding found = { .cause = SLOW_FAILING_DISK };

    for (uint32_t i = 0; i < figures->n_disks; i++) {
        const struct slow_disk *disk = &figures->disk[i];

        if (disk->has_file && found.share < 1 && (!disk->is_up || disk->errors > 0 || disk->refused > 0)) {
            found.disk = i;
            found.share = 1;
        }
    }
    return found;
}

static double mean(const struct tally_view *tally)
{
    return (double) tally->ns / (double) tally->n;
}

/* How many times as long a disk's calls of a kind take as those of the other disks do, if these have about as much to
 * do; 1: that cannot be told. */
static double slowness(const struct slow_figures *figures, uint32_t index, enum watch_kind kind)
{
    const struct tally_view *own = &figures->disk[index].kind[kind];
    double ns = 0, n = 0;
    uint32_t n_others = 0;

    for (uint32_t i = 0; i < figures->n_disks; i++) {
        const struct tally_view *other = &figures->disk[i].kind[kind];

        if (i == index || other->n < bound.calls)
            continue;
        n_others++;
        n += (double) other->n;
        ns += mean(other);
    }
    if (n_others == 0 || own->n < bound.calls || (double) own->n > bound.as_much * n / n_others || ns <= 0)
        return 1;
    return mean(own) / (ns / n_others);
}

/* How many seconds a disk would have been busy, had its calls taken as long as those of the others. */
static double busy_if_equal(const struct slow_figures *figures, uint32_t index)
{
    const struct slow_disk *disk = &figures->disk[index];
    double ns = 0, equal = 0;

    for (enum watch_kind kind = 0; kind < WATCH_KINDS; kind++) {
        double ratio = slowness(figures, index, kind);

        ns += (double) disk->kind[kind].ns;
        equal += (double) disk->kind[kind].ns / (ratio >= bound.slower ? ratio : 1);
    }
    return ns > 0 ? disk->busy * equal / ns : disk->busy;
}

static struct slow_finding find_slow(const struct slow_figures *figures)
{
    struct slow_finding found = { .cause = SLOW_DISK };

    for (uint32_t i = 0; i < figures->n_disks; i++) {
        const struct slow_disk *disk = &figures->disk[i];
        double equal = busy_if_equal(figures, i), share = share_of(disk->busy - equal, figures->active);

        if (disk->has_file && share > found.share) {
            found.disk = i;
            found.share = share;
            found.ratio = equal > 0 ? disk->busy / equal : 1;
        }
    }
    return found;
}

static struct slow_finding find_hot(const struct slow_figures *figures)
{
    struct slow_finding found = { .cause = SLOW_HOT_DISK };
    double all = 0;

    for (uint32_t i = 0; i < figures->n_disks; i++)
        all += busy_if_equal(figures, i);
    for (uint32_t i = 0; i < figures->n_disks; i++) {
        double busy = busy_if_equal(figures, i), share = share_of(busy - all / figures->n_disks, figures->active);

        if (figures->disk[i].has_file && share > found.share) {
            found.disk = i;
            found.share = share;
            found.ratio = share_of((all - busy) / MAX(figures->n_disks - 1, 1), figures->active);
        }
    }
    return found;
}

/* -- the file -- */

static double locks(const struct slow_figures *figures)
{
    return share_of(figures->range_waited, figures->waited);
}

static double migration(const struct slow_figures *figures)
{
    uint64_t moved = 0;

    for (uint32_t i = 0; i < figures->n_disks; i++)
        moved += figures->disk[i].bytes;
    return figures->jobs > 0 ? busiest_share(figures) * share_of((double) figures->background_bytes, (double) moved)
                             : 0;
}

/* What another layout saves beyond what is another cause already: disks that are not even, requests that are not
 * aligned. Only of reads and writes: sections are sieved, which the model does not know. */
static double layout(const struct slow_figures *figures)
{
    double aligned = share_of((double) figures->accesses, (double) (figures->accesses + figures->crossing));
    double saved = (double) figures->layout_even * aligned - (double) figures->layout_best;

    return busiest_share(figures) * share_of(saved, (double) figures->layout_now) *
           share_of(figures->waited_plain, figures->waited);
}

static double holes(const struct slow_figures *figures)
{
    return (1 - locks(figures)) * share_of(figures->waited_writing, figures->waited) *
           share_of((double) figures->reread, (double) (figures->reread + figures->bytes_written));
}

static double small_requests(const struct slow_figures *figures)
{
    double per_request = (double) figures->accesses * (double) bound.request_is_half;

    return figures->accesses >= bound.accesses
               ? (1 - locks(figures)) * share_of(per_request, per_request + (double) figures->bytes)
               : 0;
}

/* A request that crosses a border is two requests for disks. */
static double unaligned(const struct slow_figures *figures)
{
    return figures->accesses >= bound.accesses
               ? busiest_share(figures) *
                     share_of((double) figures->crossing, (double) (figures->accesses + figures->crossing))
               : 0;
}

/* -- the verdict -- */

/* Keeps what is worth naming, in order; of equals the one that stands first in enum slow_cause. */
static void add(struct slow_verdict *verdict, struct slow_finding found)
{
    uint32_t at = verdict->n;

    if (found.share < bound.worth)
        return;
    for (; at > 0 && (verdict->finding[at - 1].share < found.share ||
                      (verdict->finding[at - 1].share == found.share && verdict->finding[at - 1].cause > found.cause));
         at--)
        verdict->finding[at] = verdict->finding[at - 1];
    verdict->finding[at] = found;
    verdict->n++;
}

static enum slow_limit limit_of(const struct slow_figures *figures)
{
    if (figures->accesses == 0)
        return SLOW_IDLE;
    if (figures->active < bound.in_use * figures->seconds)
        return SLOW_NOT_FILE;
    return busiest_share(figures) >= bound.full ? SLOW_DISKS : SLOW_ELSEWHERE;
}

struct slow_verdict slow_judge(const struct slow_figures *figures)
{
    const struct slow_finding of_file[] = {
        { .cause = SLOW_LOCK_WAITS, .share = locks(figures) },
        { .cause = SLOW_MIGRATION, .share = migration(figures) },
        { .cause = SLOW_LAYOUT, .share = layout(figures) },
        { .cause = SLOW_HOLES, .share = holes(figures) },
        { .cause = SLOW_SMALL_REQUESTS, .share = small_requests(figures) },
        { .cause = SLOW_UNALIGNED, .share = unaligned(figures) },
    };
    struct slow_verdict verdict = { .limit = limit_of(figures), .disks_busy = busiest_share(figures) };

    add(&verdict, find_failing(figures)); /* who waits for a dead disk has no answers to be traced */
    if (verdict.limit == SLOW_IDLE || verdict.limit == SLOW_NOT_FILE)
        return verdict;
    add(&verdict, find_slow(figures));
    add(&verdict, find_hot(figures));
    for (size_t i = 0; i < ARRAY_SIZE(of_file); i++)
        add(&verdict, of_file[i]);
    return verdict;
}

/* SPDX-License-Identifier: MIT */
#include "test/bench/layout_change_report.h"

#include "test/bench/judge.h"
#include "test/bench/samples.h"

#include <stdio.h>
#include <string.h>

/* -- what is said of rows -- */

struct title {
    const char *row, *text;
    double bar; /* of cp; 0: none */
};

static const struct title changes[] = {
    { "stripe", "stripe(1M) → stripe(64K)", 0.7 },
    { "stripe.back", "stripe(64K) → stripe(1M)", 0.7 },
    { "2048x1", "columns → rows, 2048 x 2048 bytes", 0.5 },
    { "4096x1", "columns → rows, 4096 x 4096 bytes", 0.5 },
    { "8192x1", "columns → rows, 8192 x 8192 bytes", 0.5 },
    { "16384x1", "columns → rows, 16384 x 16384 bytes", 0.5 },
    { "2048x8", "columns → rows, 2048 x 2048 of 8 bytes", 0.5 },
    { "4096x8", "columns → rows, 4096 x 4096 of 8 bytes", 0.5 },
    { "8192x8", "columns → rows, 8192 x 8192 of 8 bytes", 0.5 },
    { "2048x1.back", "rows → columns, 2048 x 2048 bytes", 0 },
    { "4096x1.back", "rows → columns, 4096 x 4096 bytes", 0 },
    { "8192x1.back", "rows → columns, 8192 x 8192 bytes", 0 },
    { "16384x1.back", "rows → columns, 16384 x 16384 bytes", 0 },
    { "2048x8.back", "rows → columns, 2048 x 2048 of 8 bytes", 0 },
    { "4096x8.back", "rows → columns, 4096 x 4096 of 8 bytes", 0 },
    { "8192x8.back", "rows → columns, 8192 x 8192 of 8 bytes", 0 },
    { "alone", "a file of 4 MiB, columns → rows", 0 },
};

/* Where the disks are, and what a copy is there. In memory nothing is ever to be written to a disk. */
struct place {
    const char *tag, *text, *peer, *peer_text;
};

static const struct place places[] = {
    { "memory", "directories in memory", "cp", "cp" },
    { "disk", "directories on a disk", "replace", "cp, fsync, mv" },
};

/* Which layouts a row has, and how many disks each touches. */
struct match {
    const char *row, *text;
    const char *layout[3];
    unsigned disks[3];
};

static const struct match matches[] = {
    { "bands",
      "one process reads a quarter of the rows, disks of 20 MB/s: so many are at work",
      { "rows", "squares", "columns" },
      { 1, 2, 4 } },
    { "blocks",
      "four processes read blocks in a quarter of the rows each, disks that seek: each touches so many",
      { "columns", "squares", "rows" },
      { 4, 2, 1 } },
};

static const struct series *find(const char *tag, const char *row, const char *target)
{
    char name[48];

    snprintf(name, sizeof name, "%s.%s", tag, row);
    return samples_of(name, target);
}

/* -- tables -- */

static void print_change(const struct place *place, const struct title *title)
{
    const struct series *change = find(place->tag, title->row, "change"), *cp = find(place->tag, title->row, "cp"),
                        *replace = find(place->tag, title->row, "replace");
    struct spread to_cp, to_replace;

    if (change == NULL || cp == NULL || replace == NULL)
        return;
    to_cp = samples_ratio(change, cp, VALUE);
    to_replace = samples_ratio(change, replace, VALUE);
    printf("| %s | %s | %.2f | %.2f | %.2f | %.2f (%.2f – %.2f) | %.2f (%.2f – %.2f) | %.2f, %.2f |\n", title->text,
           place->text, samples_spread(cp, VALUE).mid, samples_spread(replace, VALUE).mid,
           samples_spread(change, VALUE).mid, to_cp.mid, to_cp.low, to_cp.high, to_replace.mid, to_replace.low,
           to_replace.high, samples_spread(cp, CLIENT).mid, samples_spread(change, DAEMON).mid);
}

static void print_changes(void)
{
    printf(
        "GB/s, medians. A change of layout ends when it is durable and the subfiles before it are gone; so do cp, fsync "
        "and mv.\n\n| change | where | cp | cp, fsync, mv | change | of cp (quartiles) | of cp, fsync, mv | CPU seconds "
        "a GB, cp and daemon |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t p = 0; p < ARRAY_SIZE(places); p++)
        for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
            print_change(&places[p], &changes[i]);
}

static void print_rest(void)
{
    static const char *const tags[] = { "cached", "seeking" };

    printf("\n| reading | MB/s |\n|---|---|\n");
    for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
        const struct series *alone = find(tags[i], "readers", "alone"),
                            *meanwhile = find(tags[i], "readers", "meanwhile");

        if (alone != NULL && meanwhile != NULL)
            printf("| readers, %s; while another file changes | %.1f; %.1f |\n", tags[i],
                   samples_spread(alone, VALUE).mid * 1e3, samples_spread(meanwhile, VALUE).mid * 1e3);
    }
    for (size_t i = 0; i < ARRAY_SIZE(matches); i++)
        for (unsigned k = 0; k < ARRAY_SIZE(matches[i].layout); k++) {
            const struct series *s = samples_of(matches[i].row, matches[i].layout[k]);

            if (s != NULL)
                printf("| %s: %u, stored as %s | %.1f |\n", matches[i].text, matches[i].disks[k], matches[i].layout[k],
                       samples_spread(s, VALUE).mid * 1e3);
        }
    printf("\n");
}

/* -- bars -- */

static void judge_ratio(struct judge *j, const char *what, const struct series *ours, const struct series *peer,
                        double bar)
{
    struct spread ratio;

    if (ours == NULL || peer == NULL)
        return;
    ratio = samples_ratio(ours, peer, VALUE);
    judge_bar(j, what, ratio.mid, " times", false, bar, judge_reaches(ratio, false, bar));
}

static void judge_all(struct judge *j)
{
    char what[200];

    for (size_t p = 0; p < ARRAY_SIZE(places); p++)
        for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
            snprintf(what, sizeof what, "%s, %s, of %s", changes[i].text, places[p].text, places[p].peer_text);
            if (changes[i].bar > 0)
                judge_ratio(j, what, find(places[p].tag, changes[i].row, "change"),
                            find(places[p].tag, changes[i].row, places[p].peer), changes[i].bar);
        }
    judge_ratio(j, "readers while another file changes, all cached", find("cached", "readers", "meanwhile"),
                find("cached", "readers", "alone"), 0.8);
    judge_ratio(j, "readers while another file changes, disks that seek", find("seeking", "readers", "meanwhile"),
                find("seeking", "readers", "alone"), 0.8);
    for (size_t i = 0; i < ARRAY_SIZE(matches); i++)
        for (unsigned k = 1; k < ARRAY_SIZE(matches[i].layout); k++) {
            const struct match *m = &matches[i];
            double predicted = (double) MAX(m->disks[0], m->disks[k]) / MIN(m->disks[0], m->disks[k]);

            snprintf(what, sizeof what, "%s, %s against %s: %.0f times are predicted", m->row, m->layout[k],
                     m->layout[0], predicted);
            judge_ratio(j, what, samples_of(m->row, m->layout[k]), samples_of(m->row, m->layout[0]), 0.9 * predicted);
        }
}

static void print_measured(FILE *json, unsigned i)
{
    samples_print_json(json, samples_at(i), "GB/s");
}

bool layout_change_report(const char *samples, const char *remark, const char *json)
{
    struct judge j;

    samples_read(samples);
    printf("%s\n\n", remark);
    print_changes();
    print_rest();
    judge_begin(&j, json, remark, "");
    judge_head();
    judge_all(&j);
    judge_total(&j, true);
    return judge_end(&j, samples_count(), print_measured);
}

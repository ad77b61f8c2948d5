/* SPDX-License-Identifier: MIT */
#include "test/bench/mount_report.h"

#include "test/bench/judge.h"
#include "test/bench/samples.h"

#include <stdio.h>
#include <string.h>

/* -- what is said of them -- */

struct title {
    const char *row, *text, *unit;
};

static const struct title titles[] = {
    { "write.1", "write 256 MiB, to its close", "GB/s" },
    { "write.4", "write 4 x 64 MiB at once", "GB/s" },
    { "read.1", "read 256 MiB, mount's cache cold", "GB/s" },
    { "read.4", "read 4 x 64 MiB at once, mount's cache cold", "GB/s" },
    { "kept.1", "read 256 MiB again", "GB/s" },
    { "kept.4", "read 4 x 64 MiB again at once", "GB/s" },
    { "direct_write.1", "write 256 MiB, direct", "GB/s" },
    { "direct_write.4", "write 4 x 64 MiB at once, direct", "GB/s" },
    { "direct_read.1", "read 256 MiB, direct", "GB/s" },
    { "direct_read.4", "read 4 x 64 MiB at once, direct", "GB/s" },
    { "shared.1", "one writer in a file, direct", "GB/s" },
    { "shared.4", "4 writers in one file, direct", "GB/s" },
    { "cold_read.1", "read 256 MiB, disks' caches cold too", "GB/s" },
    { "cold_read.4", "read 4 x 64 MiB at once, disks' caches cold too", "GB/s" },
    { "fsync.1", "write 256 MiB and fsync", "GB/s" },
    { "random_read.1", "random 4 KiB reads", "/s" },
    { "random_read.4", "random 4 KiB reads, 4 jobs", "/s" },
    { "random_write.1", "random 4 KiB writes, to their close", "/s" },
    { "random_write.4", "random 4 KiB writes, 4 jobs", "/s" },
    { "create", "create and close", "/s" },
    { "small", "create, write 4 KiB, close", "/s" },
    { "stat", "stat, caches cold", "/s" },
    { "list", "readdir and attributes, caches cold", "/s" },
    { "unlink", "unlink", "/s" },
    { "memory.made", "daemon's memory, all files made", "MiB" },
    { "memory", "daemon's memory, all files looked up", "MiB" },
    { "start.clean", "start and mount", "s" },
    { "start.killed", "start and mount after kill -9", "s" },
    { "start.cold", "the same, caches of the disks cold", "s" },
    { "slow_read", "read, throttled disks", "GB/s" },
    { "slow_write", "write and fsync, throttled disks", "GB/s" },
    { "seek.1", "random 1 MiB reads on seeking disks, one reader", "GB/s" },
    { "seek.32", "random 1 MiB reads on seeking disks, 32 readers", "GB/s" },
};

static const struct title names_of_targets[] = {
    { "plain", "plain directory", "" },
    { "merger", "mergerfs", "" },
    { "pass", "pass-through", "" },
    { "passnc", "pass-through --nocache", "" },
    { "passd", "pass-through, direct_io --nosplice", "" },
    { "falls", "fallsfs", "" },
    { "fallsd", "fallsfs -o direct_io", "" },
    { "fallso", "fallsfs, client's O_DIRECT", "" },
    { "before", "fallsfs before", "" },
    { "befored", "fallsfs before, -o direct_io", "" },
    { "n1", "1 disk", "" },
    { "n2", "2 disks", "" },
    { "n4", "4 disks", "" },
    { "n8", "8 disks", "" },
    { "one", "1 disk", "" },
    { "quarters", "1 disk with four subfiles of stripe(256K,4)", "" },
    { "four", "4 disks, stripe(256K)", "" },
    { "units", "4 disks, stripe(1M)", "" },
};

/* Ours against theirs in the same row. */
struct bar {
    const char *row, *ours, *peer;
    enum field field;
    bool at_most;
    double limit, or_so; /* or_so: CPU seconds per GB that are good enough, whatever the peer needs */
};

#define CPU_BAR 1.05

static const struct bar bars[] = {
    { "write.1", "falls", "pass", VALUE, false, 1, 0 },
    { "write.1", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "write.1", "falls", "passnc", VALUE, false, 1, 0 },
    { "write.1", "falls", "passnc", CPU, true, CPU_BAR, 0 },
    { "write.4", "falls", "pass", VALUE, false, 1, 0 },
    { "write.4", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "write.4", "falls", "passnc", VALUE, false, 1, 0 },
    { "write.4", "falls", "passnc", CPU, true, CPU_BAR, 0 },
    { "read.1", "falls", "pass", VALUE, false, 1, 0 },
    { "read.1", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "read.4", "falls", "pass", VALUE, false, 1, 0 },
    { "read.4", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "kept.1", "falls", "pass", VALUE, false, 1, 0 },
    { "kept.1", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "kept.1", "falls", "plain", VALUE, false, 0.8, 0 },
    { "kept.4", "falls", "pass", VALUE, false, 1, 0 },
    { "kept.4", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "kept.4", "falls", "plain", VALUE, false, 0.8, 0 },
    { "direct_write.1", "fallsd", "passd", VALUE, false, 1, 0 },
    { "direct_write.1", "fallsd", "passd", CPU, true, CPU_BAR, 0 },
    { "direct_write.1", "fallsd", "passd", CPU, true, 1, 0.25 },
    { "direct_write.1", "fallso", "passd", VALUE, false, 1, 0 },
    { "direct_write.1", "fallso", "passd", CPU, true, CPU_BAR, 0 },
    { "direct_write.4", "fallsd", "passd", VALUE, false, 1, 0 },
    { "direct_write.4", "fallsd", "passd", CPU, true, CPU_BAR, 0 },
    { "direct_read.1", "fallsd", "passd", VALUE, false, 1, 0 },
    { "direct_read.1", "fallsd", "passd", CPU, true, CPU_BAR, 0 },
    { "direct_read.1", "fallsd", "passd", CPU, true, 1, 0.2 },
    { "direct_read.1", "fallso", "passd", VALUE, false, 1, 0 },
    { "direct_read.1", "fallso", "passd", CPU, true, CPU_BAR, 0 },
    { "direct_read.4", "fallsd", "passd", VALUE, false, 1, 0 },
    { "direct_read.4", "fallsd", "passd", CPU, true, CPU_BAR, 0 },
    { "cold_read.1", "falls", "pass", VALUE, false, 1, 0 },
    { "cold_read.1", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "cold_read.4", "falls", "pass", VALUE, false, 1, 0 },
    { "cold_read.4", "falls", "pass", CPU, true, CPU_BAR, 0 },
    { "random_read.1", "falls", "pass", VALUE, false, 0.9, 0 },
    { "random_read.4", "falls", "pass", VALUE, false, 0.9, 0 },
    { "random_write.1", "falls", "pass", VALUE, false, 0.9, 0 },
    { "random_write.1", "falls", "passnc", VALUE, false, 0.9, 0 },
    { "random_write.4", "falls", "pass", VALUE, false, 0.9, 0 },
    { "random_write.4", "falls", "passnc", VALUE, false, 0.9, 0 },
    { "create", "falls", "pass", VALUE, false, 0.8, 0 },
    { "create", "falls", "merger", VALUE, false, 1, 0 },
    { "stat", "falls", "pass", VALUE, false, 0.8, 0 },
    { "stat", "falls", "merger", VALUE, false, 1, 0 },
    { "list", "falls", "pass", VALUE, false, 0.8, 0 },
    { "list", "falls", "merger", VALUE, false, 1, 0 },
    { "unlink", "falls", "pass", VALUE, false, 0.8, 0 },
    { "unlink", "falls", "merger", VALUE, false, 1, 0 },
    { "slow_read", "n1", "n1", VALUE, false, 0.95, 0 },
    { "slow_read", "n2", "n1", VALUE, false, 2 * 0.95, 0 },
    { "slow_read", "n4", "n1", VALUE, false, 4 * 0.95, 0 },
    { "slow_read", "n8", "n1", VALUE, false, 8 * 0.95, 0 },
    { "slow_write", "n2", "n1", VALUE, false, 2 * 0.95, 0 },
    { "slow_write", "n4", "n1", VALUE, false, 4 * 0.95, 0 },
    { "slow_write", "n8", "n1", VALUE, false, 8 * 0.95, 0 },
    { "seek.1", "four", "quarters", VALUE, false, 3.5, 0 },
    { "seek.32", "units", "one", VALUE, false, 3.5, 0 },
};

static const char *lookup(const struct title *list, size_t n, const char *key, bool unit)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].row, key) == 0)
            return unit ? list[i].unit : list[i].text;
    return unit ? "" : key;
}

static const char *title_of(const char *row)
{
    return lookup(titles, ARRAY_SIZE(titles), row, false);
}

static const char *unit_of(const char *row)
{
    return lookup(titles, ARRAY_SIZE(titles), row, true);
}

static const char *target_name(const char *target)
{
    return lookup(names_of_targets, ARRAY_SIZE(names_of_targets), target, false);
}

/* -- printing -- */

struct text {
    char s[96];
};

static const char *value_text(struct text *text, double value, const char *unit)
{
    if (strcmp(unit, "/s") == 0)
        snprintf(text->s, sizeof text->s, "%.0f/s", value);
    else if (strcmp(unit, "GB/s") == 0 && value < 0.5)
        snprintf(text->s, sizeof text->s, "%.1f MB/s", value * 1000);
    else
        snprintf(text->s, sizeof text->s, "%.2f %s", value, unit);
    return text->s;
}

/* Seconds per GB, or microseconds per operation: of the client and of the daemon. */
static const char *cpu_text(struct text *text, const struct series *s)
{
    bool is_op = strcmp(unit_of(s->row), "/s") == 0;
    double factor = is_op ? 1e6 : 1;

    snprintf(text->s, sizeof text->s, is_op ? "%.1f + %.1f µs" : "%.3f + %.3f s/GB",
             samples_spread(s, CLIENT).mid * factor, samples_spread(s, DAEMON).mid * factor);
    return text->s;
}

static void print_measured(void)
{
    printf("| what | who | median | quartiles | CPU, client + daemon |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
        for (unsigned k = 0; k < samples_count(); k++) {
            const struct series *s = samples_at(k);
            struct text mid, low, high, cpu;
            struct spread spread;

            if (strcmp(s->row, titles[i].row) != 0)
                continue;
            spread = samples_spread(s, VALUE);
            printf("| %s | %s | %s | %s – %s | %s |\n", titles[i].text, target_name(s->target),
                   value_text(&mid, spread.mid, titles[i].unit), value_text(&low, spread.low, titles[i].unit),
                   value_text(&high, spread.high, titles[i].unit),
                   samples_spread(s, CLIENT).mid > 0 ? cpu_text(&cpu, s) : "");
        }
}

/* -- bars -- */

static void json_bar(struct judge *j, const char *row, const char *ours, const char *peer, const char *what,
                     double value, double bar, bool at_most, bool met)
{
    FILE *json = judge_count(j, met);

    if (json != NULL)
        fprintf(json,
                "{ \"row\": \"%s\", \"ours\": \"%s\", \"peer\": \"%s\", \"what\": \"%s\", \"value\": %.6g, "
                "\"%s\": %.6g, \"met\": %s }",
                row, ours, peer, what, value, at_most ? "at_most" : "at_least", bar, met ? "true" : "false");
}

static void judge_peer(struct judge *j, const struct bar *bar)
{
    const struct series *ours = samples_of(bar->row, bar->ours), *peer = samples_of(bar->row, bar->peer);
    struct text our_text, peer_text, good_enough = { "" };
    const char *unit = bar->field == CPU ? "s/GB" : unit_of(bar->row);
    struct spread ratio;
    bool met;

    if (ours == NULL || peer == NULL)
        return;
    ratio = samples_ratio(ours, peer, bar->field);
    met = judge_reaches(ratio, bar->at_most, bar->limit);
    if (bar->or_so > 0) {
        met = met || samples_spread(ours, bar->field).mid <= bar->or_so;
        snprintf(good_enough.s, sizeof good_enough.s, " or %.2f s/GB", bar->or_so);
    }
    printf("| %s%s | %s: %s | %s: %s | %.2f (%.2f – %.2f) | %s %.2f%s | %s |\n", title_of(bar->row),
           bar->field == CPU ? ", CPU" : "", target_name(bar->ours),
           value_text(&our_text, samples_spread(ours, bar->field).mid, unit), target_name(bar->peer),
           value_text(&peer_text, samples_spread(peer, bar->field).mid, unit), ratio.mid, ratio.low, ratio.high,
           bar->at_most ? "≤" : "≥", bar->limit, good_enough.s, judge_word(met));
    json_bar(j, bar->row, bar->ours, bar->peer, bar->field == CPU ? "cpu" : "speed", ratio.mid, bar->limit,
             bar->at_most, met);
}

/* No slower than another build, in all that both were measured in. */
static void judge_before(struct judge *j, const char *ours, const char *before)
{
    for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
        struct bar bar = { titles[i].row, ours, before, VALUE, false, 1, 0 };

        judge_peer(j, &bar);
        bar.field = CPU;
        bar.at_most = true;
        bar.limit = CPU_BAR;
        if (strcmp(titles[i].unit, "GB/s") == 0)
            judge_peer(j, &bar);
    }
}

/* Writers of one file do not wait for each other: four are faster than one, or the pass-through's are not either. */
static void judge_shared(struct judge *j, const char *ours)
{
    const struct series *four = samples_of("shared.4", ours), *one = samples_of("shared.1", ours);
    const struct series *pass_four = samples_of("shared.4", "passd"), *pass_one = samples_of("shared.1", "passd");
    struct spread gain, pass_gain;
    double limit;
    bool met;

    if (four == NULL || one == NULL || pass_four == NULL || pass_one == NULL)
        return;
    gain = samples_ratio(four, one, VALUE);
    pass_gain = samples_ratio(pass_four, pass_one, VALUE);
    limit = MIN(1.5, pass_gain.mid);
    met = judge_reaches(gain, false, limit);
    printf(
        "| 4 writers in one file, against one | %s: %.2f | pass-through: %.2f | %.2f (%.2f – %.2f) | ≥ 1.50, or what pass-through gains | %s |\n",
        target_name(ours), gain.mid, pass_gain.mid, gain.mid, gain.low, gain.high, judge_word(met));
    json_bar(j, "shared.4", ours, "shared.1", "gain", gain.mid, limit, false, met);
}

static void judge_limit(struct judge *j, const char *row, double limit)
{
    const struct series *ours = samples_of(row, "falls");
    struct text text, limit_text;
    struct spread spread;
    bool met;

    if (ours == NULL)
        return;
    if (strcmp(row, "memory") == 0)
        limit = 64 + samples_spread(ours, DAEMON).mid / 1024; /* 1 KiB for each file */
    spread = samples_spread(ours, VALUE);
    met = spread.mid <= limit;
    printf("| %s | fallsfs: %s | | | ≤ %s | %s |\n", title_of(row), value_text(&text, spread.mid, unit_of(row)),
           value_text(&limit_text, limit, unit_of(row)), judge_word(met));
    json_bar(j, row, "falls", "", unit_of(row), spread.mid, limit, true, met);
}

static void json_measured(FILE *json, unsigned i)
{
    const struct series *s = samples_at(i);

    samples_print_json(json, s, unit_of(s->row));
}

bool mount_report(const char *samples, const char *remark, const char *json)
{
    struct judge j;

    judge_begin(&j, json, remark, "");
    samples_read(samples);
    printf("%s\n\n", remark);
    print_measured();
    printf("\n| what | ours | against | ratio (quartiles) | bar | |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_SIZE(bars); i++)
        judge_peer(&j, &bars[i]);
    judge_shared(&j, "fallsd");
    judge_shared(&j, "fallso");
    judge_before(&j, "falls", "before");
    judge_before(&j, "fallsd", "befored");
    judge_limit(&j, "memory", 0);
    judge_limit(&j, "start.clean", 1);
    judge_limit(&j, "start.killed", 1);
    judge_limit(&j, "start.cold", 1);
    judge_total(&j, true);
    return judge_end(&j, samples_count(), json_measured);
}

/* SPDX-License-Identifier: MIT */
#include "test/bench/views_report.h"

#include "test/bench/judge.h"
#include "test/bench/samples.h"

#include <stdio.h>

const char *const views_stored_name[VIEWS_STORED + 1] = {
    [VIEWS_COLUMNS] = "columns", [VIEWS_SQUARES] = "squares", [VIEWS_ROWS] = "rows", [VIEWS_STORED] = "plain"
};

const uint64_t views_size[VIEWS_SIZES] = { 256, 512, 1024, 2048, 8192 };

/* -- numbers -- */

static const struct series *find(const char *what, uint64_t n, unsigned stored)
{
    char row[48];

    snprintf(row, sizeof row, "%s.%" PRIu64, what, n);
    return samples_of(row, views_stored_name[stored]);
}

/* 0: was not measured. */
static double median(const char *what, uint64_t n, unsigned stored, enum field field)
{
    const struct series *s = find(what, n, stored);

    return s != NULL ? samples_spread(s, field).mid : 0;
}

static bool is_measured(uint64_t n)
{
    return find("set", n, VIEWS_COLUMNS) != NULL;
}

/* -- tables -- */

struct text {
    char s[48];
};

/* Three digits, and nothing for what is not there. */
static const char *number(struct text *text, double value)
{
    if (value <= 0)
        return "";
    snprintf(text->s, sizeof text->s, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
    return text->s;
}

static void print_number(double value)
{
    struct text text;

    printf(" | %s", number(&text, value));
}

static void print_line(uint64_t n, unsigned stored)
{
    printf("| %" PRIu64 " | %s", n, views_stored_name[stored]);
    print_number(median("set", n, stored, VALUE) * 1e6);
    print_number(median("map", n, stored, VALUE) * 1e9);
    if (stored == VIEWS_ROWS)
        printf(" | 0");
    else
        print_number(median("gather", n, stored, VALUE) * 1e6);
    print_number(median("write", n, stored, VALUE) * 1e3);
    print_number(median("synced", n, stored, VALUE) * 1e3);
    print_number(median("read", n, stored, VALUE) * 1e3);
    printf(" |\n");
}

static void print_times(void)
{
    printf(
        "A matrix of n x n bytes on four subfiles, four processes with a block of rows each. Medians: t_i sets a view "
        "and gets its first byte, t_m maps the two end points, t_g puts the bytes of one view in order; writing into "
        "the cache, writing and syncing, reading.\n\n"
        "| n | stored as | t_i, µs | t_m, ns | t_g, µs | write, ms | write + fsync, ms | read, ms |\n"
        "|---|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < VIEWS_SIZES; i++)
        for (unsigned stored = 0; stored <= VIEWS_STORED && is_measured(views_size[i]); stored++)
            print_line(views_size[i], stored);
}

static void print_share_of(const char *what, uint64_t n, unsigned stored)
{
    double wall = median(what, n, stored, VALUE), cpu = median(what, n, stored, DAEMON);

    print_number(cpu * 1e3);
    if (wall > 0)
        printf(", %.0f %%", 100 * cpu / wall);
}

/* As Table 2 of the paper has it for an I/O node; there is one daemon for all four processes here. */
static void print_share(void)
{
    printf("\nThe daemon's share: its CPU time for all four processes, and what part of the time from the first one's "
           "start to the last one's end that is; more than 100 %% where several of its threads work.\n\n"
           "| n | stored as | write, ms | write + fsync, ms | read, ms |\n|---|---|---|---|---|\n");
    for (unsigned i = 0; i < VIEWS_SIZES; i++)
        for (unsigned stored = 0; stored < VIEWS_STORED && is_measured(views_size[i]); stored++) {
            printf("| %" PRIu64 " | %s", views_size[i], views_stored_name[stored]);
            print_share_of("write", views_size[i], stored);
            print_share_of("synced", views_size[i], stored);
            print_share_of("read", views_size[i], stored);
            printf(" |\n");
        }
}

static void print_served(void)
{
    static const char *const verbs[] = { "write", "read" };

    printf(
        "\nHow the daemon served one process that writes, and that reads, its view again and again; and how often it calls "
        "the kernel to read or to write anything for each access: getting the request and replying are two of them, "
        "telling the kernel what was written another.\n\n"
        "| n | stored as | | straight from the subfile | runs of the file | gathered | calls a request |\n"
        "|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < VIEWS_SIZES; i++)
        for (unsigned stored = 0; stored < VIEWS_STORED && is_measured(views_size[i]); stored++)
            for (size_t v = 0; v < ARRAY_SIZE(verbs); v++) {
                char served[32], calls[32];

                snprintf(served, sizeof served, "%s.served", verbs[v]);
                snprintf(calls, sizeof calls, "%s.calls", verbs[v]);
                printf("| %" PRIu64 " | %s | %s | %.0f | %.0f | %.0f | %.2f |\n", views_size[i],
                       views_stored_name[stored], verbs[v], median(served, views_size[i], stored, VALUE),
                       median(served, views_size[i], stored, CLIENT), median(served, views_size[i], stored, DAEMON),
                       median(calls, views_size[i], stored, VALUE));
            }
    printf("\n");
}

/* -- bars -- */

static double slowest(const char *what)
{
    double most = 0;

    for (unsigned i = 0; i < VIEWS_SIZES; i++)
        for (unsigned stored = 0; stored < VIEWS_STORED; stored++)
            most = MAX(most, median(what, views_size[i], stored, VALUE));
    return most;
}

/* The largest n against the smallest. */
static double growth(const char *what)
{
    uint64_t smallest = 0, largest = 0;
    double most = 0;

    for (unsigned i = 0; i < VIEWS_SIZES; i++)
        if (is_measured(views_size[i])) {
            smallest = smallest == 0 ? views_size[i] : smallest;
            largest = views_size[i];
        }
    for (unsigned stored = 0; stored < VIEWS_STORED; stored++)
        most = MAX(most, median(what, largest, stored, VALUE) / median(what, smallest, stored, VALUE));
    return most;
}

/* Where the view is the subfile, nothing but one access to it is done for a request. */
static void judge_matching(struct judge *j, const char *verb, double bar)
{
    char served[32], calls[32], what[96];
    double other = 0, whole = 0, most = 0;

    snprintf(served, sizeof served, "%s.served", verb);
    snprintf(calls, sizeof calls, "%s.calls", verb);
    for (unsigned i = 0; i < VIEWS_SIZES; i++) {
        whole += median(served, views_size[i], VIEWS_ROWS, VALUE);
        other += median(served, views_size[i], VIEWS_ROWS, CLIENT) + median(served, views_size[i], VIEWS_ROWS, DAEMON);
        most = MAX(most, median(calls, views_size[i], VIEWS_ROWS, VALUE));
    }
    snprintf(what, sizeof what, "matching layout, %s: accesses in pieces or gathered, of %.0f", verb, whole + other);
    judge_bar(j, what, other, "", true, 0, other == 0 && whole > 0);
    snprintf(what, sizeof what, "matching layout, %s: the daemon's calls beside request and reply", verb);
    judge_at_most(j, what, most - 2, " a request", bar);
}

static void print_measured(FILE *json, unsigned i)
{
    const struct series *s = samples_at(i);
    struct spread value = samples_spread(s, VALUE);

    fprintf(json,
            "{ \"row\": \"%s\", \"stored\": \"%s\", \"median\": %.6g, \"low\": %.6g, \"high\": %.6g, "
            "\"cpu_daemon\": %.6g }",
            s->row, s->target, value.mid, value.low, value.high, samples_spread(s, DAEMON).mid);
}

bool views_report(const char *samples, const char *remark, const char *json)
{
    struct judge j;

    samples_read(samples);
    printf("%s\n\n", remark);
    print_times();
    print_share();
    print_served();
    judge_begin(&j, json, remark, "");
    judge_head();
    judge_at_most(&j, "t_i, the slowest", slowest("set") * 1e3, " ms", 1);
    judge_at_most(&j, "t_i, the largest n against the smallest", growth("set"), " times", 1.5);
    judge_at_most(&j, "t_m, the slowest", slowest("map") * 1e6, " µs", 1);
    judge_at_most(&j, "t_m, the largest n against the smallest", growth("map"), " times", 1.5);
    judge_matching(&j, "write", 2.1); /* the kernel is told to forget what it has cached of the file */
    judge_matching(&j, "read", 1.1);
    judge_total(&j, false);
    return judge_end(&j, samples_count(), print_measured);
}

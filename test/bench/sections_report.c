/* SPDX-License-Identifier: MIT */
#include "test/bench/sections_report.h"

#include "ioctl/client/bench/trial.h"
#include "test/bench/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_SERIES 4096
#define MAX_CASES  128

/* -- samples -- */

/* What one method did on one target in one case. */
struct series {
    char id[16], target[16], method[16];
    uint32_t n;
    int error;
    double seconds[TRIAL_MAX_ROUNDS], cpu[TRIAL_MAX_ROUNDS];
    double peak, data; /* MiB; 0: nobody looked */
    bool has_done;
    double deed[DEEDS];
};

struct size {
    char id[16];
    double pieces, bytes; /* of a piece */
};

static struct series all[MAX_SERIES];
static struct size sizes[MAX_CASES];
static unsigned n_all, n_sizes, n_ranks;
static bool is_cold; /* nothing was cached when a call was made */

static struct series *find(const char *id, const char *target, const char *method)
{
    for (unsigned i = 0; i < n_all; i++)
        if (strcmp(all[i].id, id) == 0 && strcmp(all[i].target, target) == 0 && strcmp(all[i].method, method) == 0)
            return &all[i];
    return NULL;
}

static struct series *find_or_add(const char *id, const char *target, const char *method)
{
    struct series *s = find(id, target, method);

    if (s == NULL && n_all < MAX_SERIES) {
        s = &all[n_all++];
        snprintf(s->id, sizeof s->id, "%s", id);
        snprintf(s->target, sizeof s->target, "%s", target);
        snprintf(s->method, sizeof s->method, "%s", method);
    }
    return s;
}

static void take(const char *kind, const char *id, const char *target, const char *method, unsigned round, double a,
                 double b)
{
    struct series *s;

    if (strcmp(kind, "ranks") == 0) {
        n_ranks = (unsigned) a;
        is_cold = b > 0;
        return;
    }
    if (strcmp(kind, "size") == 0) {
        if (n_sizes < MAX_CASES) {
            sizes[n_sizes] = (struct size){ .pieces = a, .bytes = b };
            snprintf(sizes[n_sizes++].id, sizeof sizes->id, "%s", id);
        }
        return;
    }
    s = find_or_add(id, target, method);
    if (s == NULL)
        return;
    if (strcmp(kind, "time") == 0 && s->n < TRIAL_MAX_ROUNDS) {
        s->cpu[s->n] = b;
        s->seconds[s->n++] = a;
    } else if (strcmp(kind, "memory") == 0) {
        s->peak = a;
        s->data = b;
    } else if (strcmp(kind, "did") == 0 && round < DEEDS) {
        s->has_done = true;
        s->deed[round] = a;
    } else if (strcmp(kind, "failed") == 0) {
        s->error = (int) a;
    }
}

static void read_samples(const char *path)
{
    char kind[8], id[16], target[16], method[16];
    FILE *in = fopen(path, "re");
    unsigned round;
    double a, b;

    if (in == NULL) {
        perror(path);
        exit(2);
    }
    while (fscanf(in, "%7s %15s %15s %15s %u %lf %lf", kind, id, target, method, &round, &a, &b) == 7)
        take(kind, id, target, method, round, a, b);
    fclose(in);
}

/* -- numbers -- */

static bool is_measured(const struct series *s)
{
    return s != NULL && s->n > 0 && s->error == 0;
}

static struct spread time_of(const struct series *s)
{
    return spread_of(s->seconds, s->n);
}

static const struct series *better(const struct series *a, const struct series *b)
{
    if (!is_measured(a) || !is_measured(b))
        return is_measured(a) ? a : is_measured(b) ? b : NULL;
    return time_of(b).mid < time_of(a).mid ? b : a;
}

static const struct series *best_romio(const char *id, const char *target)
{
    static const char *const names[] = { "romio_plain", "romio_sieve", "romio_default",
                                         "romio_one",   "romio_four",  "romio_all" };
    const struct series *best = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        best = better(best, find(id, target, names[i]));
    return best;
}

/* What stands in a column of the table, for one case; NULL: was not measured, or does not work. */
enum column { BOUND, DIRECT, DIRECT_MOUNT, ROMIO, ROMIO_MOUNT, ALONE, STATIC, DYNAMIC, CYCLIC, DISK, COLUMNS };

static const char *const titles[COLUMNS] = { "bound",       "direct", "direct, mount", "best ROMIO", "ROMIO, mount",
                                             "independent", "static", "dynamic",       "cyclic",     "disk" };

static const struct series *cell(const char *id, enum column column)
{
    static const char *const ours[COLUMNS] = { [DIRECT_MOUNT] = "direct", [ALONE] = "independent", [STATIC] = "static",
                                               [DYNAMIC] = "dynamic",     [CYCLIC] = "cyclic",     [DISK] = "disk" };

    switch (column) {
    case BOUND:
        return better(find(id, "plain", "bound"), NULL);
    case DIRECT:
        return better(find(id, "plain", "direct"), NULL);
    case ROMIO:
        return best_romio(id, "plain");
    case ROMIO_MOUNT:
        return best_romio(id, "falls");
    default:
        return better(find(id, "falls", ours[column]), NULL);
    }
}

/* The best that others do with a file in the mount. */
static const struct series *rival(const char *id)
{
    return better(cell(id, DIRECT_MOUNT), cell(id, ROMIO_MOUNT));
}

static bool is_strided(const char *id)
{
    return id[0] == '5' || id[0] == '6';
}

/* -- printing -- */

struct text {
    char s[64];
};

static const char *ms(struct text *text, double seconds)
{
    double value = seconds * 1e3;

    snprintf(text->s, sizeof text->s, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
    return text->s;
}

static const char *ratio_text(struct text *text, const struct series *a, const struct series *b)
{
    if (a == NULL || b == NULL)
        return "";
    snprintf(text->s, sizeof text->s, "%.2f", time_of(a).mid / time_of(b).mid);
    return text->s;
}

static void print_cell(const char *id, enum column column)
{
    const struct series *s = cell(id, column);
    struct text text;

    if (s == NULL)
        printf(" | ");
    else if (column == ROMIO || column == ROMIO_MOUNT)
        printf(" | %s %s", ms(&text, time_of(s).mid), s->method + strlen("romio_"));
    else
        printf(" | %s", ms(&text, time_of(s).mid));
}

static void print_cases(void)
{
    struct text bound, a, b;

    printf("Milliseconds, medians, with %u processes%s.\n\n| case | pieces x B", n_ranks,
           is_cold ? ", nothing cached" : "");
    for (int c = 0; c < COLUMNS; c++)
        printf(" | %s", titles[c]);
    printf(" | dynamic / bound | (A) | (B) |\n|---|---");
    for (int c = 0; c < COLUMNS + 3; c++)
        printf("|---");
    printf("|\n");
    for (unsigned i = 0; i < n_sizes; i++) {
        const char *id = sizes[i].id;
        const struct series *ours = cell(id, DYNAMIC);

        printf("| %s | %.0f x %.0f", id, sizes[i].pieces, sizes[i].bytes);
        for (int c = 0; c < COLUMNS; c++)
            print_cell(id, (enum column) c);
        printf(" | %s | %s | %s |\n", ratio_text(&bound, ours, cell(id, BOUND)), ratio_text(&a, rival(id), ours),
               ratio_text(&b, cell(id, ROMIO), ours));
    }
    printf("\n(A) the best that others do on the mount, and (B) the best ROMIO on the plain directory, divided by "
           "dynamic.\n\n");
}

/* Over the cases of these tables that have been measured; 0: there is none. */
static double geomean(const char *tables, enum column column)
{
    double sum = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < n_sizes; i++) {
        const struct series *s = cell(sizes[i].id, column);

        if (strchr(tables, sizes[i].id[0]) == NULL || s == NULL)
            continue;
        sum += log(time_of(s).mid);
        n++;
    }
    return n > 0 ? exp(sum / n) : 0;
}

static void print_geomeans(void)
{
    static const struct {
        const char *title, *tables;
    } rows[] = {
        { "Tables 1 to 6", "123456" }, { "1 to 3, reads", "123" }, { "4, writes", "4" }, { "5, strided reads", "5" },
        { "6, strided writes", "6" },  { "7, scaling", "7" },      { "8, large", "8" }
    };

    printf("| geometric means, ms");
    for (int c = 0; c < COLUMNS; c++)
        printf(" | %s", titles[c]);
    printf(" |\n|---");
    for (int c = 0; c < COLUMNS; c++)
        printf("|---");
    printf("|\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct text text;

        if (geomean(rows[i].tables, DIRECT) <= 0)
            continue;
        printf("| %s", rows[i].title);
        for (int c = 0; c < COLUMNS; c++) {
            double mean = geomean(rows[i].tables, (enum column) c);

            printf(" | %s", mean > 0 ? ms(&text, mean) : "");
        }
        printf(" |\n");
    }
    printf("\n");
}

/* Where the paper shows that domains of what is asked for do better than those of the whole array. */
static void print_domains(void)
{
    static const char *const ids[] = { "1/I", "1/II", "1/III", "1/IV", "2/VI", "3/II", "3/III" };
    bool any = false;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        const struct series *fixed = cell(ids[i], STATIC), *dynamic = cell(ids[i], DYNAMIC);
        struct text a, b, times;

        if (fixed == NULL || dynamic == NULL)
            continue;
        if (!any)
            printf("| the paper's own cases for dynamic domains | static | dynamic | static / dynamic |\n"
                   "|---|---|---|---|\n");
        any = true;
        printf("| %s | %s | %s | %s |\n", ids[i], ms(&a, time_of(fixed).mid), ms(&b, time_of(dynamic).mid),
               ratio_text(&times, fixed, dynamic));
    }
    if (any)
        printf("\n");
}

static void print_deeds(void)
{
    bool any = false;

    for (unsigned i = 0; i < n_all; i++) {
        const double *deed = all[i].deed;

        if (!all[i].has_done)
            continue;
        if (!any)
            printf(
                "\n| what it did | target | method | µs: waiting | planning | I/O | exchange | all | domains | windows | "
                "requests | MiB: read | written | mapped | read again |\n"
                "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        any = true;
        printf("| %s | %s | %s", all[i].id, all[i].target, all[i].method);
        for (int d = NS_WAIT; d <= NS_TOTAL; d++)
            printf(" | %.0f", deed[d] * 1e-3);
        for (int d = DOMAINS; d <= REQUESTS; d++)
            printf(" | %.0f", deed[d]);
        for (int d = BYTES_READ; d <= BYTES_REREAD; d++)
            printf(" | %.2f", deed[d] / (1024 * 1024));
        printf(" |\n");
    }
}

/* Every setting, layout and method, with how far apart its samples are. */
static void print_details(void)
{
    printf(
        "\n| case | target | method | ms | quartiles | samples | daemon's CPU, ms |\n|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < n_all; i++) {
        const struct series *s = &all[i];
        struct text mid, low, high, cpu;

        if (!is_measured(s))
            continue;
        printf("| %s | %s | %s | %s | %s – %s | %" PRIu32 " | %s |\n", s->id, s->target, s->method,
               ms(&mid, time_of(s).mid), ms(&low, time_of(s).low), ms(&high, time_of(s).high), s->n,
               strcmp(s->target, "plain") == 0 ? "" : ms(&cpu, spread_of(s->cpu, s->n).mid));
    }
}

/* -- bars -- */

static void judge_faster(struct judge *j, const char *title, const char *id, const struct series *peer, double bar)
{
    const struct series *ours = cell(id, DYNAMIC);
    struct spread time, ratio;
    char what[64];

    if (ours == NULL || peer == NULL)
        return;
    time = time_of(ours);
    ratio =
        (struct spread){ time_of(peer).mid / time.high, time_of(peer).mid / time.mid, time_of(peer).mid / time.low };
    snprintf(what, sizeof what, "%s, %s", title, id);
    judge_bar(j, what, ratio.mid, " times", false, bar, judge_reaches(ratio, false, bar));
}

static void judge_means(struct judge *j)
{
    double ours = geomean("123456", DYNAMIC), romio = geomean("123456", ROMIO), bound = geomean("123456", BOUND);

    if (ours > 0 && romio > 0)
        judge_bar(j, "(B), geometric means", romio / ours, " times", false, 3, romio / ours >= 3);
    if (ours > 0 && bound > 0)
        printf("| a goal, no bar: dynamic / bound, geometric means | %.3g times | ≤ 2 times | |\n", ours / bound);
}

/* No slower than another build, if one was measured. */
static void judge_before(struct judge *j)
{
    static const char *const methods[] = { "static", "dynamic" };

    for (size_t m = 0; m < ARRAY_SIZE(methods); m++) {
        double sum = 0;
        unsigned n = 0;
        char what[64];

        for (unsigned i = 0; i < n_sizes; i++) {
            const struct series *now = find(sizes[i].id, "falls", methods[m]);
            const struct series *before = find(sizes[i].id, "before", methods[m]);

            if (now == NULL || before == NULL)
                continue;
            sum += log(time_of(now).mid / time_of(before).mid);
            n++;
        }
        snprintf(what, sizeof what, "time, of the build before, %s", methods[m]);
        if (n > 0)
            judge_bar(j, what, exp(sum / n), " times", true, 1.05, exp(sum / n) <= 1.05);
    }
}

/* The noise of a case is what lies between its quartiles. */
static void judge_domains(struct judge *j)
{
    unsigned n = 0, n_slower = 0;

    for (unsigned i = 0; i < n_sizes; i++) {
        const struct series *dynamic = cell(sizes[i].id, DYNAMIC), *fixed = cell(sizes[i].id, STATIC);

        if (dynamic == NULL || fixed == NULL)
            continue;
        n++;
        n_slower += time_of(dynamic).mid > 1.1 * time_of(fixed).mid && time_of(dynamic).low > time_of(fixed).high;
    }
    if (n > 0)
        judge_bar(j, "dynamic slower than static by more than noise", n_slower, " cases", true, 0, n_slower == 0);
}

/* Every call but the first has planned the same before. */
static void judge_planning(struct judge *j)
{
    double slowest = -1;

    for (unsigned i = 0; i < n_sizes; i++) {
        const struct series *s = cell(sizes[i].id, DYNAMIC);

        if (s != NULL && s->has_done)
            slowest = MAX(slowest, s->deed[NS_PLAN] * 1e-3);
    }
    if (slowest >= 0)
        judge_bar(j, "planning again, the slowest case", slowest, " µs", true, 20, slowest <= 20);
}

static void judge_memory(struct judge *j)
{
    static const char *const methods[] = { "independent", "static", "dynamic", "cyclic", "disk" };

    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        const struct series *s = find("5/I", "falls", methods[i]);
        char what[64];

        if (s == NULL || s->data <= 0)
            continue;
        snprintf(what, sizeof what, "peak memory, 5/I, %s", methods[i]);
        judge_bar(j, what, s->peak, " MiB", true, s->data + 16, s->peak <= s->data + 16);
    }
}

static void print_memory(void)
{
    bool any = false;

    for (unsigned i = 0; i < n_all; i++) {
        if (all[i].data <= 0)
            continue;
        if (!any)
            printf(
                "| memory, processes and daemon | target | method | peak, MiB | of the data |\n|---|---|---|---|---|\n");
        any = true;
        printf("| %s | %s | %s | %.1f | %.1f times |\n", all[i].id, all[i].target, all[i].method, all[i].peak,
               all[i].peak / all[i].data);
    }
    if (any)
        printf("\n");
}

/* Others may fail on our mount only where it is our fault, so it counts as such. */
static void judge_failures(struct judge *j)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_all; i++)
        if (all[i].error != 0) {
            printf("%s: %s on %s failed: %s\n\n", all[i].id, all[i].method, all[i].target, strerror(all[i].error));
            n++;
        }
    judge_head();
    judge_bar(j, "failures, wrong bytes", n, "", true, 0, n == 0);
}

static void judge_all(struct judge *j)
{
    judge_failures(j);
    judge_means(j);
    for (unsigned i = 0; i < n_sizes; i++)
        judge_faster(j, "(A)", sizes[i].id, rival(sizes[i].id), 1);
    for (unsigned i = 0; i < n_sizes; i++)
        if (is_strided(sizes[i].id))
            judge_faster(j, "(B)", sizes[i].id, cell(sizes[i].id, ROMIO), 3);
    if (cell("1/I", DYNAMIC) != NULL && n_ranks == 16 && !is_cold)
        judge_bar(j, "a small collective, 1/I", time_of(cell("1/I", DYNAMIC)).mid * 1e3, " ms", true, 0.3,
                  time_of(cell("1/I", DYNAMIC)).mid <= 0.3e-3);
    judge_planning(j);
    judge_domains(j);
    judge_memory(j);
    judge_before(j);
}

static void print_measured(FILE *json, unsigned i)
{
    const struct series *s = &all[i];
    struct spread time = time_of(s);

    fprintf(json,
            "{ \"case\": \"%s\", \"target\": \"%s\", \"method\": \"%s\", \"median\": %.6g, \"low\": %.6g, "
            "\"high\": %.6g, \"samples\": %" PRIu32 ", \"daemon_cpu\": %.6g, \"peak_mib\": %.6g, \"failed\": %s }",
            s->id, s->target, s->method, time.mid, time.low, time.high, s->n, spread_of(s->cpu, s->n).mid, s->peak,
            s->error != 0 ? "true" : "false");
}

bool sections_report(const char *samples, const char *remark, const char *json)
{
    struct judge j;
    char processes[64];

    read_samples(samples);
    printf("%s\n\n", remark);
    print_cases();
    print_geomeans();
    print_domains();
    print_memory();
    snprintf(processes, sizeof processes, "  \"processes\": %u,\n", n_ranks);
    judge_begin(&j, json, remark, processes);
    judge_all(&j);
    judge_total(&j, false);
    print_details();
    print_deeds();
    return judge_end(&j, n_all, print_measured);
}

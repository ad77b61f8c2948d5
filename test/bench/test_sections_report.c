/* SPDX-License-Identifier: MIT */
/* Which bars hold is worked out from samples made up for the purpose. */
#include "layout/base.h"
#include "test/bench/sections_report.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report_case {
    char why[64];
    char samples[640];
    bool holds;
    char says[96]; /* in the JSON */
};

/* All of 1/I and 5/I in 16 processes: others need 10 ms on the mount, ROMIO 6 on the plain directory. */
#define RANKS "ranks - - - 0 16 0\nsize 1/I - - 0 100 400\nsize 5/I - - 0 65536 4\n"
#define OTHERS                                                                   \
    "time 5/I plain bound 0 0.001 0\ntime 5/I plain romio_one 0 0.009 0\n"       \
    "time 5/I plain romio_all 0 0.006 0\ntime 5/I falls romio_sieve 0 0.010 0\n" \
    "time 5/I falls direct 0 0.500 0\n"

ParameterizedTestParameters(sections_report, judges)
{
    static struct report_case rows[] = {
        { "all bars hold", RANKS OTHERS "time 5/I falls static 0 0.002 0\ntime 5/I falls dynamic 0 0.0019 0.001\n",
          true, "\"what\": \"(A), 5/I\", \"value\": 5.26316" },
        { "the best of all settings counts", RANKS OTHERS "time 5/I falls dynamic 0 0.0019 0\n", true,
          "\"what\": \"(B), geometric means\", \"value\": 3.15789, " },
        { "less than a third is missed", RANKS OTHERS "time 5/I falls dynamic 0 0.0025 0\n", false,
          "\"what\": \"(B), 5/I\", \"value\": 2.4, \"unit\": \" times\", \"at_least\": 3, \"met\": false" },
        { "slower than others on the mount", RANKS OTHERS "time 5/I falls dynamic 0 0.011 0\n", false,
          "\"what\": \"(A), 5/I\", \"value\": 0.909091, \"unit\": \" times\", \"at_least\": 1, \"met\": false" },
        { "medians count",
          RANKS OTHERS "time 5/I falls dynamic 0 9 0\ntime 5/I falls dynamic 1 0.0019 0\n"
                       "time 5/I falls dynamic 2 0.001 0\n",
          true, "\"what\": \"(B), 5/I\", \"value\": 3.15789, " },
        { "a little less is enough when a quartile is not less",
          RANKS OTHERS "time 5/I falls dynamic 0 0.0019 0\ntime 5/I falls dynamic 1 0.0019 0\n"
                       "time 5/I falls dynamic 2 0.00205 0\ntime 5/I falls dynamic 3 0.0021 0\n"
                       "time 5/I falls dynamic 4 0.0021 0\n",
          false, "\"(B), 5/I\", \"value\": 2.92683, \"unit\": \" times\", \"at_least\": 3, \"met\": true" },
        { "a little less is missed when the quartile is less",
          RANKS OTHERS "time 5/I falls dynamic 0 0.00204 0\ntime 5/I falls dynamic 1 0.00204 0\n"
                       "time 5/I falls dynamic 2 0.00205 0\ntime 5/I falls dynamic 3 0.0021 0\n"
                       "time 5/I falls dynamic 4 0.0021 0\n",
          false, "\"(B), 5/I\", \"value\": 2.92683, \"unit\": \" times\", \"at_least\": 3, \"met\": false" },
        { "planning again in time", RANKS OTHERS "time 5/I falls dynamic 0 0.001 0\ndid 5/I falls dynamic 1 19000 0\n",
          true, "\"value\": 19, \"unit\": \" µs\", \"at_most\": 20, \"met\": true" },
        { "planning again too slow", RANKS OTHERS "time 5/I falls dynamic 0 0.001 0\ndid 5/I falls dynamic 1 21000 0\n",
          false, "\"value\": 21, \"unit\": \" µs\", \"at_most\": 20, \"met\": false" },
        { "a small collective in time", RANKS "time 1/I falls dynamic 0 0.0003 0\n", true,
          "1/I\", \"value\": 0.3, \"unit\": \" ms\", \"at_most\": 0.3, \"met\": true" },
        { "a small collective too late", RANKS "time 1/I falls dynamic 0 0.00031 0\n", false,
          "1/I\", \"value\": 0.31, \"unit\": \" ms\", \"at_most\": 0.3, \"met\": false" },
        { "dynamic slower than static", RANKS "time 1/I falls dynamic 0 0.0002 0\ntime 1/I falls static 0 0.0001 0\n",
          false, "noise\", \"value\": 1, \"unit\": \" cases\", \"at_most\": 0, \"met\": false" },
        { "memory within the data and 16 MiB", RANKS "memory 5/I falls dynamic 0 19.9 4\n", true,
          "\"value\": 19.9, \"unit\": \" MiB\", \"at_most\": 20, \"met\": true" },
        { "too much memory", RANKS "memory 5/I falls static 0 20.1 4\n", false,
          "\"value\": 20.1, \"unit\": \" MiB\", \"at_most\": 20, \"met\": false" },
        { "a failure is one, and no time counts",
          RANKS OTHERS "time 5/I falls dynamic 0 0.001 0\nfailed 5/I falls dynamic 0 5 0\n", false,
          "\"what\": \"failures, wrong bytes\", \"value\": 1, " },
    };

    return cr_make_param_array(struct report_case, rows, ARRAY_SIZE(rows));
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "we");

    cr_assert_not_null(out);
    cr_assert_geq(fputs(text, out), 0);
    cr_assert_eq(fclose(out), 0);
}

ParameterizedTest(struct report_case *row, sections_report, judges)
{
    char samples[] = "/tmp/fallsfs-samples.XXXXXX", json[sizeof samples + 5], text[16384];
    int fd = mkstemp(samples);
    FILE *in;
    size_t n;

    cr_assert_geq(fd, 0);
    close(fd);
    write_file(samples, row->samples);
    snprintf(json, sizeof json, "%s.json", samples);
    cr_assert_not_null(freopen("/dev/null", "w", stdout));
    cr_expect_eq(sections_report(samples, "a remark", json), row->holds, "%s", row->why);
    in = fopen(json, "re");
    cr_assert_not_null(in);
    n = fread(text, 1, sizeof text - 1, in);
    text[n] = 0;
    fclose(in);
    cr_expect_not_null(strstr(text, row->says), "%s: %s", row->why, text);
    unlink(samples);
    unlink(json);
}

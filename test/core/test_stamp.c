/* SPDX-License-Identifier: MIT */
/* Stamps that somebody has forged: the sum is right, but the text is not what fallsfs would write. */
#include "fs/core/volume/stamp.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define HEAD                                                                                              \
    "format = 1;\nvolume = \"a281614cd074c1bdbc16fc858eaf73bd\";\nindex = 0;\nhome = 0;\nfanout = 256;\n" \
    "epoch = \"1\";\nnext = \"1\";\nclean = \"1\";\nunclean = \"0\";\ndisks = (\n"                        \
    "    { uuid = \"244264d279fcac26a6a8c4f3de56e575\"; path = \"/mnt/@d0\"; pool = \"\"; }\n);\n"

#define BODY2(unclean)                                                                          \
    "volume = \"a281614cd074c1bdbc16fc858eaf73bd\";\nindex = 0;\nhome = 0;\nfanout = 256;\n"    \
    "epoch = \"12\";\nnext = \"12\";\nclean = \"12\";\nunclean = \"" unclean "\";\ndisks = (\n" \
    "    { uuid = \"244264d279fcac26a6a8c4f3de56e575\"; path = \"/mnt/@d0\"; pool = \"\"; }\n);\n"
#define TWO "format = 2;\n"

#define NEWER "title = \"anything\"; what = [ \"a newer one\", \"says\" ];\n"

struct stamp_case {
    char why[40], front[80], body[600];
    int want;
};

ParameterizedTestParameters(stamp, forged)
{
    static struct stamp_case rows[] = {
        { "as it is written", "", HEAD, 0 },
        { "includes a pipe", "@include \"pipe\"\n", HEAD, -EUCLEAN },
        { "includes a pipe, farther in", " \t@include \"pipe\"\n", HEAD, -EUCLEAN },
        { "includes a pipe, later", "format = 1;\n  @include \"pipe\"\n", HEAD, -EUCLEAN },
        { "a blank more", " ", HEAD, -EUCLEAN },
        { "a comment", "# nothing\n", HEAD, -EUCLEAN },
        { "a setting twice", "format = 1;\n", HEAD, -EUCLEAN },
        { "an unknown setting", "form = 1;\n", HEAD, -EUCLEAN },
        { "format 2", TWO, BODY2(""), 0 },
        { "format 2, with ranges", TWO, BODY2("1-3,7,11"), 0 },
        { "ranges in no order", TWO, BODY2("7,1-3"), -EUCLEAN },
        { "ranges that touch", TWO, BODY2("1-3,4"), -EUCLEAN },
        { "epoch 0", TWO, BODY2("0"), -EUCLEAN },
        { "ranges in format 1", "format = 1;\n", BODY2("1-3"), -EUCLEAN },
        { "a newer format", "format = 99;\n", NEWER, -EPROTONOSUPPORT },
        { "a newer format that parses as this one", "format = 4294967297;\n", HEAD, -EPROTONOSUPPORT },
        { "a newer format, later", NEWER, "format = 99;\n", -EUCLEAN },
        { "a newer format, half a number", "format = 99x;\n", NEWER, -EUCLEAN },
        { "format 0", "format = 0;\n", NEWER, -EUCLEAN },
    };

    return cr_make_param_array(struct stamp_case, rows, ARRAY_SIZE(rows));
}

static void parse(const char *body, struct stamp *ret_stamp)
{
    char text[1024];
    int len = snprintf(text, sizeof text, "%s", body);

    len += sprintf(text + len, "checksum = \"%016" PRIx64 "\";\n", (uint64_t) XXH3_64bits(text, (size_t) len));
    cr_assert_eq(stamp_parse(text, (size_t) len, ret_stamp), 0);
}

/* Reads which epochs did not end well: format 2 lists them, format 1 has only the last one, and all up to it count. */
Test(stamp, epochs_that_did_not_end_well)
{
    cleanup(stamp_done) struct stamp one = { 0 }, two = { 0 }, none = { 0 };

    parse("format = 1;\n" BODY2("3"), &one);
    parse(TWO BODY2("1-3,7"), &two);
    parse(HEAD, &none);
    for (uint64_t epoch = 1; epoch < 10; epoch++) {
        cr_expect_eq(epochs_has(&one.unclean, epoch), epoch <= 3);
        cr_expect_eq(epochs_has(&two.unclean, epoch), epoch <= 3 || epoch == 7);
        cr_expect(!epochs_has(&none.unclean, epoch));
    }
}

/* A stamp whose sum does not fit is damaged, whatever format it shows. */
Test(stamp, damaged)
{
    static const char text[] = "format = 99;\n" NEWER "checksum = \"0123456789abcdef\";\n";
    struct stamp stamp;

    cr_expect_eq(stamp_parse(text, strlen(text), &stamp), -EUCLEAN);
}

/* Reading a stamp never opens a file that it includes: a pipe that nobody writes to would be waited for until the
 * alarm. */
ParameterizedTest(struct stamp_case *row, stamp, forged)
{
    cleanup(stamp_done) struct stamp stamp = { 0 };
    char text[1024], dir[] = "/tmp/fallsfs.XXXXXX";
    int len = snprintf(text, sizeof text, "%s%s", row->front, row->body), r;

    len += sprintf(text + len, "checksum = \"%016" PRIx64 "\";\n", (uint64_t) XXH3_64bits(text, (size_t) len));
    cr_assert(mkdtemp(dir) != NULL && chdir(dir) == 0 && mkfifo("pipe", 0600) == 0);
    alarm(20);
    r = stamp_parse(text, (size_t) len, &stamp);
    alarm(0);
    cr_expect(unlink("pipe") == 0 && rmdir(dir) == 0);
    cr_expect_eq(r, row->want, "%s: %d", row->why, r);
}

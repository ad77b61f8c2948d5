/* SPDX-License-Identifier: MIT */
/* Stamps that were made by somebody else: the sum is right, the text is not what would be written. */
#include "fs/core/stamp.h"

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
    };

    return cr_make_param_array(struct stamp_case, rows, ARRAY_SIZE(rows));
}

/* A pipe that nobody writes to is waited for as long as it takes. */
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

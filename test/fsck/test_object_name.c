/* SPDX-License-Identifier: MIT */
/* Names of objects: what they say, and what is none. */
#include "fs/fsck/object_name.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef"

struct name_case {
    char name[96];
    enum object_kind kind;
    bool is_fresh, is_header;
    uint64_t gen;
    uint32_t replica, slot;
};

ParameterizedTestParameters(object_name, says)
{
    static struct name_case rows[] = {
        { ID ".0.0", OBJECT_SUBFILE, false, false, 0, 0, 0 },
        { ID ".17.4294967293", OBJECT_SUBFILE, false, false, 17, 0, 4294967293 },
        { ID ".9223372036854775807.h", OBJECT_SUBFILE, false, true, INT64_MAX, 0, 0 },
        { ID ".3.5.new", OBJECT_SUBFILE, true, false, 3, 0, 5 },
        { ID ".m", OBJECT_COPY, false, false, 0, 0, 0 },
        { ID ".m.new", OBJECT_COPY, true, false, 0, 0, 0 },
        { ID ".r", OBJECT_MAP, false, false, 0, 0, 0 },
        { ID ".r.new", OBJECT_MAP, true, false, 0, 0, 0 },
        { ID ".r0.0", OBJECT_REPLICA, false, false, 0, 0, 0 },
        { ID ".r12.7", OBJECT_REPLICA, false, false, 0, 12, 7 },
        { ID ".r4294967294.h", OBJECT_REPLICA, false, true, 0, 4294967294, 0 },
        { ID ".r2.h.new", OBJECT_REPLICA, true, true, 0, 2, 0 },
    };

    return cr_make_param_array(struct name_case, rows, ARRAY_SIZE(rows));
}

static bool is_as(const struct object_name *name, const struct name_case *row)
{
    return name->kind == row->kind && name->is_fresh == row->is_fresh && name->is_header == row->is_header &&
           name->gen == row->gen && name->replica == row->replica && name->slot == row->slot && name->id[0] == 0x01 &&
           name->id[15] == 0xef;
}

ParameterizedTest(struct name_case *row, object_name, says)
{
    struct object_name name;
    char lost[128];

    cr_expect(object_name_parse(row->name, &name) && is_as(&name, row), "%s", row->name);
    cr_expect(object_name_is_subfile(&name) == (!row->is_fresh && row->kind <= OBJECT_REPLICA), "%s", row->name);
    cr_expect(object_name_parse_lost(row->name, &name) && is_as(&name, row), "%s", row->name);
    snprintf(lost, sizeof lost, "%s.12", row->name);
    cr_expect(!object_name_parse(lost, &name), "%s", lost);
    cr_expect(object_name_parse_lost(lost, &name) && is_as(&name, row), "%s", lost);
}

Test(object_name, is_none)
{
    static const char *const none[] = {
        "",
        ID,
        ID ".",
        ID "..0",
        ID ".0",
        ID ".0.",
        ID ".0.x",
        ID ".00.1",
        ID ".0.01",
        ID ".0.0.0",
        ID ".0.0x",
        ID ".9223372036854775808.0", /* would be a replica */
        ID ".0.4294967294",
        ID ".0.hh",
        ID ".mm",
        ID ".m.",
        ID ".m.neww",
        ID ".rr",
        ID ".r.",
        ID ".r.0",
        ID ".r.new.new",
        ID ".r0",
        ID ".r0.",
        ID ".r00.1",
        ID ".r0.01",
        ID ".r-1.0",
        ID ".r+1.0",
        ID ".r 1.0",
        ID ".r4294967295.0",
        ID ".r0.0.0",
        ID ".r0.m",
        ID ".R0.0",
        ID ".0.r0",
        "0123456789abcdef0123456789abcdeg.r",
        "0123.r0.0",
    };
    struct object_name name;

    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        cr_expect(!object_name_parse(none[i], &name), "%s", none[i]);
}

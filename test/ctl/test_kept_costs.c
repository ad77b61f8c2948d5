/* SPDX-License-Identifier: MIT */
/* What a mount tells of its disks' costs: it may be any program's text, and what makes no sense does not count. */
#include "fs/ctl/ask/kept_costs.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>

#define SIDE(call, seek, rate) "{\"call_ns\":" call ",\"seek_ns\":" seek ",\"bytes_per_second\":" rate "}"
#define DISK(more, read)                                                                                      \
    "{\"disk\":\"d0\",\"calibrated\":true,\"measured\":7,\"direct\":true,\"spread\":4" more ",\"read\":" read \
    ",\"write\":" SIDE("4", "5", "6") "}"
#define GOOD  SIDE("1", "2", "3")
#define CHUNK "{\"bytes\":512,\"read\":1,\"read_apart\":2,\"write\":3,\"write_apart\":4}"

struct kept_case {
    char why[40], text[400];
    int r;
    uint32_t n;
    bool is_there;
};

ParameterizedTestParameters(kept_costs, texts)
{
    static struct kept_case rows[] = {
        { "one disk", "{\"disks\":[" DISK("", GOOD) "]}", 0, 1, true },
        { "with chunks", "{\"disks\":[" DISK(",\"chunks\":[" CHUNK "," CHUNK "]", GOOD) "]}", 0, 1, true },
        { "none is", "{\"disks\":[{\"calibrated\":false,\"why\":\"it is new\"}]}", 0, 1, false },
        { "a disk that is a number", "{\"disks\":[1]}", 0, 1, false },
        { "no disks", "{}", 0, 0, false },
        { "no object", "[]", -EINVAL, 0, false },
        { "no text", "", -EINVAL, 0, false },
        { "a rate of 0", "{\"disks\":[" DISK("", SIDE("1", "2", "0")) "]}", 0, 1, false },
        { "less than nothing", "{\"disks\":[" DISK("", SIDE("-1", "2", "3")) "]}", 0, 1, false },
        { "a seek of an hour", "{\"disks\":[" DISK("", SIDE("1", "3600000000000", "3")) "]}", 0, 1, false },
        { "a fraction", "{\"disks\":[" DISK("", SIDE("1", "2.5", "3")) "]}", 0, 1, false },
        { "chunks of nothing", "{\"disks\":[" DISK(",\"chunks\":[{\"bytes\":0}]", GOOD) "]}", 0, 1, false },
        { "half a chunk", "{\"disks\":[" DISK(",\"chunks\":[{\"bytes\":512}]", GOOD) "]}", 0, 1, false },
    };

    return cr_make_param_array(struct kept_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct kept_case *row, kept_costs, texts)
{
    struct kept_costs kept = { 0 };
    int r = kept_costs_read(row->text, &kept);

    cr_assert_eq(r, row->r, "%s: %d", row->why, r);
    cr_assert_eq(kept.n, row->n, "%s", row->why);
    if (kept.n > 0)
        cr_expect_eq(kept.disk[0].is_there, row->is_there, "%s: %s", row->why, kept.disk[0].why);
    kept_costs_done(&kept);
}

Test(kept_costs, are_what_the_text_says)
{
    struct kept_costs kept;
    const struct costs *costs;

    cr_assert_eq(kept_costs_read("{\"disks\":[1," DISK(",\"chunks\":[" CHUNK "]", GOOD) "]}", &kept), 0);
    cr_assert(kept.n == 2 && !kept.disk[0].is_there && kept.disk[1].is_there);
    costs = &kept.disk[1].costs;
    cr_expect(costs->measured == 7 && costs->direct && costs->spread == 4);
    cr_expect(costs->read.call == 1 && costs->read.seek == 2 && costs->read.rate == 3);
    cr_expect(costs->write.call == 4 && costs->write.seek == 5 && costs->write.rate == 6);
    cr_expect(costs->n_chunks == 1 && costs->chunk[0].bytes == 512 && costs->chunk[0].read == 1 &&
              costs->chunk[0].read_apart == 2 && costs->chunk[0].write == 3 && costs->chunk[0].write_apart == 4);
    kept_costs_done(&kept);
}

Test(kept_costs, more_chunks_than_there_is_room_for)
{
    struct kept_costs kept;
    char text[8192] = "{\"disks\":[" DISK("", GOOD);
    size_t len = strlen(text) - 1; /* the disk goes on */

    len += (size_t) sprintf(text + len, ",\"chunks\":[" CHUNK);
    for (int i = 0; i < COSTS_MAX_CHUNKS; i++)
        len += (size_t) sprintf(text + len, "," CHUNK);
    sprintf(text + len, "]}]}");
    cr_assert_eq(kept_costs_read(text, &kept), 0);
    cr_expect(kept.n == 1 && !kept.disk[0].is_there);
    kept_costs_done(&kept);
}

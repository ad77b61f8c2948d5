/* SPDX-License-Identifier: MIT */
/* Files of traces: what is in them is read, what is damaged is refused, what was being written is cut. */
#include "fs/trace/trace_read.h"

#include "test/trace/written.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

/* A trace with one of everything. */
static struct written sample(void)
{
    struct written to = { 0 };

    written_head(&to, sizeof(struct trace_head));
    written_file(&to, 7, "runs/a", "stripe(64K,2)");
    written_process(&to, 3, 1000, "solver");
    written_pattern(&to, 1, "{(0,1,4,8)}");
    written_access(&to,
                   &(struct trace_access){ .process = 3, .file = 7, .offset = 4096, .len = 10, .at = 5, .flags = 1 });
    written_unknown(&to, 40);
    written_access(&to, &(struct trace_access){ .file = 7, .pattern = 1, .len = 16, .how = TRACE_BY_FALLS });
    written_dropped(&to, 11);
    written_open(&to, 7, 2);
    return to;
}

static int load(const struct written *from, size_t len, struct trace *ret_trace, char why[static TRACE_WHY])
{
    FILE *in = fmemopen(drop_const(from->bytes), len, "r");
    int r;

    cr_assert(in != NULL);
    r = trace_load(in, ret_trace, why);
    fclose(in);
    return r;
}

Test(trace_read, reads_what_was_written)
{
    struct written from = sample();
    char why[TRACE_WHY];
    struct trace trace;

    cr_assert_eq(load(&from, from.len, &trace, why), 0, "%s", why);
    cr_expect(trace.n_files == 1 && trace.n_processes == 1 && trace.n_patterns == 1 && trace.n_accesses == 2);
    cr_expect_str_eq(trace.file[0].path, "runs/a");
    cr_expect_str_eq(trace.file[0].layout, "stripe(64K,2)");
    cr_expect_str_eq(trace.process[0].name, "solver");
    cr_expect_eq(trace.process[0].uid, 1000);
    cr_expect_str_eq(trace.pattern[0].text, "{(0,1,4,8)}");
    cr_expect(trace.access[0].offset == 4096 && trace.access[0].len == 10 && trace.access[0].at == 5);
    cr_expect(trace.access[0].file == 0 && trace.access[0].process == 0 && trace.access[0].pattern == TRACE_NOBODY);
    cr_expect(trace.access[1].process == TRACE_NOBODY && trace.access[1].pattern == 0);
    cr_expect(trace.dropped == 11 && trace.open_already == 2 && !trace.cut);
    trace_done(&trace);
    free(from.bytes);
}

Test(trace_read, reads_the_version_before)
{
    struct written from = sample();
    char why[TRACE_WHY];
    struct trace trace;

    from.bytes[8] = 1;
    cr_assert_eq(load(&from, from.len, &trace, why), 0, "%s", why);
    cr_expect(trace.n_accesses == 2 && trace.access[0].sampled == 0 && trace.process[0].ranked == 0);
    trace_done(&trace);
    free(from.bytes);
}

/* A file that ends anywhere has what stands before; only within the head it is no trace. */
Test(trace_read, may_end_anywhere)
{
    struct written from = sample();
    size_t whole = 0;

    for (size_t len = 1; len <= from.len; len++) {
        char why[TRACE_WHY] = "";
        struct trace trace;
        int r = load(&from, len, &trace, why);

        cr_assert_eq(r, len < sizeof(struct trace_head) ? -EBADMSG : 0, "%zu bytes: %s", len, why);
        if (r < 0)
            continue;
        whole += !trace.cut;
        trace_done(&trace);
    }
    cr_expect_eq(whole, from.n_items + 1, "%zu of %zu", whole, from.n_items);
    free(from.bytes);
}

/* -- damage -- */

enum damage {
    OTHER_VERSION,
    SHORT_HEAD,
    LONG_HEAD,
    SHORT_ITEM,
    ODD_ITEM,
    LONG_ITEM,
    SHORT_STRUCT,
    ENDLESS_TEXT,
    LAYOUT_OUTSIDE,
    TWICE,
    NUMBER_0,
    NO_SUCH_FILE,
    PAST_THE_END,
    NO_SUCH_HOW,
    MANY_DROPPED,
};

struct damage_case {
    enum damage damage;
    char why[64];
};

ParameterizedTestParameters(trace_read, damaged)
{
    static struct damage_case rows[] = {
        { OTHER_VERSION, "is a trace of version 3, and this program reads up to" },
        { SHORT_HEAD, "a head of 8 bytes" },
        { LONG_HEAD, "a head of 4294967288 bytes" },
        { SHORT_ITEM, "damaged at byte 64: an item of 0 bytes" },
        { ODD_ITEM, "damaged at byte 64: an item of 81 bytes" },
        { LONG_ITEM, "an item of 4294967288 bytes is too long" },
        { SHORT_STRUCT, "an access takes more bytes" },
        { ENDLESS_TEXT, "a text does not end" },
        { LAYOUT_OUTSIDE, "a text does not end" },
        { TWICE, "file 1 is introduced twice" },
        { NUMBER_0, "has no number" },
        { NO_SUCH_FILE, "an access names file 9, which was not introduced" },
        { PAST_THE_END, "an access reaches past 2^62" },
        { NO_SUCH_HOW, "nobody knows accesses of the kind 77" },
        { MANY_DROPPED, "more accesses are missing than there can be" },
    };

    return cr_make_param_array(struct damage_case, rows, ARRAY_SIZE(rows));
}

static void do_damage(struct written *to, enum damage damage)
{
    struct trace_item *item;

    written_head(to, damage == SHORT_HEAD ? 8 : damage == LONG_HEAD ? UINT32_MAX - 7 : sizeof(struct trace_head));
    if (damage == OTHER_VERSION)
        to->bytes[8] = TRACE_VERSION + 1;
    written_file(to, damage == NUMBER_0 ? 0 : 1, "f", "");
    item = (void *) (to->bytes + sizeof(struct trace_head));
    if (damage == SHORT_ITEM)
        item->len = 0;
    if (damage == ODD_ITEM)
        item->len = 81;
    if (damage == LONG_ITEM)
        item->len = UINT32_MAX - 7;
    if (damage == ENDLESS_TEXT)
        memset(to->bytes + sizeof(struct trace_head) + sizeof(struct trace_file), 'x',
               item->len - sizeof(struct trace_file));
    if (damage == LAYOUT_OUTSIDE)
        ((struct trace_file *) item)->layout_at = UINT32_MAX;
    if (damage == SHORT_STRUCT)
        written_item(to, TRACE_ACCESS, "xxxxxxxx", 8);
    if (damage == TWICE)
        written_file(to, 1, "g", "");
    if (damage == NO_SUCH_FILE)
        written_access(to, &(struct trace_access){ .file = 9, .len = 1 });
    if (damage == PAST_THE_END)
        written_access(to, &(struct trace_access){ .file = 1, .offset = FALLS_LIMIT, .len = 1 });
    if (damage == NO_SUCH_HOW)
        written_access(to, &(struct trace_access){ .file = 1, .len = 1, .how = 77 });
    if (damage == MANY_DROPPED) {
        written_dropped(to, UINT64_MAX);
        written_dropped(to, 1);
    }
}

ParameterizedTest(struct damage_case *row, trace_read, damaged)
{
    struct written from = { 0 };
    char why[TRACE_WHY] = "";
    struct trace trace;

    do_damage(&from, row->damage);
    cr_expect_eq(load(&from, from.len, &trace, why), -EBADMSG, "%s", row->why);
    cr_expect(strstr(why, row->why) != NULL, "%s: %s", row->why, why);
    free(from.bytes);
}

/* SPDX-License-Identifier: MIT */
/* What the programs of the measurements write, all of them together, is the whole file; what they read was written. */
#include "test/bench/workloads.h"

#include <criterion/criterion.h>

#define BYTES (UINT64_C(5) << 20)

/* How often each byte is touched. */
struct touched {
    uint8_t *times;
    uint64_t bytes;
};

static void touch(const struct touched *touched, uint64_t off, uint64_t len)
{
    cr_assert_leq(off + len, touched->bytes);
    for (uint64_t byte = off; byte < off + len; byte++)
        touched->times[byte]++; /* twice at most */
}

static void touch_section(const struct touched *touched, const struct fallsfs_array *array, const struct step *step)
{
    const struct fallsfs_range *range = step->section;
    uint64_t len = (range[3].upper - range[3].lower + 1) * array->elem;

    for (uint64_t t = range[0].lower; t <= range[0].upper; t++)
        for (uint64_t z = range[1].lower; z <= range[1].upper; z++)
            for (uint64_t y = range[2].lower; y <= range[2].upper; y++)
                touch(touched,
                      (((t * array->size[1] + z) * array->size[2] + y) * array->size[3] + range[3].lower) * array->elem,
                      len);
}

static uint64_t touch_all(const struct program *program, bool writes, const struct touched *touched)
{
    uint64_t bytes = 0;

    for (uint32_t rank = 0; rank < program->n_procs; rank++)
        for (uint64_t i = 0; i < program_count(program, rank, writes); i++) {
            struct step step = program_step(program, rank, writes, i);

            if (step.is_section)
                touch_section(touched, &program->array, &step);
            else
                touch(touched, step.off, step.len);
            bytes += step.len;
        }
    return bytes;
}

static void check_program(const struct program *program, const char *name)
{
    struct touched touched = { calloc(program->bytes, 1), program->bytes };
    uint64_t written, read, sum = 0;

    cr_assert_not_null(touched.times);
    written = touch_all(program, true, &touched);
    for (uint64_t byte = 0; byte < program->bytes; byte++) {
        cr_assert_gt(touched.times[byte], 0, "%s by %" PRIu32 ": nobody writes byte %" PRIu64, name, program->n_procs,
                     byte);
        sum += touched.times[byte];
    }
    cr_expect_eq(sum, written, "%s: the lengths of sections", name);
    read = touch_all(program, false, &touched);
    cr_expect_gt(read, 0, "%s", name);
    cr_expect(strcmp(name, "database") == 0 || read == written, "%s", name);
    free(touched.times);
}

Test(workloads, write_all_and_read_what_was_written)
{
    static const uint32_t procs[] = { 1, 4, 25 };

    for (size_t k = 0; workload_at(k) != NULL; k++)
        for (size_t i = 0; i < ARRAY_SIZE(procs); i++) {
            struct program program;

            cr_assert_eq(program_init(&program, workload_at(k), procs[i], MAX(BYTES, procs[i] << 20), 1), 0,
                         "%s by %" PRIu32, workload_at(k)->name, procs[i]);
            check_program(&program, workload_at(k)->name);
            program_done(&program);
        }
}

Test(workloads, paper_has_these_lengths)
{
    struct program program;
    struct step step;

    cr_assert_eq(program_init(&program, workload_find("bt"), 25, BYTES, 1), 0);
    step = program_step(&program, 0, true, 0);
    cr_expect_eq((step.section[3].upper - step.section[3].lower + 1) * program.array.elem, 800);
    program_done(&program);
    cr_assert_eq(program_init(&program, workload_find("bt"), 16, BYTES, 1), 0);
    step = program_step(&program, 1, true, 0);
    cr_expect_eq((step.section[3].upper - step.section[3].lower + 1) * program.array.elem, 1040);
    program_done(&program);
    cr_assert_eq(program_init(&program, workload_find("tiles"), 4, BYTES, 1), 0);
    cr_expect_eq(program_step(&program, 1, true, 0).off, 30 << 10);
    cr_expect_eq(program_step(&program, 0, true, 0).len, 32 << 10);
    program_done(&program);
}

Test(workloads, elements_are_those_of_the_layout)
{
    static const char text[] = "array(shape=64x64, elem=16, dist=(*,block), grid=1x4)";
    struct program program;

    cr_assert_eq(program_init_elements(&program, text, 4, UINT64_C(64) * 64 * 16), 0);
    cr_expect_eq(program_count(&program, 1, true), 64);
    cr_expect_eq(program_step(&program, 1, true, 2).off, 2 * 64 * 16 + 256);
    cr_expect_eq(program_step(&program, 1, true, 2).len, 256);
    check_program(&program, "elements");
    program_done(&program);
}

Test(workloads, what_makes_no_sense_is_refused)
{
    struct program program;

    cr_expect_null(workload_find("nothing"));
    cr_expect_eq(program_init(&program, workload_find("bt"), 5, BYTES, 1), -EINVAL);
    cr_expect_eq(program_init(&program, workload_find("perf"), 4, 1, 1), -EINVAL);
    cr_expect_eq(program_init(&program, workload_find("perf"), 0, BYTES, 1), -EINVAL);
    cr_expect_eq(program_init_elements(&program, "stripe(64K,3)", 4, BYTES), -EINVAL);
    cr_expect_lt(program_init_elements(&program, "stripe(", 4, BYTES), 0);
}

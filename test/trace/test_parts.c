/* SPDX-License-Identifier: MIT */
/* Parts of traces that ranks have written, put together: every access is there, of its process and its file, and at its
 * time. */
#include "fs/trace/trace_parts.h"
#include "ioctl/trace/trace_write.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <unistd.h>

#define MAX_RANKS 6
#define BEGAN     UINT64_C(1000000000000)

static char directory[] = "/tmp/test_parts.XXXXXX";

static void make_directory(void)
{
    cr_assert(mkdtemp(directory) != NULL);
}

static void name_part(uint32_t rank, char path[64])
{
    snprintf(path, 64, "%s/rank.%" PRIu32, directory, rank);
}

static void remove_directory(void)
{
    char path[64];

    for (uint32_t rank = 0; rank < MAX_RANKS; rank++) {
        name_part(rank, path);
        (void) unlink(path);
    }
    (void) rmdir(directory);
}

static FILE *begin_part(uint32_t rank, const struct trace_head *head)
{
    const struct trace_process process = { .number = 1, .tgid = 100 + rank, .ranked = rank + 1 };
    char path[64];
    FILE *out;

    name_part(rank, path);
    out = fopen(path, "w");
    cr_assert(out != NULL);
    trace_write_head(out, head);
    trace_write_process(out, &process, "solver");
    return out;
}

/* -- random parts -- */

/* Who, and what of it: all that is to be found again. */
struct done {
    uint32_t rank, path, pattern; /* pattern 0: none */
    uint64_t when, offset;        /* when: since 1970 */
};

static int by_done(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct done));
}

/* A file has one of these paths, opened often: then it is introduced often. Pattern n of a rank is "{(n,n,1,1)}". */
static const char *const paths[] = { "/d/a", "/d/b", "/d/a/b" };

static void write_part(struct rng *rng, uint32_t rank, uint32_t n_ranks, struct done done[], size_t *n)
{
    const struct trace_head head = { .began = BEGAN + rng_below(rng, 1000),
                                     .flags = TRACE_EVERY | TRACE_BY_MPI,
                                     .n_ranks = n_ranks };
    FILE *out = begin_part(rank, &head);
    uint32_t path[8], n_files = 0, n_patterns = 0;

    for (size_t left = rng_below(rng, 20); left > 0; left--) {
        struct done *one = &done[*n];
        uint32_t file;

        if (n_files == 0 || (n_files < ARRAY_SIZE(path) && rng_below(rng, 4) == 0)) {
            path[n_files++] = (uint32_t) rng_below(rng, ARRAY_SIZE(paths));
            trace_write_file(out, &(struct trace_file){ .number = n_files, .inode = 7 }, paths[path[n_files - 1]], "");
        }
        if (rng_below(rng, 4) == 0) {
            char text[64];

            n_patterns++;
            snprintf(text, sizeof text, "{(%" PRIu32 ",%" PRIu32 ",1,1)}", rank * 100 + n_patterns,
                     rank * 100 + n_patterns);
            trace_write_pattern(out, n_patterns, text);
        }
        file = (uint32_t) rng_below(rng, n_files);
        memset(one, 0, sizeof *one);
        one->rank = rank;
        one->path = path[file];
        one->pattern = (uint32_t) rng_below(rng, n_patterns + 1);
        one->when = head.began + rng_below(rng, 1000);
        one->offset = rng_below(rng, 1000);
        trace_write_access(out, &(struct trace_access){ .process = 1,
                                                        .file = file + 1,
                                                        .pattern = one->pattern,
                                                        .offset = one->offset,
                                                        .len = 1,
                                                        .at = one->when - head.began });
        if (one->pattern > 0)
            one->pattern += rank * 100;
        (*n)++;
    }
    trace_write_dropped(out, rank);
    cr_assert_eq(fclose(out), 0);
}

static uint32_t number_of_path(const char *path)
{
    uint32_t i = 0;

    while (strcmp(paths[i], path) != 0)
        i++;
    return i;
}

static void compare(const struct trace *trace, struct done want[], size_t n, uint64_t seed)
{
    struct done *got = calloc(n + 1, sizeof *got);

    cr_assert_eq(trace->n_accesses, n, RNG_SEED ": %zu accesses, not %zu", seed, trace->n_accesses, n);
    for (size_t i = 0; i < n; i++) {
        const struct traced_access *access = &trace->access[i];

        got[i].rank = trace->process[access->process].ranked - 1;
        cr_assert_eq(trace->process[access->process].tgid, got[i].rank + 100);
        got[i].path = number_of_path(trace->file[access->file].path);
        if (access->pattern != TRACE_NOBODY)
            sscanf(trace->pattern[access->pattern].text, "{(%" SCNu32, &got[i].pattern);
        got[i].when = trace->began + access->at;
        got[i].offset = access->offset;
    }
    qsort(want, n, sizeof *want, by_done);
    qsort(got, n, sizeof *got, by_done);
    for (size_t i = 0; i < n; i++)
        cr_assert(memcmp(&got[i], &want[i], sizeof *got) == 0, RNG_SEED ": access %zu of rank %" PRIu32, seed, i,
                  want[i].rank);
    free(got);
}

Test(parts, have_all_that_ranks_have, .init = make_directory, .fini = remove_directory)
{
    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        uint32_t n_ranks = 1 + (uint32_t) rng_below(&rng, MAX_RANKS), dropped = 0, seen = 0;
        struct done done[MAX_RANKS * 20];
        char why[TRACE_WHY] = "", path[64];
        struct trace trace;
        size_t n = 0;

        for (uint32_t rank = 0; rank < MAX_RANKS; rank++) {
            name_part(rank, path);
            (void) unlink(path);
            if (rank >= n_ranks || (rank != 0 && rng_below(&rng, 5) == 0))
                continue;
            write_part(&rng, rank, n_ranks, done, &n);
            dropped += rank;
            seen++;
        }
        cr_assert_eq(trace_load_parts(directory, &trace, why), 0, RNG_SEED ": %s", rng.seed, why);
        cr_expect(trace.n_ranks == n_ranks && trace.n_processes == seen && trace.dropped == dropped && !trace.cut,
                  RNG_SEED, rng.seed);
        cr_expect_leq(trace.n_files, ARRAY_SIZE(paths), RNG_SEED ": a file is one", rng.seed);
        compare(&trace, done, n, rng.seed);
        trace_done(&trace);
    }
}

/* -- what is no whole -- */

struct part_case {
    char why[80];
    struct trace_head head[2]; /* of rank 0 and 1; without flags: there is none */
    int r;
};

ParameterizedTestParameters(parts, refuses)
{
    static struct part_case rows[] = {
        { "is a directory without a part of a trace", { { .flags = 0 } }, -ENOENT },
        { "parts of programs with 2 and with 3 ranks",
          { { .flags = TRACE_BY_MPI, .n_ranks = 2 }, { .flags = TRACE_BY_MPI, .n_ranks = 3 } },
          -EBADMSG },
        { "has rank.1, which no rank of an MPI program has written",
          { { .flags = TRACE_BY_MPI, .n_ranks = 2 }, { .flags = TRACE_EVERY } },
          -EBADMSG },
    };

    return cr_make_param_array(struct part_case, rows, ARRAY_SIZE(rows));
}

ParameterizedTest(struct part_case *row, parts, refuses, .init = make_directory, .fini = remove_directory)
{
    char why[TRACE_WHY] = "";
    struct trace trace;

    for (uint32_t rank = 0; rank < ARRAY_SIZE(row->head); rank++)
        if (row->head[rank].flags != 0)
            fclose(begin_part(rank, &row->head[rank]));
    cr_expect_eq(trace_load_parts(directory, &trace, why), row->r);
    cr_expect(strstr(why, row->why) != NULL, "says %s, not %s", why, row->why);
}

Test(parts, says_which_one_is_damaged, .init = make_directory, .fini = remove_directory)
{
    const struct trace_head head = { .flags = TRACE_BY_MPI, .n_ranks = 2 };
    char why[TRACE_WHY] = "";
    struct trace trace;
    FILE *out = begin_part(1, &head);

    fclose(begin_part(0, &head));
    trace_write_access(out, &(struct trace_access){ .file = 3 });
    fclose(out);
    cr_expect_eq(trace_load_parts(directory, &trace, why), -EBADMSG);
    cr_expect_str_eq(why, "has rank.1: an access names file 3, which was not introduced");
}

/* SPDX-License-Identifier: MIT */
/* fallsctl layout VERB: layouts without a mount; those of a mount are elsewhere. */
#include "fs/ctl/answer.h"
#include "fs/ctl/picture.h"
#include "layout/map.h"
#include "layout/match.h"

#include <string.h>
#include <unistd.h>

#define MAX_DISKS FALLS_MAX_NODES

/* The command line, options taken out. */
struct args {
    char **word; /* behind the verb */
    int n;
    bool as_json, help;
    const char *svg;
    uint32_t n_disks;
};

struct verb {
    const char *name;
    int min_words, max_words; /* max -1: any number */
    enum ctl_status (*run)(const struct args *args);
    const char *usage, *help;
};

static enum ctl_status usage_error(const char *verb, const char *why, const char *word)
{
    fprintf(stderr, "fallsctl layout %s: %s%s%s (see 'fallsctl layout %s --help')\n", verb, why,
            word != NULL ? ": " : "", word != NULL ? word : "", verb);
    return CTL_USAGE;
}

/* -- words into layouts and numbers -- */

static int read_layout(const struct args *args, const char *which, const char *text, struct layout **ret_layout)
{
    struct layout_error error;
    int r = layout_parse(text, strlen(text), args->n_disks, ret_layout, &error);

    if (r < 0)
        report_layout(args->as_json, which, text, &error);
    return r;
}

/* A layout whose elements are known. */
static int read_pattern(const struct args *args, const char *which, const char *text, struct layout **ret_layout)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    int r = read_layout(args, which, text, &layout);

    if (r < 0)
        return r;
    if (layout->pattern == NULL) {
        report(args->as_json,
               "%sthis layout has as many elements as the volume has disks: name a number, as in stripe(64K,4), or "
               "the disks, as in 'on d0-d3', or give --disks N",
               which);
        return -EINVAL;
    }
    *ret_layout = steal(layout);
    return 0;
}

/* True for what the notation takes as SIZE, however large; too large is then UINT64_MAX, which lies past everything. */
static bool read_size(const char *word, uint64_t *ret_size)
{
    int r = layout_parse_size(word, ret_size);

    if (r == -EOVERFLOW)
        *ret_size = UINT64_MAX;
    return r == 0 || r == -EOVERFLOW;
}

static bool read_element(const char *word, uint32_t *ret_element)
{
    uint64_t number;

    if (strcmp(word, "h") == 0) {
        *ret_element = ELEMENT_HEADER;
        return true;
    }
    if (!read_size(word, &number) || number >= ELEMENT_HEADER)
        return false;
    *ret_element = (uint32_t) number;
    return true;
}

/* What a print function writes, as a string. */
static void json_printed(struct json *json, const char *key, void (*print)(FILE *, const void *), const void *what)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out != NULL) {
        print(out, what);
        fclose(out);
    }
    json_string(json, key, text != NULL ? text : "");
    free(text);
}

static void print_layout(FILE *out, const void *layout)
{
    layout_print(out, layout);
}

static void print_nest(FILE *out, const void *nest)
{
    nest_print(out, nest);
}

/* -- check -- */

static enum ctl_status verb_check(const struct args *args)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct json json;

    if (read_layout(args, "", args->word[0], &layout) < 0)
        return CTL_ERROR;
    if (!args->as_json) {
        layout_print(stdout, layout);
        putchar('\n');
        return CTL_OK;
    }
    json_begin(&json, stdout);
    json_printed(&json, "canonical", print_layout, layout);
    json_u64(&json, "disp", layout->disp);
    if (layout->pattern != NULL) {
        json_u64(&json, "period", layout->pattern->size);
        json_u64(&json, "elements", layout->pattern->n_elements);
        json_u64(&json, "falls", layout->pattern->n_nodes);
    }
    json_end(&json);
    return CTL_OK;
}

/* -- map, unmap, runs -- */

static enum ctl_status verb_map(const struct args *args)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct answers answers;
    uint64_t off;

    for (int i = 1; i < args->n; i++)
        if (!read_size(args->word[i], &off))
            return usage_error("map", "not an offset", args->word[i]);
    if (read_pattern(args, "", args->word[0], &layout) < 0)
        return CTL_ERROR;
    answers_begin(&answers, args->as_json, "map");
    for (int i = 1; i < args->n; i++) {
        struct place place;
        struct row row;

        (void) read_size(args->word[i], &off);
        if (pattern_map(layout->pattern, off, &place) < 0) {
            answers_failure(&answers, "offset %s lies past 2^62, the last byte a layout can reach", args->word[i]);
            continue;
        }
        row = (struct row){ .element = place.element, .file_off = off, .sub_off = place.sub_off };
        answers_row(&answers, &row, "oes");
    }
    return answers_end(&answers);
}

/* Which elements a layout has, for messages about one that it has not. */
static const char *range_of(const struct layout *layout, char range[static 48])
{
    snprintf(range, 48, "0 to %" PRIu32 ", and h, the header", layout->pattern->n_elements - 1);
    return range;
}

static void add_unmap_failure(struct answers *answers, int r, const struct layout *layout, const char *element,
                              const char *sub_off)
{
    char range[48];

    if (r == -ENOENT)
        answers_failure(answers, "there is no element %s: this layout has elements %s", element,
                        range_of(layout, range));
    else if (r == -ERANGE)
        answers_failure(answers, "element %s has no byte %s: it ends before", element, sub_off);
    else
        answers_failure(answers, "byte %s of element %s lies past file byte 2^62, the last a layout can reach", sub_off,
                        element);
}

static enum ctl_status verb_unmap(const struct args *args)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct answers answers;
    uint32_t element;
    uint64_t sub_off;

    if (!read_element(args->word[1], &element))
        return usage_error("unmap", "not an element (a number from 0, or h)", args->word[1]);
    for (int i = 2; i < args->n; i++)
        if (!read_size(args->word[i], &sub_off))
            return usage_error("unmap", "not an offset", args->word[i]);
    if (read_pattern(args, "", args->word[0], &layout) < 0)
        return CTL_ERROR;
    answers_begin(&answers, args->as_json, "unmap");
    for (int i = 2; i < args->n; i++) {
        struct row row = { .element = element };
        int r;

        (void) read_size(args->word[i], &row.sub_off);
        r = pattern_unmap(layout->pattern, element, row.sub_off, &row.file_off);
        if (r < 0) {
            add_unmap_failure(&answers, r, layout, args->word[1], args->word[i]);
            continue;
        }
        answers_row(&answers, &row, "eso");
    }
    return answers_end(&answers);
}

static enum ctl_status verb_runs(const struct args *args)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct answers answers;
    struct runs runs;
    struct run run;
    uint64_t off, len;

    for (int i = 1; i < 3; i++)
        if (!read_size(args->word[i], i == 1 ? &off : &len))
            return usage_error("runs", i == 1 ? "not an offset" : "not a length", args->word[i]);
    if (read_pattern(args, "", args->word[0], &layout) < 0)
        return CTL_ERROR;
    if (runs_init(&runs, layout->pattern, off, len) < 0)
        return report(args->as_json, "the range reaches past 2^62, the last byte a layout can reach");
    answers_begin(&answers, args->as_json, "runs");
    while (!ferror(stdout) && runs_next(&runs, &run)) {
        struct row row = { .element = run.element, .file_off = run.file_off, .sub_off = run.sub_off, .len = run.len };

        answers_row(&answers, &row, "oesl");
    }
    return answers_end(&answers);
}

/* -- intersect, match -- */

static enum ctl_status report_overlap(const struct args *args, int r)
{
    if (r == -EOVERFLOW)
        return report(args->as_json,
                      "the common period of the two layouts reaches past 2^62 bytes: choose sizes with a smaller "
                      "common multiple");
    if (r == -E2BIG)
        return report(args->as_json,
                      "the two layouts meet in too many different ways: choose sizes with a smaller common multiple");
    return report(args->as_json, "%s", strerror(-r));
}

static void print_overlap(const struct args *args, const struct overlap *overlap)
{
    struct json json;

    if (!args->as_json) {
        fputs("common ", stdout);
        nest_print(stdout, overlap->common);
        printf(" disp %" PRIu64 " period %" PRIu64 " size %" PRIu64 "\non-a ", overlap->lo, overlap->period,
               overlap->size);
        nest_print(stdout, overlap->on_a);
        printf(" period %" PRIu64 "\non-b ", overlap->size_a);
        nest_print(stdout, overlap->on_b);
        printf(" period %" PRIu64 "\n", overlap->size_b);
        return;
    }
    json_begin(&json, stdout);
    json_printed(&json, "common", print_nest, overlap->common);
    json_u64(&json, "disp", overlap->lo);
    json_u64(&json, "period", overlap->period);
    json_u64(&json, "size", overlap->size);
    json_u64(&json, "runs", overlap->runs);
    json_printed(&json, "on_a", print_nest, overlap->on_a);
    json_u64(&json, "period_a", overlap->size_a);
    json_printed(&json, "on_b", print_nest, overlap->on_b);
    json_u64(&json, "period_b", overlap->size_b);
    json_end(&json);
}

static enum ctl_status verb_intersect(const struct args *args)
{
    cleanup(layout_freep) struct layout *a = NULL, *b = NULL;
    cleanup(overlap_done) struct overlap overlap = { 0 };
    char range[48];
    uint32_t i, j;
    int r;

    if (!read_element(args->word[1], &i) || !read_element(args->word[3], &j))
        return usage_error("intersect", "not an element (a number from 0, or h)",
                           read_element(args->word[1], &i) ? args->word[3] : args->word[1]);
    if (read_pattern(args, "A: ", args->word[0], &a) < 0 || read_pattern(args, "B: ", args->word[2], &b) < 0)
        return CTL_ERROR;
    if (pattern_element(a->pattern, i) == NULL)
        return report(args->as_json, "A has no element %" PRIu32 ": it has elements %s", i, range_of(a, range));
    if (pattern_element(b->pattern, j) == NULL)
        return report(args->as_json, "B has no element %" PRIu32 ": it has elements %s", j, range_of(b, range));
    r = overlap_of_elements(a->pattern, i, b->pattern, j, &overlap);
    if (r < 0)
        return report_overlap(args, r);
    print_overlap(args, &overlap);
    return CTL_OK;
}

static void print_match(const struct match *match)
{
    printf("degree %.2f: %" PRIu64 " run%s in a common period of %" PRIu64 " bytes, %" PRIu64 " at best\n",
           match_degree(match), match->runs, match->runs == 1 ? "" : "s", match->period, match->least);
    for (uint32_t j = 0; j < match->n_rows; j++) {
        const struct match_row *row = &match->row[j];

        if (row->runs > 1)
            printf("element %" PRIu32 " of B: %" PRIu64 " runs of %" PRIu64 " bytes on average, in %" PRIu32
                   " element%s of A, where one run of %" PRIu64 " would do\n",
                   j, row->runs, row->bytes / row->runs, row->touched, row->touched == 1 ? "" : "s", row->bytes);
    }
}

static void print_match_json(const struct match *match)
{
    struct json json;

    json_begin(&json, stdout);
    json_real(&json, "degree", match_degree(match));
    json_u64(&json, "runs", match->runs);
    json_u64(&json, "least", match->least);
    json_u64(&json, "period", match->period);
    json_open(&json, "elements", '[');
    for (uint32_t j = 0; j < match->n_rows; j++) {
        json_open(&json, NULL, '{');
        json_u64(&json, "element", j);
        json_u64(&json, "bytes", match->row[j].bytes);
        json_u64(&json, "runs", match->row[j].runs);
        json_u64(&json, "touched", match->row[j].touched);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
}

static enum ctl_status verb_match(const struct args *args)
{
    cleanup(layout_freep) struct layout *a = NULL, *b = NULL;
    cleanup(match_freep) struct match *match = NULL;
    int r;

    if (read_pattern(args, "A: ", args->word[0], &a) < 0 || read_pattern(args, "B: ", args->word[1], &b) < 0)
        return CTL_ERROR;
    r = match_new(a->pattern, b->pattern, &match);
    if (r < 0)
        return report_overlap(args, r);
    if (args->as_json)
        print_match_json(match);
    else
        print_match(match);
    return CTL_OK;
}

/* -- show -- */

static void print_show_json(const struct layout *layout, const struct picture *picture)
{
    const struct pattern *pattern = layout->pattern;
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "layout", layout->text);
    json_printed(&json, "canonical", print_layout, layout);
    json_u64(&json, "disp", pattern->disp);
    json_u64(&json, "period", pattern->size);
    json_string(&json, "cell", picture->scale);
    json_string(&json, "shown", picture->part);
    json_open(&json, "rows", '[');
    for (uint32_t row = 0; row < picture->rows; row++) {
        json_open(&json, NULL, '{');
        json_u64(&json, "offset", picture->row_off[row]);
        json_open(&json, "owners", '[');
        for (uint32_t col = 0; col < picture->cols; col++)
            if (picture->owner[row * picture->cols + col] != OWNER_NONE)
                json_u64(&json, NULL, picture->owner[row * picture->cols + col]);
        json_close(&json, ']');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_open(&json, "elements", '[');
    for (uint32_t i = 0; i < pattern->n_elements; i++) {
        json_open(&json, NULL, '{');
        json_u64(&json, "element", i);
        json_u64(&json, "bytes", pattern->element[i].once->size);
        json_printed(&json, "falls", print_nest, pattern->element[i].once);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
}

static enum ctl_status write_svg(const char *path, const struct picture *picture, const struct layout *layout)
{
    FILE *out = fopen(path, "we");
    bool failed = out == NULL;

    if (out != NULL) {
        picture_svg(out, picture, layout);
        failed = ferror(out) != 0;
        if (fclose(out) != 0)
            failed = true;
    }
    if (failed)
        fprintf(stderr, "cannot write the picture to %s: %s\n", path, strerror(errno));
    return failed ? CTL_ERROR : CTL_OK;
}

static enum ctl_status verb_show(const struct args *args)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    cleanup(picture_done) struct picture picture = { 0 };

    if (read_pattern(args, "", args->word[0], &layout) < 0)
        return CTL_ERROR;
    if (picture_init(&picture, layout) < 0)
        return report(args->as_json, "%s", strerror(ENOMEM));
    if (args->as_json)
        print_show_json(layout, &picture);
    else
        picture_print(stdout, &picture, layout, isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL);
    return args->svg != NULL ? write_svg(args->svg, &picture, layout) : CTL_OK;
}

/* -- the verbs -- */

static const struct verb verbs[] = {
    { "check", 1, 1, verb_check, "check 'L'",
      "Prints the canonical form of a layout, in FALLS. A bad layout: exit 1 and \"column N: why\" on standard error.\n\n"
      "examples:\n"
      "  fallsctl layout check 'stripe(1M,4)'\n"
      "  fallsctl layout check 'array(shape=8192x8192, elem=8, dist=(block,block), grid=2x2) disp 128'\n"
      "  fallsctl layout check '{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2 on d0-d2'\n" },
    { "map", 2, -1, verb_map, "map 'L' OFFSET...",
      "For each byte of the file a line OFFSET ELEMENT SUBOFFSET: which subfile has it, and where.\n"
      "ELEMENT is a number from 0, or h for the header, the bytes before the displacement.\n\n"
      "examples:\n"
      "  fallsctl layout map 'stripe(64K,4)' 0 65536 1M\n"
      "  fallsctl layout map '{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2' 10\n"
      "  fallsctl layout map --disks 3 'stripe(1M) disp 4K' 0 10G\n" },
    { "unmap", 3, -1, verb_unmap, "unmap 'L' ELEMENT SUBOFFSET...",
      "For each byte of a subfile a line ELEMENT SUBOFFSET OFFSET: which byte of the file it is.\n\n"
      "examples:\n"
      "  fallsctl layout unmap 'stripe(64K,4)' 2 0 65536\n"
      "  fallsctl layout unmap 'array(shape=8x8, dist=(block,block), grid=2x2)' 3 0\n"
      "  fallsctl layout unmap 'one disp 512' h 511\n" },
    { "runs", 3, 3, verb_runs, "runs 'L' OFFSET LENGTH",
      "A line OFFSET ELEMENT SUBOFFSET LENGTH for each run of a byte range: a piece that is contiguous in the file and in\n"
      "one subfile, as long as it can be; in file order.\n\n"
      "examples:\n"
      "  fallsctl layout runs 'stripe(64K,4)' 0 1M\n"
      "  fallsctl layout runs 'array(shape=8x8, dist=(*,cyclic), grid=1x2)' 0 16\n"
      "  fallsctl layout runs 'var(1M,2M) disp 4K' 4000 2M\n" },
    { "intersect", 4, 4, verb_intersect, "intersect 'A' I 'B' J",
      "What element I of A and element J of B have in common, over one common period from the later displacement on, and\n"
      "where that lies among the bytes of either element.\n\n"
      "examples:\n"
      "  fallsctl layout intersect 'stripe(4,2)' 0 'stripe(6,2)' 0\n"
      "  fallsctl layout intersect 'array(shape=8x8, dist=(block,*), grid=4x1)' 0 'array(shape=8x8, dist=(*,block), grid=1x4)' 0\n"
      "  fallsctl layout intersect 'stripe(1M,4) disp 128' 1 'stripe(64K,4)' 3\n" },
    { "match", 2, 2, verb_match, "match 'A' 'B'",
      "How well a file stored as A serves programs that ask for the elements of B: the runs they need over the least\n"
      "possible. 1 is a perfect match; then a line for each element of B that is broken up.\n\n"
      "examples:\n"
      "  fallsctl layout match 'stripe(64K,4)' 'stripe(64K,4)'\n"
      "  fallsctl layout match 'array(shape=8x8, dist=(*,block), grid=1x4)' 'array(shape=8x8, dist=(block,*), grid=4x1)'\n"
      "  fallsctl layout match 'stripe(1M,4)' 'array(shape=1024x1024, elem=8, dist=(block,block), grid=2x2)'\n" },
    { "show", 1, 1, verb_show, "show 'L' [--svg FILE]",
      "Draws a layout, a letter per element over one period, with the FALLS of each; --svg writes the same as a picture.\n\n"
      "examples:\n"
      "  fallsctl layout show 'stripe(64K,4)'\n"
      "  fallsctl layout show 'array(shape=8x8, dist=(block,cyclic(2)), grid=2x2)' --svg layout.svg\n"
      "  fallsctl layout show '{(0,7,16,2,{(0,1,4,2)});(2,7,16,2,{(0,1,4,2)});(8,15,16,2)}'\n" },
};

/* Those that ask a mount. */
static const struct {
    const char *name;
    enum ctl_status (*run)(int argc, char **argv);
    const char *usage;
} mount_verbs[] = {
    { "set", ctl_layout_set, "set LAYOUT-OPTIONS PATH..." },
    { "get", ctl_layout_get, "get PATH..." },
    { "unset", ctl_layout_unset, "unset DIRECTORY..." },
};

static const char options_help[] = "\noptions: --json      machine-readable output\n"
                                   "         --disks N   how many disks a layout such as stripe(1M) is spread over\n";

static void print_verbs(FILE *out)
{
    fputs("usage:\n", out);
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        fprintf(out, "  fallsctl layout %s [--json]\n", verbs[i].usage);
    fputs("of files and directories in a mount:\n", out);
    for (size_t i = 0; i < ARRAY_SIZE(mount_verbs); i++)
        fprintf(out, "  fallsctl layout %s [--json]\n", mount_verbs[i].usage);
    fputs("\n'fallsctl layout VERB --help' explains a verb, with examples.\n", out);
}

/* Takes the options out of the words; false after saying what is wrong. */
static bool take_options(const char *verb, int argc, char **argv, struct args *args)
{
    bool only_words = false;

    for (int i = 0; i < argc; i++) {
        uint64_t number;

        if (only_words || strncmp(argv[i], "-", 1) != 0) {
            args->word[args->n++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            args->as_json = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            args->help = true;
        } else if (strcmp(argv[i], "--svg") == 0 && strcmp(verb, "show") == 0 && i + 1 < argc) {
            args->svg = argv[++i];
        } else if (strcmp(argv[i], "--disks") == 0 && i + 1 < argc) {
            if (!read_size(argv[++i], &number) || number == 0 || number > MAX_DISKS) {
                usage_error(verb, "not a number of disks from 1 to 4096", argv[i]);
                return false;
            }
            args->n_disks = (uint32_t) number;
        } else {
            usage_error(verb, "unknown option, or its value is missing", argv[i]);
            return false;
        }
    }
    return true;
}

static enum ctl_status run_verb(const struct verb *verb, int argc, char **argv)
{
    struct args args = { .word = argv };

    if (!take_options(verb->name, argc, argv, &args))
        return CTL_USAGE;
    if (args.help) {
        printf("usage: fallsctl layout %s [--json]\n\n%s%s", verb->usage, verb->help, options_help);
        return CTL_OK;
    }
    if (args.n < verb->min_words)
        return usage_error(verb->name, "too few words, expected", verb->usage);
    if (verb->max_words >= 0 && args.n > verb->max_words)
        return usage_error(verb->name, "too many words, expected", verb->usage);
    return verb->run(&args);
}

enum ctl_status ctl_layout(int argc, char **argv)
{
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        print_verbs(stdout);
        return CTL_OK;
    }
    for (size_t i = 0; argc > 0 && i < ARRAY_SIZE(verbs); i++)
        if (strcmp(argv[0], verbs[i].name) == 0)
            return run_verb(&verbs[i], argc - 1, argv + 1);
    for (size_t i = 0; argc > 0 && i < ARRAY_SIZE(mount_verbs); i++)
        if (strcmp(argv[0], mount_verbs[i].name) == 0)
            return mount_verbs[i].run(argc - 1, argv + 1);
    if (argc > 0)
        fprintf(stderr, "fallsctl layout: unknown verb '%s'\n", argv[0]);
    print_verbs(stderr);
    return CTL_USAGE;
}

/* SPDX-License-Identifier: MIT */
/* The table of fallsctl layout VERB: for layouts alone, whose words are read here, and for those of files in a
 * mount. */
#include "fs/ctl/verbs/layout_words.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

#include <stdio.h>
#include <string.h>

#define MAX_DISKS FALLS_MAX_NODES

struct verb {
    const char *name;
    int min_words, max_words; /* max -1: any number */
    enum ctl_status (*run)(const struct layout_words *words);
    const char *usage, *help;
};

static const struct verb verbs[] = {
    { "check", 1, 1, ctl_layout_check, "check 'L'",
      "Prints the canonical form of a layout, in FALLS, and as a comment what the loss of a disk means. A bad layout:\n"
      "exit 1 and \"column N: why\" on standard error.\n\n"
      "examples:\n"
      "  fallsctl layout check 'stripe(1M,4)'\n"
      "  fallsctl layout check 'stripe(1M,4) on d0-d3 copies 2'\n"
      "  fallsctl layout check 'array(shape=8192x8192, elem=8, dist=(block,block), grid=2x2) disp 128'\n"
      "  fallsctl layout check '{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2 on d0-d2'\n" },
    { "map", 2, -1, ctl_layout_map, "map 'L' OFFSET...",
      "For each byte of the file a line OFFSET ELEMENT SUBOFFSET: which subfile has it, and where.\n"
      "ELEMENT is a number from 0, or h for the header, the bytes before the displacement.\n\n"
      "examples:\n"
      "  fallsctl layout map 'stripe(64K,4)' 0 65536 1M\n"
      "  fallsctl layout map '{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2' 10\n"
      "  fallsctl layout map --disks 3 'stripe(1M) disp 4K' 0 10G\n" },
    { "unmap", 3, -1, ctl_layout_unmap, "unmap 'L' ELEMENT SUBOFFSET...",
      "For each byte of a subfile a line ELEMENT SUBOFFSET OFFSET: which byte of the file it is.\n\n"
      "examples:\n"
      "  fallsctl layout unmap 'stripe(64K,4)' 2 0 65536\n"
      "  fallsctl layout unmap 'array(shape=8x8, dist=(block,block), grid=2x2)' 3 0\n"
      "  fallsctl layout unmap 'one disp 512' h 511\n" },
    { "runs", 3, 3, ctl_layout_runs, "runs 'L' OFFSET LENGTH",
      "A line OFFSET ELEMENT SUBOFFSET LENGTH for each run of a byte range: a piece that is contiguous in the file and in\n"
      "one subfile, as long as it can be; in file order.\n\n"
      "examples:\n"
      "  fallsctl layout runs 'stripe(64K,4)' 0 1M\n"
      "  fallsctl layout runs 'array(shape=8x8, dist=(*,cyclic), grid=1x2)' 0 16\n"
      "  fallsctl layout runs 'var(1M,2M) disp 4K' 4000 2M\n" },
    { "intersect", 4, 4, ctl_layout_intersect, "intersect 'A' I 'B' J",
      "What element I of A and element J of B have in common, over one common period from the later displacement on, and\n"
      "where that lies among the bytes of either element.\n\n"
      "examples:\n"
      "  fallsctl layout intersect 'stripe(4,2)' 0 'stripe(6,2)' 0\n"
      "  fallsctl layout intersect 'array(shape=8x8, dist=(block,*), grid=4x1)' 0 'array(shape=8x8, dist=(*,block), grid=1x4)' 0\n"
      "  fallsctl layout intersect 'stripe(1M,4) disp 128' 1 'stripe(64K,4)' 3\n" },
    { "match", 2, 2, ctl_layout_match, "match 'A' 'B'",
      "How well a file stored as A serves programs that ask for the elements of B: the runs they need over the least\n"
      "possible. 1 is a perfect match; then a line for each element of B that is broken up.\n\n"
      "examples:\n"
      "  fallsctl layout match 'stripe(64K,4)' 'stripe(64K,4)'\n"
      "  fallsctl layout match 'array(shape=8x8, dist=(*,block), grid=1x4)' 'array(shape=8x8, dist=(block,*), grid=4x1)'\n"
      "  fallsctl layout match 'stripe(1M,4)' 'array(shape=1024x1024, elem=8, dist=(block,block), grid=2x2)'\n" },
    { "show", 1, 1, ctl_layout_show, "show 'L' [--svg FILE]",
      "Draws a layout, a letter per element over one period, with the FALLS of each; --svg writes the same as a picture.\n\n"
      "examples:\n"
      "  fallsctl layout show 'stripe(64K,4)'\n"
      "  fallsctl layout show 'array(shape=8x8, dist=(block,cyclic(2)), grid=2x2)' --svg layout.svg\n"
      "  fallsctl layout show '{(0,7,16,2,{(0,1,4,2)});(2,7,16,2,{(0,1,4,2)});(8,15,16,2)}'\n" },
};

/* Verbs for the layouts of files and directories in a mount: they read their own command lines. */
static const struct {
    const char *name;
    enum ctl_status (*run)(int argc, char **argv);
    const char *usage;
} mount_verbs[] = {
    { "set", ctl_layout_set, "set LAYOUT-OPTIONS PATH..." },
    { "get", ctl_layout_get, "get PATH..." },
    { "unset", ctl_layout_unset, "unset DIRECTORY..." },
    { "prune", ctl_layout_prune, "prune MOUNTPOINT..." },
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
static bool take_options(const char *verb, int argc, char **argv, struct layout_words *words)
{
    bool only_words = false;

    for (int i = 0; i < argc; i++) {
        uint64_t number;

        if (only_words || strncmp(argv[i], "-", 1) != 0) {
            words->word[words->n++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_words = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            words->as_json = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            words->help = true;
        } else if (strcmp(argv[i], "--svg") == 0 && strcmp(verb, "show") == 0 && i + 1 < argc) {
            words->svg = argv[++i];
        } else if (strcmp(argv[i], "--disks") == 0 && i + 1 < argc) {
            if (!layout_words_size(argv[++i], &number) || number == 0 || number > MAX_DISKS) {
                layout_words_wrong(verb, "not a number of disks from 1 to 4096", argv[i]);
                return false;
            }
            words->n_disks = (uint32_t) number;
        } else {
            layout_words_wrong(verb, "unknown option, or its value is missing", argv[i]);
            return false;
        }
    }
    return true;
}

static enum ctl_status run_verb(const struct verb *verb, int argc, char **argv)
{
    struct layout_words words = { .word = argv };

    if (!take_options(verb->name, argc, argv, &words))
        return CTL_USAGE;
    if (words.help) {
        printf("usage: fallsctl layout %s [--json]\n\n%s%s", verb->usage, verb->help, options_help);
        return CTL_OK;
    }
    if (words.n < verb->min_words)
        return layout_words_wrong(verb->name, "too few words, expected", verb->usage);
    if (verb->max_words >= 0 && words.n > verb->max_words)
        return layout_words_wrong(verb->name, "too many words, expected", verb->usage);
    return verb->run(&words);
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
        utf8_complain("fallsctl layout: unknown verb '%s'", argv[0]);
    print_verbs(stderr);
    return CTL_USAGE;
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ctl.h"

#include <stdio.h>
#include <string.h>

static const char help[] = "fallsctl: looks at and shapes fallsfs layouts\n"
                           "\n"
                           "usage: fallsctl layout check|map|unmap|runs|intersect|match|show ... [--json]\n"
                           "       fallsctl layout VERB --help\n"
                           "       fallsctl --help | --version\n"
                           "\n"
                           "examples:\n"
                           "  fallsctl layout show 'stripe(64K,4)'\n"
                           "  fallsctl layout map 'array(shape=8x8, dist=(block,block), grid=2x2)' 0 9 63\n"
                           "  fallsctl layout check '{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2'\n"
                           "\n"
                           "exit status: 0 fine, 1 error, 2 wrong usage, 3 some of it failed\n";

static enum ctl_status run(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "layout") == 0)
        return ctl_layout(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "format") == 0)
        return ctl_format(argc - 2, argv + 2);
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return CTL_OK;
    }
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("fallsctl " FALLSFS_VERSION);
        return CTL_OK;
    }
    if (argc > 1)
        fprintf(stderr, "fallsctl: unknown verb '%s'; 'fallsctl --help' lists them\n", argv[1]);
    else
        fputs(help, stderr);
    return CTL_USAGE;
}

int main(int argc, char **argv)
{
    enum ctl_status status = run(argc, argv);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "fallsctl: cannot write the output: %s\n", strerror(errno));
        return CTL_ERROR;
    }
    return (int) status;
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/talk/args.h"
#include "fs/json/utf8.h"
#include "layout/base.h"

#include <stdio.h>

enum ctl_status args_complain(const char *verb, const char *why, const char *word)
{
    utf8_complain("fallsctl %s: %s%s%s (see 'fallsctl %s --help')", verb, why, word != NULL ? ": " : "",
                  word != NULL ? word : "", verb);
    return CTL_USAGE;
}

static const struct arg *find(const struct args *args, const char *word)
{
    for (size_t i = 0; i < args->n_args; i++) {
        const struct arg *arg = &args->arg[i];

        if (strcmp(word, arg->name) == 0 || (arg->other != NULL && strcmp(word, arg->other) == 0))
            return arg;
    }
    return NULL;
}

bool args_read(struct args *args, int argc, char **argv, enum ctl_status *ret_status)
{
    bool options = true;

    args->word = argv;
    args->n = 0;
    args->n_behind = -1;
    for (int i = 0; i < argc; i++) {
        const struct arg *arg;

        if (!options || argv[i][0] != '-' || argv[i][1] == 0) {
            args->word[args->n++] = argv[i];
            args->n_behind += !options;
        } else if (strcmp(argv[i], "--") == 0) {
            options = false;
            args->n_behind = 0;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(args->help, stdout);
            *ret_status = CTL_OK;
            return false;
        } else if ((arg = find(args, argv[i])) == NULL || (arg->set == NULL && i + 1 == argc)) {
            *ret_status = args_complain(args->verb,
                                        arg == NULL ? "unknown option" : "this option needs a word behind it", argv[i]);
            return false;
        } else if (arg->value != NULL) {
            *arg->value = argv[++i];
        } else if (arg->list != NULL) {
            if (!array_grow(arg->list->word, arg->list->n)) {
                *ret_status = args_complain(args->verb, "out of memory", NULL);
                return false;
            }
            arg->list->word[arg->list->n++] = argv[++i];
        } else {
            *arg->set = true;
        }
    }
    return true;
}

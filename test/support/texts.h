/* SPDX-License-Identifier: MIT */
/* Between notation and the things it stands for, for tests: a text that is refused ends the test. */
#ifndef FALLSFS_TEST_SUPPORT_TEXTS_H
#define FALLSFS_TEST_SUPPORT_TEXTS_H

#include "layout/layout.h"

struct text {
    char s[4096];
};

struct nest *nest_of(const char *text);
struct layout *layout_of(const char *text);

/* The canonical form, however long; the caller frees it. */
char *printed_layout(const struct layout *layout);

/* The canonical form, cut short when it is longer. */
struct text text_of_nest(const struct nest *nest);
struct text text_of_layout(const struct layout *layout);

#endif

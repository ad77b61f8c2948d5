/* SPDX-License-Identifier: MIT */
/* Texts that users typed may hold any bytes; what is shown of them must be text. */
#ifndef FALLSFS_FS_CTL_UTF8_H
#define FALLSFS_FS_CTL_UTF8_H

#include "layout/base.h"

#include <stdio.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character that s starts with; 0 when it is no valid one. */
size_t utf8_len(const char *s);

/* On one line, without what would act on a terminal; with xml, markup escaped. */
void utf8_print_line(FILE *out, const char *s, bool xml);

#endif

/* SPDX-License-Identifier: MIT */
/* Names of files and texts that users typed may hold any bytes. What is shown of them is text that does nothing to a
 * terminal and stays on its line: '?' stands for each byte of what is no character, or one that acts. */
#ifndef FALLSFS_FS_JSON_UTF8_H
#define FALLSFS_FS_JSON_UTF8_H

#include "layout/base.h"

#include <stdio.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the character that s starts with; 0 when it is no valid one. */
size_t utf8_len(const char *s);

/* Whether the character that s starts with, of len bytes, acts instead of being seen; what is no character, len 0,
 * counts as one that acts. */
bool utf8_acts(const char *s, size_t len);

/* Replaces by '?', in place, what must not be shown of a text. */
void utf8_tame(char *text);

/* A copy of a text that may be shown, what must not be replaced by '?'; NULL without memory. */
char *utf8_shown(const char *text);

/* Writes a line to standard error, with '?' for what must not be shown. */
PRINTF_LIKE(1, 2) void utf8_complain(const char *fmt, ...);

/* Prints a text with '?' for what must not be shown, and without ending the line; with xml, markup is escaped. */
void utf8_print_line(FILE *out, const char *s, bool xml);

/* Prints a word so that a shell takes it for that, as an operand: quoted where need be, with escapes of $'' for what
 * must not be shown, and ./ before a dash. */
void utf8_print_word(FILE *out, const char *word);

#endif

/* SPDX-License-Identifier: MIT */
#include "fs/json/utf8.h"

#include <stdarg.h>
#include <string.h>

size_t utf8_len(const char *s)
{
    const unsigned char *c = (const unsigned char *) s;
    size_t len = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;

    for (size_t i = 1; i < len; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
        (c[0] == 0xf4 && c[1] > 0x8f)) /* overlong, surrogate, beyond the last */
        return 0;
    return len;
}

/* Marks that turn the direction of what follows, so that a name is read as another one, and separators of lines:
 * U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069. */
static bool turns(const unsigned char *c, size_t len)
{
    if (len == 2)
        return c[0] == 0xd8 && c[1] == 0x9c;
    if (len != 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

/* The characters that act are those below the blank, the one behind the tilde, those that have two bytes here but one
 * in the tables of old terminals, where ESC [ is one of them, and those that turn. */
bool utf8_acts(const char *s, size_t len)
{
    const unsigned char *c = (const unsigned char *) s;

    return len == 0 || (len == 1 && (c[0] < ' ' || c[0] == 0x7f)) || (len == 2 && c[0] == 0xc2 && c[1] < 0xa0) ||
           turns(c, len);
}

void utf8_tame(char *text)
{
    while (*text != 0) {
        size_t len = utf8_len(text), n = MAX(len, 1);

        if (utf8_acts(text, len))
            memset(text, '?', n);
        text += n;
    }
}

char *utf8_shown(const char *text)
{
    char *copy = strdup(text);

    if (copy != NULL)
        utf8_tame(copy);
    return copy;
}

void utf8_complain(const char *fmt, ...)
{
    cleanup(freep) char *text = NULL;
    va_list list;

    va_start(list, fmt);
    if (vasprintf(&text, fmt, list) < 0)
        text = NULL;
    va_end(list);
    if (text != NULL)
        utf8_tame(text);
    fprintf(stderr, "%s\n", text != NULL ? text : "out of memory");
}

void utf8_print_line(FILE *out, const char *s, bool xml)
{
    while (*s != 0) {
        size_t len = utf8_len(s), n = MAX(len, 1);

        if (utf8_acts(s, len))
            fprintf(out, "%.*s", (int) n, "????");
        else if (xml && *s == '&')
            fputs("&amp;", out);
        else if (xml && *s == '<')
            fputs("&lt;", out);
        else
            fwrite(s, 1, n, out);
        s += n;
    }
}

static void print_quoted(FILE *out, const char *word)
{
    fputc('\'', out);
    for (; *word != 0; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

static void print_escaped(FILE *out, const char *word)
{
    fputs("$'", out);
    for (size_t len; *word != 0; word += len) {
        len = MAX(utf8_len(word), 1);
        if (utf8_acts(word, utf8_len(word)))
            for (size_t i = 0; i < len; i++)
                fprintf(out, "\\%03o", (unsigned char) word[i]);
        else
            fprintf(out, "%s%.*s", *word == '\'' || *word == '\\' ? "\\" : "", (int) len, word);
    }
    fputc('\'', out);
}

static bool has_acting(const char *word)
{
    for (size_t len; *word != 0; word += len)
        if (utf8_acts(word, len = utf8_len(word)))
            return true;
    return false;
}

void utf8_print_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:@%,";

    if (word[0] == '-')
        fputs("./", out);
    if (has_acting(word))
        print_escaped(out, word);
    else if (word[0] != 0 && word[strspn(word, plain)] == 0)
        fputs(word, out);
    else
        print_quoted(out, word);
}

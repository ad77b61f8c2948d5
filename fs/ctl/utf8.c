/* SPDX-License-Identifier: MIT */
#include "fs/ctl/utf8.h"

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

void utf8_print_line(FILE *out, const char *s, bool xml)
{
    while (*s != 0) {
        size_t len = utf8_len(s);

        if (len == 0)
            fputs(UTF8_REPLACEMENT, out);
        else if ((unsigned char) *s < ' ' || *s == 0x7f)
            fputc(' ', out);
        else if (xml && *s == '&')
            fputs("&amp;", out);
        else if (xml && *s == '<')
            fputs("&lt;", out);
        else
            fwrite(s, 1, len, out);
        s += MAX(len, 1);
    }
}

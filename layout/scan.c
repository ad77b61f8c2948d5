/* SPDX-License-Identifier: MIT */
#include "layout/scan.h"

#include <stdarg.h>
#include <string.h>

void scan_done(struct scanner *scanner)
{
    draft_done(&scanner->draft);
    free(scanner->origin_at);
}

int scan_fail(struct scanner *scanner, int r, size_t at, const char *fmt, ...)
{
    struct layout_error *error = scanner->error;
    size_t line = 1, start = 0;
    va_list args;

    for (size_t i = 0; i < at; i++)
        if (scanner->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    error->line = memchr(scanner->text, '\n', scanner->len) != NULL ? line : 0;
    error->column = at - start + 1;
    va_start(args, fmt);
    vsnprintf(error->why, sizeof error->why, fmt, args);
    va_end(args);
    return r;
}

int scan_out_of_memory(struct scanner *scanner)
{
    return scan_fail(scanner, -ENOMEM, scanner->at, "out of memory");
}

void scan_blanks(struct scanner *scanner)
{
    bool comment = false;

    for (; scanner->at < scanner->len; scanner->at++) {
        char c = scanner->text[scanner->at];

        if (c == '#')
            comment = true;
        else if (c == '\n')
            comment = false;
        else if (!comment && c != ' ' && c != '\t' && c != '\r')
            break;
    }
}

char scan_peek(struct scanner *scanner)
{
    scan_blanks(scanner);
    return scanner->at < scanner->len ? scanner->text[scanner->at] : 0;
}

bool scan_accept(struct scanner *scanner, char c)
{
    if (scan_peek(scanner) != c || scanner->at == scanner->len)
        return false;
    scanner->at++;
    return true;
}

int scan_fail_expected(struct scanner *scanner, const char *what)
{
    unsigned char c = (unsigned char) scan_peek(scanner);
    int len = (int) MIN(scan_word_len(scanner), 20);

    if (scanner->at == scanner->len)
        return scan_fail(scanner, -EINVAL, scanner->at, "expected %s, found the end", what);
    if (c > ' ' && c < 0x7f)
        return scan_fail(scanner, -EINVAL, scanner->at, "expected %s, found '%.*s'", what, MAX(len, 1),
                         scanner->text + scanner->at);
    return scan_fail(scanner, -EINVAL, scanner->at, "expected %s, found byte 0x%02x", what, c);
}

int scan_expect(struct scanner *scanner, char c)
{
    char what[] = { '\'', c, '\'', 0 };

    return scan_accept(scanner, c) ? 0 : scan_fail_expected(scanner, what);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' || c == '.';
}

size_t scan_word_len(struct scanner *scanner)
{
    size_t end;

    scan_blanks(scanner);
    for (end = scanner->at; end < scanner->len && is_word(scanner->text[end]);)
        end++;
    return end - scanner->at;
}

bool scan_accept_word(struct scanner *scanner, const char *word)
{
    size_t len = scan_word_len(scanner);

    if (len != strlen(word) || memcmp(scanner->text + scanner->at, word, len) != 0)
        return false;
    scanner->at += len;
    return true;
}

int scan_size(struct scanner *scanner, uint64_t *ret_size)
{
    static const char suffixes[] = "KMGT";
    uint64_t size = 0, unit = 1;
    size_t start;
    char c = scan_peek(scanner);

    start = scanner->at;
    if (c == '-')
        return scan_fail(scanner, -EINVAL, start, "negative number: offsets, sizes and strides count from 0");
    if (!is_digit(c))
        return scan_fail_expected(scanner, "a number");
    while (scanner->at < scanner->len && is_digit(scanner->text[scanner->at])) {
        uint64_t digit = (uint64_t) (scanner->text[scanner->at++] - '0');

        if (mul_overflows(size, 10, &size) || add_overflows(size, digit, &size))
            size = UINT64_MAX;
        size = MIN(size, FALLS_LIMIT + 1);
    }
    if (scanner->at < scanner->len) {
        const char *suffix;

        c = scanner->text[scanner->at];
        suffix = c != 0 ? strchr(suffixes, c) : NULL;
        if (suffix != NULL) {
            unit = UINT64_C(1) << (10 * (unsigned) (suffix - suffixes + 1));
            scanner->at++;
        } else if (c != 0 && strchr("kmgtPE", c) != NULL) {
            return scan_fail(scanner, -EINVAL, scanner->at, "'%c' is no size suffix: K, M, G, T are, powers of 1024",
                             c);
        }
    }
    if (mul_overflows(size, unit, &size) || size > FALLS_LIMIT)
        return scan_fail(scanner, -EOVERFLOW, start, "number larger than 2^62, the last byte a layout can reach");
    *ret_size = size;
    return 0;
}

int scan_positive(struct scanner *scanner, const char *what, uint64_t *ret_size)
{
    size_t start;
    int r;

    scan_blanks(scanner);
    start = scanner->at;
    r = scan_size(scanner, ret_size);
    if (r == 0 && *ret_size == 0)
        return scan_fail(scanner, -EINVAL, start, "%s must be at least 1", what);
    return r;
}

int scan_disk(struct scanner *scanner, uint32_t *ret_disk)
{
    size_t start;
    uint64_t number = 0;

    scan_blanks(scanner);
    start = scanner->at;
    if (scanner->at + 1 >= scanner->len || scanner->text[scanner->at] != 'd' ||
        !is_digit(scanner->text[scanner->at + 1]))
        return scan_fail_expected(scanner, "a disk such as d0");
    for (scanner->at++; scanner->at < scanner->len && is_digit(scanner->text[scanner->at]); scanner->at++)
        number = MIN(number * 10 + (uint64_t) (scanner->text[scanner->at] - '0'), UINT32_MAX);
    if (number > LAYOUT_MAX_DISK)
        return scan_fail(scanner, -EINVAL, start, "disk numbers go up to d%d", LAYOUT_MAX_DISK);
    *ret_disk = (uint32_t) number;
    return 0;
}

int scan_key(struct scanner *scanner, const char *const name[], unsigned n, const char *expected, bool seen[],
             size_t at[], unsigned *ret_key)
{
    unsigned key = 0;
    size_t start;
    int r;

    scan_blanks(scanner);
    start = scanner->at;
    while (key < n && !scan_accept_word(scanner, name[key]))
        key++;
    if (key == n)
        return scan_fail_expected(scanner, expected);
    if (seen[key])
        return scan_fail(scanner, -EINVAL, start, "%s is given twice", name[key]);
    r = scan_expect(scanner, '=');
    if (r < 0)
        return r;
    scan_blanks(scanner);
    seen[key] = true;
    at[key] = scanner->at;
    *ret_key = key;
    return 0;
}

int scan_check_text(struct scanner *scanner)
{
    if (scanner->len > FALLS_MAX_TEXT)
        return scan_fail(scanner, -E2BIG, FALLS_MAX_TEXT, "a layout has at most %u bytes of text", FALLS_MAX_TEXT);
    return 0;
}

bool scan_at_end(struct scanner *scanner)
{
    scan_blanks(scanner);
    return scanner->at == scanner->len;
}

int layout_parse_size(const char *word, uint64_t *ret_size)
{
    struct layout_error error;
    struct scanner scanner = { .text = word, .len = strlen(word), .error = &error };
    uint64_t size = 0;
    int r = scan_size(&scanner, &size);

    if (r == 0 && scanner.at < scanner.len)
        r = -EINVAL;
    if (r == 0)
        *ret_size = size;
    return r;
}

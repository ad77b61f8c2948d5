/* SPDX-License-Identifier: MIT */
#include "fs/trace/strace_line.h"

#include <ctype.h>

#define UNFINISHED " <unfinished ...>"
#define RESUMED    " resumed>"

static char *skip_blanks(char *s)
{
    while (*s == ' ')
        s++;
    return s;
}

/* Reads a number of at most 18 digits; false: there is none, or it is longer. */
static bool read_digits(char **s, uint64_t *ret_value)
{
    uint64_t value = 0;
    unsigned n = 0;

    for (; isdigit((unsigned char) **s) && n < 18; n++, (*s)++)
        value = 10 * value + (uint64_t) (**s - '0');
    *ret_value = value;
    return n > 0 && !isdigit((unsigned char) **s);
}

/* Reads "26611 ", "[pid 26611] " or nothing, which is process 0. */
static char *read_pid(char *line, int64_t *ret_pid)
{
    static const char word[] = "[pid ";
    bool brackets = strncmp(line, word, sizeof word - 1) == 0;
    char *s = skip_blanks(brackets ? line + sizeof word - 1 : line);
    uint64_t pid;

    *ret_pid = 0;
    if (!read_digits(&s, &pid) || *s != (brackets ? ']' : ' '))
        return brackets ? NULL : line;
    *ret_pid = (int64_t) pid;
    return skip_blanks(s + 1);
}

/* Reads "1795145505.430049 ". */
static char *read_time(char *s, uint64_t *ret_at)
{
    uint64_t seconds, fraction, unit = UINT64_C(1000000000);
    char *dot;

    if (!read_digits(&s, &seconds) || *s != '.' || seconds > UINT32_MAX)
        return NULL;
    dot = ++s;
    if (!read_digits(&s, &fraction) || *s != ' ' || s - dot > 9)
        return NULL;
    for (; dot < s; dot++)
        unit /= 10;
    *ret_at = seconds * UINT64_C(1000000000) + fraction * unit;
    return skip_blanks(s);
}

static bool ends_with(const char *s, size_t len, const char *end)
{
    size_t end_len = strlen(end);

    return len >= end_len && memcmp(s + len - end_len, end, end_len) == 0;
}

struct strace_line strace_line_of(char *line)
{
    struct strace_line found = { 0 };
    size_t len = strcspn(line, "\n");
    char *s, *resumed;

    line[len] = 0;
    s = read_pid(line, &found.pid);
    s = s != NULL ? read_time(s, &found.at) : NULL;
    if (s == NULL)
        return found;
    found.is_strace = true;
    len = strlen(s);
    found.text = s;
    if (strncmp(s, "+++ ", 4) == 0) {
        found.kind = STRACE_EXIT;
    } else if (strncmp(s, "<... ", 5) == 0) {
        resumed = strstr(s, RESUMED);
        found.kind = resumed != NULL ? STRACE_RESUMED : STRACE_NOTHING;
        found.text = resumed != NULL ? resumed + sizeof RESUMED - 1 : s;
    } else if (ends_with(s, len, UNFINISHED)) {
        found.kind = STRACE_UNFINISHED;
        s[len - (sizeof UNFINISHED - 1)] = 0;
    } else if (isalpha((unsigned char) *s) || *s == '_') {
        found.kind = STRACE_CALL;
    }
    return found;
}

/* -- calls -- */

/* Finds the end of a string in quotes, or of what stands between < and >: the byte behind it, or the text's end. */
static char *skip_string(char *s)
{
    for (s++; *s != 0 && *s != '"'; s++)
        if (*s == '\\' && s[1] != 0)
            s++;
    return *s != 0 ? s + 1 : s;
}

static char *skip_name(char *s)
{
    unsigned depth = 0;

    do {
        depth += *s == '<';
        depth -= *s == '>';
        s++;
    } while (*s != 0 && depth > 0);
    return s;
}

/* Whether a name of a file begins here: behind the number of a descriptor, or behind AT_FDCWD. */
static bool name_begins(const char *text, const char *s)
{
    return *s == '<' && s > text && (isdigit((unsigned char) s[-1]) || s[-1] == 'D');
}

static void add_arg(struct strace_call *call, char *from)
{
    if (call->n_args < STRACE_MAX_ARGS)
        call->arg[call->n_args++] = skip_blanks(from);
}

/* Cuts the arguments apart; returns what follows their closing parenthesis, or NULL. */
static char *cut_args(struct strace_call *call, char *s)
{
    char *text = s, *from = s;
    unsigned depth = 0;

    while (*s != 0) {
        char c = *s;

        if (c == '"') {
            s = skip_string(s);
            continue;
        }
        if (name_begins(text, s)) {
            s = skip_name(s);
            continue;
        }
        if (depth == 0 && (c == ',' || c == ')')) {
            *s++ = 0;
            if (c == ',' || s - 1 > from || call->n_args > 0)
                add_arg(call, from);
            from = s;
            if (c == ')')
                return s;
            continue;
        }
        if (c == '(' || c == '[' || c == '{')
            depth++;
        if ((c == ')' || c == ']' || c == '}') && depth > 0)
            depth--;
        s++;
    }
    return NULL;
}

bool strace_parse_call(char *text, struct strace_call *ret_call)
{
    struct strace_call call = { .name = text };
    char *s = text + strcspn(text, "("), *end;

    if (*s == 0)
        return false;
    *s++ = 0;
    s = cut_args(&call, s);
    if (s == NULL)
        return false;
    s = skip_blanks(s);
    if (*s != '=')
        return false;
    call.ret_text = skip_blanks(s + 1);
    errno = 0;
    call.ret = strtoll(call.ret_text, &end, 0);
    if (end == call.ret_text || errno != 0)
        return false;
    *ret_call = call;
    return true;
}

/* Replaces what strace has escaped by the bytes it stands for. */
static void unescape(char *s)
{
    static const char letter[] = "abtnvfr";
    char *to = s;

    while (*s != 0) {
        const char *found;

        if (*s != '\\' || s[1] == 0) {
            *to++ = *s++;
            continue;
        }
        s++;
        if (*s >= '0' && *s <= '7') {
            unsigned value = 0;

            for (unsigned n = 0; n < 3 && *s >= '0' && *s <= '7'; n++)
                value = 8 * value + (unsigned) (*s++ - '0');
            *to++ = (char) value;
            continue;
        }
        found = strchr(letter, *s);
        *to++ = found != NULL ? (char) ('\a' + (found - letter)) : *s;
        s++;
    }
    *to = 0;
}

bool strace_parse_fd(char *arg, struct strace_fd *ret_fd)
{
    struct strace_fd fd = { 0 };
    uint64_t number;
    char *end;

    if (!read_digits(&arg, &number) || number > INT32_MAX)
        return false;
    fd.fd = (int64_t) number;
    fd.bare = *arg != '<';
    if (*arg == '<') {
        end = skip_name(arg);
        if (end[-1] == '>' && arg[1] == '/' && (size_t) (end - arg) == strcspn(arg + 1, "<>") + 2) {
            end[-1] = 0;
            fd.path = arg + 1;
            unescape(fd.path);
        }
    }
    *ret_fd = fd;
    return true;
}

bool strace_parse_number(const char *arg, int64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoll(arg, &end, 0);
    return end != arg && *end == 0 && errno == 0;
}

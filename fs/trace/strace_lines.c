/* SPDX-License-Identifier: MIT */
#include "fs/trace/strace_lines.h"

int strace_lines_init(struct strace_lines *lines, FILE *in)
{
    *lines = (struct strace_lines){ .in = in, .buf = malloc(STRACE_MAX_LINE) };
    return lines->buf == NULL ? -ENOMEM : 0;
}

void strace_lines_done(struct strace_lines *lines)
{
    for (size_t i = 0; i < lines->n_ahead; i++)
        free(lines->ahead[lines->first + i]);
    free(lines->ahead);
    free(lines->buf);
}

/* Passes over the rest of a line that is too long; of what may be no trace at all only over so much. */
static void skip_line(struct strace_lines *lines)
{
    size_t n = 0;
    int c;

    do
        c = getc(lines->in);
    while (c != EOF && c != '\n' && (lines->is_trace || ++n < STRACE_MAX_LINE));
    lines->n_long++;
    lines->buf[0] = 0;
}

static int read_line(struct strace_lines *lines)
{
    if (fgets(lines->buf, STRACE_MAX_LINE, lines->in) == NULL)
        return ferror(lines->in) ? -EIO : 0;
    if (strlen(lines->buf) == STRACE_MAX_LINE - 1 && lines->buf[STRACE_MAX_LINE - 2] != '\n')
        skip_line(lines);
    return 1;
}

int strace_lines_next(struct strace_lines *lines, char **ret_line)
{
    int r = 1;

    if (lines->n_ahead > 0) {
        cleanup(freep) char *line = steal(lines->ahead[lines->first]);
        const size_t len = strlen(line);

        lines->first++;
        lines->n_ahead--;
        lines->bytes_ahead -= len + 1;
        memcpy(lines->buf, line, len + 1);
    } else {
        r = read_line(lines);
    }
    *ret_line = lines->buf;
    return r;
}

/* Reads one more line ahead. The one that the caller has is in the buffer, and stays. */
static int read_ahead(struct strace_lines *lines)
{
    char *now = lines->buf, *line = malloc(STRACE_MAX_LINE);
    int r;

    if (line == NULL)
        return -ENOMEM;
    lines->buf = line;
    r = read_line(lines);
    lines->buf = now;
    if (r == 1 && lines->first > 0 && lines->n_ahead == 0)
        lines->first = 0;
    if (r == 1 && !array_grow(lines->ahead, lines->first + lines->n_ahead))
        r = -ENOMEM;
    if (r == 1) {
        char *fits = realloc(line, strlen(line) + 1);

        lines->ahead[lines->first + lines->n_ahead++] = fits != NULL ? fits : line;
        lines->bytes_ahead += strlen(fits != NULL ? fits : line) + 1;
    } else {
        free(line);
    }
    return r;
}

int strace_lines_peek(struct strace_lines *lines, size_t i, char **ret_line)
{
    int r = 1;

    while (r == 1 && lines->n_ahead <= i)
        r = lines->bytes_ahead > STRACE_MAX_AHEAD ? 0 : read_ahead(lines);
    if (r < 1)
        return r;
    *ret_line = strdup(lines->ahead[lines->first + i]);
    return *ret_line == NULL ? -ENOMEM : 1;
}

/* SPDX-License-Identifier: MIT */
/* The terminal as a screen that is drawn again and again, and whose keys are read one by one. However the program ends,
 * but for SIGKILL, the terminal is as it was: also by a signal, by a mistake of ours, or while it is stopped.
 *
 *     screen_begin ── screen_draw(frame) ── screen_wait ── screen_draw ── ... ── screen_end
 *
 * A frame is a text. What a line begins with says how it looks. */
#ifndef FALLSFS_FS_CTL_SHOW_SCREEN_H
#define FALLSFS_FS_CTL_SHOW_SCREEN_H

#include "layout/base.h"

#include <stdio.h>

#define SCREEN_HEADING "\001" /* in front of a line: a heading */
#define SCREEN_ALARM   "\002" /* something is wrong */

enum {
    SCREEN_NO_KEY = 0, /* time is up, or the terminal has another size */
    SCREEN_END = -1,   /* a signal, or nobody sits there any more */
};

/* Whether both standard input and output are one. */
bool screen_is_there(void);

int screen_begin(void);
void screen_end(void);

/* How large it is. */
void screen_size(uint32_t *ret_rows, uint32_t *ret_columns);

/* Draws a frame over the one before. What is too long or too wide for the screen is left out. */
void screen_draw(const char *frame);

/* Waits for a key until the time, by clock_ns: its byte, or one of the above. */
int screen_wait(uint64_t until);

/* Prints a frame as lines, for who has no screen. */
void screen_print(const char *frame, FILE *out);

#endif

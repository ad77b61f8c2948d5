/* SPDX-License-Identifier: MIT */
/* Writes a trace, item by item, as trace_format.h has it: whoever records accesses, or knows them from elsewhere, fills
 * in a struct with numbers as this machine has them, and says the texts beside it.
 *
 *     struct trace_file { .number = 1, ... }, "a.dat", "stripe(1M)"  ──>  item │ struct │ a.dat 0 │ stripe(1M) 0 0 0
 *
 * Each call writes one item whole; its type and length, and what is reserved, are filled in here. A stream remembers
 * that it takes no more: ask ferror once, at the end. */
#ifndef FALLSFS_IOCTL_TRACE_TRACE_WRITE_H
#define FALLSFS_IOCTL_TRACE_TRACE_WRITE_H

#include "ioctl/trace/trace_format.h"

#include <stdio.h>

/* Magic, version and len are filled in. */
void trace_write_head(FILE *out, const struct trace_head *head);

void trace_write_file(FILE *out, const struct trace_file *file, const char *path, const char *layout);
void trace_write_process(FILE *out, const struct trace_process *process, const char *name);
void trace_write_pattern(FILE *out, uint32_t number, const char *text);
void trace_write_access(FILE *out, const struct trace_access *access);
void trace_write_dropped(FILE *out, uint64_t n);
void trace_write_open(FILE *out, uint32_t file, uint32_t n);

#endif

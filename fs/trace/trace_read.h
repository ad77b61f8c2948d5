/* SPDX-License-Identifier: MIT */
/* Reads the file of trace_format.h, whoever wrote it:
 *
 *     head │ item │ item │ item of a later version │ item │ half an it
 *       └ checked    └ checked       └ passed over            └ left out: the file was being written
 *
 * It takes as much memory as the items say, and never more for one of them than TRACE_MAX_ITEM. */
#ifndef FALLSFS_FS_TRACE_TRACE_READ_H
#define FALLSFS_FS_TRACE_TRACE_READ_H

#include "fs/trace/trace.h"

/* Adds what the file holds to a trace, whose accesses then have numbers. -EBADMSG it is no trace, or damaged, -E2BIG,
 * -ENOMEM, -EIO; ret_why says at which byte. The trace has then what stands before. */
int trace_read(FILE *in, struct trace *trace, char ret_why[static TRACE_WHY]);

#endif

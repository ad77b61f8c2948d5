/* SPDX-License-Identifier: MIT */
/* A profile told: to people, as lines and as a page with pictures, and as JSON. */
#ifndef FALLSFS_FS_CTL_VERBS_PROFILE_SAY_H
#define FALLSFS_FS_CTL_VERBS_PROFILE_SAY_H

#include "fs/ctl/think/profile.h"
#include "fs/json/json.h"

void profile_print(FILE *out, const struct trace *trace, const struct profile *profile);
void profile_json(struct json *json, const struct trace *trace, const struct profile *profile);

/* A page that needs nothing else: what profile_print says, and where bytes are moved, when, by whom, on which disks.
 * -ENOMEM. */
int profile_html(FILE *out, const struct trace *trace, const struct profile *profile);

/* The name of a class of chunks; of a regular pattern, as a word. */
extern const char *const profile_class_names[CHUNK_CLASSES];
const char *profile_shape_name(enum shape_kind kind);

/* The process that is a rank; NULL: the kernel. */
const struct traced_process *profile_process(const struct trace *trace, const struct profile *profile, uint32_t rank);

#endif

/* SPDX-License-Identifier: MIT */
/* Files of traces made by hand, item by item, right or wrong. */
#ifndef FALLSFS_TEST_TRACE_WRITTEN_H
#define FALLSFS_TEST_TRACE_WRITTEN_H

#include "ioctl/trace/trace_format.h"
#include "layout/base.h"

struct written {
    char *bytes;
    size_t len, n_items;
};

void written_head(struct written *to, uint32_t len);
void written_item(struct written *to, uint16_t type, const void *body, size_t len);
void written_file(struct written *to, uint32_t number, const char *path, const char *layout);
void written_process(struct written *to, uint32_t number, uint32_t uid, const char *name);
void written_pattern(struct written *to, uint32_t number, const char *text);
void written_access(struct written *to, const struct trace_access *access); /* its head is filled in */
void written_unknown(struct written *to, size_t len);
void written_dropped(struct written *to, uint64_t n);
void written_open(struct written *to, uint32_t file, uint32_t n);

#endif

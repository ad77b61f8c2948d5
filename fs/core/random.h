/* SPDX-License-Identifier: MIT */
/* Identities nobody can guess and no two share. */
#ifndef FALLSFS_FS_CORE_RANDOM_H
#define FALLSFS_FS_CORE_RANDOM_H

#include "layout/base.h"

int random_bytes(void *ret_bytes, size_t n);

/* From here on a sequence that the seed determines, so that a test can be had again. */
void random_from_seed(uint64_t seed);

#endif

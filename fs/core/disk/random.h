/* SPDX-License-Identifier: MIT */
/* Identities nobody can guess and no two share. */
#ifndef FALLSFS_FS_CORE_DISK_RANDOM_H
#define FALLSFS_FS_CORE_DISK_RANDOM_H

#include "layout/base.h"

/* Fills n bytes. */
int random_bytes(void *ret_bytes, size_t n);

/* Makes random_bytes give a sequence that the seed determines from now on, so that a test can be repeated. */
void random_from_seed(uint64_t seed);

#endif

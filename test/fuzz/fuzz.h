/* SPDX-License-Identifier: MIT */
/* A fuzz target is LLVMFuzzerTestOneInput. With -DFALLSFS_FUZZ=ON libFuzzer drives it; without, replay.c runs it over
 * the files of the corpus, in every test run. */
#ifndef FALLSFS_TEST_FUZZ_FUZZ_H
#define FALLSFS_TEST_FUZZ_FUZZ_H

#include "layout/base.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold, in every build. */
#define REQUIRE(condition)                                                                \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

#endif

/* SPDX-License-Identifier: MIT */
/* For fuzzers of texts that libconfig reads: 1.5 loses what it has read of one with a syntax error. */
#ifndef FALLSFS_TEST_FUZZ_LIBCONFIG_LEAKS_H
#define FALLSFS_TEST_FUZZ_LIBCONFIG_LEAKS_H

const char *__lsan_default_suppressions(void); // NOLINT(bugprone-reserved-identifier)
const char *__lsan_default_suppressions(void)  // NOLINT(bugprone-reserved-identifier)
{
    return "leak:libconfig";
}

#endif

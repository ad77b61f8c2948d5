/* SPDX-License-Identifier: MIT */
#include "test/mount/posix.h"

const struct check *const all_checks[] = { checks_of_names, checks_of_data, checks_of_rights, checks_of_times, NULL };

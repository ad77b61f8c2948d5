/* SPDX-License-Identifier: MIT */
#include "test/sections/ranks.h"

const struct check *const all_checks[] = { checks_of_requests,
                                           checks_of_boards,
                                           checks_of_members,
                                           checks_of_equality,
                                           checks_of_views,
                                           checks_of_lists,
                                           checks_of_tickets,
                                           checks_through_views,
                                           checks_of_arrays,
                                           checks_of_spread,
                                           NULL };

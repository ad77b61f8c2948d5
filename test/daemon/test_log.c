/* SPDX-License-Identifier: MIT */
/* How much the log says of one thing. */
#include "fs/daemon/say/log.h"

#include <criterion/criterion.h>

Test(log, many_lines_of_a_kind_are_counted)
{
    struct log_limit limit = { 0 };
    uint64_t now = 1000000;

    for (uint32_t i = 0; i < 100; i++)
        cr_expect_eq(log_may_say(&limit, now + i), i < LOG_BURST);
    cr_expect_eq(log_left_out(&limit, now + 100), 0, "not while it goes on");
    cr_expect_eq(log_left_out(&limit, now + LOG_WINDOW + 1), 100 - LOG_BURST);
    cr_expect_eq(log_left_out(&limit, now + LOG_WINDOW + 1), 0, "each is told of once");
    cr_expect(log_may_say(&limit, now + LOG_WINDOW + 1), "after a while there is room again");
}

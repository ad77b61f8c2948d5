/* SPDX-License-Identifier: MIT */
/* What one user may have, and that another is none the worse for it. */
#include "fs/daemon/bounds/accounts.h"

#include <criterion/criterion.h>

static struct accounts *made(void)
{
    const struct accounts_limits limits = { .of = { [ACCOUNT_VIEWS] = 3, [ACCOUNT_VIEW_BYTES] = 1000 } };
    struct accounts *accounts;

    cr_assert_eq(accounts_new(&limits, 7, &accounts), 0);
    return accounts;
}

Test(accounts, a_user_has_a_bound_root_four_times_as_much)
{
    struct accounts *accounts = made();

    for (int i = 0; i < 3; i++)
        cr_expect_eq(accounts_charge(accounts, 1000, ACCOUNT_VIEWS, 1), 0);
    cr_expect_eq(accounts_charge(accounts, 1000, ACCOUNT_VIEWS, 1), -EUSERS);
    cr_expect_eq(accounts_charge(accounts, 1001, ACCOUNT_VIEWS, 4), -EUSERS);
    cr_expect_eq(accounts_charge(accounts, 1001, ACCOUNT_VIEWS, 3), 0);
    cr_expect_eq(accounts_charge(accounts, 0, ACCOUNT_VIEWS, 12), 0);
    cr_expect_eq(accounts_charge(accounts, 7, ACCOUNT_VIEWS, 12), 0);
    cr_expect_eq(accounts_charge(accounts, 7, ACCOUNT_VIEWS, 1), -EUSERS);
    cr_expect_eq(accounts_charge(accounts, 0, ACCOUNT_VIEWS, 1), -EUSERS);
    cr_expect_eq(accounts_charge(accounts, 0, ACCOUNT_VIEWS, UINT64_MAX), -EUSERS);
    cr_expect_eq(accounts_has(accounts, 1000, ACCOUNT_VIEWS), 3);
    accounts_discharge(accounts, 1000, ACCOUNT_VIEWS, 1);
    cr_expect_eq(accounts_charge(accounts, 1000, ACCOUNT_VIEWS, 1), 0);
    cr_expect_eq(accounts_charge(accounts, 1000, ACCOUNT_VIEWS, 1), -EUSERS);
    accounts_free(accounts);
}

Test(accounts, one_thing_is_not_another)
{
    struct accounts *accounts = made();

    cr_expect_eq(accounts_charge(accounts, 5, ACCOUNT_VIEW_BYTES, 1000), 0);
    cr_expect_eq(accounts_charge(accounts, 5, ACCOUNT_VIEW_BYTES, 1), -EUSERS);
    cr_expect_eq(accounts_charge(accounts, 5, ACCOUNT_VIEWS, 3), 0);
    cr_expect_eq(accounts_charge(accounts, 5, ACCOUNT_BUFFERS, 1), -EUSERS);
    accounts_discharge(accounts, 5, ACCOUNT_VIEW_BYTES, 1000);
    cr_expect_eq(accounts_has(accounts, 5, ACCOUNT_VIEW_BYTES), 0);
    cr_expect_eq(accounts_has(accounts, 5, ACCOUNT_VIEWS), 3);
    accounts_free(accounts);
}

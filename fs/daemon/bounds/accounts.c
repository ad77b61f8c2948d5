/* SPDX-License-Identifier: MIT */
#include "fs/daemon/bounds/accounts.h"

#include "fs/core/disk/mutex.h"

struct owner {
    uid_t uid;
    uint64_t has[N_ACCOUNTS];
    struct owner *next;
};

struct accounts {
    struct accounts_limits limits;
    uid_t owner;
    struct mutex lock;
    struct owner *owners; /* lock; of those who have anything */
};

int accounts_new(const struct accounts_limits *limits, uid_t owner, struct accounts **ret_accounts)
{
    struct accounts *accounts = calloc(1, sizeof *accounts);

    if (accounts == NULL)
        return -ENOMEM;
    accounts->limits = *limits;
    accounts->owner = owner;
    mutex_init(&accounts->lock);
    *ret_accounts = accounts;
    return 0;
}

void accounts_free(struct accounts *accounts)
{
    if (accounts == NULL)
        return;
    while (accounts->owners != NULL) {
        struct owner *next = accounts->owners->next;

        free(accounts->owners);
        accounts->owners = next;
    }
    mutex_done(&accounts->lock);
    free(accounts);
}

static struct owner **find_owner(struct accounts *accounts, uid_t uid) REQUIRES(accounts->lock)
{
    struct owner **at = &accounts->owners;

    while (*at != NULL && (*at)->uid != uid)
        at = &(*at)->next;
    return at;
}

static void forget_if_idle(struct owner **at)
{
    struct owner *owner = *at;

    for (int i = 0; i < N_ACCOUNTS; i++)
        if (owner->has[i] > 0)
            return;
    *at = owner->next;
    free(owner);
}

uint64_t accounts_bound(const struct accounts *accounts, uid_t uid, enum account account)
{
    uint64_t bound = accounts->limits.of[account];

    return uid != 0 && uid != accounts->owner   ? bound
           : bound > UINT64_MAX / ACCOUNTS_ROOT ? UINT64_MAX
                                                : ACCOUNTS_ROOT * bound;
}

int accounts_charge(struct accounts *accounts, uid_t uid, enum account account, uint64_t n)
{
    uint64_t bound = accounts_bound(accounts, uid, account);
    struct owner **at;
    int r = 0;

    mutex_lock(&accounts->lock);
    at = find_owner(accounts, uid);
    if (*at == NULL && (*at = calloc(1, sizeof **at)) != NULL)
        (*at)->uid = uid;
    if (*at == NULL)
        r = -ENOMEM;
    else if (n > bound - (*at)->has[account])
        r = -EUSERS;
    else
        (*at)->has[account] += n;
    if (*at != NULL)
        forget_if_idle(at);
    mutex_unlock(&accounts->lock);
    return r;
}

void accounts_discharge(struct accounts *accounts, uid_t uid, enum account account, uint64_t n)
{
    struct owner **at;

    if (n == 0)
        return;
    mutex_lock(&accounts->lock);
    at = find_owner(accounts, uid);
    assert((*at)->has[account] >= n);
    (*at)->has[account] -= n;
    forget_if_idle(at);
    mutex_unlock(&accounts->lock);
}

uint64_t accounts_has(struct accounts *accounts, uid_t uid, enum account account)
{
    struct owner *owner;
    uint64_t has;

    mutex_lock(&accounts->lock);
    owner = *find_owner(accounts, uid);
    has = owner != NULL ? owner->has[account] : 0;
    mutex_unlock(&accounts->lock);
    return has;
}

void accounts_sum(struct accounts *accounts, uint64_t ret_sum[static N_ACCOUNTS])
{
    for (int i = 0; i < N_ACCOUNTS; i++)
        ret_sum[i] = 0;
    mutex_lock(&accounts->lock);
    for (const struct owner *owner = accounts->owners; owner != NULL; owner = owner->next)
        for (int i = 0; i < N_ACCOUNTS; i++)
            ret_sum[i] += owner->has[i];
    mutex_unlock(&accounts->lock);
}

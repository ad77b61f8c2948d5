/* SPDX-License-Identifier: MIT */
#include "ioctl/client/passion/who.h"

#include "ioctl/client/client.h"
#include "ioctl/client/passion/passion.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* How often a rank has asked for a token for a file and so many processes. */
struct asked_for {
    struct asked_for *next;
    uint64_t ino, times;
    uint32_t rank, n;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct who self; /* lock, with the others */
static bool is_known;
static struct asked_for *asked;

int fallsfs_passion_init(int rank, int nprocs, const uint8_t token[16])
{
    struct who who = { .rank = (uint32_t) rank, .n = (uint32_t) nprocs };

    if (rank < 0 || nprocs < 1 || rank >= nprocs)
        return words(-EINVAL, "there is no process %d of %d", rank, nprocs);
    if (token == NULL && nprocs > 1)
        return words(-EINVAL, "%d processes need a token that one of them made: fallsfs_token", nprocs);
    if (token != NULL)
        memcpy(who.token, token, sizeof who.token);
    pthread_mutex_lock(&lock);
    self = who;
    is_known = true;
    pthread_mutex_unlock(&lock);
    return 0;
}

static bool read_token(const char *text, uint8_t token[16])
{
    if (text == NULL || strlen(text) != 32 || strspn(text, "0123456789abcdefABCDEF") != 32)
        return false;
    for (int i = 0; i < 16; i++) {
        const char digits[] = { text[2 * i], text[2 * i + 1], 0 };

        token[i] = (uint8_t) strtoul(digits, NULL, 16);
    }
    return true;
}

static bool read_number(const char *text, uint32_t *ret_n)
{
    char *end;
    unsigned long n;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    n = strtoul(text, &end, 10);
    *ret_n = (uint32_t) n;
    return errno == 0 && *end == 0 && n <= INT32_MAX;
}

static int read_environment(struct who *ret_who)
{
    const char *rank = getenv("FALLSFS_RANK"), *n = getenv("FALLSFS_SIZE"), *token = getenv("FALLSFS_TOKEN");
    struct who who = { .n = 1 };

    if (rank == NULL && n == NULL) {
        *ret_who = who;
        return 0;
    }
    if (!read_number(rank, &who.rank) || !read_number(n, &who.n) || who.rank >= who.n)
        return words(-EINVAL, "FALLSFS_RANK is less than FALLSFS_SIZE, and both are numbers");
    if (!read_token(token, who.token) && (token != NULL || who.n > 1))
        return words(-EINVAL, "FALLSFS_TOKEN has 32 hexadecimal digits, the same for all processes");
    *ret_who = who;
    return 0;
}

int who_am_i(struct who *ret_who)
{
    int r = 0;

    pthread_mutex_lock(&lock);
    if (!is_known)
        r = read_environment(&self);
    is_known |= r == 0;
    *ret_who = self;
    pthread_mutex_unlock(&lock);
    return r;
}

/* -- tokens -- */

/* How often it was asked for before. lock is held. */
static bool count(const struct who *who, uint32_t n, uint64_t ino, uint64_t *ret_times)
{
    struct asked_for *at = asked;

    while (at != NULL && (at->rank != who->rank || at->n != n || at->ino != ino))
        at = at->next;
    if (at == NULL) {
        at = malloc(sizeof *at);
        if (at == NULL)
            return false;
        *at = (struct asked_for){ asked, ino, 0, who->rank, n };
        asked = at;
    }
    *ret_times = at->times++;
    return true;
}

__attribute__((destructor)) static void forget(void)
{
    while (asked != NULL) {
        struct asked_for *next = asked->next;

        free(asked);
        asked = next;
    }
}

/* Every bit of what is mixed in changes half of what comes out. */
static uint64_t mix(uint64_t x, uint64_t with)
{
    x = (x ^ with) + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int who_token(const struct who *who, uint32_t n, uint64_t ino, uint8_t ret_token[16])
{
    uint64_t half[2], times = 0;
    bool counted;

    pthread_mutex_lock(&lock);
    counted = count(who, n, ino, &times);
    pthread_mutex_unlock(&lock);
    if (!counted)
        return words(-ENOMEM, "there is not enough memory");
    memcpy(half, who->token, sizeof half);
    for (int i = 0; i < 2; i++)
        half[i] = mix(mix(mix(half[i], ino), n), times);
    memcpy(ret_token, half, sizeof half);
    return 0;
}

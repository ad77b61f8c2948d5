/* SPDX-License-Identifier: MIT */
#include "fs/daemon/ops/open_texts.h"

#include "fs/core/disk/mutex.h"
#include "fs/daemon/bounds/accounts.h"
#include "fs/daemon/serve/mount.h"

#include <string.h>

#define NUMBER_BIT (UINT64_C(1) << 63) /* handles have smaller numbers */

struct open_text {
    uint64_t number;
    uid_t uid;
    char *text;
    size_t len;
    struct open_text *next;
};

static struct mutex lock = MUTEX_INITIALIZER;
static struct open_text *texts; /* lock */
static uint64_t n_opened;       /* lock; so far */

static struct open_text **find(uint64_t number) REQUIRES(lock)
{
    struct open_text **at = &texts;

    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void free_text(struct open_text *text)
{
    accounts_discharge(the_mount->accounts, text->uid, ACCOUNT_TEXT_BYTES, text->len);
    free(text->text);
    free(text);
}

int open_texts_add(uid_t uid, char *text, size_t len, uint64_t *ret_number)
{
    struct open_text *open = calloc(1, sizeof *open);
    int r = open != NULL ? accounts_charge(the_mount->accounts, uid, ACCOUNT_TEXT_BYTES, len) : -ENOMEM;

    if (r < 0) {
        free(open);
        free(text);
        return r;
    }
    *open = (struct open_text){ .uid = uid, .text = text, .len = len };
    mutex_lock(&lock);
    open->number = NUMBER_BIT | ++n_opened;
    open->next = texts;
    texts = open;
    *ret_number = open->number;
    mutex_unlock(&lock);
    return 0;
}

int open_texts_read(uint64_t number, size_t off, size_t size, char **ret_bytes, size_t *ret_len)
{
    const struct open_text *open;
    char *bytes = NULL;
    size_t len = 0;
    int r = -EBADF;

    mutex_lock(&lock);
    open = *find(number);
    if (open != NULL) {
        off = MIN(off, open->len);
        len = MIN(size, open->len - off);
        bytes = malloc(MAX(len, 1));
        r = bytes != NULL ? 0 : -ENOMEM;
    }
    if (r == 0)
        memcpy(bytes, open->text + off, len);
    mutex_unlock(&lock);
    if (r < 0)
        return r;
    *ret_bytes = bytes;
    *ret_len = len;
    return 0;
}

void open_texts_drop(uint64_t number)
{
    struct open_text **at, *open;

    mutex_lock(&lock);
    at = find(number);
    open = *at;
    if (open != NULL)
        *at = open->next;
    mutex_unlock(&lock);
    if (open != NULL)
        free_text(open);
}

void open_texts_free(void)
{
    struct open_text *open;

    mutex_lock(&lock);
    open = steal(texts);
    mutex_unlock(&lock);
    while (open != NULL) {
        struct open_text *next = open->next;

        free_text(open);
        open = next;
    }
}

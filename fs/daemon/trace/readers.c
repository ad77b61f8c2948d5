/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/readers.h"

void readers_init(struct readers *readers)
{
    *readers = (struct readers){ .place = { { .reader = NULL } } };
    mutex_init(&readers->lock);
}

void readers_done(struct readers *readers)
{
    for (uint32_t i = 0; i < RING_MAX_ALL; i++)
        if (readers->place[i].reader != NULL)
            ring_reader_free(readers->place[i].reader);
    mutex_done(&readers->lock);
}

int readers_add(struct readers *readers, struct ring_reader *reader, uint64_t *ret_number)
{
    uint32_t i = 0;

    mutex_lock(&readers->lock);
    while (i < RING_MAX_ALL && readers->place[i].reader != NULL)
        i++;
    if (i < RING_MAX_ALL) {
        readers->place[i].reader = reader;
        readers->place[i].n_users = 0;
        readers->place[i].is_closed = false;
    }
    mutex_unlock(&readers->lock);
    if (i == RING_MAX_ALL) {
        ring_reader_free(reader);
        return -EUSERS;
    }
    *ret_number = i;
    return 0;
}

/* Takes a reader out of its place when nobody needs it any more; NULL: somebody does. */
static struct ring_reader *take_unused(struct readers *readers, uint64_t number) REQUIRES(readers->lock)
{
    bool is_needed = !readers->place[number].is_closed || readers->place[number].n_users > 0;

    return is_needed ? NULL : steal(readers->place[number].reader);
}

static struct ring_reader *begin(struct readers *readers, uint64_t number)
{
    struct ring_reader *reader = NULL;

    mutex_lock(&readers->lock);
    if (number < RING_MAX_ALL && !readers->place[number].is_closed)
        reader = readers->place[number].reader;
    if (reader != NULL)
        readers->place[number].n_users++;
    mutex_unlock(&readers->lock);
    return reader;
}

static void end(struct readers *readers, uint64_t number)
{
    struct ring_reader *unused;

    mutex_lock(&readers->lock);
    assert(readers->place[number].n_users > 0);
    readers->place[number].n_users--;
    unused = take_unused(readers, number);
    mutex_unlock(&readers->lock);
    if (unused != NULL)
        ring_reader_free(unused);
}

ssize_t readers_read(struct readers *readers, uint64_t number, void *buf, size_t size)
{
    struct ring_reader *reader = begin(readers, number);
    ssize_t n;

    if (reader == NULL)
        return -EBADF;
    n = ring_read(reader, buf, size);
    end(readers, number);
    return n;
}

void readers_close(struct readers *readers, uint64_t number)
{
    struct ring_reader *unused = NULL;

    mutex_lock(&readers->lock);
    if (number < RING_MAX_ALL && readers->place[number].reader != NULL) {
        readers->place[number].is_closed = true;
        unused = take_unused(readers, number);
    }
    mutex_unlock(&readers->lock);
    if (unused != NULL)
        ring_reader_free(unused);
}

/* SPDX-License-Identifier: MIT */
#include "fs/daemon/sections.h"

#include <string.h>

struct sections *sections_new(void)
{
    struct sections *sections = calloc(1, sizeof *sections);

    if (sections == NULL)
        return NULL;
    wanted_cache_init(&sections->wanted);
    pthread_mutex_init(&sections->lock, NULL);
    return sections;
}

void sections_free(struct sections *sections)
{
    if (sections == NULL)
        return;
    while (sections->buffers != NULL)
        (void) sections_drop_buffer(sections, sections->buffers->number);
    wanted_cache_done(&sections->wanted);
    pthread_mutex_destroy(&sections->lock);
    free(sections);
}

static struct buffer **find(struct sections *sections, uint32_t number)
{
    struct buffer **at = &sections->buffers;

    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

uint32_t sections_add_buffer(struct sections *sections, struct buffer *buffer)
{
    uint32_t number;

    pthread_mutex_lock(&sections->lock);
    while (buffer->number == 0 || *find(sections, buffer->number) != NULL)
        buffer->number++; /* at random twice the same: with thousands that does happen */
    buffer->next = sections->buffers;
    sections->buffers = buffer;
    number = buffer->number;
    pthread_mutex_unlock(&sections->lock);
    return number;
}

bool sections_drop_buffer(struct sections *sections, uint32_t number)
{
    struct buffer **at, *buffer;

    pthread_mutex_lock(&sections->lock);
    at = find(sections, number);
    buffer = *at;
    if (buffer != NULL)
        *at = buffer->next;
    pthread_mutex_unlock(&sections->lock);
    buffer_put(buffer);
    return buffer != NULL;
}

struct buffer *sections_buffer(struct sections *sections, uint32_t number)
{
    struct buffer *buffer;

    pthread_mutex_lock(&sections->lock);
    buffer = *find(sections, number);
    if (buffer != NULL)
        buffer_ref(buffer);
    pthread_mutex_unlock(&sections->lock);
    return buffer;
}

uint64_t sections_process(struct sections *sections, struct processes *processes, pid_t tid)
{
    uint64_t process = 0, now = processes_ended(processes);

    pthread_mutex_lock(&sections->lock);
    if (sections->known_at != now) {
        memset(sections->known, 0, sizeof sections->known);
        sections->known_at = now;
    }
    for (uint32_t i = 0; i < SECTIONS_KNOWN_THREADS && process == 0; i++)
        if (sections->known[i].tid == tid)
            process = sections->known[i].process;
    pthread_mutex_unlock(&sections->lock);
    if (process != 0 || (process = processes_of(processes, tid)) == 0)
        return process;
    pthread_mutex_lock(&sections->lock);
    if (sections->known_at == now)
        sections->known[sections->next_known] = (struct known_thread){ tid, process };
    sections->next_known = (sections->next_known + 1) % SECTIONS_KNOWN_THREADS;
    pthread_mutex_unlock(&sections->lock);
    return process;
}

void sections_note_alone(struct sections *sections, const struct group_stats *stats)
{
    pthread_mutex_lock(&sections->lock);
    sections->alone.calls++;
    sections->alone.ns_plan = stats->ns_plan;
    sections->alone.last = stats->last;
    pthread_mutex_unlock(&sections->lock);
}

struct group_stats sections_alone(struct sections *sections)
{
    struct group_stats stats;

    pthread_mutex_lock(&sections->lock);
    stats = sections->alone;
    pthread_mutex_unlock(&sections->lock);
    return stats;
}

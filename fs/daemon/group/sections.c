/* SPDX-License-Identifier: MIT */
#include "fs/daemon/group/sections.h"

#include <string.h>

struct sections *sections_new(const struct lens *lens)
{
    struct sections *sections = calloc(1, sizeof *sections);

    if (sections == NULL)
        return NULL;
    wanted_cache_init(&sections->wanted, lens);
    mutex_init(&sections->lock);
    return sections;
}

void sections_free(struct sections *sections)
{
    if (sections == NULL)
        return;
    while (sections->buffers != NULL)
        (void) sections_drop_buffer(sections, sections->buffers->number);
    wanted_cache_done(&sections->wanted);
    mutex_done(&sections->lock);
    free(sections);
}

void sections_forget_lists(struct sections *sections)
{
    wanted_cache_forget_lists(&sections->wanted);
}

static struct buffer **find(struct sections *sections, uint32_t number) REQUIRES(sections->lock)
{
    struct buffer **at = &sections->buffers;

    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

uint32_t sections_add_buffer(struct sections *sections, struct buffer *buffer)
{
    uint32_t number;

    mutex_lock(&sections->lock);
    while (buffer->number == 0 || *find(sections, buffer->number) != NULL)
        buffer->number++; /* at random twice the same: with thousands that does happen */
    buffer->next = sections->buffers;
    sections->buffers = buffer;
    number = buffer->number;
    mutex_unlock(&sections->lock);
    return number;
}

bool sections_drop_buffer(struct sections *sections, uint32_t number)
{
    struct buffer **at, *buffer;

    mutex_lock(&sections->lock);
    at = find(sections, number);
    buffer = *at;
    if (buffer != NULL)
        *at = buffer->next;
    mutex_unlock(&sections->lock);
    buffer_put(buffer);
    return buffer != NULL;
}

struct buffer *sections_buffer(struct sections *sections, uint32_t number)
{
    struct buffer *buffer;

    mutex_lock(&sections->lock);
    buffer = *find(sections, number);
    if (buffer != NULL)
        buffer_ref(buffer);
    mutex_unlock(&sections->lock);
    return buffer;
}

uint64_t sections_process(struct sections *sections, struct processes *processes, pid_t tid)
{
    uint64_t process = 0, now = processes_ended(processes);

    mutex_lock(&sections->lock);
    if (sections->known_at != now) {
        memset(sections->known, 0, sizeof sections->known);
        sections->known_at = now;
    }
    for (uint32_t i = 0; i < SECTIONS_KNOWN_THREADS && process == 0; i++)
        if (sections->known[i].tid == tid)
            process = sections->known[i].process;
    mutex_unlock(&sections->lock);
    if (process != 0 || (process = processes_of(processes, tid)) == 0)
        return process;
    mutex_lock(&sections->lock);
    if (sections->known_at == now)
        sections->known[sections->next_known] = (struct known_thread){ tid, process };
    sections->next_known = (sections->next_known + 1) % SECTIONS_KNOWN_THREADS;
    mutex_unlock(&sections->lock);
    return process;
}

void sections_note_member(struct sections *sections, pid_t tid)
{
    mutex_lock(&sections->lock);
    sections->member = tid;
    mutex_unlock(&sections->lock);
}

pid_t sections_member(struct sections *sections)
{
    pid_t tid;

    mutex_lock(&sections->lock);
    tid = sections->member;
    mutex_unlock(&sections->lock);
    return tid;
}

void sections_note_alone(struct sections *sections, const struct group_stats *stats)
{
    mutex_lock(&sections->lock);
    sections->alone.calls++;
    sections->alone.ns_plan = stats->ns_plan;
    sections->alone.last = stats->last;
    mutex_unlock(&sections->lock);
}

struct group_stats sections_alone(struct sections *sections)
{
    struct group_stats stats;

    mutex_lock(&sections->lock);
    stats = sections->alone;
    mutex_unlock(&sections->lock);
    return stats;
}

void sections_hint(struct sections *sections, const struct collective_hints *hints)
{
    mutex_lock(&sections->lock);
    sections->hints = *hints;
    mutex_unlock(&sections->lock);
}

struct collective_hints sections_hints(struct sections *sections)
{
    struct collective_hints hints;

    mutex_lock(&sections->lock);
    hints = sections->hints;
    mutex_unlock(&sections->lock);
    return hints;
}

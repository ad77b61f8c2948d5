/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/stage.h"

#include "ioctl/client/client.h"

#include <pthread.h>
#include <unistd.h>

#define MAX_KEPT 4

struct stage {
    uint8_t *bytes;
    uint64_t len;
    pid_t owner; /* a child has its own */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stage *kept[MAX_KEPT]; /* lock; idle ones */

static void stage_free(struct stage *stage)
{
    if (stage != NULL)
        fallsfs_free(stage->bytes);
    free(stage);
}

static struct stage *stage_new(uint64_t len)
{
    struct stage *stage = malloc(sizeof *stage);

    if (stage == NULL)
        return NULL;
    *stage = (struct stage){ .len = STAGE_LEAST, .owner = getpid() };
    while (stage->len < len)
        stage->len *= 2;
    stage->bytes = fallsfs_alloc(stage->len);
    if (stage->bytes != NULL)
        return stage;
    free(stage);
    return NULL;
}

struct stage *stage_take(uint64_t len)
{
    struct stage *stage = NULL;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_KEPT && stage == NULL; i++)
        if (kept[i] != NULL && kept[i]->len >= len && kept[i]->owner == getpid())
            stage = steal(kept[i]);
    pthread_mutex_unlock(&lock);
    return stage != NULL ? stage : stage_new(len);
}

uint8_t *stage_bytes(const struct stage *stage)
{
    return stage->bytes;
}

/* A smaller one gives way. */
void stage_give(struct stage *stage)
{
    struct stage *unused = stage;

    if (stage == NULL)
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_KEPT && unused == stage; i++)
        if (kept[i] == NULL || kept[i]->len < stage->len) {
            unused = kept[i];
            kept[i] = stage;
        }
    pthread_mutex_unlock(&lock);
    stage_free(unused);
}

bool stage_is_shown(int fd)
{
    struct stage *stage = stage_take(STAGE_LEAST);
    struct place place = { .arena = NULL };
    uint32_t buffer = 0;
    bool shown = false;

    if (stage != NULL && place_find(stage->bytes, 1, &place) == 0) {
        shown = !place.staged && place_show(&place, fd, &buffer) == 0;
        place_done(&place);
    }
    stage_give(stage);
    return shown;
}

void stage_forget_all(void)
{
    struct stage *idle[MAX_KEPT];

    pthread_mutex_lock(&lock);
    memcpy(idle, kept, sizeof idle);
    memset(kept, 0, sizeof kept);
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < MAX_KEPT; i++)
        stage_free(idle[i]);
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/want.h"

#include "fs/core/disk/mutex.h"

#include <string.h>

struct want {
    struct layouts *layouts;
    atomic_uint_least32_t refs;
    struct mutex lock;
    uint32_t turn;               /* lock; of the volume, when choice was found out */
    struct chosen_layout choice; /* lock; layout NULL: nothing */
    atomic_size_t bytes;         /* of memory, those of choice included */
    char text[];
};

static void count_bytes(struct want *want)
{
    size_t bytes = sizeof *want + strlen(want->text) + 1;

    atomic_store(&want->bytes, bytes + (want->choice.layout != NULL ? want->choice.layout->bytes : 0));
}

size_t want_bytes(const struct want *want)
{
    return atomic_load(&want->bytes);
}

int want_of(struct layouts *layouts, const char *text, uint32_t turn, const struct chosen_layout *choice,
            struct want **ret_want)
{
    size_t size = strlen(text) + 1;
    struct want *want = calloc(1, sizeof *want + size);

    if (want == NULL) {
        layouts_put(layouts, choice->layout);
        return -ENOMEM;
    }
    *want = (struct want){ .layouts = layouts, .refs = 1, .turn = turn, .choice = *choice };
    memcpy(want->text, text, size);
    count_bytes(want);
    mutex_init(&want->lock);
    *ret_want = want;
    return 0;
}

int want_new(struct layouts *layouts, const char *text, struct want **ret_want, struct layout_error *ret_error)
{
    uint32_t turn = layouts_turn(layouts);
    struct file_layout *planned;
    struct chosen_layout choice;
    int r = layouts_plan(layouts, text, &planned, &choice.rotates, ret_error);

    if (r == 0 && (r = layouts_keep(layouts, planned, &choice.layout)) < 0) {
        turn--; /* so that it is tried again for the next file */
        r = layouts_plan_over_all(layouts, text, &planned, &choice.rotates, ret_error);
        if (r == 0)
            r = layouts_keep(layouts, planned, &choice.layout);
    }
    if (r == -ENOSPC || r == -EDQUOT) {
        choice.layout = NULL;
        r = 0;
    }
    return r < 0 ? r : want_of(layouts, text, turn, &choice, ret_want);
}

struct want *want_ref(struct want *want)
{
    if (want != NULL)
        atomic_fetch_add(&want->refs, 1);
    return want;
}

void want_put(struct want *want)
{
    if (want == NULL || atomic_fetch_sub(&want->refs, 1) > 1)
        return;
    layouts_put(want->layouts, want->choice.layout);
    mutex_done(&want->lock);
    free(want);
}

const char *want_text(const struct want *want)
{
    return want->text;
}

static int renew(struct want *want, bool may_wait, struct layout_error *error) REQUIRES(want->lock)
{
    uint32_t turn = layouts_turn(want->layouts);
    struct file_layout *planned;
    struct chosen_layout fresh;
    int r = layouts_plan(want->layouts, want->text, &planned, &fresh.rotates, error);

    if (r == 0)
        r = may_wait ? layouts_keep(want->layouts, planned, &fresh.layout)
                     : layouts_keep_promptly(want->layouts, planned, &fresh.layout);
    if (r < 0)
        return r;
    layouts_put(want->layouts, want->choice.layout);
    want->choice = fresh;
    want->turn = turn;
    count_bytes(want);
    return 0;
}

int want_choose(struct want *want, struct chosen_layout *ret_choice)
{
    struct layout_error ignored;
    int r = 0;

    mutex_lock(&want->lock);
    if (want->turn != layouts_turn(want->layouts))
        r = renew(want, want->choice.layout == NULL, &ignored); /* a failure is tried again for the next file */
    if (want->choice.layout != NULL) {
        *ret_choice = want->choice;
        (void) layouts_ref(want->layouts, want->choice.layout);
        r = 0;
    }
    mutex_unlock(&want->lock);
    return r;
}

int want_plan(const struct want *want, struct chosen_layout *ret_choice)
{
    struct layout_error ignored;

    return layouts_plan(want->layouts, want->text, &ret_choice->layout, &ret_choice->rotates, &ignored);
}

int want_renew(struct want *want, struct layout_error *ret_error)
{
    int r;

    mutex_lock(&want->lock);
    r = renew(want, true, ret_error);
    mutex_unlock(&want->lock);
    return r;
}

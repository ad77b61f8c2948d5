/* SPDX-License-Identifier: MIT */
#include "fs/daemon/view/views.h"

#include "fs/daemon/kernel/trim.h"

#include <stdio.h>
#include <string.h>

#define N_BUCKETS 1024
#define N_RECENT  8

/* Bytes that each descriptor with a view is charged beside the view that it shares: handle, node, file_view, and what
 * sections are asked with. */
#define OWN_BYTES 2048

struct known_view {
    uid_t uid;
    uint32_t n_disks; /* how many the text was read for */
    uint32_t n_held;  /* views->lock */
    size_t bytes;
    struct view *view;
    struct known_view *next; /* views->lock */
};

/* A view that was looked at lately: who looks at one mostly opens it next. */
struct recent {
    uint32_t n_disks;
    struct view *view;
};

struct views {
    struct fs *fs;
    struct accounts *accounts;
    struct mutex lock;
    struct known_view *bucket[N_BUCKETS]; /* lock; by text */
    struct recent recent[N_RECENT];       /* lock */
    uint32_t next_recent;                 /* lock */
};

int views_new(struct fs *fs, struct accounts *accounts, struct views **ret_views)
{
    struct views *views = calloc(1, sizeof *views);

    if (views == NULL)
        return -ENOMEM;
    views->fs = fs;
    views->accounts = accounts;
    mutex_init(&views->lock);
    *ret_views = views;
    return 0;
}

void views_free(struct views *views)
{
    if (views == NULL)
        return;
    for (uint32_t i = 0; i < N_RECENT; i++)
        view_put(views->recent[i].view);
    mutex_done(&views->lock);
    free(views);
}

static struct known_view **bucket_of(struct views *views, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text != 0; text++)
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return &views->bucket[hash % N_BUCKETS];
}

/* -- what a text means -- */

/* Finds a view among those looked at lately, with a reference; NULL: it is not there. */
static struct view *find_recent(struct views *views, const char *text, uint32_t n_disks) REQUIRES(views->lock)
{
    for (uint32_t i = 0; i < N_RECENT; i++) {
        const struct recent *recent = &views->recent[i];

        if (recent->view != NULL && recent->n_disks == n_disks && strcmp(recent->view->text, text) == 0)
            return view_ref(recent->view);
    }
    return NULL;
}

static void keep_recent(struct views *views, struct view *view, uint32_t n_disks)
{
    struct view *before;

    mutex_lock(&views->lock);
    before = views->recent[views->next_recent].view;
    views->recent[views->next_recent] = (struct recent){ n_disks, view_ref(view) };
    views->next_recent = (views->next_recent + 1) % N_RECENT;
    mutex_unlock(&views->lock);
    view_put(before);
}

static int read_text(struct views *views, const char *text, uint32_t n_disks, struct view **ret_view,
                     struct layout_error *ret_error)
{
    struct view *view;

    mutex_lock(&views->lock);
    view = find_recent(views, text, n_disks);
    mutex_unlock(&views->lock);
    if (view == NULL)
        return view_parse(text, strlen(text), n_disks, ret_view, ret_error);
    *ret_view = view;
    return 0;
}

int views_look(struct views *views, const char *text, struct view **ret_view)
{
    uint32_t n_disks = views->fs->volume->n_disks;
    struct layout_error error;
    struct view *view = NULL;
    int r;

    mutex_lock(&views->lock);
    for (const struct known_view *known = *bucket_of(views, text); known != NULL && view == NULL; known = known->next)
        if (known->n_disks == n_disks && strcmp(known->view->text, text) == 0)
            view = view_ref(known->view);
    if (view == NULL)
        view = find_recent(views, text, n_disks);
    mutex_unlock(&views->lock);
    if (view == NULL) {
        r = view_parse(text, strlen(text), n_disks, &view, &error);
        if (r < 0)
            return r;
        keep_recent(views, view, n_disks);
    }
    *ret_view = view;
    return 0;
}

/* -- what a user knows -- */

/* Finds the view that a user knows by a text, and counts one more descriptor; NULL: no descriptor of the user's has
 * it. */
static struct known_view *find_known(struct views *views, uid_t uid, const char *text, uint32_t n_disks)
    REQUIRES(views->lock)
{
    struct known_view *known = *bucket_of(views, text);

    while (known != NULL && (known->uid != uid || known->n_disks != n_disks || strcmp(known->view->text, text) != 0))
        known = known->next;
    if (known != NULL)
        known->n_held++;
    return known;
}

/* Makes a view known to a user who has opened it, and takes over the reference, also when it fails. */
static int know(struct views *views, uid_t uid, struct view *view, uint32_t n_disks, struct known_view **ret_known)
{
    struct known_view *known = calloc(1, sizeof *known), *same;
    size_t bytes = sizeof *known + view_bytes(view);
    int r = known != NULL ? accounts_charge(views->accounts, uid, ACCOUNT_VIEW_BYTES, bytes) : -ENOMEM;

    if (r < 0) {
        view_put(view);
        free(known);
        return r;
    }
    *known = (struct known_view){ .uid = uid, .n_disks = n_disks, .n_held = 1, .bytes = bytes, .view = view };
    mutex_lock(&views->lock);
    same = find_known(views, uid, view->text, n_disks); /* another thread may have been faster */
    if (same == NULL) {
        known->next = *bucket_of(views, view->text);
        *bucket_of(views, view->text) = known;
    }
    mutex_unlock(&views->lock);
    if (same != NULL) {
        accounts_discharge(views->accounts, uid, ACCOUNT_VIEW_BYTES, bytes);
        view_put(view);
        free(known);
    }
    *ret_known = same != NULL ? same : known;
    return 0;
}

static int get_known(struct views *views, uid_t uid, const char *text, struct known_view **ret_known,
                     struct layout_error *ret_error)
{
    uint32_t n_disks = views->fs->volume->n_disks;
    struct known_view *known;
    struct view *view;
    int r;

    mutex_lock(&views->lock);
    known = find_known(views, uid, text, n_disks);
    mutex_unlock(&views->lock);
    if (known != NULL) {
        *ret_known = known;
        return 0;
    }
    r = read_text(views, text, n_disks, &view, ret_error);
    return r < 0 ? r : know(views, uid, view, n_disks, ret_known);
}

static void put_known(struct views *views, struct known_view *known)
{
    struct known_view **at;
    bool unused;

    mutex_lock(&views->lock);
    assert(known->n_held > 0);
    unused = --known->n_held == 0;
    if (unused) {
        for (at = bucket_of(views, known->view->text); *at != known; at = &(*at)->next)
            ;
        *at = known->next;
    }
    mutex_unlock(&views->lock);
    if (!unused)
        return;
    accounts_discharge(views->accounts, known->uid, ACCOUNT_VIEW_BYTES, known->bytes);
    trim_note(known->bytes);
    view_put(known->view);
    free(known);
}

/* -- descriptors -- */

static int charge_own(struct views *views, uid_t uid)
{
    int r = accounts_charge(views->accounts, uid, ACCOUNT_VIEWS, 1);

    if (r < 0)
        return r;
    r = accounts_charge(views->accounts, uid, ACCOUNT_VIEW_BYTES, OWN_BYTES);
    if (r < 0)
        accounts_discharge(views->accounts, uid, ACCOUNT_VIEWS, 1);
    return r;
}

static void discharge_own(struct views *views, uid_t uid)
{
    accounts_discharge(views->accounts, uid, ACCOUNT_VIEW_BYTES, OWN_BYTES);
    accounts_discharge(views->accounts, uid, ACCOUNT_VIEWS, 1);
    trim_note(OWN_BYTES);
}

int views_hold(struct views *views, uid_t uid, const char *text, struct file_view_counters *counters,
               struct held_view **ret_held, struct layout_error *ret_error)
{
    struct held_view *held = calloc(1, sizeof *held);
    struct known_view *known;
    int r = held != NULL ? charge_own(views, uid) : -ENOMEM;

    if (r < 0) {
        free(held);
        return r;
    }
    r = get_known(views, uid, text, &known, ret_error);
    if (r == 0) {
        r = file_view_new(views->fs, known->view, counters, &held->file_view);
        if (r < 0)
            put_known(views, known);
    }
    if (r < 0) {
        discharge_own(views, uid);
        free(held);
        return r;
    }
    atomic_init(&held->refs, 1);
    held->uid = uid;
    held->views = views;
    held->known = known;
    *ret_held = held;
    return 0;
}

struct held_view *held_view_ref(struct held_view *held)
{
    atomic_fetch_add(&held->refs, 1);
    return held;
}

void held_view_put(struct held_view *held)
{
    if (held == NULL || atomic_fetch_sub(&held->refs, 1) > 1)
        return;
    file_view_free(held->file_view);
    put_known(held->views, held->known);
    discharge_own(held->views, held->uid);
    free(held);
}

void views_explain(struct views *views, uid_t uid, char *why, size_t size)
{
    uint64_t n = accounts_bound(views->accounts, uid, ACCOUNT_VIEWS);

    if (accounts_has(views->accounts, uid, ACCOUNT_VIEWS) >= n)
        snprintf(why, size,
                 "%" PRIu64 " descriptors with views, as many as this user may have: close some, or ask for more, "
                 "limits.views in fallsfs.conf",
                 n);
    else
        snprintf(why, size,
                 "the views that this user has take %" PRIu64 " MiB, as much as they may: close some, write them "
                 "shorter, as with array(...), or ask for more, limits.view_memory in fallsfs.conf",
                 accounts_bound(views->accounts, uid, ACCOUNT_VIEW_BYTES) >> 20);
}

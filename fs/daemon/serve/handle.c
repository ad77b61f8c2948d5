/* SPDX-License-Identifier: MIT */
#include "fs/daemon/serve/handle.h"

#include "fs/daemon/bounds/accounts.h"
#include "fs/daemon/serve/direct.h"

#include <fcntl.h>

struct slot {
    struct handle *handle;
    uint32_t generation;
    uint32_t next_free;
};

#define N_BUCKETS 1024

/* What a user is charged for one file, however often the user has it open; a directory has a stake for each time. */
struct stake {
    uid_t uid;
    uint64_t nodeid;
    uint32_t n_handles; /* stakes_lock */
    uint32_t n_charged;
    struct stake *next; /* stakes_lock */
};

struct handles {
    struct accounts *accounts;
    const struct handle_ends *ends;
    bool direct_io;
    struct mutex stakes_lock;
    struct stake *bucket[N_BUCKETS]; /* stakes_lock; by nodeid */
    pthread_rwlock_t lock;
    struct slot *slot;  /* lock; slot 0 is not used */
    uint32_t n, free;   /* lock; free is 0 when there is none */
    uint64_t n_open[2]; /* lock; directories, and [1] files */
    atomic_uint n_opened;
};

int handles_new(struct accounts *accounts, const struct handle_ends *ends, bool direct_io, struct handles **ret_handles)
{
    struct handles *handles = calloc(1, sizeof *handles);

    if (handles == NULL)
        return -ENOMEM;
    handles->accounts = accounts;
    handles->ends = ends;
    handles->direct_io = direct_io;
    mutex_init(&handles->stakes_lock);
    pthread_rwlock_init(&handles->lock, NULL);
    *ret_handles = handles;
    return 0;
}

void handles_free(struct handles *handles)
{
    if (handles == NULL)
        return;
    for (uint32_t i = 0; i < handles->n; i++)
        if (handles->slot[i].handle != NULL)
            handle_put(handles->slot[i].handle);
    free(handles->slot);
    pthread_rwlock_destroy(&handles->lock);
    mutex_done(&handles->stakes_lock);
    free(handles);
}

/* -- who is charged -- */

static struct stake **find_stake(struct handles *handles, uint64_t nodeid, uid_t uid) REQUIRES(handles->stakes_lock)
{
    struct stake **at = &handles->bucket[nodeid % N_BUCKETS];

    while (*at != NULL && ((*at)->nodeid != nodeid || (*at)->uid != uid))
        at = &(*at)->next;
    return at;
}

static int new_stake(const struct handle *handle, uid_t uid, struct stake **ret_stake)
{
    uint32_t n = 1 + (handle->file != NULL ? file_weight(handle->file) : 0);
    struct stake *stake = calloc(1, sizeof *stake);
    int r = stake != NULL ? accounts_charge(handle->handles->accounts, uid, ACCOUNT_DESCRIPTORS, n) : -ENOMEM;

    if (r < 0) {
        free(stake);
        return r == -EUSERS ? -ENFILE : r;
    }
    *stake = (struct stake){ .uid = uid, .nodeid = handle->inode->nodeid, .n_charged = n };
    *ret_stake = stake;
    return 0;
}

/* An open directory takes a descriptor each time, so it always gets a stake of its own. */
int handles_charge(struct handles *handles, struct handle *handle, uid_t uid)
{
    struct stake **at, *stake = NULL;
    int r = 0;

    mutex_lock(&handles->stakes_lock);
    at = find_stake(handles, handle->inode->nodeid, uid);
    if (*at == NULL || handle->file == NULL)
        r = new_stake(handle, uid, &stake);
    if (r == 0 && stake != NULL) {
        stake->next = *at;
        *at = stake;
    }
    if (r == 0) {
        handle->stake = *at;
        handle->stake->n_handles++;
    }
    mutex_unlock(&handles->stakes_lock);
    return r;
}

int handles_recharge(struct handles *handles, const struct inode *inode, uint32_t weight)
{
    int r = 0;

    mutex_lock(&handles->stakes_lock);
    for (struct stake *stake = handles->bucket[inode->nodeid % N_BUCKETS]; r == 0 && stake != NULL;
         stake = stake->next) {
        uint32_t more = stake->nodeid == inode->nodeid ? 1 + weight - MIN(1 + weight, stake->n_charged) : 0;

        if (more > 0)
            r = accounts_charge(handles->accounts, stake->uid, ACCOUNT_DESCRIPTORS, more);
        if (r == 0)
            stake->n_charged += more;
    }
    mutex_unlock(&handles->stakes_lock);
    return r == -EUSERS ? -ENFILE : r;
}

static void discharge(struct handles *handles, struct stake *stake)
{
    struct stake **at;
    bool unused;

    if (stake == NULL)
        return;
    mutex_lock(&handles->stakes_lock);
    assert(stake->n_handles > 0);
    unused = --stake->n_handles == 0;
    if (unused) {
        for (at = &handles->bucket[stake->nodeid % N_BUCKETS]; *at != stake; at = &(*at)->next)
            ;
        *at = stake->next;
    }
    mutex_unlock(&handles->stakes_lock);
    if (unused) {
        accounts_discharge(handles->accounts, stake->uid, ACCOUNT_DESCRIPTORS, stake->n_charged);
        free(stake);
    }
}

/* -- life -- */

void handle_ref(struct handle *handle)
{
    atomic_fetch_add(&handle->refs, 1);
}

/* Whether what is open may be mapped so that writes to memory change the file. A view's mappings are not counted: they
 * have pages of their own. */
static bool reads_and_writes(const struct handle *handle)
{
    return handle->file != NULL && handle->file_view == NULL && (handle->flags & O_ACCMODE) == O_RDWR;
}

void handle_put(struct handle *handle)
{
    if (atomic_fetch_sub(&handle->refs, 1) > 1)
        return;
    handle->handles->ends->sections(atomic_load(&handle->sections));
    if (reads_and_writes(handle))
        atomic_fetch_sub(&handle->inode->pages.n_read_write, 1);
    direct_end(handle);
    if (handle->file != NULL)
        file_put(handle->fs, handle->file);
    handle->handles->ends->view(handle->held, handle->node);
    disk_close(fs_home(handle->fs), &handle->dir_fd);
    mutex_done(&handle->dir_lock);
    inode_unref(handle->fs->inodes, handle->inode);
    discharge(handle->handles, handle->stake);
    free(handle);
}

struct handle *handle_new(struct handles *handles, struct fs *fs, struct inode *inode, struct file *file,
                          const struct handle_view *view, struct handle_way way)
{
    struct handle *handle = calloc(1, sizeof *handle);

    if (handle == NULL) {
        if (file != NULL)
            file_put(fs, file);
        if (view != NULL)
            handles->ends->view(view->held, view->node);
        return NULL;
    }
    handle->handles = handles;
    handle->file = file;
    if (view != NULL) {
        handle->held = view->held;
        handle->file_view = view->file_view;
        handle->node = view->node;
    }
    handle->seen_errors = file != NULL ? file_errors(file) : 0;
    handle->fs = fs;
    handle->inode = inode;
    handle->flags = way.flags;
    handle->opened = file != NULL ? atomic_fetch_add(&handles->n_opened, 1) + 1 : 0;
    handle->past_cache = handles->direct_io || way.past_cache || view != NULL || (way.flags & O_DIRECT) != 0;
    handle->dir_fd = -1;
    atomic_init(&handle->refs, 1);
    mutex_init(&handle->dir_lock);
    inode_ref(fs->inodes, inode);
    if (reads_and_writes(handle))
        atomic_fetch_add(&inode->pages.n_read_write, 1);
    handle->writes_directly =
        file != NULL && handle->file_view == NULL && (way.flags & O_ACCMODE) != O_RDONLY && handle->past_cache;
    direct_begin(handle);
    return handle;
}

static int grow(struct handles *handles)
{
    uint32_t n = MAX(2 * handles->n, 64);
    struct slot *slot = realloc(handles->slot, n * sizeof *slot);

    if (slot == NULL)
        return -ENOMEM;
    for (uint32_t i = handles->n; i < n; i++)
        slot[i] = (struct slot){ .next_free = i + 1 < n ? i + 1 : 0 };
    handles->free = MAX(handles->n, 1);
    handles->slot = slot;
    handles->n = n;
    return 0;
}

int handles_add(struct handles *handles, struct handle *handle, uint64_t *ret_number)
{
    int r = 0;

    pthread_rwlock_wrlock(&handles->lock);
    if (handles->free == 0)
        r = grow(handles);
    if (r == 0) {
        uint32_t i = handles->free;
        struct slot *slot = &handles->slot[i];

        handles->free = slot->next_free;
        slot->handle = handle;
        handles->n_open[handle->file != NULL]++;
        *ret_number = (uint64_t) slot->generation << 32 | i;
    }
    pthread_rwlock_unlock(&handles->lock);
    return r;
}

void handles_count(struct handles *handles, uint64_t *ret_files, uint64_t *ret_directories)
{
    pthread_rwlock_rdlock(&handles->lock);
    *ret_files = handles->n_open[1];
    *ret_directories = handles->n_open[0];
    pthread_rwlock_unlock(&handles->lock);
}

static struct handle_told tell(uint64_t number, const struct handle *handle)
{
    const struct handle_use *use = &handle->use;

    return (struct handle_told){ .number = number,
                                 .nodeid = handle->inode->nodeid,
                                 .uid = handle->uid,
                                 .pid = handle->pid,
                                 .flags = handle->flags,
                                 .is_view = handle->file_view != NULL,
                                 .n_reads = atomic_load_explicit(&use->n_reads, memory_order_relaxed),
                                 .read = atomic_load_explicit(&use->read, memory_order_relaxed),
                                 .n_writes = atomic_load_explicit(&use->n_writes, memory_order_relaxed),
                                 .written = atomic_load_explicit(&use->written, memory_order_relaxed) };
}

/* Adds one to a list that is in order; the last one goes when there are too many. */
static void insert(struct handle_told told[], uint32_t *n, uint32_t max, const struct handle_told *one)
{
    uint32_t at = MIN(*n, max - 1);

    if (*n == max && told[max - 1].read + told[max - 1].written >= one->read + one->written)
        return;
    for (; at > 0 && told[at - 1].read + told[at - 1].written < one->read + one->written; at--)
        told[at] = told[at - 1];
    told[at] = *one;
    *n = MIN(*n + 1, max);
}

uint32_t handles_busiest(struct handles *handles, uid_t uid, bool all, struct handle_told told[], uint32_t max)
{
    uint32_t n = 0;

    pthread_rwlock_rdlock(&handles->lock);
    for (uint32_t i = 0; i < handles->n; i++) {
        const struct handle *handle = handles->slot[i].handle;

        if (handle != NULL && handle->file != NULL && (all || handle->uid == uid)) {
            struct handle_told one = tell((uint64_t) handles->slot[i].generation << 32 | i, handle);

            insert(told, &n, max, &one);
        }
    }
    pthread_rwlock_unlock(&handles->lock);
    return n;
}

static struct slot *find(struct handles *handles, uint64_t number)
{
    uint32_t i = (uint32_t) number;

    if (i >= handles->n || handles->slot[i].generation != number >> 32)
        return NULL;
    return &handles->slot[i];
}

struct handle *handles_get(struct handles *handles, uint64_t number)
{
    struct slot *slot;
    struct handle *handle;

    pthread_rwlock_rdlock(&handles->lock);
    slot = find(handles, number);
    handle = slot != NULL ? slot->handle : NULL;
    if (handle != NULL)
        handle_ref(handle);
    pthread_rwlock_unlock(&handles->lock);
    return handle;
}

void handles_each_sections(struct handles *handles, void (*visit)(struct sections *sections))
{
    pthread_rwlock_rdlock(&handles->lock);
    for (uint32_t i = 0; i < handles->n; i++) {
        const struct handle *handle = handles->slot[i].handle;
        struct sections *sections = handle != NULL ? atomic_load(&handle->sections) : NULL;

        if (sections != NULL)
            visit(sections);
    }
    pthread_rwlock_unlock(&handles->lock);
}

void handles_each(struct handles *handles, void (*visit)(void *ctx, struct handle *handle), void *ctx)
{
    pthread_rwlock_rdlock(&handles->lock);
    for (uint32_t i = 0; i < handles->n; i++)
        if (handles->slot[i].handle != NULL)
            visit(ctx, handles->slot[i].handle);
    pthread_rwlock_unlock(&handles->lock);
}

void handles_drop(struct handles *handles, uint64_t number)
{
    struct handle *handle = NULL;
    struct slot *slot;

    pthread_rwlock_wrlock(&handles->lock);
    slot = find(handles, number);
    if (slot != NULL && slot->handle != NULL) {
        handle = steal(slot->handle);
        handles->n_open[handle->file != NULL]--;
        slot->generation++;
        slot->next_free = handles->free;
        handles->free = (uint32_t) number;
    }
    pthread_rwlock_unlock(&handles->lock);
    if (handle != NULL)
        handle_put(handle);
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/inode.h"

#include <fcntl.h>
#include <string.h>

#define FIRST_SLOTS 256
#define CLOSING     16

struct inodes {
    struct volume *volume;
    struct layouts *layouts;
    uint32_t max_fds;
    struct inode *root;
    pthread_mutex_t naming; /* recursive: opening a name opens its parent's */
    pthread_mutex_t lock;
    pthread_cond_t unused; /* of lock; a descriptor is, or is withheld no longer */
    struct inode **slot;   /* lock; by nodeid modulo 2^32; a free one is NULL */
    uint32_t *generation;
    uint32_t n_slots, n_used, next_free; /* lock */
    struct inode **bucket;               /* lock; by ino; as many as slots */
    struct inode *oldest, *newest;       /* lock; those with a descriptor that may be closed */
    uint32_t n_fds;                      /* lock */
    int closing[CLOSING];                /* lock; descriptors to be closed when it is given up */
    uint32_t n_closing;                  /* lock */
};

static const struct disk *home_of(const struct inodes *inodes)
{
    return volume_home(inodes->volume);
}

/* Closing the last descriptor of a file that was removed takes its disk some time: that is nobody else's business. */
static void unlock(struct inodes *inodes)
{
    int closing[CLOSING];
    uint32_t n = inodes->n_closing;

    memcpy(closing, inodes->closing, n * sizeof closing[0]);
    inodes->n_closing = 0;
    pthread_mutex_unlock(&inodes->lock);
    for (uint32_t i = 0; i < n; i++)
        disk_close(home_of(inodes), &closing[i]);
}

/* -- table -- */

static struct inode **bucket_of(struct inodes *inodes, uint64_t ino)
{
    return &inodes->bucket[(ino * UINT64_C(0x9e3779b97f4a7c15) >> 32) % inodes->n_slots];
}

static void hash_in(struct inodes *inodes, struct inode *inode)
{
    struct inode **bucket = bucket_of(inodes, inode->ino);

    inode->hash_next = *bucket;
    inode->hashed = true;
    *bucket = inode;
}

static void hash_out(struct inodes *inodes, struct inode *inode)
{
    for (struct inode **at = bucket_of(inodes, inode->ino); *at != NULL; at = &(*at)->hash_next)
        if (*at == inode) {
            *at = inode->hash_next;
            inode->hashed = false;
            return;
        }
}

static int grow(struct inodes *inodes)
{
    uint32_t n = MAX(2 * inodes->n_slots, FIRST_SLOTS), old = inodes->n_slots;
    struct inode **slot = calloc(n, sizeof(struct inode *)), **bucket = calloc(n, sizeof(struct inode *));
    uint32_t *generation = calloc(n, sizeof *generation);

    if (slot == NULL || bucket == NULL || generation == NULL) {
        free(slot);
        free(bucket);
        free(generation);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < old; i++) {
        slot[i] = inodes->slot[i];
        generation[i] = inodes->generation[i];
    }
    free(inodes->slot);
    free(inodes->bucket);
    free(inodes->generation);
    inodes->slot = slot;
    inodes->bucket = bucket;
    inodes->generation = generation;
    inodes->n_slots = n;
    for (uint32_t i = 0; i < old; i++)
        if (slot[i] != NULL && slot[i]->hashed)
            hash_in(inodes, slot[i]);
    return 0;
}

/* Slot 0 stays free: no inode has number 0. */
static int take_slot(struct inodes *inodes, struct inode *inode)
{
    uint32_t i;

    if (4 * (uint64_t) (inodes->n_used + 1) >= 3 * (uint64_t) inodes->n_slots) {
        int r = grow(inodes);

        if (r < 0)
            return r;
    }
    for (i = MAX(inodes->next_free, 1); inodes->slot[i] != NULL; i = i + 1 < inodes->n_slots ? i + 1 : 1)
        ;
    inodes->slot[i] = inode;
    inodes->n_used++;
    inodes->next_free = i + 1 < inodes->n_slots ? i + 1 : 1;
    inode->nodeid = (uint64_t) inodes->generation[i]++ << 32 | i;
    return 0;
}

static struct inode *new_inode(struct inodes *inodes, const struct stat *st)
{
    struct inode *inode = calloc(1, sizeof *inode);

    if (inode == NULL)
        return NULL;
    inode->ino = st->st_ino;
    inode->fmt = st->st_mode & S_IFMT;
    inode->fd = -1;
    inode->n_refs = 1;
    inode->name_is_new = true; /* nobody remembers whether it is */
    if (take_slot(inodes, inode) < 0) {
        free(inode);
        return NULL;
    }
    pthread_mutex_init(&inode->lock, NULL);
    hash_in(inodes, inode);
    return inode;
}

static struct inode *find_ino(struct inodes *inodes, uint64_t ino)
{
    struct inode *inode = *bucket_of(inodes, ino);

    while (inode != NULL && inode->ino != ino)
        inode = inode->hash_next;
    return inode;
}

/* -- descriptors that may be closed, the least recently used first -- */

static void list_out(struct inodes *inodes, struct inode *inode)
{
    *(inode->older != NULL ? &inode->older->newer : &inodes->oldest) = inode->newer;
    *(inode->newer != NULL ? &inode->newer->older : &inodes->newest) = inode->older;
    inode->older = inode->newer = NULL;
}

static void list_in(struct inodes *inodes, struct inode *inode)
{
    inode->older = inodes->newest;
    *(inodes->newest != NULL ? &inodes->newest->newer : &inodes->oldest) = inode;
    inodes->newest = inode;
}

static bool lies_in_todo(const struct inode *inode)
{
    return inode->parent == NULL && inode->name != NULL;
}

/* Neither those in use, nor those that no name leads to: they could not be opened again. */
static bool is_listed(const struct inode *inode)
{
    return inode->fd >= 0 && inode->fd_users == 0 && inode->parent != NULL;
}

static void drop_fd(struct inodes *inodes, struct inode *inode)
{
    if (inode->fd < 0 || inode == inodes->root)
        return;
    if (is_listed(inode))
        list_out(inodes, inode);
    /* Where files need names, who takes one must find no descriptor that is yet to be closed. */
    if (home_of(inodes)->nameless && inodes->n_closing < CLOSING) {
        inodes->closing[inodes->n_closing++] = inode->fd;
        inode->fd = -1;
    } else {
        disk_close(home_of(inodes), &inode->fd);
    }
    inodes->n_fds--;
}

/* -- references -- */

static void free_inode(struct inodes *inodes, struct inode *inode)
{
    layouts_put(inodes->layouts, inode->own.layout);
    pthread_mutex_destroy(&inode->lock);
    free(inode->last);
    free(inode->name);
    free(inode);
}

/* Frees what nobody holds, and then maybe its parent. */
static void release(struct inodes *inodes, struct inode *inode)
{
    while (inode != NULL && inode->n_lookup == 0 && inode->n_refs == 0) {
        struct inode *parent = inode->parent;

        drop_fd(inodes, inode);
        if (inode->hashed)
            hash_out(inodes, inode);
        inodes->slot[(uint32_t) inode->nodeid] = NULL;
        inodes->n_used--;
        free_inode(inodes, inode);
        if (parent != NULL)
            parent->n_refs--;
        inode = parent;
    }
}

void inode_ref(struct inodes *inodes, struct inode *inode)
{
    pthread_mutex_lock(&inodes->lock);
    inode->n_refs++;
    unlock(inodes);
}

void inode_unref(struct inodes *inodes, struct inode *inode)
{
    if (inode == NULL)
        return;
    pthread_mutex_lock(&inodes->lock);
    inode->n_refs--;
    release(inodes, inode);
    unlock(inodes);
}

void inode_looked_up(struct inodes *inodes, struct inode *inode)
{
    pthread_mutex_lock(&inodes->lock);
    inode->n_lookup++;
    unlock(inodes);
}

void inode_forget(struct inodes *inodes, struct inode *inode, uint64_t n)
{
    pthread_mutex_lock(&inodes->lock);
    inode->n_lookup -= MIN(n, inode->n_lookup);
    release(inodes, inode);
    unlock(inodes);
}

struct inode *inodes_root(struct inodes *inodes)
{
    return inodes->root;
}

struct inode *inodes_find(struct inodes *inodes, uint64_t nodeid)
{
    struct inode *inode;

    pthread_mutex_lock(&inodes->lock);
    inode = (uint32_t) nodeid < inodes->n_slots ? inodes->slot[(uint32_t) nodeid] : NULL;
    if (inode != NULL && inode->nodeid != nodeid)
        inode = NULL;
    if (inode != NULL)
        inode->n_refs++;
    unlock(inodes);
    return inode;
}

struct inode *inodes_find_ino(struct inodes *inodes, uint64_t ino)
{
    struct inode *inode;

    pthread_mutex_lock(&inodes->lock);
    inode = find_ino(inodes, ino);
    if (inode != NULL)
        inode->n_refs++;
    unlock(inodes);
    return inode;
}

/* -- names -- */

void inodes_naming_begin(struct inodes *inodes)
{
    pthread_mutex_lock(&inodes->naming);
}

void inodes_naming_end(struct inodes *inodes)
{
    pthread_mutex_unlock(&inodes->naming);
}

/* Gives an inode another name; the old one's memory goes, and the hold on its parent. */
static void set_name(struct inodes *inodes, struct inode *inode, struct inode *parent, char *name)
{
    struct inode *old = inode->parent;

    if (is_listed(inode))
        list_out(inodes, inode);
    free(inode->name);
    inode->name = name;
    inode->parent = parent;
    if (parent != NULL)
        parent->n_refs++;
    if (is_listed(inode))
        list_in(inodes, inode);
    if (old != NULL) {
        old->n_refs--;
        release(inodes, old);
    }
}

static bool is_named(const struct inode *inode, const struct inode *parent, const char *name)
{
    return inode->name != NULL && inode->parent == parent && strcmp(inode->name, name) == 0;
}

static int enter(struct inodes *inodes, struct inode *parent, const char *name, const struct stat *st,
                 struct inode **ret_inode)
{
    char *copy = strdup(name);
    struct inode *inode;

    if (copy == NULL)
        return -ENOMEM;
    pthread_mutex_lock(&inodes->lock);
    inode = find_ino(inodes, st->st_ino);
    if (inode != NULL && inode->fmt != (st->st_mode & S_IFMT)) {
        hash_out(inodes, inode); /* an NFS server has given its number to another */
        inode = NULL;
    }
    if (inode != NULL)
        inode->n_refs++;
    else
        inode = new_inode(inodes, st);
    if (inode != NULL && inode != inodes->root && !is_named(inode, parent, name) &&
        (parent != NULL || inode->name == NULL)) /* a name of its own is better than one in todo/ */
        set_name(inodes, inode, parent, steal(copy));
    unlock(inodes);
    free(copy);
    if (inode == NULL)
        return -ENOMEM;
    *ret_inode = inode;
    return 0;
}

int inodes_enter(struct inodes *inodes, struct inode *parent, const char *name, const struct stat *st,
                 struct inode **ret_inode)
{
    return enter(inodes, parent, name, st, ret_inode);
}

int inodes_enter_todo(struct inodes *inodes, const char *name, const struct stat *st, struct inode **ret_inode)
{
    return enter(inodes, NULL, name, st, ret_inode);
}

void inode_renamed(struct inodes *inodes, struct inode *inode, struct inode *parent, char *name)
{
    pthread_mutex_lock(&inodes->lock);
    set_name(inodes, inode, parent, name);
    inode->name_is_new = true;
    unlock(inodes);
}

bool inode_is_named(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name)
{
    bool named;

    pthread_mutex_lock(&inodes->lock);
    named = is_named(inode, parent, name);
    unlock(inodes);
    return named;
}

void inode_unnamed(struct inodes *inodes, struct inode *inode, const struct inode *parent, const char *name,
                   const char *todo)
{
    pthread_mutex_lock(&inodes->lock);
    if (is_named(inode, parent, name))
        set_name(inodes, inode, NULL, todo != NULL ? strdup(todo) : NULL);
    unlock(inodes);
}

void inode_buried(struct inodes *inodes, struct inode *inode, const struct stat *st, const char *todo)
{
    pthread_mutex_lock(&inodes->lock);
    if (inode->hashed)
        hash_out(inodes, inode); /* the number may be somebody else's soon */
    inode->gone = true;
    set_name(inodes, inode, NULL, todo != NULL ? strdup(todo) : NULL);
    if (inode->fd < 0 && inode->last == NULL && inode->fmt != S_IFREG)
        inode->last = malloc(sizeof *st);
    if (inode->last != NULL)
        *inode->last = *st;
    unlock(inodes);
}

int inode_last_stat(struct inodes *inodes, struct inode *inode, struct stat *ret_stat)
{
    int r = -ESTALE;

    pthread_mutex_lock(&inodes->lock);
    if (inode->last != NULL) {
        *ret_stat = *inode->last;
        r = 0;
    }
    unlock(inodes);
    return r;
}

bool inode_is_gone(struct inodes *inodes, struct inode *inode)
{
    bool gone;

    pthread_mutex_lock(&inodes->lock);
    gone = inode->gone;
    unlock(inodes);
    return gone;
}

/* -- layouts of what is below -- */

static void set_own(struct inodes *inodes, struct inode *dir, const struct choice *own, bool is_known)
{
    struct file_layout *before;

    pthread_mutex_lock(&inodes->lock);
    before = dir->own.layout;
    dir->own = *own;
    dir->knows_own = is_known;
    unlock(inodes);
    layouts_put(inodes->layouts, before);
}

void inode_know_own(struct inodes *inodes, struct inode *dir, const struct choice *own)
{
    set_own(inodes, dir, own, true);
}

void inode_forget_own(struct inodes *inodes, struct inode *dir)
{
    set_own(inodes, dir, &(struct choice){ 0 }, false);
}

void inode_is_new_dir(struct inodes *inodes, struct inode *dir)
{
    pthread_mutex_lock(&inodes->lock);
    dir->knows_own = true; /* own is as calloc or who knows better has left it */
    unlock(inodes);
}

struct inode *inode_nearest_own(struct inodes *inodes, struct inode *dir, struct choice *ret_own)
{
    *ret_own = (struct choice){ 0 };
    pthread_mutex_lock(&inodes->lock);
    while (dir != NULL && dir->knows_own && dir->own.layout == NULL)
        dir = dir->parent;
    if (dir != NULL) {
        dir->n_refs++;
        if (dir->knows_own) {
            *ret_own = dir->own;
            (void) layouts_ref(inodes->layouts, dir->own.layout);
        }
    }
    unlock(inodes);
    return dir;
}

/* -- paths -- */

struct inode *inode_parent(struct inodes *inodes, struct inode *inode)
{
    struct inode *parent;

    pthread_mutex_lock(&inodes->lock);
    parent = inode->parent;
    if (parent != NULL)
        parent->n_refs++;
    unlock(inodes);
    return parent;
}

/* How long the path is, slashes in front of all names included; 0 when the names do not lead to the root. */
static size_t path_len(const struct inodes *inodes, const struct inode *inode)
{
    size_t len = 0;

    while (inode != inodes->root && inode->parent != NULL) {
        len += strlen(inode->name) + 1;
        inode = inode->parent;
    }
    return inode == inodes->root ? len : 0;
}

int inode_path(struct inodes *inodes, struct inode *inode, char **ret_path)
{
    size_t len;
    char *path;
    int r = -ESTALE;

    pthread_mutex_lock(&inodes->lock);
    len = path_len(inodes, inode);
    path = len > 0 ? malloc(len) : NULL;
    if (len > 0 && path == NULL)
        r = -ENOMEM;
    if (path != NULL) {
        size_t at = len - 1;

        path[at] = 0;
        for (; inode != inodes->root; inode = inode->parent) {
            size_t n = strlen(inode->name);

            at -= n;
            memcpy(path + at, inode->name, n);
            if (at > 0)
                path[--at] = '/';
        }
        *ret_path = path;
        r = 0;
    }
    unlock(inodes);
    return r;
}

void inode_name_is_new(struct inodes *inodes, struct inode *inode)
{
    pthread_mutex_lock(&inodes->lock);
    inode->name_is_new = true;
    unlock(inodes);
}

bool inode_take_new_name(struct inodes *inodes, struct inode *inode, struct inode **ret_parent)
{
    bool is_new;

    pthread_mutex_lock(&inodes->lock);
    is_new = inode->name_is_new && inode->parent != NULL;
    inode->name_is_new = false;
    if (is_new) {
        *ret_parent = inode->parent;
        inode->parent->n_refs++;
    }
    unlock(inodes);
    return is_new;
}

/* -- descriptors -- */

/* The oldest that are not in use go, until there is room. */
static void make_room(struct inodes *inodes)
{
    while (inodes->n_fds >= inodes->max_fds && inodes->oldest != NULL)
        drop_fd(inodes, inodes->oldest);
}

/* One more user of the descriptor, whether there is one or not. */
static void use_fd(struct inodes *inodes, struct inode *inode)
{
    while (inode->withheld)
        pthread_cond_wait(&inodes->unused, &inodes->lock);
    if (is_listed(inode))
        list_out(inodes, inode);
    inode->fd_users++;
}

/* One fewer. What lies in todo/ will not do so for long. */
static void unuse_fd(struct inodes *inodes, struct inode *inode)
{
    inode->fd_users--;
    if (is_listed(inode))
        list_in(inodes, inode);
    else if (inode->fd_users == 0 && lies_in_todo(inode))
        drop_fd(inodes, inode);
    if (inode->fd_users == 0)
        pthread_cond_broadcast(&inodes->unused);
}

/* Opens the name the inode has; parent has a descriptor. The file found must be the one remembered. */
static int open_name(struct inodes *inodes, const struct inode *inode, int dir, const char *name)
{
    const struct disk *home = home_of(inodes);
    int fd = disk_call(home, open, dir, name, O_PATH, 0), r;
    struct stat st;

    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR ? -ESTALE : fd;
    r = disk_call(home, stat, fd, "", &st);
    if (r == 0 && (st.st_ino != inode->ino || (st.st_mode & S_IFMT) != inode->fmt))
        r = -ESTALE;
    if (r < 0)
        disk_close(home, &fd);
    return r < 0 ? r : fd;
}

/* Its parent, with a reference, or NULL for todo/, and its name, copied; -ESTALE without a name. */
static int name_of(struct inodes *inodes, struct inode *inode, struct inode **ret_parent, char **ret_name)
{
    int r = -ESTALE;

    pthread_mutex_lock(&inodes->lock);
    if (inode->name != NULL) {
        *ret_name = strdup(inode->name);
        r = *ret_name != NULL ? 0 : -ENOMEM;
    }
    if (r == 0 && inode->parent != NULL) {
        *ret_parent = inode->parent;
        inode->parent->n_refs++;
    }
    unlock(inodes);
    return r;
}

static int open_by_name(struct inodes *inodes, struct inode *inode)
{
    cleanup(freep) char *name = NULL;
    struct inode *parent = NULL;
    int dir, fd, r = name_of(inodes, inode, &parent, &name);

    if (r < 0)
        return r;
    if (parent == NULL)
        return open_name(inodes, inode, inodes->volume->todo, name);
    fd = inode_open(inodes, parent, &dir);
    if (fd == 0) {
        fd = open_name(inodes, inode, dir, name);
        inode_close(inodes, parent);
    }
    inode_unref(inodes, parent);
    return fd;
}

/* Of an inode with a user. Two threads may have opened the same; the second's is closed. */
static void adopt_fd(struct inodes *inodes, struct inode *inode, int fd)
{
    if (inode->fd >= 0) {
        disk_close(home_of(inodes), &fd);
        return;
    }
    make_room(inodes);
    inode->fd = fd;
    inodes->n_fds++;
}

void inode_adopt_fd(struct inodes *inodes, struct inode *inode, int fd)
{
    pthread_mutex_lock(&inodes->lock);
    use_fd(inodes, inode);
    adopt_fd(inodes, inode, fd);
    unuse_fd(inodes, inode);
    unlock(inodes);
}

/* A rename under way may make a name lead astray; once it is over, the name is right. */
static int open_somehow(struct inodes *inodes, struct inode *inode)
{
    int fd = open_by_name(inodes, inode);

    if (fd == -ESTALE) {
        inodes_naming_begin(inodes);
        fd = open_by_name(inodes, inode);
        inodes_naming_end(inodes);
    }
    return fd;
}

int inode_open(struct inodes *inodes, struct inode *inode, int *ret_fd)
{
    bool open;
    int fd = 0;

    pthread_mutex_lock(&inodes->lock);
    use_fd(inodes, inode);
    open = inode->fd >= 0;
    *ret_fd = inode->fd;
    unlock(inodes);
    if (open)
        return 0;
    fd = open_somehow(inodes, inode);
    pthread_mutex_lock(&inodes->lock);
    if (fd >= 0) {
        adopt_fd(inodes, inode, fd);
        *ret_fd = inode->fd;
    } else {
        unuse_fd(inodes, inode);
    }
    unlock(inodes);
    return MIN(fd, 0);
}

void inode_close(struct inodes *inodes, struct inode *inode)
{
    pthread_mutex_lock(&inodes->lock);
    unuse_fd(inodes, inode);
    unlock(inodes);
}

/* A directory is never in the way of its name's going, but its number may be. */
static void withhold(struct inodes *inodes, struct inode *inode, bool is_last)
{
    pthread_mutex_lock(&inodes->lock);
    while (inode->fmt != S_IFDIR && inode->fd_users > 0)
        pthread_cond_wait(&inodes->unused, &inodes->lock);
    inode->withheld = inode->fmt != S_IFDIR;
    if (inode->fd_users == 0)
        drop_fd(inodes, inode);
    if (is_last && inode->hashed)
        hash_out(inodes, inode); /* the server may give the number to another before we hear of it */
    unlock(inodes);
}

int inode_withhold(struct inodes *inodes, struct inode *inode, bool is_last)
{
    int fd;

    if (home_of(inodes)->nameless)
        return inode_open(inodes, inode, &fd);
    withhold(inodes, inode, is_last);
    return 0;
}

void inode_release(struct inodes *inodes, struct inode *inode)
{
    if (home_of(inodes)->nameless) {
        inode_close(inodes, inode);
        return;
    }
    pthread_mutex_lock(&inodes->lock);
    if (!inode->gone && !inode->hashed)
        hash_in(inodes, inode);
    inode->withheld = false;
    pthread_cond_broadcast(&inodes->unused);
    unlock(inodes);
}

/* -- life -- */

static void init_recursive(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

int inodes_new(struct volume *volume, struct layouts *layouts, uint32_t max_fds, struct inodes **ret_inodes)
{
    struct inodes *inodes = calloc(1, sizeof *inodes);
    struct stat st;
    int r = inodes == NULL ? -ENOMEM : disk_call(volume_home(volume), stat, volume->ns, "", &st);

    if (r == 0) {
        inodes->volume = volume;
        inodes->layouts = layouts;
        inodes->max_fds = MAX(max_fds, 16);
        pthread_mutex_init(&inodes->lock, NULL);
        pthread_cond_init(&inodes->unused, NULL);
        init_recursive(&inodes->naming);
        inodes->root = grow(inodes) == 0 ? new_inode(inodes, &st) : NULL;
        r = inodes->root != NULL ? 0 : -ENOMEM;
    }
    if (r < 0) {
        if (inodes != NULL) {
            free(inodes->slot);
            free(inodes->bucket);
            free(inodes->generation);
        }
        free(inodes);
        return r;
    }
    inodes->root->fd = volume->ns;
    *ret_inodes = inodes;
    return 0;
}

void inodes_free(struct inodes *inodes)
{
    if (inodes == NULL)
        return;
    inodes->root->fd = -1;
    for (uint32_t i = 0; i < inodes->n_slots; i++) {
        struct inode *inode = inodes->slot[i];

        if (inode == NULL)
            continue;
        if (inode->fd >= 0)
            disk_close(home_of(inodes), &inode->fd);
        free_inode(inodes, inode);
    }
    free(inodes->slot);
    free(inodes->bucket);
    free(inodes->generation);
    pthread_mutex_destroy(&inodes->naming);
    pthread_cond_destroy(&inodes->unused);
    pthread_mutex_destroy(&inodes->lock);
    free(inodes);
}

void inodes_visit(struct inodes *inodes, void (*visit)(void *arg, struct inode *inode), void *arg)
{
    for (uint32_t i = 1;; i++) {
        struct inode *inode = NULL;
        bool end;

        pthread_mutex_lock(&inodes->lock);
        end = i >= inodes->n_slots;
        if (!end && (inode = inodes->slot[i]) != NULL)
            inode->n_refs++;
        unlock(inodes);
        if (end)
            return;
        if (inode == NULL)
            continue;
        visit(arg, inode);
        inode_unref(inodes, inode);
    }
}

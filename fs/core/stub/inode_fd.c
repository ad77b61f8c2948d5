/* SPDX-License-Identifier: MIT */
/* Descriptors of inodes: opened by name when needed, closed when there are too many. */
#include "fs/core/stub/inode_parts.h"

#include <fcntl.h>

/* -- descriptors that may be closed, the least recently used first -- */

void inode_fd_stays(struct inodes *inodes, struct inode *inode)
{
    *(inode->older != NULL ? &inode->older->newer : &inodes->oldest) = inode->newer;
    *(inode->newer != NULL ? &inode->newer->older : &inodes->newest) = inode->older;
    inode->older = inode->newer = NULL;
}

void inode_fd_may_go(struct inodes *inodes, struct inode *inode)
{
    inode->older = inodes->newest;
    *(inodes->newest != NULL ? &inodes->newest->newer : &inodes->oldest) = inode;
    inodes->newest = inode;
}

static bool lies_in_todo(const struct inode *inode)
{
    return inode->parent == NULL && inode->name != NULL;
}

bool inode_may_lose_fd(const struct inode *inode)
{
    return inode->fd >= 0 && inode->fd_users == 0 && inode->parent != NULL;
}

void inode_drop_fd(struct inodes *inodes, struct inode *inode)
{
    if (inode->fd < 0 || inode == inodes->root)
        return;
    if (inode_may_lose_fd(inode))
        inode_fd_stays(inodes, inode);
    /* Where files need names, the descriptor is closed at once: whoever removes a name must find none still open. */
    if (inodes_home(inodes)->nameless && inodes->n_closing < INODES_CLOSING) {
        inodes->closing[inodes->n_closing++] = inode->fd;
        inode->fd = -1;
    } else {
        disk_close(inodes_home(inodes), &inode->fd);
    }
    inodes->n_fds--;
}

/* -- descriptors -- */

/* Closes descriptors that are not in use, the least recently used first, until there is room for one more. */
static void make_room(struct inodes *inodes) REQUIRES(inodes->lock)
{
    while (inodes->n_fds >= inodes->max_fds && inodes->oldest != NULL)
        inode_drop_fd(inodes, inodes->oldest);
}

/* Counts one more who uses the inode's descriptor, whether it has one yet or not; waits while it is withheld. */
static void use_fd(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock)
{
    while (inode->withheld)
        cond_wait(&inodes->unused, &inodes->lock);
    if (inode_may_lose_fd(inode))
        inode_fd_stays(inodes, inode);
    inode->fd_users++;
}

/* Counts one fewer who uses the inode's descriptor. The last one closes it if the inode is in todo/: the stub goes
 * soon. */
static void unuse_fd(struct inodes *inodes, struct inode *inode) REQUIRES(inodes->lock)
{
    assert(inode->fd_users > 0);
    inode->fd_users--;
    if (inode_may_lose_fd(inode))
        inode_fd_may_go(inodes, inode);
    else if (inode->fd_users == 0 && lies_in_todo(inode))
        inode_drop_fd(inodes, inode);
    if (inode->fd_users == 0)
        cond_broadcast(&inodes->unused);
}

/* Opens the name of an inode in the directory dir. -ESTALE: what has that name is not the inode that is remembered. */
static int open_name(struct inodes *inodes, const struct inode *inode, int dir, const char *name)
{
    const struct disk *home = inodes_home(inodes);
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

/* Finds an inode's parent, with a reference, and copies its name; *ret_parent stays NULL when the name is in todo/.
 * -ESTALE: the inode has no name. */
static int name_of(struct inodes *inodes, struct inode *inode, struct inode **ret_parent, char **ret_name)
{
    int r = -ESTALE;

    mutex_lock(&inodes->lock);
    if (inode->name != NULL) {
        *ret_name = strdup(inode->name);
        r = *ret_name != NULL ? 0 : -ENOMEM;
    }
    if (r == 0 && inode->parent != NULL) {
        *ret_parent = inode->parent;
        inode->parent->n_refs++;
    }
    inodes_unlock(inodes);
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

/* Makes fd the descriptor of an inode that somebody uses. Two threads may have opened the same inode: the second one's
 * is closed. */
static void adopt_fd(struct inodes *inodes, struct inode *inode, int fd) REQUIRES(inodes->lock)
{
    if (inode->fd >= 0) {
        disk_close(inodes_home(inodes), &fd);
        return;
    }
    make_room(inodes);
    inode->fd = fd;
    inodes->n_fds++;
}

void inode_adopt_fd(struct inodes *inodes, struct inode *inode, int fd)
{
    mutex_lock(&inodes->lock);
    use_fd(inodes, inode);
    adopt_fd(inodes, inode, fd);
    unuse_fd(inodes, inode);
    inodes_unlock(inodes);
}

/* Opens an inode by its name. A rename under way may lead astray: then it is tried once more when that is over. */
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

    mutex_lock(&inodes->lock);
    use_fd(inodes, inode);
    open = inode->fd >= 0;
    *ret_fd = inode->fd;
    inodes_unlock(inodes);
    if (open)
        return 0;
    fd = open_somehow(inodes, inode);
    mutex_lock(&inodes->lock);
    if (fd >= 0) {
        adopt_fd(inodes, inode, fd);
        *ret_fd = inode->fd;
    } else {
        unuse_fd(inodes, inode);
    }
    inodes_unlock(inodes);
    return MIN(fd, 0);
}

void inode_close(struct inodes *inodes, struct inode *inode)
{
    mutex_lock(&inodes->lock);
    unuse_fd(inodes, inode);
    inodes_unlock(inodes);
}

/* Withholds the inode's descriptor once nobody uses it, and with its last name its number. The descriptor of a
 * directory is not withheld: an open directory is not in the way when its name goes. */
static void withhold(struct inodes *inodes, struct inode *inode, bool is_last)
{
    mutex_lock(&inodes->lock);
    while (inode->fmt != S_IFDIR && inode->fd_users > 0)
        cond_wait(&inodes->unused, &inodes->lock);
    inode->withheld = inode->fmt != S_IFDIR;
    if (inode->fd_users == 0)
        inode_drop_fd(inodes, inode);
    if (is_last && inode->hashed)
        inodes_hash_out(inodes, inode); /* the NFS server may give the number to another before we hear of it */
    inodes_unlock(inodes);
}

int inode_withhold(struct inodes *inodes, struct inode *inode, bool is_last)
{
    int fd;

    if (inodes_home(inodes)->nameless)
        return inode_open(inodes, inode, &fd);
    withhold(inodes, inode, is_last);
    return 0;
}

void inode_release(struct inodes *inodes, struct inode *inode)
{
    if (inodes_home(inodes)->nameless) {
        inode_close(inodes, inode);
        return;
    }
    mutex_lock(&inodes->lock);
    if (!inode->gone && !inode->hashed)
        inodes_hash_in(inodes, inode);
    inode->withheld = false;
    cond_broadcast(&inodes->unused);
    inodes_unlock(inodes);
}

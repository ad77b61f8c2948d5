/* SPDX-License-Identifier: MIT */
/* What tests do to a simulated disk behind everybody's back. */
#include "test/support/simfs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The disk in the tester's hands: locked, writable, with a descriptor of its root. */
struct hands {
    struct sim_disk *disk;
    int root;
    bool read_only;
};

static struct hands take(struct sim_disk *disk)
{
    struct hands hands = { .disk = disk };

    pthread_mutex_lock(&disk->sim->lock);
    hands.read_only = disk->read_only;
    disk->read_only = false;
    hands.root = simpath_open(disk, SIM_ROOT_INO, O_RDONLY | O_DIRECTORY);
    return hands;
}

static void give_back(struct hands *hands)
{
    (void) simcall_close(hands->disk, hands->root);
    hands->disk->read_only = hands->read_only;
    pthread_mutex_unlock(&hands->disk->sim->lock);
}

static const struct sim_inode *inode_at(const struct hands *hands, const char *path, uint32_t *ret_ino)
{
    int r = simpath_find(hands->disk, hands->root, path, ret_ino);

    return r < 0 ? NULL : simimage_inode(hands->disk->now, *ret_ino);
}

char *sim_peek(struct sim_disk *disk, const char *path, size_t *ret_len)
{
    cleanup(give_back) struct hands hands = take(disk);
    uint32_t ino;
    const struct sim_inode *inode = inode_at(&hands, path, &ino);
    char *content;

    if (inode == NULL || !S_ISREG(inode->attr.mode))
        return NULL;
    content = sim_alloc((size_t) inode->size + 1);
    simimage_read(inode, 0, content, (size_t) inode->size);
    content[inode->size] = 0;
    *ret_len = (size_t) inode->size;
    return content;
}

/* Opens a file, writes to it, or, when iov is NULL, makes it off bytes long, and syncs it. */
static int poke(struct hands *hands, const char *path, int flags, const struct iovec *iov, uint64_t off)
{
    int fd = simcall_open(hands->disk, hands->root, path, flags | O_RDWR | O_NOFOLLOW, 0600);
    ssize_t r;

    if (fd < 0)
        return fd;
    r = iov != NULL ? simcall_pwritev(hands->disk, fd, iov, 1, off) : simcall_truncate(hands->disk, fd, off);
    (void) simcall_sync(hands->disk, fd, SYNC_ALL);
    (void) simcall_close(hands->disk, fd);
    return r < 0 ? (int) r : 0;
}

int sim_poke(struct sim_disk *disk, const char *path, uint64_t off, const void *bytes, size_t len)
{
    cleanup(give_back) struct hands hands = take(disk);
    cleanup(freep) void *copy = sim_alloc(len);

    if (len > 0)
        memcpy(copy, bytes, len);
    return poke(&hands, path, O_CREAT, &(struct iovec){ .iov_base = copy, .iov_len = len }, off);
}

int sim_cut(struct sim_disk *disk, const char *path, uint64_t size)
{
    cleanup(give_back) struct hands hands = take(disk);

    return poke(&hands, path, 0, NULL, size);
}

int sim_delete(struct sim_disk *disk, const char *path)
{
    cleanup(give_back) struct hands hands = take(disk);
    uint32_t ino;
    const struct sim_inode *inode = inode_at(&hands, path, &ino);
    int r;

    if (inode == NULL)
        return -ENOENT;
    r = simcall_unlink(disk, hands.root, path, S_ISDIR(inode->attr.mode) ? AT_REMOVEDIR : 0);
    simcrash_sync(disk, ino, SYNC_ALL);
    return r;
}

int sim_flip(struct sim_disk *disk, const char *path, uint64_t bit)
{
    cleanup(give_back) struct hands hands = take(disk);
    uint32_t ino;
    const struct sim_inode *inode = inode_at(&hands, path, &ino);
    unsigned char byte;

    if (inode == NULL)
        return -ENOENT;
    if (bit / 8 >= inode->size)
        return -ERANGE;
    simimage_read(inode, bit / 8, &byte, 1);
    byte ^= (unsigned char) (1U << bit % 8);
    return poke(&hands, path, 0, &(struct iovec){ .iov_base = &byte, .iov_len = 1 }, bit / 8);
}

int sim_flip_xattr(struct sim_disk *disk, const char *path, const char *name, uint64_t bit)
{
    cleanup(give_back) struct hands hands = take(disk);
    uint32_t ino;
    const struct sim_inode *inode = inode_at(&hands, path, &ino);
    const struct sim_xattr *xattr = inode != NULL ? simimage_xattr(inode, name) : NULL;
    cleanup(freep) char *value = NULL;
    int r;

    if (xattr == NULL)
        return inode == NULL ? -ENOENT : -ENODATA;
    if (bit / 8 >= xattr->value->len)
        return -ERANGE;
    value = sim_alloc(xattr->value->len);
    memcpy(value, xattr->value->bytes, xattr->value->len);
    value[bit / 8] = (char) (value[bit / 8] ^ 1 << bit % 8);
    r = simcall_set_xattr(disk, hands.root, path, name, value, xattr->value->len, 0);
    simcrash_sync(disk, ino, SYNC_ALL);
    return r;
}

/* -- the tree, for eyes -- */

static uint64_t checksum(const struct sim_inode *inode)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < inode->n_slots; i++) {
        const struct sim_slot *slot = &inode->slots[i];

        for (size_t at = 0; slot->page != NULL && at < SIM_PAGE; at++)
            if (slot->page->bytes[at] != 0) /* a hole is as good as zeros */
                h = (h ^ (slot->index * SIM_PAGE + at)) * UINT64_C(0x100000001b3) + slot->page->bytes[at];
    }
    return h;
}

static void print_inode(FILE *out, const struct sim_inode *inode, const char *path)
{
    fprintf(out, "%s %#o %u:%u links %u", *path != 0 ? path : "/", inode->attr.mode, inode->attr.uid, inode->attr.gid,
            inode->nlink);
    if (S_ISREG(inode->attr.mode))
        fprintf(out, " size %" PRIu64 " sum %016" PRIx64, inode->size, checksum(inode));
    if (inode->target != NULL)
        fprintf(out, " -> %s", inode->target->bytes);
    for (size_t i = 0; i < inode->n_xattrs; i++) {
        fprintf(out, " %s=", inode->xattrs[i].name->bytes);
        for (size_t at = 0; at < inode->xattrs[i].value->len; at++)
            fprintf(out, "%02x", (unsigned char) inode->xattrs[i].value->bytes[at]);
    }
    fputc('\n', out);
}

static void print_tree(const struct sim_image *image, uint32_t ino, const char *path, FILE *out)
{
    const struct sim_inode *inode = simimage_inode(image, ino);

    print_inode(out, inode, path);
    for (size_t i = 0; i < inode->n_entries; i++) {
        const char *name = inode->entries[i].name->bytes;
        size_t size = strlen(path) + strlen(name) + 2;
        cleanup(freep) char *below = sim_alloc(size);

        snprintf(below, size, "%s/%s", path, name);
        print_tree(image, inode->entries[i].ino, below, out);
    }
}

void sim_print(struct sim_disk *disk, FILE *out)
{
    cleanup(give_back) struct hands hands = take(disk);

    print_tree(hands.disk->now, SIM_ROOT_INO, "", out);
}

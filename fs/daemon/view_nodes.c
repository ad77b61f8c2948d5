/* SPDX-License-Identifier: MIT */
#include "fs/daemon/view_nodes.h"

#include "fs/core/random.h"

#include <stdio.h>
#include <string.h>

#define N_BUCKETS 1024

struct nodes {
    struct fs *fs;
    pthread_mutex_t lock;
    uint64_t last;                     /* lock; number given */
    struct node *by_number[N_BUCKETS]; /* lock */
    struct node *by_inode[N_BUCKETS];  /* lock */
};

static struct node **number_bucket(struct nodes *nodes, uint64_t nodeid)
{
    return &nodes->by_number[nodeid % N_BUCKETS];
}

static struct node **inode_bucket(struct nodes *nodes, const struct inode *inode)
{
    return &nodes->by_inode[inode->nodeid % N_BUCKETS];
}

int nodes_new(struct fs *fs, struct nodes **ret_nodes)
{
    struct nodes *nodes = calloc(1, sizeof *nodes);

    if (nodes == NULL)
        return -ENOMEM;
    nodes->fs = fs;
    pthread_mutex_init(&nodes->lock, NULL);
    *ret_nodes = nodes;
    return 0;
}

/* Of nobody's any more. */
static void free_node(struct nodes *nodes, struct node *node)
{
    file_view_put(node->file_view);
    inode_unref(nodes->fs->inodes, node->inode);
    free(node->name);
    free(node);
}

void nodes_free(struct nodes *nodes)
{
    if (nodes == NULL)
        return;
    for (uint32_t i = 0; i < N_BUCKETS; i++)
        while (nodes->by_number[i] != NULL) {
            struct node *node = nodes->by_number[i];

            nodes->by_number[i] = node->next;
            free_node(nodes, node);
        }
    pthread_mutex_destroy(&nodes->lock);
    free(nodes);
}

/* lock is held. */
static void list_out(struct nodes *nodes, struct node *node)
{
    struct node **at;

    for (at = number_bucket(nodes, node->nodeid); *at != node; at = &(*at)->next)
        ;
    *at = node->next;
    for (at = inode_bucket(nodes, node->inode); *at != node; at = &(*at)->next_same)
        ;
    *at = node->next_same;
}

static struct node *find(struct nodes *nodes, uint64_t nodeid)
{
    struct node *node = *number_bucket(nodes, nodeid);

    while (node != NULL && node->nodeid != nodeid)
        node = node->next;
    return node;
}

struct node *nodes_find(struct nodes *nodes, uint64_t nodeid)
{
    struct node *node;

    pthread_mutex_lock(&nodes->lock);
    node = find(nodes, nodeid);
    if (node != NULL)
        node->refs++;
    pthread_mutex_unlock(&nodes->lock);
    return node;
}

/* Ends with the lock free: what a node holds may take its time to go. */
static void unlock_and_drop(struct nodes *nodes, struct node *node)
{
    bool unused = node != NULL && node->refs == 0 && node->n_lookup == 0;

    if (unused)
        list_out(nodes, node);
    pthread_mutex_unlock(&nodes->lock);
    if (unused)
        free_node(nodes, node);
}

void node_put(struct nodes *nodes, struct node *node)
{
    if (node == NULL)
        return;
    pthread_mutex_lock(&nodes->lock);
    node->refs--;
    unlock_and_drop(nodes, node);
}

void node_looked_up(struct nodes *nodes, struct node *node)
{
    pthread_mutex_lock(&nodes->lock);
    node->n_lookup++;
    pthread_mutex_unlock(&nodes->lock);
}

void node_forget(struct nodes *nodes, uint64_t nodeid, uint64_t n)
{
    struct node *node;

    pthread_mutex_lock(&nodes->lock);
    node = find(nodes, nodeid);
    if (node != NULL)
        node->n_lookup -= MIN(n, node->n_lookup);
    unlock_and_drop(nodes, node);
}

/* name and text are NULL but of a view. */
static bool is_it(const struct node *node, enum node_kind kind, const struct inode *inode, const char *name,
                  const char *text)
{
    if (node->kind != kind || node->inode != inode)
        return false;
    return name == NULL || (strcmp(node->name, name) == 0 && strcmp(file_view_view(node->file_view)->text, text) == 0);
}

/* With a reference; NULL: none yet. lock is held. */
static struct node *find_same(struct nodes *nodes, enum node_kind kind, const struct inode *inode, const char *name,
                              const char *text)
{
    struct node *node = *inode_bucket(nodes, inode);

    while (node != NULL && !is_it(node, kind, inode, name, text))
        node = node->next_same;
    if (node != NULL)
        node->refs++;
    return node;
}

/* Takes name and file_view, which are NULL but of a view. */
static struct node *add(struct nodes *nodes, enum node_kind kind, struct inode *inode, char *name,
                        struct file_view *file_view)
{
    struct node *node = calloc(1, sizeof *node);

    if (node == NULL) {
        file_view_put(file_view);
        free(name);
        return NULL;
    }
    inode_ref(nodes->fs->inodes, inode);
    node->kind = kind;
    node->inode = inode;
    node->name = name;
    node->file_view = file_view;
    node->refs = 1;
    node->nodeid = NODE_BIT | ++nodes->last;
    node->next = *number_bucket(nodes, node->nodeid);
    *number_bucket(nodes, node->nodeid) = node;
    node->next_same = *inode_bucket(nodes, inode);
    *inode_bucket(nodes, inode) = node;
    return node;
}

int nodes_enter(struct nodes *nodes, enum node_kind kind, struct inode *inode, struct node **ret_node)
{
    struct node *node;

    pthread_mutex_lock(&nodes->lock);
    node = find_same(nodes, kind, inode, NULL, NULL);
    if (node == NULL)
        node = add(nodes, kind, inode, NULL, NULL);
    pthread_mutex_unlock(&nodes->lock);
    *ret_node = node;
    return node != NULL ? 0 : -ENOMEM;
}

static int make_view(struct fs *fs, const char *text, struct file_view **ret_file_view)
{
    struct layout_error error;
    struct view *view;
    int r = view_parse(text, strlen(text), fs->volume->n_disks, &view, &error);

    if (r == 0) {
        r = file_view_new(fs, view, ret_file_view);
        view_put(view);
    }
    return r;
}

int nodes_enter_view(struct nodes *nodes, struct inode *inode, const char *name, const char *text,
                     struct node **ret_node)
{
    cleanup(freep) char *copy = strdup(name);
    struct file_view *file_view = NULL;
    struct node *node;
    int r = copy != NULL ? 0 : -ENOMEM;

    pthread_mutex_lock(&nodes->lock);
    node = find_same(nodes, NODE_VIEW, inode, name, text);
    pthread_mutex_unlock(&nodes->lock);
    if (node == NULL && r == 0)
        r = make_view(nodes->fs, text, &file_view);
    if (node == NULL && r == 0) {
        pthread_mutex_lock(&nodes->lock);
        node = find_same(nodes, NODE_VIEW, inode, name, text); /* another thread may have been faster */
        if (node == NULL)
            node = add(nodes, NODE_VIEW, inode, steal(copy), steal(file_view));
        pthread_mutex_unlock(&nodes->lock);
        file_view_put(file_view);
    }
    if (node == NULL)
        return r < 0 ? r : -ENOMEM;
    *ret_node = node;
    return 0;
}

/* A ticket's number, which finds it, and what nobody can guess. */
#define NUMBER_DIGITS 16
#define SECRET_SIZE   16

static char *ticket_name(uint64_t nodeid)
{
    uint8_t secret[SECRET_SIZE];
    char hex[2 * SECRET_SIZE + 1], *name;

    if (random_bytes(secret, sizeof secret) < 0)
        return NULL;
    hex_print(secret, sizeof secret, hex);
    return asprintf(&name, "%016" PRIx64 "%s", nodeid, hex) < 0 ? NULL : name;
}

int nodes_enter_ticket(struct nodes *nodes, struct inode *inode, struct file_view *file_view,
                       const struct ticket *ticket, struct node **ret_node)
{
    struct node *node;

    pthread_mutex_lock(&nodes->lock);
    node = add(nodes, NODE_TICKET, inode, NULL, file_view);
    if (node != NULL) {
        node->ticket = *ticket;
        node->name = ticket_name(node->nodeid);
    }
    pthread_mutex_unlock(&nodes->lock);
    if (node != NULL && node->name == NULL) {
        node_put(nodes, node);
        node = NULL;
    }
    *ret_node = node;
    return node != NULL ? 0 : -ENOMEM;
}

struct node *nodes_find_ticket(struct nodes *nodes, const char *name)
{
    uint8_t number[NUMBER_DIGITS / 2];
    struct node *node = NULL;
    uint64_t nodeid = 0;

    if (strlen(name) < NUMBER_DIGITS || hex_parse(name, sizeof number, number) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof number; i++)
        nodeid = nodeid << 8 | number[i];
    node = nodes_find(nodes, nodeid);
    if (node == NULL || (node->kind == NODE_TICKET && !atomic_load(&node->is_opened) && strcmp(node->name, name) == 0))
        return node;
    node_put(nodes, node);
    return NULL;
}

/* Nobody else's on this file system, as far as numbers go: programs take what has the same for the same file. */
uint64_t node_ino(enum node_kind kind, const struct inode *inode, const char *name)
{
    uint64_t hash = inode->ino * UINT64_C(0x9e3779b97f4a7c15) + kind;

    for (; name != NULL && *name != 0; name++)
        hash = (hash ^ (unsigned char) *name) * UINT64_C(0x100000001b3);
    return (hash ^ hash >> 29) | NODE_BIT;
}

/* SPDX-License-Identifier: MIT */
#include "fs/daemon/view/view_nodes.h"

#include "fs/core/disk/random.h"
#include "fs/daemon/view/views.h"

#include <stdio.h>
#include <string.h>

#define N_BUCKETS 1024

struct nodes {
    struct fs *fs;
    void (*forget)(uint64_t parent, const char *name);
    struct mutex lock;
    uint64_t last;                     /* lock; the last number given */
    struct node *by_number[N_BUCKETS]; /* lock */
    struct node *by_inode[N_BUCKETS];  /* lock; nodes that have an inode */
    struct forgetting *forgetting;     /* lock */
    bool at_work;                      /* lock; a chore is telling the kernel */
};

/* A name that the kernel is to forget. */
struct forgetting {
    uint64_t parent;
    char *entry;
    struct forgetting *next;
};

static struct node **number_bucket(struct nodes *nodes, uint64_t nodeid) REQUIRES(nodes->lock)
{
    return &nodes->by_number[nodeid % N_BUCKETS];
}

static struct node **inode_bucket(struct nodes *nodes, const struct inode *inode) REQUIRES(nodes->lock)
{
    return &nodes->by_inode[inode->nodeid % N_BUCKETS];
}

int nodes_new(struct fs *fs, void (*forget)(uint64_t parent, const char *name), struct nodes **ret_nodes)
{
    struct nodes *nodes = calloc(1, sizeof *nodes);

    if (nodes == NULL)
        return -ENOMEM;
    nodes->fs = fs;
    nodes->forget = forget;
    mutex_init(&nodes->lock);
    *ret_nodes = nodes;
    return 0;
}

static void free_node(struct node *node)
{
    free(node->entry);
    free(node->text);
    free(node->name);
    free(node);
}

static void list_out(struct nodes *nodes, struct node *node) REQUIRES(nodes->lock)
{
    struct node **at;

    for (at = number_bucket(nodes, node->nodeid); *at != node; at = &(*at)->next)
        ;
    *at = node->next;
}

static void list_out_same(struct nodes *nodes, struct node *node) REQUIRES(nodes->lock)
{
    struct node **at;

    for (at = inode_bucket(nodes, node->inode); *at != node; at = &(*at)->next_same)
        ;
    *at = node->next_same;
}

/* -- telling the kernel -- */

struct forget_chore {
    struct chore chore;
    struct nodes *nodes;
};

static struct forgetting *next_batch(struct nodes *nodes)
{
    struct forgetting *batch;

    mutex_lock(&nodes->lock);
    batch = steal(nodes->forgetting);
    nodes->at_work = batch != NULL;
    mutex_unlock(&nodes->lock);
    return batch;
}

static void run_forget(struct chore *chore)
{
    struct nodes *nodes = ((struct forget_chore *) chore)->nodes;
    struct forgetting *batch;

    free(chore);
    while ((batch = next_batch(nodes)) != NULL)
        while (batch != NULL) {
            struct forgetting *next = batch->next;

            nodes->forget(batch->parent, batch->entry);
            free(batch->entry);
            free(batch);
            batch = next;
        }
}

/* Makes the chore that tells the kernel to forget names. It is one that waits: the kernel waits for whoever looks
 * something up in that directory, and that request may wait for other chores. */
static struct chore *new_forget_chore(struct nodes *nodes)
{
    struct forget_chore *forget = calloc(1, sizeof *forget);

    if (forget == NULL)
        return NULL;
    *forget = (struct forget_chore){ .chore = { .run = run_forget, .waits = true }, .nodes = nodes };
    return &forget->chore;
}

/* Notes that the kernel is to forget a node's name. Returns the chore to begin once the lock is released, or NULL: one
 * is at work, or there is no memory; then the kernel forgets the name when it likes. */
static struct chore *forget_later(struct nodes *nodes, struct node *node) REQUIRES(nodes->lock)
{
    struct forgetting *forgetting = node->entry != NULL ? calloc(1, sizeof *forgetting) : NULL;
    struct chore *chore = NULL;

    if (forgetting == NULL)
        return NULL;
    *forgetting = (struct forgetting){ node->parent, steal(node->entry), nodes->forgetting };
    nodes->forgetting = forgetting;
    if (!nodes->at_work)
        chore = new_forget_chore(nodes);
    nodes->at_work |= chore != NULL;
    return chore;
}

/* -- what nobody uses -- */

/* What a node has let go of. It is dropped without the lock, as that may take a while. */
struct dropped {
    struct inode *inode;
    struct held_view *held;
    struct node *node;
    struct chore *chore;
};

static bool is_of_use(struct nodes *nodes, const struct node *node)
{
    return node->kind != NODE_TICKET && !inode_is_gone(nodes->fs->inodes, node->inode);
}

static struct dropped look_whether_used(struct nodes *nodes, struct node *node) REQUIRES(nodes->lock)
{
    struct dropped dropped = { .inode = NULL };

    if (node->refs > 0)
        return dropped;
    if (node->inode != NULL && (node->n_lookup == 0 || !is_of_use(nodes, node))) {
        list_out_same(nodes, node);
        dropped.inode = steal(node->inode);
        dropped.held = steal(node->held);
        if (node->n_lookup > 0)
            dropped.chore = forget_later(nodes, node);
    }
    if (node->n_lookup == 0) {
        list_out(nodes, node);
        dropped.node = node;
    }
    return dropped;
}

static void drop(struct nodes *nodes, const struct dropped *dropped)
{
    held_view_put(dropped->held);
    inode_unref(nodes->fs->inodes, dropped->inode);
    if (dropped->chore != NULL)
        workers_later(nodes->fs->workers, dropped->chore);
    if (dropped->node != NULL)
        free_node(dropped->node);
}

static void unlock_and_drop(struct nodes *nodes, struct node *node) RELEASE(nodes->lock)
{
    struct dropped dropped = { .inode = NULL };

    if (node != NULL)
        dropped = look_whether_used(nodes, node);
    mutex_unlock(&nodes->lock);
    drop(nodes, &dropped);
}

void nodes_free(struct nodes *nodes)
{
    if (nodes == NULL)
        return;
    workers_drain(nodes->fs->workers);
    for (uint32_t i = 0; i < N_BUCKETS; i++)
        while (nodes->by_number[i] != NULL) {
            struct node *node = nodes->by_number[i];

            nodes->by_number[i] = node->next;
            held_view_put(node->held);
            inode_unref(nodes->fs->inodes, node->inode);
            free_node(node);
        }
    mutex_done(&nodes->lock);
    free(nodes);
}

static struct node *find(struct nodes *nodes, uint64_t nodeid) REQUIRES(nodes->lock)
{
    struct node *node = *number_bucket(nodes, nodeid);

    while (node != NULL && node->nodeid != nodeid)
        node = node->next;
    return node;
}

struct node *nodes_find(struct nodes *nodes, uint64_t nodeid)
{
    struct node *node;

    mutex_lock(&nodes->lock);
    node = find(nodes, nodeid);
    if (node != NULL && node->inode == NULL)
        node = NULL;
    if (node != NULL)
        node->refs++;
    mutex_unlock(&nodes->lock);
    return node;
}

void node_ref(struct nodes *nodes, struct node *node)
{
    mutex_lock(&nodes->lock);
    node->refs++;
    mutex_unlock(&nodes->lock);
}

void node_put(struct nodes *nodes, struct node *node)
{
    if (node == NULL)
        return;
    mutex_lock(&nodes->lock);
    assert(node->refs > 0);
    node->refs--;
    unlock_and_drop(nodes, node);
}

void node_looked_up(struct nodes *nodes, struct node *node)
{
    mutex_lock(&nodes->lock);
    node->n_lookup++;
    mutex_unlock(&nodes->lock);
}

void node_forget(struct nodes *nodes, uint64_t nodeid, uint64_t n)
{
    struct node *node;

    mutex_lock(&nodes->lock);
    node = find(nodes, nodeid);
    if (node != NULL)
        node->n_lookup -= MIN(n, node->n_lookup);
    unlock_and_drop(nodes, node);
}

/* Finds a node of the inode that nobody uses; NULL: there is none. */
static struct node *find_unused(struct nodes *nodes, const struct inode *inode) REQUIRES(nodes->lock)
{
    struct node *node = *inode_bucket(nodes, inode);

    while (node != NULL && (node->inode != inode || node->refs > 0))
        node = node->next_same;
    return node;
}

/* A node that is in use lets go of the inode when its last user goes. */
void nodes_inode_gone(struct nodes *nodes, const struct inode *inode)
{
    struct node *node;

    do {
        mutex_lock(&nodes->lock);
        node = find_unused(nodes, inode);
        unlock_and_drop(nodes, node);
    } while (node != NULL);
}

/* -- entering -- */

/* Whether a node is the one for these; name and text are NULL unless it is a view. */
static bool is_it(const struct node *node, enum node_kind kind, const struct inode *inode, const char *name,
                  const char *text)
{
    if (node->kind != kind || node->inode != inode)
        return false;
    return name == NULL || (strcmp(node->name, name) == 0 && strcmp(node->text, text) == 0);
}

/* Finds the node for these, with a reference; NULL: there is none yet. */
static struct node *find_same(struct nodes *nodes, enum node_kind kind, const struct inode *inode, const char *name,
                              const char *text) REQUIRES(nodes->lock)
{
    struct node *node = *inode_bucket(nodes, inode);

    while (node != NULL && !is_it(node, kind, inode, name, text))
        node = node->next_same;
    if (node != NULL)
        node->refs++;
    return node;
}

static struct node *add(struct nodes *nodes, enum node_kind kind, struct inode *inode) REQUIRES(nodes->lock)
{
    struct node *node = calloc(1, sizeof *node);

    if (node == NULL)
        return NULL;
    inode_ref(nodes->fs->inodes, inode);
    node->kind = kind;
    node->inode = inode;
    node->refs = 1;
    node->nodeid = NODE_BIT | ++nodes->last;
    node->next = *number_bucket(nodes, node->nodeid);
    *number_bucket(nodes, node->nodeid) = node;
    node->next_same = *inode_bucket(nodes, inode);
    *inode_bucket(nodes, inode) = node;
    return node;
}

/* Notes where a node was looked up last: its file may have several names, and this one the kernel is told to forget.
 * The caller holds nodes->lock. */
static void note_place(struct node *node, const struct node_place *place)
{
    if (node->entry == NULL || strcmp(node->entry, place->entry) != 0) {
        free(node->entry);
        node->entry = strdup(place->entry);
    }
    node->parent = place->parent;
}

int nodes_enter(struct nodes *nodes, enum node_kind kind, struct inode *inode, const struct node_place *place,
                struct node **ret_node)
{
    struct node *node;

    mutex_lock(&nodes->lock);
    node = find_same(nodes, kind, inode, NULL, NULL);
    if (node == NULL)
        node = add(nodes, kind, inode);
    if (node != NULL)
        note_place(node, place);
    mutex_unlock(&nodes->lock);
    *ret_node = node;
    return node != NULL ? 0 : -ENOMEM;
}

int nodes_enter_view(struct nodes *nodes, struct inode *inode, const struct node_place *place, const char *text,
                     struct node **ret_node)
{
    cleanup(freep) char *name = strdup(place->entry);
    cleanup(freep) char *copy = strdup(text);
    struct node *node;

    if (name == NULL || copy == NULL)
        return -ENOMEM;
    mutex_lock(&nodes->lock);
    node = find_same(nodes, NODE_VIEW, inode, name, text);
    if (node == NULL && (node = add(nodes, NODE_VIEW, inode)) != NULL) {
        node->name = steal(name);
        node->text = steal(copy);
    }
    if (node != NULL)
        note_place(node, place);
    mutex_unlock(&nodes->lock);
    *ret_node = node;
    return node != NULL ? 0 : -ENOMEM;
}

/* A ticket's name has its number, by which it is found, and random bytes, so that nobody can guess it. */
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

int nodes_enter_ticket(struct nodes *nodes, struct inode *inode, const struct ticket *ticket, struct node **ret_node)
{
    struct node *node;

    mutex_lock(&nodes->lock);
    node = add(nodes, NODE_TICKET, inode);
    if (node != NULL) {
        node->ticket = *ticket;
        node->name = ticket_name(node->nodeid);
    }
    mutex_unlock(&nodes->lock);
    if (node != NULL && node->name == NULL) {
        node_put(nodes, node);
        node = NULL;
    }
    *ret_node = node;
    return node != NULL ? 0 : -ENOMEM;
}

static bool is_ticket(const struct node *node, const char *name)
{
    return node->kind == NODE_TICKET && node->held != NULL && !atomic_load(&node->is_opened) &&
           strcmp(node->name, name) == 0;
}

struct node *nodes_find_ticket(struct nodes *nodes, uint64_t parent, const char *name)
{
    const struct node_place place = { parent, name };
    uint8_t number[NUMBER_DIGITS / 2];
    struct node *node;
    uint64_t nodeid = 0;

    if (strlen(name) < NUMBER_DIGITS || hex_parse(name, sizeof number, number) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof number; i++)
        nodeid = nodeid << 8 | number[i];
    mutex_lock(&nodes->lock);
    node = find(nodes, nodeid);
    if (node != NULL && (node->inode == NULL || !is_ticket(node, name)))
        node = NULL;
    if (node != NULL) {
        node->refs++;
        note_place(node, &place);
    }
    mutex_unlock(&nodes->lock);
    return node;
}

/* Makes a number that most likely no other file here has: programs take two files with the same number for one. */
uint64_t node_ino(enum node_kind kind, const struct inode *inode, const char *name)
{
    uint64_t hash = inode->ino * UINT64_C(0x9e3779b97f4a7c15) + kind;

    for (; name != NULL && *name != 0; name++)
        hash = (hash ^ (unsigned char) *name) * UINT64_C(0x100000001b3);
    return (hash ^ hash >> 29) | NODE_BIT;
}

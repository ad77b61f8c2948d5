/* SPDX-License-Identifier: MIT */
/* What lies below .falls, where names are made up: the kernel knows it by numbers that no inode has.
 *
 *     /.falls                        NODE_TOP
 *     /.falls/open                   NODE_TICKETS: not to be listed
 *     /.falls/open/9d27...           NODE_TICKET: a view that a program asked for by ioctl, until it has opened it
 *     /.falls/disks                  a text, of ops_texts.c: no node
 *     /.falls/views                  NODE_MIRROR of the root
 *     /.falls/views/run7             NODE_MIRROR of the directory run7
 *     /.falls/views/run7/a.dat       NODE_MIRROR of the file a.dat, if it has views
 *     /.falls/views/run7/a.dat/v     NODE_VIEW of a.dat: a file
 *
 * A node is what the name led to when it was looked up; another pattern by the same name is another node. */
#ifndef FALLSFS_FS_DAEMON_VIEW_NODES_H
#define FALLSFS_FS_DAEMON_VIEW_NODES_H

#include "fs/core/file_view.h"

#define NODE_BIT (UINT64_C(1) << 63) /* of the numbers of nodes */

enum node_kind {
    NODE_TOP,
    NODE_TICKETS,
    NODE_TICKET,
    NODE_MIRROR,
    NODE_VIEW,
};

/* Who may open it, and how. */
struct ticket {
    uid_t uid;
    gid_t gid;
    mode_t mode;  /* rights */
    int can_open; /* O_RDONLY, O_WRONLY, O_RDWR */
};

struct node {
    uint64_t nodeid;
    enum node_kind kind;
    struct inode *inode;         /* with a reference; the root's of NODE_TOP and NODE_TICKETS */
    char *name;                  /* of a view and of a ticket */
    struct file_view *file_view; /* of both */
    struct ticket ticket;
    atomic_bool is_opened;  /* a ticket that was: its name leads nowhere any more */
    uint64_t n_lookup;      /* nodes->lock; what the kernel holds */
    uint32_t refs;          /* nodes->lock */
    struct node *next;      /* nodes->lock; in a bucket by number */
    struct node *next_same; /* nodes->lock; in a bucket by inode */
};

struct nodes;

int nodes_new(struct fs *fs, struct nodes **ret_nodes);
void nodes_free(struct nodes *nodes);

/* With a reference; NULL: there is none. */
struct node *nodes_find(struct nodes *nodes, uint64_t nodeid);

/* The node for an inode, new or not, with a reference; view: of that name, as the text says. Errors as view_parse. */
int nodes_enter(struct nodes *nodes, enum node_kind kind, struct inode *inode, struct node **ret_node);
int nodes_enter_view(struct nodes *nodes, struct inode *inode, const char *name, const char *text,
                     struct node **ret_node);
void node_put(struct nodes *nodes, struct node *node);

/* A new one, with a reference; takes file_view. And the one of that name, likewise; NULL: there is none. */
int nodes_enter_ticket(struct nodes *nodes, struct inode *inode, struct file_view *file_view,
                       const struct ticket *ticket, struct node **ret_node);
struct node *nodes_find_ticket(struct nodes *nodes, const char *name);

/* A file, named or not. */
static inline bool node_is_view(const struct node *node)
{
    return node->kind == NODE_VIEW || node->kind == NODE_TICKET;
}

/* What the kernel holds: one more, n fewer. */
void node_looked_up(struct nodes *nodes, struct node *node);
void node_forget(struct nodes *nodes, uint64_t nodeid, uint64_t n);

/* The number that users see. */
uint64_t node_ino(enum node_kind kind, const struct inode *inode, const char *name);

#endif

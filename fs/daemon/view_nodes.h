/* SPDX-License-Identifier: MIT */
/* What lies below .falls, where names are made up: the kernel knows it by numbers that no inode has.
 *
 *     /.falls                        NODE_TOP
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
    NODE_MIRROR,
    NODE_VIEW,
};

struct node {
    uint64_t nodeid;
    enum node_kind kind;
    struct inode *inode;         /* with a reference; the root's of NODE_TOP */
    char *name;                  /* of a view */
    struct file_view *file_view; /* of a view */
    uint64_t n_lookup;           /* nodes->lock; what the kernel holds */
    uint32_t refs;               /* nodes->lock */
    struct node *next;           /* nodes->lock; in a bucket by number */
    struct node *next_same;      /* nodes->lock; in a bucket by inode */
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

/* What the kernel holds: one more, n fewer. */
void node_looked_up(struct nodes *nodes, struct node *node);
void node_forget(struct nodes *nodes, uint64_t nodeid, uint64_t n);

/* The number that users see. */
uint64_t node_ino(enum node_kind kind, const struct inode *inode, const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* What lies below .falls, for the sources that work on it: what a node is (ops_views.c), and under which names nodes
 * are found (ops_view_names.c). */
#ifndef FALLSFS_FS_DAEMON_OPS_OPS_VIEWS_H
#define FALLSFS_FS_DAEMON_OPS_OPS_VIEWS_H

#include "fs/daemon/ops/ops.h"
#include "fs/daemon/view/view_nodes.h"

/* Whether a number of the kernel's is that of something below .falls. */
static inline bool is_node(fuse_ino_t ino)
{
    return (ino & NODE_BIT) != 0;
}

static inline void node_putp(struct node **node)
{
    node_put(the_mount->nodes, *node);
}

/* The node with this number, with a reference. NULL: the file has gone, and nobody has this open. */
static inline struct node *node_of(fuse_ino_t ino)
{
    return nodes_find(the_mount->nodes, ino);
}

/* The attributes of a node; -ESTALE when it is NULL. */
int stat_node(const struct node *node, struct stat *st);

/* Takes what is asked about names below .falls from whoever has it. */
void ops_add_view_names(struct fuse_lowlevel_ops *ops);

#endif

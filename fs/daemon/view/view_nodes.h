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
 * A node is what the name led to when it was looked up; another pattern by the same name is another node.
 *
 * The kernel remembers names here as it likes, and a node with them, but nothing else: what nobody uses has no view,
 * and when its file has gone, or its ticket has served, it lets go of the inode, and the kernel is told to forget it.
 */
#ifndef FALLSFS_FS_DAEMON_VIEW_VIEW_NODES_H
#define FALLSFS_FS_DAEMON_VIEW_VIEW_NODES_H

#include "fs/core/view/file_view.h"

#define NODE_BIT (UINT64_C(1) << 63) /* the numbers of nodes have it, those of inodes have not */

struct held_view;

enum node_kind {
    NODE_TOP,
    NODE_TICKETS,
    NODE_TICKET,
    NODE_MIRROR,
    NODE_VIEW,
};

/* Who may open a ticket, and how. */
struct ticket {
    uid_t uid;
    gid_t gid;
    mode_t mode;  /* rights */
    int can_open; /* O_RDONLY, O_WRONLY, O_RDWR */
};

struct node {
    uint64_t nodeid;
    enum node_kind kind;
    struct inode *inode; /* with a reference; the root for NODE_TOP and NODE_TICKETS; NULL: let go, nobody finds it */
    char *name;          /* of a view and of a ticket */
    char *text;          /* of a view */
    struct ticket ticket;
    struct held_view *held; /* of a ticket, as long as somebody uses it */
    struct file_view_counters counters;
    atomic_bool is_opened;  /* a ticket that was: its name leads nowhere any more */
    uint64_t parent;        /* nodes->lock; number of what it was looked up in */
    char *entry;            /* nodes->lock; its name there */
    uint64_t n_lookup;      /* nodes->lock; what the kernel holds */
    uint32_t refs;          /* nodes->lock; of requests, handles, and who asked for the ticket */
    struct node *next;      /* nodes->lock; in a bucket by number */
    struct node *next_same; /* nodes->lock; in a bucket by inode */
};

struct nodes;

/* Makes a table without nodes. forget: has the kernel forget a name; called by a thread of the workers, without locks.
 */
int nodes_new(struct fs *fs, void (*forget)(uint64_t parent, const char *name), struct nodes **ret_nodes);
void nodes_free(struct nodes *nodes);

/* Finds the node with this number, with a reference. NULL: there is none, or its file has gone. */
struct node *nodes_find(struct nodes *nodes, uint64_t nodeid);

/* Where a name was looked up. */
struct node_place {
    uint64_t parent; /* number */
    const char *entry;
};

/* Finds the node for an inode, or makes it, with a reference; nodes_enter_view that of the view with this name and
 * text. -ENOMEM. */
int nodes_enter(struct nodes *nodes, enum node_kind kind, struct inode *inode, const struct node_place *place,
                struct node **ret_node);
int nodes_enter_view(struct nodes *nodes, struct inode *inode, const struct node_place *place, const char *text,
                     struct node **ret_node);
void node_ref(struct nodes *nodes, struct node *node);
void node_put(struct nodes *nodes, struct node *node);

/* Makes a node for a ticket, with a reference: the caller gives it its view before anybody knows its name. */
int nodes_enter_ticket(struct nodes *nodes, struct inode *inode, const struct ticket *ticket, struct node **ret_node);

/* Finds the ticket with this name, looked up in that parent, with a reference. NULL: there is none. */
struct node *nodes_find_ticket(struct nodes *nodes, uint64_t parent, const char *name);

/* Lets go of the nodes of a file or directory whose last name has gone. */
void nodes_inode_gone(struct nodes *nodes, const struct inode *inode);

/* Whether a node is a view: one by name, or a ticket. */
static inline bool node_is_view(const struct node *node)
{
    return node->kind == NODE_VIEW || node->kind == NODE_TICKET;
}

/* Counts what the kernel holds of a node: one more, n fewer. */
void node_looked_up(struct nodes *nodes, struct node *node);
void node_forget(struct nodes *nodes, uint64_t nodeid, uint64_t n);

/* The inode number that users see of a node. */
uint64_t node_ino(enum node_kind kind, const struct inode *inode, const char *name);

#endif

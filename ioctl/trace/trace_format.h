/* SPDX-License-Identifier: MIT */
/* A trace: who read and wrote which bytes of which files, when, and how they asked. As a file it is a head, then items
 * until it ends; all numbers are little-endian, each item is a multiple of 8 bytes long, and says how long:
 *
 *     head │ FILE 1 │ PROCESS 1 │ ACCESS │ ACCESS │ PATTERN 1 │ ACCESS │ DROPPED │ ACCESS ...
 *
 * Files, processes and patterns have numbers from 1 and are introduced before an access names them; 0 stands for none,
 * of a process for the kernel. Who does not know an item passes over it. A file that ends within an item was being
 * written: what stands before is good. fallsfs-trace(5) is this for users. */
#ifndef FALLSFS_IOCTL_TRACE_TRACE_FORMAT_H
#define FALLSFS_IOCTL_TRACE_TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC   "FALLSTRC"
#define TRACE_VERSION 2 /* 1 had neither samples nor ranks: 0 stood there */

#define TRACE_MAX_ITEM (1u << 20) /* bytes of an item that anybody looks at */

struct trace_head {
    char magic[8];
    uint32_t version;
    uint32_t len;         /* of the head: items begin there */
    uint64_t began;       /* ns since 1970, what times of accesses are counted from */
    uint8_t volume[16];   /* its id; zeros: not of a mount */
    uint32_t flags;       /* enum trace_flag */
    uint32_t n_ranks;     /* of the MPI program whose part this is; 0: it is of none */
    uint32_t reserved[4]; /* 0 */
};

enum trace_flag {
    TRACE_EVERY = 1,    /* what programs asked for; else what the kernel's page cache did not answer itself */
    TRACE_IMPORTED = 2, /* by system calls, not by a mount */
    TRACE_BY_MPI = 4,   /* what one rank of an MPI program asked for; its part of the whole */
};

enum trace_item_type {
    TRACE_FILE = 1,
    TRACE_PROCESS,
    TRACE_PATTERN,
    TRACE_ACCESS,
    TRACE_DROPPED,
    TRACE_OPEN, /* handles that were open already when every access was asked for: theirs may be missing */
};

/* Begins every item. */
struct trace_item {
    uint16_t type;
    uint16_t sampled; /* of an access: it stands for so many of its handle, chosen at random; 0: for itself. Else 0 */
    uint32_t len;     /* with this head and what follows the struct; a multiple of 8 */
};

/* Followed by the path below the mount point and by the layout, each ended by a NUL. */
struct trace_file {
    struct trace_item item;
    uint32_t number;
    uint32_t layout_at; /* where the layout begins behind the struct */
    uint64_t inode, size;
};

/* Followed by the name of the program, ended by a NUL: empty, and tgid and start 0, where the reader may not know. */
struct trace_process {
    struct trace_item item;
    uint32_t number;
    uint32_t uid;
    uint32_t tgid;
    uint32_t ranked; /* its rank in MPI_COMM_WORLD and 1; 0: it has none */
    uint64_t start;  /* clock ticks after boot, as in /proc/PID/stat: with tgid it is one process */
};

/* Followed by the text of what a view, a section or FALLS asked for, ended by a NUL. */
struct trace_pattern {
    struct trace_item item;
    uint32_t number;
    uint32_t reserved; /* 0 */
};

enum trace_how {
    TRACE_PLAIN = 0,   /* read(2), write(2) and their kin; offset and len are the file's */
    TRACE_BY_VIEW = 1, /* offset and len are the view's, which the pattern is: its text, or the tiles one sees */
    TRACE_BY_SECTION = 2,
    TRACE_BY_FALLS = 3,
    TRACE_BY_LIST = 4,
};

enum trace_access_flag {
    TRACE_WRITES = 1,
    TRACE_FAILED = 2,
    TRACE_IN_GROUP = 4, /* group and rank are set */
};

/* One access. With a pattern of a section, FALLS or list, offset is the first byte that it touches in the file and len
 * how many bytes it takes, which lie as the pattern says. */
struct trace_access {
    struct trace_item item;
    uint32_t process, file;
    uint32_t handle; /* of the opens of all files, a number of its own; 0: none */
    uint32_t pattern;
    uint64_t offset, len;
    uint64_t at;    /* ns since the trace began */
    uint32_t took;  /* us until it was answered; UINT32_MAX: that long or longer */
    uint32_t group; /* the groups of a trace, from 1 */
    uint32_t rank;
    uint16_t how;   /* enum trace_how */
    uint16_t flags; /* enum trace_access_flag */
};

/* So many accesses are missing here. */
struct trace_dropped {
    struct trace_item item;
    uint64_t n;
};

/* So many handles of a file were open when the trace began. */
struct trace_open {
    struct trace_item item;
    uint32_t file;
    uint32_t n;
};

#endif

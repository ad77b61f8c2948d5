/* SPDX-License-Identifier: MIT */
/* What programs ask of a file in a fallsfs mount beyond POSIX: array sections, alone or as a group of processes.
 *
 *     process 0   JOIN token, rank 0 of 2 ──> group      BUFFER memfd ──> buffer      SECTION read rows 0:49 ──┐
 *     process 1   JOIN token, rank 1 of 2 ──> group      BUFFER memfd ──> buffer      SECTION read rows 50:99 ─┤
 *                                                                                                              ▼
 *                                                   the last one to ask starts the work; all are answered together
 *
 * Any descriptor of a regular file takes these; its open mode decides what may be done. GROUPS takes directories, too.
 * So does a descriptor of a view, where all offsets and sizes count the view's bytes; ranks of a group may see their
 * file through a view each, or as it is. BOARD is not for views: ENOTTY, and that group's ranks ask for themselves.
 *
 * The structures have no pointers and the same form on all machines. version is FALLSFS_IOCTL_VERSION, reserved fields
 * are 0: EINVAL otherwise. libfallsfs (fallsfs.h) is the comfortable way to all this. */
#ifndef FALLSFS_IOCTL_H
#define FALLSFS_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FALLSFS_IOCTL_VERSION 1

#define FALLSFS_MAX_DIMS     16
#define FALLSFS_MAX_RANKS    4096
#define FALLSFS_MAX_TEXT     8192 /* bytes of notation in one request, its final 0 included */
#define FALLSFS_MAX_CULPRITS 15

/* How the covered range is divided among those who do the work. */
enum {
    FALLSFS_DOMAINS_DEFAULT = 0, /* dynamic */
    FALLSFS_DOMAINS_STATIC = 1,  /* the whole array in equal parts */
    FALLSFS_DOMAINS_DYNAMIC = 2, /* window by window of what is asked for, to whoever is free */
    FALLSFS_DOMAINS_CYCLIC = 3,  /* window by window in turn */
    FALLSFS_DOMAINS_DISK = 4,    /* one for each disk; dynamic where disks take turns within pages */
};

/* Whether small pieces are read and written together with the holes between them. */
enum {
    FALLSFS_SIEVE_AUTO = 0, /* where that costs less */
    FALLSFS_SIEVE_ON = 1,
    FALLSFS_SIEVE_OFF = 2,
};

/* Reads in one of these ways, writes in another (SUPPORTS_SIEVE_EACH; EINVAL otherwise). */
#define FALLSFS_SIEVE_EACH(reads, writes) (0x100u | (reads) | (writes) << 4)

enum {
    FALLSFS_ROW_MAJOR = 0,    /* C */
    FALLSFS_COLUMN_MAJOR = 1, /* Fortran */
};

/* timeout_ms of a group that waits for as long as it takes: a rank may be hours behind the others. That a rank has died
 * or left is noticed as ever; work that has begun fails when a disk makes no progress for the mount's timeout, however
 * long it has taken until then. Daemons whose INFO does not say SUPPORTS_NO_DEADLINE refuse it: EINVAL. */
#define FALLSFS_TIMEOUT_NONE 0xffffffffu

/* 0 everywhere: the defaults. All ranks give the same. */
struct fallsfs_ioc_hints {
    __u32 domains;
    __u32 sieve;      /* of both directions, or FALLSFS_SIEVE_EACH */
    __u64 window;     /* bytes of memory a worker may use, up to INFO's max_window */
    __u32 workers;    /* how many domains */
    __u32 timeout_ms; /* how long a group waits for its members, 1 s to 1 h, or FALLSFS_TIMEOUT_NONE; 0: 30 s */
    __u64 reserved[2];
};

/* Bits of INFO's supports: what a daemon of this version can do that older ones of the same version cannot. */
#define FALLSFS_SUPPORTS_LIST        1u  /* LIST, alone, in a group and on a board */
#define FALLSFS_SUPPORTS_TILES       2u  /* extent, skip and bytes of FALLS */
#define FALLSFS_SUPPORTS_NO_DEADLINE 4u  /* FALLSFS_TIMEOUT_NONE */
#define FALLSFS_SUPPORTS_FILE_SIZE   8u  /* file_size in the answers of requests, tickets and ROUND */
#define FALLSFS_SUPPORTS_VIEWS       16u /* all but BOARD, of views */
#define FALLSFS_SUPPORTS_HINTS       32u /* HINT */
#define FALLSFS_SUPPORTS_SIEVE_EACH  64u /* FALLSFS_SIEVE_EACH */

/* What the mount can do, and how the file is laid out. Two descriptors are of the same file, for as long as both are
 * open, and their ranks can join one group, when volume, life and inode are the same. A view has an inode of its own.
 * Older daemons answer 0 in all that comes after max_groups. */
struct fallsfs_ioc_info {
    __u32 version;
    __u32 n_elements; /* subfiles of the layout */
    __u32 n_disks;
    __u32 max_ranks;
    __u64 max_window;
    __u64 max_groups; /* of one user */
    __u8 volume[16];  /* the volume's id, on whatever machine it is mounted */
    __u64 life;       /* a random number of this daemon's life: another one after each start; never 0 */
    __u64 inode;      /* of the file, as stat says */
    __u64 supports;   /* FALLSFS_SUPPORTS_... */
    __u64 max_pieces; /* of one LIST */
    __u64 reserved[2];
    char layout[FALLSFS_MAX_TEXT]; /* as typed; empty when it is too long */
};

/* Takes a rank in the group of that token, which the first to come makes. The rank belongs to this process and this
 * open file. EACCES another user's, or not this file's; EEXIST the rank is taken; EPROTO nranks or hints differ; EUSERS
 * too many groups. */
struct fallsfs_ioc_join {
    __u32 version;
    __u32 rank;
    __u32 nranks;
    __u32 reserved32;
    __u8 token[16]; /* random */
    struct fallsfs_ioc_hints hints;
    __u64 group; /* out */
    __u64 reserved[4];
};

/* Shows the daemon memory that sections are read into and written from: a memfd of this process, sealed against
 * shrinking and growing. fd -1 forgets the buffer of that number. EACCES the daemon may not look at this process,
 * EINVAL not such a memfd, ENOMEM or EUSERS limits. */
struct fallsfs_ioc_buffer {
    __u32 version;
    __s32 fd;
    __u64 len;    /* bytes of it that are used, from its start */
    __u32 buffer; /* out, or which one to forget */
    __u32 reserved32;
    __u64 reserved[4];
};

struct fallsfs_ioc_range {
    __u64 lower, upper, stride; /* from 0, upper included; lower > upper in any dimension: an empty section */
};

enum {
    FALLSFS_READ = 0,
    FALLSFS_WRITE = 1,
};

/* Flags of a request. */
#define FALLSFS_NOWAIT 1u /* answer with a ticket at once */

/* Who asks, for which group, from which memory.
 *
 * file_size tells how much of what was read lay in the file; the rest of the memory is zeros. It is the size that the
 * file had before the round's first byte was read, or after its last one was written, and the same number for all ranks
 * of a round. SUPPORTS_FILE_SIZE; else it stays what it was. */
struct fallsfs_ioc_request {
    __u32 version;
    __u32 direction;
    __u64 group; /* 0: alone */
    __u64 seq;   /* 1, 2, 3, ... in each group; the same again after EINTR. Alone: 0 */
    __u32 flags;
    __u32 buffer;
    __u64 buf_off; /* where the section starts in the buffer; it is dense there, in file order */
    __u64 reserved[2];
    __u64 file_size; /* out, without error and ticket: how long the file was, see below */
    __u64 ticket;    /* out, with FALLSFS_NOWAIT */
    __u64 bytes;     /* out: the size of the section */
    /* out, with errors, too: 1, seq is used up, and the error is the round's; 0, the request does not count, and
     * another one with this seq may follow */
    __u64 accepted;
};

/* A section of an array, in each dimension lower, lower + stride, ... up to upper. */
struct fallsfs_ioc_section {
    struct fallsfs_ioc_request request;
    __u32 ndims;
    __u32 order;
    __u64 elem;   /* bytes of an element */
    __u64 header; /* bytes of the file before the array */
    __u64 size[FALLSFS_MAX_DIMS];
    struct fallsfs_ioc_range range[FALLSFS_MAX_DIMS];
    __u64 reserved[4];
};

/* A set of nested FALLS, "{(0,3,8,2,{(0,0,2,2)})}", from the byte disp of the file on. extent, skip and bytes 0: all of
 * it, once. bytes more than 0 (SUPPORTS_TILES): the set is one tile of an endless row of them, as in a LIST. */
struct fallsfs_ioc_falls {
    struct fallsfs_ioc_request request;
    __u64 disp;
    __u64 extent, skip, bytes;
    __u64 reserved[1];
    char text[FALLSFS_MAX_TEXT];
};

/* One piece of a list: len bytes of the file from disp + off on. */
struct fallsfs_ioc_piece {
    __u64 off;
    __u64 len; /* more than 0 */
};

/* A list of pieces, for what is no progression (SUPPORTS_LIST): an MPI filetype, listed once, whatever the count. It is
 * a tile, repeated every extent bytes; the tiles' bytes one after the other are what one would see of the file through
 * them, and of these, the request moves bytes, after the first skip:
 *
 *     pieces (0,2) (3,1), extent 6     file      0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
 *                                      tiles     # # . # . . # # . #  .  .  #  #  .  #
 *     skip 2, bytes 5                  request   . . . # . . # # . #  .  .  #  .  .  .
 *
 * Pieces ascend and do not overlap, to read or to write; they may touch. From the first piece's start to the last one's
 * end is no more than extent: tiles do not interleave. extent 0: a single tile, which has the skip + bytes. bytes 0:
 * the request is for nothing, and neither list nor memory is looked at.
 *
 * The list lies in shared memory, as what is read and written does, in the same buffer or in one of its own. It is read
 * before the request is accepted, once; then it may be changed or be gone. list_id other than 0 spares even that: where
 * this open file has given a list of as many pieces with that id before, the daemon may take that one for this without
 * looking. It may have forgotten it as well, so that the list must be there each time.
 *
 * EINVAL a list that is none; E2BIG more than INFO's max_pieces, EUSERS all that this user's lists may take of the
 * daemon's memory is taken: ask for less at a time; ENXIO no such buffer; EFAULT the list is not in its buffer. */
struct fallsfs_ioc_list {
    struct fallsfs_ioc_request request;
    __u64 disp;
    __u64 n;           /* pieces: struct fallsfs_ioc_piece, one after the other */
    __u64 list_off;    /* of the first one in its buffer, a multiple of 8 */
    __u32 list_buffer; /* 0: the request's */
    __u32 reserved32;
    __u64 list_id;
    __u64 extent, skip, bytes;
    __u64 reserved[4];
};

/* A ticket's end: WAIT until it has come, TEST whether it has. The result of the request is this call's, and the ticket
 * is gone with it. TEST: EAGAIN while it is at work. poll() tells of a finished ticket, too. */
struct fallsfs_ioc_ticket {
    __u32 version;
    __u32 reserved32;
    __u64 ticket;
    __u64 bytes;     /* out */
    __u64 file_size; /* out, as in a request; 0 on the way in */
    __u64 reserved[3];
};

/* Whatever is still to come of the group ends with ECANCELED for all. */
struct fallsfs_ioc_leave {
    __u32 version;
    __u32 reserved32;
    __u64 group;
    __u64 reserved[4];
};

/* What the last request of a group, or the last one alone (group 0), of this open file did. */
struct fallsfs_ioc_stats {
    __u32 version;
    __u32 reserved32;
    __u64 group;
    __u64 calls;                   /* so far */
    __u64 asked;                   /* bytes, all members together */
    __u64 disk_read, disk_written; /* bytes, through system calls */
    __u64 mapped;                  /* bytes moved straight between subfile and member */
    __u64 reread;                  /* bytes read only to be written back around holes */
    __u64 windows, windows_mapped, windows_list;
    __u64 requests; /* reads and writes */
    __u32 domains, plan_reused;
    __u64 ns_wait, ns_plan, ns_io, ns_exchange, ns_total; /* wait: from the first member to the last */
    __u32 error;                                          /* that the group has failed with; 0: it has not */
    /* The ranks it failed for, the first of them: did not come (ETIMEDOUT), left or died (ECANCELED), asked for
     * something else (EPROTO). */
    __u32 n_culprits, culprit[FALLSFS_MAX_CULPRITS];
    __u32 more_reserved32[2];
    __u32 by_itself; /* 1: the library served this rank by itself, as the file is on no mount; daemons say 0 */
    __u64 reserved[7];
};

/* How a group stands. */
enum {
    FALLSFS_GROUP_IDLE = 0,    /* nobody waits */
    FALLSFS_GROUP_WAITS = 1,   /* for ranks that have not asked yet */
    FALLSFS_GROUP_AT_WORK = 2, /* all have asked */
    FALLSFS_GROUP_FAILED = 3,  /* for good; some of its ranks have not left yet */
};

#define FALLSFS_NO_DEADLINE (~0ULL)

/* One group after the other, of this user, or for root of all; any file or directory of the mount will do. */
struct fallsfs_ioc_groups {
    __u32 version;
    __u32 state, direction; /* out, with all that follows but after */
    __u32 error;            /* that it has failed with */
    __u32 uid, nranks, joined;
    __u32 n_missing;                     /* ranks that have not asked yet, or that the group has failed for */
    __u8 missing[FALLSFS_MAX_RANKS / 8]; /* bit rank % 8 of byte rank / 8; of a failed group, of the first of them */
    __u64 after;                         /* 0: the first group; then the group of the last answer */
    __u64 group;                         /* 0: there is no other */
    __u64 inode;                         /* of the file, as stat says; 0: nobody has it any more */
    __u64 seq;                           /* the round at work or waited for, if there is one */
    __u64 ns_since, ns_left; /* since the first rank asked in it; until its deadline or FALLSFS_NO_DEADLINE */
    __u64 reserved[8];
    char path[4096]; /* below the mount; empty when the file has none, or too long a one */
};

/* Memory that the ranks of a group share, so that they can meet without a call each: every rank leaves its next request
 * in its slot, and the last one to come asks for all of them (ROUND). Whose slot it is, the daemon has no means to
 * tell: who is in a group trusts the others in it.
 *
 *     key | what the ranks need to meet | slot of rank 0 | slot of rank 1 | ...
 *
 * With fd -1, what the group has; ENOENT: nothing. Else a memfd as BUFFER takes them, with the key at its start, which
 * becomes the group's if it has none yet. The answer says which is the group's. */
struct fallsfs_ioc_board {
    __u32 version;
    __s32 fd; /* out, too: in that process */
    __u64 group;
    __u32 pid; /* of this process, as the ranks know it; out: of the one that has it */
    __u32 nranks;
    __u8 key[16]; /* random; out: of the group's */
    __u64 reserved[4];
};

#define FALLSFS_BOARD_HEAD 4096
#define FALLSFS_BOARD_SLOT 1024

#define FALLSFS_BOARD_SIZE(nranks) (FALLSFS_BOARD_HEAD + (__u64) FALLSFS_BOARD_SLOT * (nranks))

/* A slot starts with a number of the kind that ioctl() takes, SECTION, FALLS or LIST (where INFO says so); the request
 * follows, as much of it as there is room for. It is one of the group, for this seq, without NOWAIT. */
#define FALLSFS_BOARD_REQUEST 8 /* where in the slot */

/* All requests of the board at once, for all ranks; the answer is this rank's. EAGAIN: not all of them can be taken so,
 * and nothing has happened; each rank may ask for itself. A rank that does not learn the result from the others waits
 * for it as after EINTR. */
struct fallsfs_ioc_round {
    __u32 version;
    __u32 reserved32;
    __u64 group;
    __u64 seq;
    __u64 ns_wait;   /* how long the first to come has waited for the last, for STATS */
    __u64 file_size; /* out, as in a request; 0 on the way in */
    __u64 reserved[3];
    __u64 accepted; /* out, as in a request */
};

/* Hints for all requests alone that come through this open file after it; its timeout_ms is 0. All 0: the defaults. */
struct fallsfs_ioc_hint {
    __u32 version;
    __u32 reserved32;
    struct fallsfs_ioc_hints hints;
    __u64 reserved[4];
};

/* A part of the file as a file of its own: an element of a layout, as user.falls.view.NAME takes it. The answer is
 * where it can be opened, below the mount: by this user, once, while this descriptor is open and has asked for no
 * other, to read and to write as far as this descriptor may. */
struct fallsfs_ioc_view {
    __u32 version;
    __u32 reserved32;
    __u64 reserved[4];
    char path[64];               /* out */
    char text[FALLSFS_MAX_TEXT]; /* "stripe(1M,4) element 2" */
};

#define FALLSFS_IOC_MAGIC 0xF5

#define FALLSFS_IOC_INFO    _IOR(FALLSFS_IOC_MAGIC, 0, struct fallsfs_ioc_info)
#define FALLSFS_IOC_JOIN    _IOWR(FALLSFS_IOC_MAGIC, 1, struct fallsfs_ioc_join)
#define FALLSFS_IOC_BUFFER  _IOWR(FALLSFS_IOC_MAGIC, 2, struct fallsfs_ioc_buffer)
#define FALLSFS_IOC_SECTION _IOWR(FALLSFS_IOC_MAGIC, 3, struct fallsfs_ioc_section)
#define FALLSFS_IOC_FALLS   _IOWR(FALLSFS_IOC_MAGIC, 4, struct fallsfs_ioc_falls)
#define FALLSFS_IOC_WAIT    _IOWR(FALLSFS_IOC_MAGIC, 5, struct fallsfs_ioc_ticket)
#define FALLSFS_IOC_TEST    _IOWR(FALLSFS_IOC_MAGIC, 6, struct fallsfs_ioc_ticket)
#define FALLSFS_IOC_LEAVE   _IOW(FALLSFS_IOC_MAGIC, 7, struct fallsfs_ioc_leave)
#define FALLSFS_IOC_STATS   _IOWR(FALLSFS_IOC_MAGIC, 8, struct fallsfs_ioc_stats)
#define FALLSFS_IOC_GROUPS  _IOWR(FALLSFS_IOC_MAGIC, 9, struct fallsfs_ioc_groups)
#define FALLSFS_IOC_BOARD   _IOWR(FALLSFS_IOC_MAGIC, 10, struct fallsfs_ioc_board)
#define FALLSFS_IOC_ROUND   _IOWR(FALLSFS_IOC_MAGIC, 11, struct fallsfs_ioc_round)
#define FALLSFS_IOC_VIEW    _IOWR(FALLSFS_IOC_MAGIC, 12, struct fallsfs_ioc_view)
#define FALLSFS_IOC_LIST    _IOWR(FALLSFS_IOC_MAGIC, 13, struct fallsfs_ioc_list)
#define FALLSFS_IOC_HINT    _IOW(FALLSFS_IOC_MAGIC, 14, struct fallsfs_ioc_hint)

#endif

/* SPDX-License-Identifier: MIT */
/* A typemap is what a datatype of MPI's means: which bytes it selects, in which order, and how far apart two of it lie.
 *
 *     vector of 2 blocks of 2 bytes, 3 apart     loop of 2, stride 3 ── run of 2 bytes
 *
 *     one of them, and the order of its bytes    0 1 . 2 3
 *     its stream: endlessly many, extent 5       0 1 . 2 3 4 5 . 6 7 8 9 . ...
 *
 * The bytes of the stream are counted in the order of the type, which in a file view is the file's, and in memory may
 * be any. Whoever moves data says which bytes of the stream: count of elements and place within a view are one thing
 * so. Offsets are from where the first one's origin is, and can be negative in memory.
 * Immutable once it is made; pure arithmetic, without MPI. */
#ifndef FALLSFS_IOCTL_MPI_TYPEMAP_H
#define FALLSFS_IOCTL_MPI_TYPEMAP_H

#include "ioctl/fallsfs_ioctl.h"
#include "layout/base.h"

#define TYPEMAP_LIMIT (INT64_C(1) << 61) /* neither sizes nor offsets reach it */

enum typemap_kind {
    TYPEMAP_RUN,  /* size bytes that follow each other */
    TYPEMAP_LOOP, /* n times inner, stride apart */
    TYPEMAP_LIST, /* inner[0], inner[1], ... up to n, each with its off */
    TYPEMAP_RUNS, /* a list of n runs */
};

struct typemap_run {
    int64_t off;
    uint64_t len;
};

struct typemap_node {
    enum typemap_kind kind;
    bool ascends;   /* every byte lies behind all those before it */
    int64_t off;    /* where it is in what it is a part of */
    int64_t lo, hi; /* from off: its bytes lie from lo up to hi */
    uint64_t size;  /* bytes, hi - lo with holes */
    uint64_t n;
    int64_t stride;
    const struct typemap_node *inner;
    const struct typemap_run *run;
    const uint64_t *before; /* bytes before each of the list, or before every TYPEMAP_STEPth of the runs */
};

#define TYPEMAP_STEP 32

/* -- making one -- */

/* Where nodes lie while a typemap is made. error is the first thing that went wrong: -ENOMEM, -EOVERFLOW; calls do
 * nothing then, and what they return means nothing. */
struct typemap_draft {
    struct typemap_chunk *chunks;
    int error;
};

void typemap_draft_done(struct typemap_draft *draft);
void *typemap_alloc(struct typemap_draft *draft, uint64_t n, size_t size);

/* All come in simplest form: what follows each other is one run, lists that are progressions are loops. items are not
 * used afterwards, runs are of typemap_alloc and become the node's; nodes without bytes have size 0. */
struct typemap_node typemap_run(uint64_t len);
struct typemap_node typemap_loop(struct typemap_draft *draft, uint64_t n, int64_t stride, struct typemap_node inner);
struct typemap_node typemap_list(struct typemap_draft *draft, uint64_t n, const struct typemap_node items[]);
struct typemap_node typemap_runs(struct typemap_draft *draft, uint64_t n, struct typemap_run runs[]);

struct typemap {
    unsigned refs; /* by atomic builtins */
    struct typemap_draft memory;
    int64_t extent;
    struct typemap_node one;    /* of it */
    struct typemap_node stream; /* as many as fit below TYPEMAP_LIMIT */
};

/* Takes what the draft has. -ENOMEM, -EOVERFLOW, or the draft's error. */
int typemap_new(struct typemap_draft *draft, struct typemap_node one, int64_t extent, struct typemap **ret_typemap);
struct typemap *typemap_ref(struct typemap *typemap);
void typemap_put(struct typemap *typemap);

/* Whether they select the same bytes in the same order and are written down alike. */
bool typemap_equal(const struct typemap *a, const struct typemap *b);

/* -- what can be asked of one -- */

/* Whether the bytes [from, from + len) of its stream follow each other. */
bool typemap_is_run(const struct typemap *typemap, uint64_t from, uint64_t len, int64_t *ret_off);

/* Where a byte of the stream is. */
int64_t typemap_offset(const struct typemap *typemap, uint64_t k);

/* How many bytes of the stream come before the first one that does not lie before an offset. */
uint64_t typemap_below(const struct typemap *typemap, int64_t off);

/* Whether its stream, up to that byte, ascends: tiles do not interleave. */
bool typemap_ascends(const struct typemap *typemap, uint64_t end);

/* Whether no run of one of it begins before the one that it follows; they may overlap. */
bool typemap_is_sorted(const struct typemap *typemap);

/* The bytes [from, from + len) of its stream, in order, as n pieces of len bytes, stride apart, at a time. */
typedef void typemap_tell(void *arg, int64_t off, uint64_t len, int64_t stride, uint64_t n);
void typemap_walk(const struct typemap *typemap, uint64_t from, uint64_t len, typemap_tell *tell, void *arg);

/* A place in memory, counted from base, which may be NULL where offsets are addresses (MPI_BOTTOM). */
static inline uint8_t *typemap_place(const void *base, int64_t off)
{
    union {
        const void *base;
        uintptr_t address;
        uint8_t *place;
    } pointer = { .base = base };

    pointer.address += (uintptr_t) off;
    return pointer.place;
}

/* The bytes [from, from + len) of the stream, to and from a contiguous buffer. base is where offsets count from. */
void typemap_gather(const struct typemap *typemap, const void *base, uint64_t from, uint64_t len, void *packed);
void typemap_scatter(const struct typemap *typemap, void *base, uint64_t from, uint64_t len, const void *packed);

/* -- one of it, that ascends and begins at 0 or later, as requests have it -- */

/* As text, "{(0,1,3,2)}"; false when it does not fit. */
bool typemap_text(const struct typemap *typemap, char *text, size_t size);

/* As a list; at most so many pieces as count says. */
uint64_t typemap_count(const struct typemap *typemap);
uint64_t typemap_pieces(const struct typemap *typemap, struct fallsfs_ioc_piece pieces[]);

#endif

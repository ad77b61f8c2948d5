/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/ring.h"

#include "fs/core/disk/mutex.h"
#include "ioctl/trace/trace_write.h"

#include <stdio.h>
#include <sys/mman.h>

#define BATCH     256 /* records that a reader is told of while the lock is held */
#define MAX_MOVED 64  /* of the oldest records, that go so that a new name has room */

enum kind {
    PROCESSES,
    FILES,
    PATTERNS,
    N_KINDS,
};

enum {
    STARTED_CACHED = 1,
    STARTED_EVERY = 2,
};

/* What is counted for one user; the first one stands for all of them, which is what administrators see. All:
 * ring->lock. */
struct owner {
    uid_t uid;
    unsigned started;      /* by himself, since first; of the first owner: by administrators */
    uint64_t pushed, gone; /* accesses: ever, and those of them that others have taken the place of */
    uint64_t refused;      /* that were not recorded for want of room in tables */
    uint64_t first;        /* position at which new readers begin; pushed and refused then */
    uint64_t pushed_before, refused_before;
};

struct ring {
    uint8_t volume[16];
    uint64_t began_steady, began_wall; /* ns, the same moment */
    uint64_t n_slots;
    struct mutex lock;
    struct trace_access *slot;   /* lock; names are places */
    uint64_t next, oldest;       /* lock; positions */
    unsigned started;            /* lock; by anybody, since administrators' readers begin */
    struct names names[N_KINDS]; /* lock */
    struct owner owner[RING_MAX_OWNERS + 1];
    uint32_t n_owners;  /* lock */
    uint32_t n_readers; /* lock */
    struct ring_reader *readers;
};

/* All: ring->lock. */
struct ring_reader {
    struct ring *ring;
    uid_t uid;
    bool is_admin, is_told_head;
    uint32_t owner;           /* who is counted for him */
    uint64_t next;            /* position */
    uint64_t passed, refused; /* of the owner's accesses: before next; and of those refused, told */
    uint32_t *told[N_KINDS];  /* by place: the number of the name that was told last */
    char *pending;            /* items that are not taken yet */
    size_t len, at;
    struct ring_reader *other; /* the next of the ring's */
};

/* -- life -- */

static uint64_t wall_ns(void)
{
    struct timespec now = clock_wall();

    return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

int ring_new(uint64_t bytes, const uint8_t *volume, struct ring **ret_ring)
{
    struct ring *ring = calloc(1, sizeof *ring);
    int r = 0;

    if (ring == NULL)
        return -ENOMEM;
    memcpy(ring->volume, volume, sizeof ring->volume);
    mutex_init(&ring->lock);
    ring->n_slots = MAX(bytes / sizeof *ring->slot, 1);
    ring->slot = mmap(NULL, ring->n_slots * sizeof *ring->slot, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ring->began_steady = clock_ns();
    ring->began_wall = wall_ns();
    ring->n_owners = 1;
    if (ring->slot == MAP_FAILED) {
        ring->slot = NULL;
        r = -ENOMEM;
    }
    for (uint32_t i = 0; i < N_KINDS && r == 0; i++)
        r = names_init(&ring->names[i], RING_MAX_NAMES, RING_MAX_BYTES);
    if (r < 0)
        ring_free(ring);
    else
        *ret_ring = ring;
    return r;
}

void ring_free(struct ring *ring)
{
    if (ring == NULL)
        return;
    for (uint32_t i = 0; i < N_KINDS; i++)
        names_done(&ring->names[i]);
    if (ring->slot != NULL)
        munmap(ring->slot, ring->n_slots * sizeof *ring->slot);
    mutex_done(&ring->lock);
    free(ring);
}

/* -- whose accesses they are -- */

/* RING_MAX_OWNERS + 1: there is no room for another one. */
static uint32_t owner_of(struct ring *ring, uid_t uid) REQUIRES(ring->lock)
{
    uint32_t i = 1;

    while (i < ring->n_owners && ring->owner[i].uid != uid)
        i++;
    if (i == ring->n_owners && i <= RING_MAX_OWNERS) {
        ring->owner[i] = (struct owner){ .uid = uid, .first = ring->next };
        ring->n_owners++;
    }
    return i;
}

static void count_dropped(struct ring *ring, uint32_t owner, uint64_t n) REQUIRES(ring->lock)
{
    ring->owner[0].refused += n;
    if (owner > 0 && owner <= RING_MAX_OWNERS)
        ring->owner[owner].refused += n;
}

void ring_drop(struct ring *ring, uint64_t n)
{
    mutex_lock(&ring->lock);
    for (uint32_t i = 0; i < ring->n_owners; i++)
        ring->owner[i].refused += n;
    mutex_unlock(&ring->lock);
}

static void begin(struct ring *ring, uint32_t i) REQUIRES(ring->lock)
{
    struct owner *owner = &ring->owner[i];

    if (i > RING_MAX_OWNERS)
        return;
    owner->started = 0;
    owner->first = ring->next;
    owner->pushed_before = owner->pushed;
    owner->refused_before = owner->refused;
}

void ring_begin_user(struct ring *ring, uid_t uid)
{
    mutex_lock(&ring->lock);
    begin(ring, owner_of(ring, uid));
    mutex_unlock(&ring->lock);
}

void ring_begin(struct ring *ring)
{
    mutex_lock(&ring->lock);
    begin(ring, 0);
    ring->started = 0;
    mutex_unlock(&ring->lock);
}

void ring_note_start(struct ring *ring, uid_t uid, bool is_admin, bool every)
{
    unsigned how = every ? STARTED_EVERY : STARTED_CACHED;
    uint32_t owner;

    mutex_lock(&ring->lock);
    owner = is_admin ? 0 : owner_of(ring, uid);
    if (owner <= RING_MAX_OWNERS)
        ring->owner[owner].started |= how;
    ring->started |= how;
    mutex_unlock(&ring->lock);
}

struct ring_count ring_count(struct ring *ring, uid_t uid, bool is_admin)
{
    struct ring_count count = { 0 };
    uint32_t i;

    mutex_lock(&ring->lock);
    i = is_admin ? 0 : owner_of(ring, uid);
    if (i <= RING_MAX_OWNERS) {
        const struct owner *owner = &ring->owner[i];
        uint64_t from = MAX(owner->gone, owner->pushed_before);

        count.records = owner->pushed - from;
        count.dropped = from - owner->pushed_before + owner->refused - owner->refused_before;
    }
    mutex_unlock(&ring->lock);
    return count;
}

/* -- recording -- */

static void count_pushed(struct ring *ring, const struct trace_access *record) REQUIRES(ring->lock)
{
    if (record->item.type != TRACE_ACCESS)
        return;
    ring->owner[0].pushed++;
    ring->owner[ring->names[FILES].at[record->file]->owner].pushed++;
}

static void unuse(struct names *names, uint32_t place)
{
    if (place > 0)
        names_unuse(names, place);
}

static void unuse_all(struct ring *ring, const uint32_t place[static N_KINDS]) REQUIRES(ring->lock)
{
    for (uint32_t i = 0; i < N_KINDS; i++)
        unuse(&ring->names[i], place[i]);
}

static void drop_oldest(struct ring *ring) REQUIRES(ring->lock)
{
    const struct trace_access *record = &ring->slot[ring->oldest++ % ring->n_slots];
    const uint32_t place[N_KINDS] = { record->process, record->file, record->pattern };

    if (record->item.type == TRACE_ACCESS) {
        ring->owner[0].gone++;
        ring->owner[ring->names[FILES].at[record->file]->owner].gone++;
    }
    unuse_all(ring, place);
}

/* Adds a name; where all that there is room for are in use, the oldest records go. 0: that did not help. */
static uint32_t add_name(struct ring *ring, enum kind kind, const struct name_words *words) REQUIRES(ring->lock)
{
    struct ring_file_key key;
    uint32_t place, owner = 0;

    if (kind == FILES) {
        memcpy(&key, words->key, sizeof key);
        owner = owner_of(ring, key.owner);
        if (owner > RING_MAX_OWNERS)
            return 0;
    }
    place = names_add(&ring->names[kind], words);
    for (uint32_t i = 0; place == 0 && i < MAX_MOVED && ring->oldest < ring->next; i++) {
        drop_oldest(ring);
        place = names_add(&ring->names[kind], words);
    }
    if (place > 0)
        ring->names[kind].at[place]->owner = owner;
    return place;
}

/* Finds the names of an access, or adds them, and has them used. Returns bits of those that are not known and have no
 * text; -ENOSPC: there is no room for one. Then none is used. */
static int use_names(struct ring *ring, const struct ring_access *access, uint32_t place[static N_KINDS])
    REQUIRES(ring->lock)
{
    const struct name_words *words[N_KINDS] = { &access->process, &access->file, &access->pattern };
    int missing = 0;

    for (uint32_t i = 0; i < N_KINDS; i++) {
        place[i] = words[i]->key_len > 0 ? names_find(&ring->names[i], words[i]) : 0;
        if (place[i] > 0)
            names_use(&ring->names[i], place[i]);
        else if (words[i]->key_len > 0 && words[i]->text == NULL)
            missing |= 1 << i;
    }
    for (uint32_t i = 0; i < N_KINDS && missing == 0; i++) {
        if (place[i] > 0 || words[i]->key_len == 0)
            continue;
        place[i] = add_name(ring, i, words[i]);
        if (place[i] > 0)
            names_use(&ring->names[i], place[i]);
        else
            missing = -ENOSPC;
    }
    if (missing != 0)
        unuse_all(ring, place);
    return missing;
}

static uint32_t owner_in_key(struct ring *ring, const struct name_words *file) REQUIRES(ring->lock)
{
    struct ring_file_key key;

    memcpy(&key, file->key, sizeof key);
    return owner_of(ring, key.owner);
}

unsigned ring_push(struct ring *ring, const struct ring_access *access)
{
    uint32_t place[N_KINDS];
    struct trace_access *record;
    int r;

    mutex_lock(&ring->lock);
    r = use_names(ring, access, place);
    if (r == 0) {
        if (ring->next - ring->oldest == ring->n_slots)
            drop_oldest(ring);
        record = &ring->slot[ring->next++ % ring->n_slots];
        *record = access->access;
        record->process = place[PROCESSES];
        record->file = place[FILES];
        record->pattern = place[PATTERNS];
        record->at -= MIN(record->at, ring->began_steady);
        count_pushed(ring, record);
    } else if (r < 0) {
        count_dropped(ring, owner_in_key(ring, &access->file), 1);
    }
    mutex_unlock(&ring->lock);
    return (unsigned) MAX(r, 0);
}

/* -- reading -- */

static uint32_t flags_of(const struct ring_reader *reader) REQUIRES(reader->ring->lock)
{
    const struct ring *ring = reader->ring;
    unsigned started = reader->is_admin ? ring->started : ring->owner[0].started | ring->owner[reader->owner].started;

    return started == STARTED_EVERY ? TRACE_EVERY : 0;
}

static void tell_head(struct ring_reader *reader, FILE *out) REQUIRES(reader->ring->lock)
{
    struct trace_head head = { .began = reader->ring->began_wall, .flags = flags_of(reader) };

    memcpy(head.volume, reader->ring->volume, sizeof head.volume);
    trace_write_head(out, &head);
    reader->is_told_head = true;
}

/* Tells how many accesses have gone before the reader came to them, and moves him to the oldest there is. */
static void tell_dropped(struct ring_reader *reader, FILE *out) REQUIRES(reader->ring->lock)
{
    const struct ring *ring = reader->ring;
    const struct owner *owner = &ring->owner[reader->owner];
    uint64_t n = owner->refused - reader->refused;

    reader->refused = owner->refused;
    if (reader->next < ring->oldest) {
        n += owner->gone - reader->passed;
        reader->passed = owner->gone;
        reader->next = ring->oldest;
    }
    if (n > 0)
        trace_write_dropped(out, n);
}

static void tell_file(const struct name *name, FILE *out)
{
    const char *path = name_text(name), *layout = path + strlen(path) + 1;
    struct ring_file_key key;
    struct trace_file file = { .number = name->number, .size = name->size };

    memcpy(&key, name_key(name), sizeof key);
    file.inode = key.inode;
    trace_write_file(out, &file, path, layout);
}

static void tell_process(const struct ring_reader *reader, const struct name *name, FILE *out)
{
    struct ring_process_key key;
    struct trace_process process = { .number = name->number };
    bool may_know;

    memcpy(&key, name_key(name), sizeof key);
    may_know = reader->is_admin || key.uid == reader->uid;
    process.uid = key.uid;
    process.tgid = may_know ? key.tgid : 0;
    process.start = may_know ? key.start : 0;
    trace_write_process(out, &process, may_know ? name_text(name) : "");
}

/* Tells of a name that the reader has not been told of, and returns its number; 0: there is none. */
static uint32_t tell_name(struct ring_reader *reader, enum kind kind, uint32_t place, FILE *out)
    REQUIRES(reader->ring->lock)
{
    const struct name *name = place > 0 ? reader->ring->names[kind].at[place] : NULL;

    if (name == NULL)
        return 0;
    if (reader->told[kind][place] != name->number) {
        if (kind == FILES)
            tell_file(name, out);
        else if (kind == PROCESSES)
            tell_process(reader, name, out);
        else
            trace_write_pattern(out, name->number, name_text(name));
        reader->told[kind][place] = name->number;
    }
    return name->number;
}

static void tell_record(struct ring_reader *reader, const struct trace_access *record, FILE *out)
    REQUIRES(reader->ring->lock)
{
    uint32_t owner = reader->ring->names[FILES].at[record->file]->owner;
    struct trace_access told = *record;

    if (!reader->is_admin && owner != reader->owner)
        return;
    told.file = tell_name(reader, FILES, record->file, out);
    if (record->item.type == TRACE_OPEN) {
        trace_write_open(out, told.file, (uint32_t) record->len);
        return;
    }
    told.process = tell_name(reader, PROCESSES, record->process, out);
    told.pattern = tell_name(reader, PATTERNS, record->pattern, out);
    trace_write_access(out, &told);
    reader->passed++;
}

/* Makes the items of what follows for the reader, unless he has some that he has not taken. */
static int fill(struct ring_reader *reader) REQUIRES(reader->ring->lock)
{
    const struct ring *ring = reader->ring;
    FILE *out;

    if (reader->at < reader->len)
        return 0;
    free(steal(reader->pending));
    reader->len = reader->at = 0;
    out = open_memstream(&reader->pending, &reader->len);
    if (out == NULL)
        return -ENOMEM;
    if (!reader->is_told_head)
        tell_head(reader, out);
    tell_dropped(reader, out);
    for (uint32_t i = 0; i < BATCH && reader->next < ring->next && ftell(out) < RING_READER_PENDING; i++)
        tell_record(reader, &ring->slot[reader->next++ % ring->n_slots], out);
    return fclose(out) == 0 ? 0 : -ENOMEM;
}

ssize_t ring_read(struct ring_reader *reader, void *buf, size_t size)
{
    size_t done = 0, n;
    bool is_behind = true;
    int r = 0;

    while (r == 0 && is_behind && done < size) {
        mutex_lock(&reader->ring->lock);
        r = fill(reader);
        n = r == 0 ? MIN(size - done, reader->len - reader->at) : 0;
        if (n > 0)
            memcpy((char *) buf + done, reader->pending + reader->at, n);
        reader->at += n;
        done += n;
        is_behind = reader->next < reader->ring->next;
        mutex_unlock(&reader->ring->lock);
    }
    return done > 0 ? (ssize_t) done : r;
}

/* -- readers -- */

static uint32_t readers_of(struct ring *ring, const struct ring_reader *like) REQUIRES(ring->lock)
{
    uint32_t n = 0;

    for (const struct ring_reader *reader = ring->readers; reader != NULL; reader = reader->other)
        n += reader->is_admin == like->is_admin && (like->is_admin || reader->uid == like->uid);
    return n;
}

static int enter(struct ring *ring, struct ring_reader *reader) REQUIRES(ring->lock)
{
    uint32_t most = reader->is_admin ? RING_MAX_ALL / 2 : RING_MAX_READERS;
    const struct owner *owner;

    reader->owner = reader->is_admin ? 0 : owner_of(ring, reader->uid);
    if (reader->owner > RING_MAX_OWNERS || readers_of(ring, reader) == most ||
        (!reader->is_admin && ring->n_readers == RING_MAX_ALL / 2))
        return -EUSERS;
    owner = &ring->owner[reader->owner];
    reader->next = owner->first;
    reader->passed = owner->pushed_before;
    reader->refused = owner->refused_before;
    reader->other = ring->readers;
    ring->readers = reader;
    ring->n_readers += !reader->is_admin;
    return 0;
}

static void reader_done(struct ring_reader *reader)
{
    for (uint32_t i = 0; i < N_KINDS; i++)
        free(reader->told[i]);
    free(reader->pending);
    free(reader);
}

int ring_reader_new(struct ring *ring, uid_t uid, bool is_admin, struct ring_reader **ret_reader)
{
    struct ring_reader *reader = calloc(1, sizeof *reader);
    int r = reader != NULL ? 0 : -ENOMEM;

    if (r < 0)
        return r;
    *reader = (struct ring_reader){ .ring = ring, .uid = uid, .is_admin = is_admin };
    for (uint32_t i = 0; i < N_KINDS && r == 0; i++) {
        reader->told[i] = calloc(RING_MAX_NAMES + 1, sizeof(uint32_t));
        r = reader->told[i] != NULL ? 0 : -ENOMEM;
    }
    if (r == 0) {
        mutex_lock(&ring->lock);
        r = enter(ring, reader);
        mutex_unlock(&ring->lock);
    }
    if (r < 0)
        reader_done(reader);
    else
        *ret_reader = reader;
    return r;
}

void ring_reader_free(struct ring_reader *reader)
{
    struct ring *ring = reader->ring;
    struct ring_reader **at;

    mutex_lock(&ring->lock);
    for (at = &ring->readers; *at != reader; at = &(*at)->other)
        ;
    *at = reader->other;
    ring->n_readers -= !reader->is_admin;
    mutex_unlock(&ring->lock);
    reader_done(reader);
}

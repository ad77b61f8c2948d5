/* SPDX-License-Identifier: MIT */
#include "fs/daemon/trace/tracing.h"

#include "fs/core/tree/tree.h"
#include "fs/daemon/kernel/kernel_io.h"
#include "fs/daemon/trace/pattern_words.h"
#include "fs/daemon/trace/readers.h"
#include "fs/daemon/trace/sample.h"
#include "fs/daemon/trace/scopes.h"
#include "fs/daemon/trace/who.h"

struct tracing {
    struct fs *fs;
    struct handles *handles;
    uint64_t ring_bytes;
    uid_t mounter;
    bool direct_io;
    struct scopes *scopes;
    struct who *who;
    struct readers readers;
    struct mutex lock;           /* who begins and ends traces; scopes->lock and the ring's are taken under it */
    _Atomic(struct ring *) ring; /* NULL: nothing has been traced yet */
    atomic_uint n_starts;        /* traces of every access, so far */
};

static bool is_admin(const struct tracing *tracing, uid_t uid)
{
    return uid == 0 || uid == tracing->mounter;
}

/* -- life -- */

int tracing_new(struct fs *fs, struct handles *handles, const struct options *options, uid_t mounter,
                struct tracing **ret_tracing)
{
    struct tracing *tracing = calloc(1, sizeof *tracing);
    int r;

    if (tracing == NULL)
        return -ENOMEM;
    tracing->fs = fs;
    tracing->handles = handles;
    tracing->ring_bytes = options->trace_ring;
    tracing->direct_io = options->direct_io;
    tracing->mounter = mounter;
    mutex_init(&tracing->lock);
    readers_init(&tracing->readers);
    tracing->scopes = scopes_new();
    r = tracing->scopes != NULL ? who_new(&tracing->who) : -ENOMEM;
    if (r < 0)
        tracing_free(tracing);
    else
        *ret_tracing = tracing;
    return r;
}

void tracing_free(struct tracing *tracing)
{
    if (tracing == NULL)
        return;
    requests_note(false);
    readers_done(&tracing->readers);
    ring_free(atomic_load(&tracing->ring));
    who_free(tracing->who);
    scopes_free(tracing->scopes);
    mutex_done(&tracing->lock);
    free(tracing);
}

/* Gives the ring; it is made when it is first asked for. */
static int get_ring(struct tracing *tracing, struct ring **ret_ring)
{
    struct ring *ring;
    int r = 0;

    mutex_lock(&tracing->lock);
    ring = atomic_load(&tracing->ring);
    if (ring == NULL && (r = ring_new(tracing->ring_bytes, tracing->fs->volume->uuid, &ring)) == 0)
        atomic_store(&tracing->ring, ring);
    mutex_unlock(&tracing->lock);
    *ret_ring = ring;
    return r;
}

/* -- what is covered -- */

#define COVERED_UNKNOWN 128U /* whose the file is could not be found out */

/* How an inode is covered, and who owns it. ino: of what it was covered by when it was last asked for, and is now; who
 * has lost his last name stays where he was. */
static struct covered cover(struct tracing *tracing, struct inode *inode, uint64_t *ino, uid_t *ret_owner)
{
    struct stat st;

    if (tree_stat(tracing->fs, inode, &st) < 0)
        return (struct covered){ .bits = COVERED_UNKNOWN };
    *ret_owner = st.st_uid;
    if (*ino != 0 && inode_is_gone(tracing->fs->inodes, inode))
        return scopes_look(tracing->scopes, *ino, st.st_uid);
    return scopes_cover(tracing->scopes, tracing->fs->inodes, inode, st.st_uid, ino);
}

/* As cover, of an open file: the answer is kept in its handle, with the generation that it is of. Returns the bits. */
static unsigned cover_handle(struct tracing *tracing, struct handle *handle, uid_t *ret_owner)
{
    uint64_t generation = atomic_load(&tracing->scopes->generation), tag = atomic_load(&handle->trace_tag);
    uint64_t ino = atomic_load(&handle->trace_ino);
    struct covered found;

    if (tag >> 40 == generation) {
        *ret_owner = (uid_t) tag;
        return tag >> 32 & 0xff;
    }
    *ret_owner = 0;
    found = cover(tracing, handle->inode, &ino, ret_owner);
    if (found.bits != COVERED_UNKNOWN) {
        atomic_store(&handle->trace_ino, ino);
        atomic_store(&handle->trace_sample, found.sample);
        atomic_store(&handle->trace_tag, generation << 40 | (uint64_t) found.bits << 32 | *ret_owner);
    }
    return found.bits;
}

void tracing_changed(struct tracing *tracing)
{
    if (requests_are_noted())
        scopes_changed(tracing->scopes);
}

/* -- recording -- */

/* Makes what there is to say of a file: its path, empty when it has none, and its layout. */
static int make_file_text(struct tracing *tracing, const struct handle *handle, struct name_words *file)
{
    cleanup(freep) char *path = NULL;
    struct record record;
    struct file_layout *layout;
    char *text, *end;
    int r = inode_path(tracing->fs->inodes, handle->inode, &path);

    if (r == -ENOMEM)
        return r;
    layout = file_look(tracing->fs, handle->file, &record);
    text = malloc((path != NULL ? strlen(path) : 0) + strlen(layout->layout->text) + 2);
    if (text != NULL) {
        end = stpcpy(text, path != NULL ? path : "");
        file->text_len = (size_t) (stpcpy(end + 1, layout->layout->text) + 1 - text);
        file->text = text;
        file->size = file_size(handle->file);
    }
    layouts_put(tracing->fs->layouts, layout);
    return text != NULL ? 0 : -ENOMEM;
}

/* An access to be recorded, with all that its names are made of. */
struct noted {
    struct ring_access access;
    struct ring_file_key file;
    struct ring_process_key process;
    struct process_identity identity;
    const struct collect_ask *ask; /* NULL: of no section, set of FALLS or list */
};

static int make_texts(struct tracing *tracing, const struct handle *handle, struct noted *noted, unsigned missing)
{
    struct ring_access *access = &noted->access;
    char *text = NULL;
    int r = 0;

    if ((missing & RING_PROCESS) != 0) {
        access->process.text = noted->identity.name;
        access->process.text_len = strlen(noted->identity.name) + 1;
    }
    if ((missing & RING_FILE) != 0)
        r = make_file_text(tracing, handle, &access->file);
    if (r == 0 && (missing & RING_PATTERN) != 0 && noted->ask != NULL) {
        r = pattern_text(noted->ask, access->access.how, &text);
        access->pattern.text = text;
    } else if (r == 0 && (missing & RING_PATTERN) != 0) {
        access->pattern.text = text = strndup(access->pattern.key, access->pattern.key_len);
        r = text != NULL ? 0 : -ENOMEM;
    }
    if (text != NULL)
        access->pattern.text_len = strlen(text) + 1;
    return r;
}

/* Whether an access is recorded, where only some are; it stands for all of them then. */
static bool is_in_sample(struct handle *handle, struct trace_access *access)
{
    uint16_t n = (uint16_t) atomic_load(&handle->trace_sample);

    if (n <= 1 || access->item.type != TRACE_ACCESS)
        return true;
    access->item.sampled = n;
    return sample_has(handle->opened, atomic_fetch_add(&handle->trace_n, 1), n);
}

/* Fills in who asks; the kernel itself, which writes back what is mapped, is nobody. */
static void note_process(struct tracing *tracing, const struct cred *cred, struct noted *noted)
{
    if (cred->pid == 0)
        return;
    who_is(tracing->who, cred->pid, &noted->identity);
    noted->process = (struct ring_process_key){ .start = noted->identity.started,
                                                .tgid = (uint32_t) noted->identity.pid,
                                                .uid = cred->uid };
    noted->access.process.key = &noted->process;
    noted->access.process.key_len = sizeof noted->process;
}

/* Records an access of an open file if that is covered; names that the ring does not know yet are made for it. */
static void record(struct tracing *tracing, struct handle *handle, const struct cred *cred, struct noted *noted)
{
    struct ring *ring = atomic_load(&tracing->ring);
    unsigned bits, missing;
    uid_t owner;

    bits = ring != NULL ? cover_handle(tracing, handle, &owner) : 0;
    if (bits == 0)
        return;
    if (bits == COVERED_UNKNOWN) {
        ring_drop(ring, 1);
        return;
    }
    if (!is_in_sample(handle, &noted->access.access))
        return;
    note_process(tracing, cred, noted);
    noted->file =
        (struct ring_file_key){ .inode = handle->inode->ino, .nodeid = handle->inode->nodeid, .owner = owner };
    noted->access.file.key = &noted->file;
    noted->access.file.key_len = sizeof noted->file;
    noted->access.access.handle = handle->opened;
    missing = ring_push(ring, &noted->access);
    if (missing == 0)
        return;
    if (make_texts(tracing, handle, noted, missing) < 0 || ring_push(ring, &noted->access) != 0)
        ring_drop(ring, 1); /* there is no memory, or what was known has just been forgotten */
    free(drop_const(noted->access.file.text));
    free(drop_const(noted->access.pattern.text));
}

static uint32_t us_since(uint64_t began)
{
    uint64_t us = (clock_ns() - began) / 1000;

    return (uint32_t) MIN(us, UINT32_MAX);
}

static void note_plain(struct tracing *tracing, struct handle *handle, const struct request *request, off_t off,
                       ssize_t r, unsigned flags)
{
    struct noted noted = { .ask = NULL };
    struct trace_access *access = &noted.access.access;

    if (handle == NULL) {
        struct ring *ring = atomic_load(&tracing->ring);

        if (ring != NULL)
            ring_drop(ring, 1); /* it was closed since its program has been told of a failure */
        return;
    }
    *access = (struct trace_access){ .item.type = TRACE_ACCESS,
                                     .offset = (uint64_t) off,
                                     .len = r < 0 ? request->size : (uint64_t) r,
                                     .at = request->began,
                                     .took = us_since(request->began),
                                     .flags = (uint16_t) (flags | (r < 0 ? TRACE_FAILED : 0)) };
    if (handle->file_view != NULL) {
        const char *text = file_view_view(handle->file_view)->text;

        access->how = TRACE_BY_VIEW;
        noted.access.pattern.key = text;
        noted.access.pattern.key_len = strlen(text);
    }
    record(tracing, handle, &request->cred, &noted);
    handle_put(handle);
}

static struct handle *hold_handle(const struct tracing *tracing, struct handle *held, const struct fuse_file_info *fi)
{
    if (held == NULL)
        return handles_get(tracing->handles, fi->fh);
    handle_ref(held);
    return held;
}

void tracing_note(void *ctx, const struct request *request, ssize_t r)
{
    struct tracing *tracing = ctx;
    bool is_copy = request->access == REQUEST_COPIES;

    if (is_copy)
        note_plain(tracing, hold_handle(tracing, request->other_handle, request->other_fi), request, request->other_off,
                   r, 0);
    note_plain(tracing, hold_handle(tracing, request->handle, request->fi), request, request->off, r,
               request->access == REQUEST_READS ? 0 : TRACE_WRITES);
}

static enum trace_how how_of(unsigned cmd)
{
    return cmd == FALLSFS_IOC_SECTION ? TRACE_BY_SECTION : cmd == FALLSFS_IOC_LIST ? TRACE_BY_LIST : TRACE_BY_FALLS;
}

void tracing_note_ask(struct tracing *tracing, const struct collect_ask *ask, const struct round *round, uint32_t rank,
                      int result)
{
    const struct asked asked = wanted_asked(ask->ask.wanted);
    struct noted noted = { .ask = ask };
    struct trace_access *access = &noted.access.access;
    cleanup(freep) void *key = NULL;

    if (ask->began == 0)
        return;
    *access = (struct trace_access){ .item.type = TRACE_ACCESS,
                                     .offset = asked_size(&asked) > 0 ? asked_select(&asked, 0) : 0,
                                     .len = asked_size(&asked),
                                     .at = ask->began,
                                     .took = us_since(ask->began),
                                     .how = (uint16_t) how_of(ask->cmd),
                                     .flags = (uint16_t) ((ask->ask.write ? TRACE_WRITES : 0) |
                                                          (result < 0 ? TRACE_FAILED : 0)) };
    if (!round->alone) {
        access->flags |= TRACE_IN_GROUP;
        access->group = (uint32_t) round_group(round);
        access->rank = rank;
    }
    if (pattern_key(ask, access->how, &key, &noted.access.pattern.key_len) == 0) {
        noted.access.pattern.key = key;
        record(tracing, ask->handle, &ask->cred, &noted);
    }
}

/* -- opening -- */

bool tracing_wants_every(struct tracing *tracing, struct inode *inode, uid_t uid)
{
    uint64_t ino = 0;
    uid_t owner = 0;
    unsigned bits;

    if (!requests_are_noted())
        return false;
    bits = cover(tracing, inode, &ino, &owner).bits;
    return bits != COVERED_UNKNOWN &&
           ((bits & COVERED_EVERY_OPEN) != 0 || ((bits & COVERED_OWN_OPENS) != 0 && uid == owner));
}

static void note_open(struct tracing *tracing, struct handle *handle, uint32_t n)
{
    struct noted noted = { .access.access = { .item.type = TRACE_OPEN, .len = n } };

    record(tracing, handle, &(struct cred){ .pid = 0 }, &noted);
}

/* Whether the kernel may answer accesses through a handle itself though every one is to be traced, and nobody has
 * counted it yet. */
static bool is_to_be_counted(struct tracing *tracing, struct handle *handle)
{
    unsigned starts = atomic_load(&tracing->n_starts), bits;
    uid_t owner;

    bits = cover_handle(tracing, handle, &owner);
    return !handle->past_cache && (bits & (COVERED_EVERY_OPEN | COVERED_OWN_OPENS)) != 0 &&
           atomic_exchange(&handle->trace_counted, starts) != starts;
}

void tracing_opened(struct tracing *tracing, struct handle *handle)
{
    if (requests_are_noted() && is_to_be_counted(tracing, handle))
        note_open(tracing, handle, 1);
}

struct open_handles {
    struct handle **handle;
    size_t n;
    bool failed;
};

static void hold_each(void *ctx, struct handle *handle)
{
    struct open_handles *open = ctx;

    if (open->failed || handle->file == NULL)
        return;
    if (!array_grow(open->handle, open->n)) {
        open->failed = true;
        return;
    }
    handle_ref(handle);
    open->handle[open->n++] = handle;
}

static int by_inode(const void *a, const void *b)
{
    const struct handle *const *one = a, *const *other = b;

    return ((*one)->inode > (*other)->inode) - ((*one)->inode < (*other)->inode);
}

/* Counts the handles that are open already, file by file, and records how many these are. */
static int count_open(struct tracing *tracing, uint32_t *ret_n)
{
    struct open_handles open = { 0 };
    uint32_t n = 0, of_file = 0;

    handles_each(tracing->handles, hold_each, &open);
    if (open.n > 0)
        qsort(open.handle, open.n, sizeof(struct handle *), by_inode);
    for (size_t i = 0; i < open.n; i++) {
        of_file += is_to_be_counted(tracing, open.handle[i]);
        if (of_file > 0 && (i + 1 == open.n || open.handle[i + 1]->inode != open.handle[i]->inode)) {
            note_open(tracing, open.handle[i], of_file);
            n += of_file;
            of_file = 0;
        }
    }
    for (size_t i = 0; i < open.n; i++)
        handle_put(open.handle[i]);
    free(open.handle);
    *ret_n = n;
    return open.failed ? -ENOMEM : 0;
}

/* -- beginning and ending -- */

static int begin(struct tracing *tracing, struct ring *ring, const struct scope *scope)
{
    int r;

    mutex_lock(&tracing->lock);
    if (scopes_are_none(tracing->scopes))
        ring_begin(ring);
    if (!scope->is_admin && scopes_are_none_for(tracing->scopes, scope->uid))
        ring_begin_user(ring, scope->uid);
    r = scopes_add(tracing->scopes, scope);
    if (r == 0) {
        ring_note_start(ring, scope->uid, scope->is_admin, scope->every);
        atomic_fetch_add(&tracing->n_starts, 1);
        requests_note(true);
    }
    mutex_unlock(&tracing->lock);
    return r;
}

int tracing_start(struct tracing *tracing, struct inode *inode, uid_t uid, bool every, uint16_t sample)
{
    struct scope scope = { .ino = inode->ino,
                           .uid = uid,
                           .is_admin = is_admin(tracing, uid),
                           .every = every || tracing->direct_io,
                           .sample = sample };
    struct ring *ring;
    int r = every && !tracing->direct_io && !kernel_io_maps_direct() ? -EOPNOTSUPP : get_ring(tracing, &ring);

    if (r == 0)
        r = begin(tracing, ring, &scope);
    if (r == 0 && scope.every)
        r = count_open(tracing, &scope.n_open);
    if (r == 0 && scope.n_open > 0)
        r = scopes_add(tracing->scopes, &scope);
    return r;
}

static uint32_t end(struct tracing *tracing, uint64_t ino, uid_t uid, bool anybodys)
{
    uint32_t n;

    mutex_lock(&tracing->lock);
    n = scopes_remove(tracing->scopes, ino, uid, anybodys);
    if (scopes_are_none(tracing->scopes))
        requests_note(false);
    mutex_unlock(&tracing->lock);
    return n;
}

int tracing_stop(struct tracing *tracing, const struct inode *inode, uid_t uid)
{
    uint64_t ino = inode == inodes_root(tracing->fs->inodes) ? 0 : inode->ino;

    return end(tracing, ino, uid, is_admin(tracing, uid)) > 0 ? 0 : -ENOENT;
}

struct inode *tracing_above(struct tracing *tracing, struct inode *inode, uid_t uid)
{
    struct inodes *inodes = tracing->fs->inodes;
    struct inode *above = inode_parent(inodes, inode);

    while (above != NULL && !scopes_has(tracing->scopes, above->ino, uid, is_admin(tracing, uid))) {
        struct inode *next = inode_parent(inodes, above);

        inode_unref(inodes, above);
        above = next;
    }
    return above;
}

void tracing_inode_gone(struct tracing *tracing, const struct inode *inode)
{
    if (requests_are_noted())
        (void) end(tracing, inode->ino, 0, true);
}

int tracing_state(struct tracing *tracing, struct inode *inode, uid_t uid, struct tracing_state *ret_state)
{
    struct ring *ring = atomic_load(&tracing->ring);
    uint64_t ino = 0;
    uid_t owner = uid;
    struct covered by = inode->fmt == S_IFDIR ? scopes_cover(tracing->scopes, tracing->fs->inodes, inode, uid, &ino)
                                              : cover(tracing, inode, &ino, &owner);

    if (by.bits == COVERED_UNKNOWN)
        return -EIO;
    if (owner != uid && !is_admin(tracing, uid))
        by = (struct covered){ 0 }; /* a trace of which he is shown nothing is none for him */
    *ret_state = (struct tracing_state){ .is_on = by.bits != 0,
                                         .sample = by.bits != 0 ? by.sample : 1,
                                         .every = (by.bits & (COVERED_EVERY_OPEN | COVERED_OWN_OPENS)) != 0,
                                         .n_open = scopes_n_open(tracing->scopes, inode, uid) };
    if (ring != NULL)
        ret_state->count = ring_count(ring, uid, is_admin(tracing, uid));
    return 0;
}

/* -- reading -- */

int tracing_open(struct tracing *tracing, uid_t uid, uint64_t *ret_number)
{
    struct ring_reader *reader;
    struct ring *ring;
    int r = get_ring(tracing, &ring);

    if (r == 0)
        r = ring_reader_new(ring, uid, is_admin(tracing, uid), &reader);
    return r == 0 ? readers_add(&tracing->readers, reader, ret_number) : r;
}

ssize_t tracing_read(struct tracing *tracing, uint64_t number, void *buf, size_t size)
{
    return readers_read(&tracing->readers, number, buf, size);
}

void tracing_close(struct tracing *tracing, uint64_t number)
{
    readers_close(&tracing->readers, number);
}

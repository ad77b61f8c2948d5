/* SPDX-License-Identifier: MIT */
/* A file whose record is valid: what that says, and whether the subfiles are there. */
#include "fs/core/stub/objects.h"
#include "fs/core/stub/stub.h"
#include "fs/fsck/bring_back.h"
#include "fs/fsck/check_replicas.h"
#include "fs/fsck/copies.h"
#include "fs/fsck/settle.h"

#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

static int write_record(const struct checking *checking, int fd, const struct record *record)
{
    return stub_write_record(checking->volume, fd, "", record, XATTR_REPLACE);
}

struct subject {
    struct checking *checking;
    const char *path;
    int fd; /* of the stub */
    struct record record;
    struct file_layout *layout;
    struct promise promise;
    bool settled;     /* what the record says stands; else lengths tell what goes beyond the promise */
    bool lacks_bytes; /* that were promised, and could not be brought back */
    struct settling seen;
    struct checked_replicas replicas;
};

/* How long a subfile must be, or bytes of it are lost; the same as file_must_have says of a file in use. */
static uint64_t must_have(const struct subject *subject, uint32_t slot)
{
    const struct promise *promise = &subject->promise;

    return bits_has(&promise->bits, slot) ? file_layout_len(subject->layout, slot, promise->size) : 0;
}

/* How long a subfile may be: what goes beyond is cut. */
static uint64_t may_have(const struct subject *subject, uint32_t slot)
{
    uint32_t element = file_layout_element(subject->layout, slot);

    if (subject->settled)
        return file_layout_len(subject->layout, slot, subject->record.size);
    return pattern_element(subject->layout->pattern, element)->size;
}

/* A subfile of a subject that is being looked at. */
struct piece {
    struct subject *subject;
    uint32_t slot;
    const struct disk *disk;
    char object[OBJECT_PATH];
    uint64_t must;
};

static struct spot spot_of(const struct piece *piece)
{
    return (struct spot){ piece->subject->path, piece->object, piece->disk->index };
}

/* The byte of the file that a byte of the subfile is. */
static uint64_t file_byte(const struct piece *piece, uint64_t sub_off)
{
    return nest_select(file_layout_nest(piece->subject->layout, piece->slot), sub_off);
}

static void tell_lost(const struct piece *piece, const char *kind, uint64_t len)
{
    const struct spot spot = spot_of(piece);

    piece->subject->lacks_bytes = true;
    checking_tell_left(piece->subject->checking, kind, &spot,
                       "%" PRIu64 " bytes are lost, the first is byte %" PRIu64
                       " of the file: reading them is an error until the subfile is back, or the file is written anew",
                       piece->must - len, file_byte(piece, len));
}

/* Brings bytes back that the second copy of the file has behind the first len ones, and returns how many the subfile
 * has then. Where the record may be older than the file, nobody has promised more than that. */
static uint64_t ask_copy(const struct piece *piece, const char *kind, uint64_t len)
{
    struct subject *subject = piece->subject;
    const struct record *record = &subject->record;
    const struct spot spot = spot_of(piece);
    const struct placed_layout laying = { subject->layout, record->rotate };
    const struct object_stamp stamp = { record->id, record->gen, piece->slot };
    struct second_copy copy;
    int r = 0;

    if (!checked_replicas_copy_has(&subject->replicas, &laying, piece->slot, len, may_have(subject, piece->slot),
                                   &copy))
        return len;
    if (subject->checking->check->repair)
        r = bring_back(subject->checking->volume, &(struct bytes_of){ piece->disk, piece->object, len },
                       &(struct bytes_of){ copy.disk, copy.object, copy.len }, &stamp);
    checking_tell_fix(subject->checking, kind, &spot, r,
                      "%" PRIu64 " bytes are not here, the first is byte %" PRIu64
                      " of the file: the second copy on d%" PRIu32 " has them, they are brought back from there",
                      copy.len - len, file_byte(piece, len), copy.disk->index);
    subject->lacks_bytes |= r < 0;
    return r < 0 ? len : copy.len;
}

/* Makes good for what a subfile lacks behind its first len bytes, as far as that can be, and returns how many it has
 * then. */
static uint64_t make_good(const struct piece *piece, const char *kind, uint64_t len)
{
    uint64_t had = len;

    if (len < piece->must || (len == 0 && piece->subject->record.epoch == 0))
        len = ask_copy(piece, kind, len);
    if (len < piece->must)
        tell_lost(piece, len > 0 && had == 0 ? "short" : kind, len);
    return len;
}

static void check_long(const struct piece *piece, uint64_t len)
{
    struct subject *subject = piece->subject;
    uint64_t may = may_have(subject, piece->slot);
    const struct spot spot = spot_of(piece);
    int r = 0;

    if (len <= may)
        return;
    r = checked_replicas_clear(&subject->replicas, subject->record.size);
    if (r == 0 && subject->checking->check->repair)
        r = checking_cut(piece->disk, piece->object, may);
    if (r == 0 && subject->checking->check->repair)
        r = checked_replicas_cut(&subject->replicas, subject->record.size);
    checking_tell_fix(subject->checking, "long", &spot, r,
                      "a subfile has %" PRIu64 " bytes where the file's size asks for %" PRIu64 ": is cut", len, may);
}

static void check_none(const struct piece *piece)
{
    struct subject *subject = piece->subject;
    uint64_t len = make_good(piece, "missing", 0);

    if (len > 0)
        settling_note(&subject->seen, &subject->record, subject->layout, piece->slot, len);
    else
        settling_note_none(&subject->seen, &subject->record, piece->slot);
}

static void check_there(const struct piece *piece, const struct stat *st)
{
    struct subject *subject = piece->subject;
    const struct object_stamp stamp = { subject->record.id, subject->record.gen, piece->slot };
    bool may_be_linked = object_may_be_linked(&subject->record), is_its = true;
    const struct spot spot = spot_of(piece);
    uint64_t len = (uint64_t) st->st_size;

    if (st->st_nlink > 1U + may_be_linked) {
        is_its = false;
        checking_tell_left(subject->checking, "linked", &spot,
                           "a subfile has a second name, so it is not used: remove the other one");
    }
    if (len > 0 && object_check_stamp(piece->disk, piece->disk->root, piece->object, &stamp, may_be_linked) < 0) {
        is_its = false;
        checking_tell_left(subject->checking, "foreign", &spot,
                           "a subfile holds the bytes of another file or element: put the right one back; until then "
                           "reading it is an error");
    }
    if (is_its && st->st_nlink == 1)
        len = make_good(piece, "short", len);
    else if (len < piece->must)
        tell_lost(piece, "short", len);
    settling_note(&subject->seen, &subject->record, subject->layout, piece->slot, len);
    check_long(piece, len);
}

static void check_subfile(struct subject *subject, uint32_t slot)
{
    const struct volume *volume = subject->checking->volume;
    struct piece piece = { .subject = subject,
                           .slot = slot,
                           .disk = file_layout_on(subject->layout, volume, subject->record.rotate, slot),
                           .must = must_have(subject, slot) };
    struct stat st;
    struct spot spot;
    int r;

    object_path(volume, subject->record.id, subject->record.gen, slot, subject->layout, piece.object);
    spot = spot_of(&piece);
    r = disk_call(piece.disk, stat, piece.disk->root, piece.object, &st);
    if (r == 0 && !S_ISREG(st.st_mode)) {
        checking_tell_aside(subject->checking, "stranger", &spot,
                            "something that is no regular file stands for a subfile");
        r = -ENOENT;
    }
    if (r == 0)
        check_there(&piece, &st);
    else if (r == -ENOENT)
        check_none(&piece);
    else
        checking_tell_left(subject->checking, "unreadable", &spot, "cannot look at a subfile: %s", strerror(-r));
}

/* Checks the subfiles that may be there; check_objects comes upon all others. */
static void check_subfiles(struct subject *subject)
{
    const struct check *check = subject->checking->check;
    uint64_t n_told = check->n_fixed + check->n_left;

    subject->seen.size = subject->record.size;
    for (uint32_t slot = 0; slot < file_layout_slots(subject->layout); slot++)
        if (!subject->settled || bits_has(&subject->record.bits, slot))
            check_subfile(subject, slot);
    subject->seen.is_doubtful |= check->n_fixed + check->n_left > n_told;
}

/* Has the record promise what was seen, where a crash left that undecided. */
static void settle_record(struct subject *subject, const struct stat *st)
{
    const struct settling_file file = { subject->path,     st, subject->fd, subject->layout, &subject->promise,
                                        &subject->replicas };
    const struct spot spot = { .path = subject->path, .disk = NO_DISK };
    int r = settle(subject->checking, &subject->seen, &file, &subject->record);

    if (r < 0)
        checking_tell_left(subject->checking, "undecided", &spot,
                           "what it has is not promised until somebody uses the file, since that cannot be stored: %s",
                           volume_strerror(-r));
}

/* -- work that a crash left unfinished -- */

static int finish_cut(struct subject *subject)
{
    struct volume *volume = subject->checking->volume;
    struct record record = subject->record;
    int r = 0;

    for (uint32_t slot = 0; r == 0 && slot < file_layout_slots(subject->layout); slot++) {
        char object[OBJECT_PATH];

        object_path(volume, record.id, record.gen, slot, subject->layout, object);
        r = checking_cut(file_layout_on(subject->layout, volume, record.rotate, slot), object,
                         file_layout_len(subject->layout, slot, record.size));
    }
    if (r == 0)
        r = checked_replicas_cut(&subject->replicas, record.size);
    record.state = record_rest(&record);
    if (r == 0)
        r = write_record(subject->checking, subject->fd, &record);
    if (r == 0)
        subject->record = record;
    return r;
}

static int drop_old(struct subject *subject)
{
    struct record record = subject->record;
    struct file_layout *layout;
    struct layouts *layouts = subject->checking->layouts;
    int r = layouts_get(layouts, record.old_layout, &layout);

    if (r < 0)
        return r;
    r = objects_remove_old(subject->checking->volume, layouts, &record, layout);
    layouts_put(layouts, layout);
    record.oldest_gen = record.gen;
    if (r == 0)
        r = write_record(subject->checking, subject->fd, &record);
    if (r == 0)
        subject->record = record;
    return r;
}

static void finish(struct subject *subject)
{
    const struct spot spot = { .path = subject->path, .disk = NO_DISK };
    bool repair = subject->checking->check->repair;
    int r;

    if (subject->record.state == RECORD_TRUNC) {
        r = checked_replicas_clear(&subject->replicas, subject->record.size);
        if (r == 0 && repair)
            r = finish_cut(subject);
        checking_tell_fix(subject->checking, "cut", &spot, r, "a truncation was not finished: is finished");
    }
    if (subject->record.oldest_gen < subject->record.gen) {
        r = repair ? drop_old(subject) : 0;
        checking_tell_fix(
            subject->checking, "old", &spot, r,
            "what the file had before it was emptied, or got another layout, was not removed: is removed");
    }
}

/* -- stubs -- */

static int note_owner(struct subject *subject, uint64_t ino)
{
    const struct record *record = &subject->record;
    struct owner owner = { .layout = subject->layout,
                           .bits = record->bits,
                           .gen = record->gen,
                           .oldest_gen = record->oldest_gen,
                           .ino = ino,
                           .rotate = record->rotate,
                           .settled = subject->settled,
                           .migrating = record_migrates(record),
                           .restored = record->epoch == 0 };

    if (checked_replicas_own(&subject->replicas, &owner.replicas) < 0) {
        layouts_put(subject->checking->layouts, subject->layout);
        return -ENOMEM;
    }
    memcpy(owner.id, record->id, ID_SIZE);
    return ids_add(&subject->checking->ids, &owner);
}

static int keep_copy(struct subject *subject, const struct stat *st)
{
    struct checking *checking = subject->checking;
    int r = 0;

    if (!checking->check->repair || !checking->check->copies || bits_none(&subject->record.bits))
        return 0;
    if (copies_are_newer(checking->volume, subject->record.id))
        r = -EPROTONOSUPPORT;
    else
        r = copy_put(checking->volume, &subject->record, subject->layout, st, subject->path);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        const struct spot spot = { .path = subject->path, .disk = NO_DISK };

        checking_tell_left(checking, "copy", &spot, "cannot write a copy of its record: %s", volume_strerror(-r));
    }
    checking->check->n_copies += r == 0;
    return 0;
}

/* Checks what a file has, by its record and its map. */
static int check_bytes(struct subject *subject, const struct stat *st)
{
    struct told told;

    finish(subject);
    check_subfiles(subject);
    told = (struct told){ subject->promise.size, subject->record.durable_size, subject->lacks_bytes };
    checked_replicas_check(&subject->replicas, &told);
    if (subject->checking->check->repair && !subject->settled)
        settle_record(subject, st);
    return keep_copy(subject, st);
}

int check_stub(struct checking *checking, const char *path, const struct stat *st, const struct record *record, int fd)
{
    const struct owner *owner = ids_find(&checking->ids, record->id);
    const struct spot spot = { .path = path, .disk = NO_DISK };
    struct subject subject = { .checking = checking, .path = path, .fd = fd, .record = *record };
    int r;

    if (owner != NULL && owner->ino == st->st_ino)
        return 0; /* another name of the same file */
    if (owner != NULL) {
        checking_tell_left(checking, "twins", &spot,
                           "another file has the same id, and so the same bytes: remove the one that is a copy");
        return 0;
    }
    checking->check->n_files++;
    r = layouts_get(checking->layouts, record->layout, &subject.layout);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        checking_tell_left(checking, "layout", &spot, "its layout is lost: no disk has the text");
        subject.layout = NULL;
        return note_owner(&subject, st->st_ino);
    }
    subject.promise = record_promise(checking->volume, record);
    subject.settled = !record_may_be_behind(checking->volume, record);
    r = checked_replicas_find(checking, path, record, subject.layout, &subject.replicas);
    if (r == 0)
        r = check_bytes(&subject, st);
    if (r == 0)
        r = note_owner(&subject, st->st_ino);
    else
        layouts_put(checking->layouts, subject.layout);
    checked_replicas_done(&subject.replicas);
    return r;
}

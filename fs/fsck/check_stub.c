/* SPDX-License-Identifier: MIT */
/* A file whose record is valid: what that says, and whether the subfiles are there. */
#include "fs/core/stub/objects.h"
#include "fs/core/stub/stub.h"
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
    bool settled; /* what the record says stands; else lengths tell what goes beyond the promise */
    struct settling seen;
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

static int cut_object(const struct disk *disk, const char *object, uint64_t len)
{
    int fd = disk_call(disk, open, disk->root, object, O_WRONLY | O_NONBLOCK, 0);
    int r = fd < 0 ? fd : disk_call(disk, truncate, fd, len);

    if (r == 0)
        r = disk_call(disk, sync, fd, SYNC_DATA);
    disk_close(disk, &fd);
    return r;
}

static void tell_lost(struct subject *subject, const char *kind, const struct spot *spot, uint32_t slot, uint64_t len)
{
    uint32_t element = file_layout_element(subject->layout, slot);
    uint64_t must = must_have(subject, slot);
    uint64_t first = nest_select(pattern_element(subject->layout->pattern, element), len);

    checking_tell_left(subject->checking, kind, spot,
                       "%" PRIu64 " bytes are lost, the first is byte %" PRIu64
                       " of the file: reading them is an error until the subfile is back, or the file is written anew",
                       must - len, first);
}

static void check_subfile(struct subject *subject, uint32_t slot)
{
    struct volume *volume = subject->checking->volume;
    uint32_t index = file_layout_disk(subject->layout, volume->home, subject->record.rotate, slot);
    const struct disk *disk = &volume->disk[index];
    bool repair = subject->checking->check->repair;
    uint64_t must = must_have(subject, slot), len;
    char object[OBJECT_PATH];
    const struct spot spot = { subject->path, object, index };
    const struct object_stamp stamp = { subject->record.id, subject->record.gen, slot };
    struct stat st;
    int r;

    object_path(volume, subject->record.id, subject->record.gen, slot, subject->layout, object);
    r = disk_call(disk, stat, disk->root, object, &st);
    if (r == -ENOENT) {
        settling_note_none(&subject->seen, &subject->record, slot);
        if (must > 0)
            tell_lost(subject, "missing", &spot, slot, 0);
        return;
    }
    if (r < 0) {
        checking_tell_left(subject->checking, "unreadable", &spot, "cannot look at a subfile: %s", strerror(-r));
        return;
    }
    if (!S_ISREG(st.st_mode)) {
        checking_tell_aside(subject->checking, "stranger", &spot,
                            "something that is no regular file stands for a subfile");
        if (must > 0)
            tell_lost(subject, "missing", &spot, slot, 0);
        return;
    }
    if (st.st_nlink > 1U + object_may_be_linked(&subject->record))
        checking_tell_left(subject->checking, "linked", &spot,
                           "a subfile has a second name, so it is not used: remove the other one");
    len = (uint64_t) st.st_size;
    if (len > 0 && object_check_stamp(disk, disk->root, object, &stamp, object_may_be_linked(&subject->record)) < 0)
        checking_tell_left(subject->checking, "foreign", &spot,
                           "a subfile holds the bytes of another file or element: put the right one back; until then "
                           "reading it is an error");
    if (len < must)
        tell_lost(subject, "short", &spot, slot, len);
    settling_note(&subject->seen, &subject->record, subject->layout, slot, len);
    if (len > may_have(subject, slot)) {
        r = repair ? cut_object(disk, object, may_have(subject, slot)) : 0;
        checking_tell_fix(subject->checking, "long", &spot, r,
                          "a subfile has %" PRIu64 " bytes where the file's size asks for %" PRIu64 ": is cut", len,
                          may_have(subject, slot));
    }
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
    const struct settling_file file = { subject->path, st, subject->fd, subject->layout, &subject->promise };
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
        const struct disk *disk = file_layout_on(subject->layout, volume, record.rotate, slot);
        uint64_t want = file_layout_len(subject->layout, slot, record.size);
        char object[OBJECT_PATH];
        struct stat st;

        object_path(volume, record.id, record.gen, slot, subject->layout, object);
        r = disk_call(disk, stat, disk->root, object, &st);
        if (r == 0 && S_ISREG(st.st_mode) && (uint64_t) st.st_size > want)
            r = cut_object(disk, object, want);
        if (r == -ENOENT)
            r = 0;
    }
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
        r = repair ? finish_cut(subject) : 0;
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
    finish(&subject);
    check_subfiles(&subject);
    if (checking->check->repair && !subject.settled)
        settle_record(&subject, st);
    r = keep_copy(&subject, st);
    if (r < 0) {
        layouts_put(checking->layouts, subject.layout);
        return r;
    }
    return note_owner(&subject, st->st_ino);
}

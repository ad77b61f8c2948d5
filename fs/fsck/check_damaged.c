/* SPDX-License-Identifier: MIT */
/* Stubs without a valid record get it back, or are left as they are. What is most certain goes first, for all of them,
 * since then fewer copies are left to be doubted:
 *
 *     1. one bit of the record was flipped: it is flipped back
 *     2. the copy with the id that the record's bytes still show
 *     3. the copy with the stub's path, if it is the only one, no other stub has its id, and the owner is the same */
#include "fs/core/disk/walk.h"
#include "fs/core/stub/copy.h"
#include "fs/core/stub/stub.h"
#include "fs/fsck/checking.h"
#include "fs/fsck/copies.h"
#include "fs/fsck/mend.h"

#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

/* A damaged stub that is being looked at. */
struct patient {
    struct checking *checking;
    const struct copies *copies;
    const char *path;
    int fd;
    struct stat st;
    bool has_bytes; /* as many as a record has */
    uint8_t bytes[RECORD_SIZE];
};

/* -- where its record may be found -- */

static bool is_record(const uint8_t *bytes, size_t len)
{
    struct record record;

    return record_decode(bytes, len, &record) == 0;
}

/* Gives the stub a record, or with no repair tells that it would, and checks it with that record. Returns 1, also when
 * writing failed, which is told; or -ENOMEM. */
static int write_back(struct patient *patient, const struct record *record, uint32_t disk, const char *what)
{
    const struct spot spot = { .path = patient->path, .disk = disk };
    struct checking *checking = patient->checking;
    int r = checking->check->repair ? stub_write_record(checking->volume, patient->fd, "", record, 0) : 0;

    checking_tell_fix(checking, "record", &spot, r, "%s", what);
    r = check_stub(checking, patient->path, &patient->st, record, patient->fd);
    return r < 0 ? r : 1;
}

static int mend(struct patient *patient)
{
    uint8_t bytes[RECORD_SIZE];
    struct record record;

    memcpy(bytes, patient->bytes, sizeof bytes);
    if (!patient->has_bytes || !mend_bit(bytes, sizeof bytes, is_record) ||
        record_decode(bytes, sizeof bytes, &record) < 0)
        return 0;
    return write_back(patient, &record, NO_DISK, "one bit of its record was flipped: is flipped back");
}

static int restore(struct patient *patient, const struct found_copy *found)
{
    struct record record = copies_record(patient->checking->volume, &found->copy);

    return write_back(patient, &record, found->disk, "its record is damaged: is restored from the copy");
}

static bool is_taken(const struct patient *patient, const struct found_copy *found)
{
    return ids_find(&patient->checking->ids, found->copy.record.id) != NULL;
}

static int restore_by_id(struct patient *patient)
{
    uint8_t id[ID_SIZE];

    if (patient->copies->has_newer || !patient->has_bytes || !record_guess_id(patient->bytes, id))
        return 0;
    for (size_t i = 0; i < patient->copies->n; i++) {
        const struct found_copy *found = &patient->copies->found[i];

        if (memcmp(found->copy.record.id, id, ID_SIZE) == 0 && !is_taken(patient, found))
            return restore(patient, found);
    }
    return 0;
}

static bool is_its_path(const struct patient *patient, const struct found_copy *found)
{
    const struct copy *copy = &found->copy;

    return strcmp(copy->path, patient->path) == 0 && (copy->mode & S_IFMT) == (patient->st.st_mode & S_IFMT) &&
           copy->uid == patient->st.st_uid && copy->gid == patient->st.st_gid && !is_taken(patient, found);
}

static int restore_by_path(struct patient *patient)
{
    const struct found_copy *only = NULL;

    if (patient->copies->error < 0)
        return 0; /* the one that cannot be read may be its copy, too */
    for (size_t i = 0; i < patient->copies->n; i++) {
        const struct found_copy *found = &patient->copies->found[i];

        if (!is_its_path(patient, found))
            continue;
        if (only != NULL)
            return 0;
        only = found;
    }
    return only != NULL ? restore(patient, only) : 0;
}

/* Leaves the stub as it is. Damage may have changed the id that its bytes show, so nobody knows which objects are its:
 * all must stay where they are, since they may be all there is of the file. */
static int give_up(struct patient *patient)
{
    const struct spot spot = { .path = patient->path, .disk = NO_DISK };

    checking_tell_left(patient->checking, "record", &spot,
                       "its record is damaged, and %s: the name stays, and all objects that may be its; %s",
                       patient->copies->has_newer ? "there are copies made by a newer fallsfs"
                                                  : "no copy is beyond doubt its",
                       patient->copies->has_newer ? "the fsck.fallsfs of that version may restore it"
                                                  : "remove the file if it is not needed");
    patient->checking->keep_orphans = true;
    return 1;
}

/* -- all of them -- */

static int look_at(struct patient *patient)
{
    const struct disk *home = volume_home(patient->checking->volume);
    uint8_t bytes[RECORD_SIZE + 1]; /* one byte more, to see a record that is too long */
    ssize_t n;
    int r = disk_call(home, stat, patient->fd, "", &patient->st);

    if (r < 0)
        return r;
    n = disk_call(home, get_xattr, patient->fd, "", RECORD_XATTR, bytes, sizeof bytes);
    patient->has_bytes = n == RECORD_SIZE;
    if (patient->has_bytes)
        memcpy(patient->bytes, bytes, RECORD_SIZE);
    return 0;
}

static int tell_unreadable(struct checking *checking, const char *path, int r)
{
    const struct spot spot = { .path = path, .disk = NO_DISK };

    checking_tell_left(checking, "record", &spot, "its record is damaged, and it cannot be opened: %s", strerror(-r));
    checking->keep_orphans = true;
    return 1;
}

/* Notes that a file needs no other cure, under none of its names. */
static void note_done(struct checking *checking, ino_t ino)
{
    for (size_t i = 0; i < checking->n_damaged; i++)
        checking->damaged[i].done |= checking->damaged[i].ino == ino;
}

static int attend(struct checking *checking, const struct copies *copies, const struct damaged *damaged,
                  int (*cure)(struct patient *patient))
{
    const struct disk *home = volume_home(checking->volume);
    struct patient patient = { .checking = checking, .copies = copies, .path = damaged->path };
    int r;

    patient.fd = disk_call(home, open, checking->volume->ns, damaged->path, O_PATH, 0);
    r = patient.fd < 0 ? patient.fd : look_at(&patient);
    r = r < 0 ? tell_unreadable(checking, damaged->path, r) : cure(&patient);
    disk_close(home, &patient.fd);
    if (r > 0)
        note_done(checking, damaged->ino);
    return MIN(r, 0);
}

int check_damaged(struct checking *checking)
{
    static int (*const cure[])(struct patient *) = { mend, restore_by_id, restore_by_path, give_up };
    cleanup(copies_done) struct copies copies = { 0 };
    int r = checking->n_damaged > 0 ? copies_find(checking->volume, &copies) : 0;

    for (size_t i = 0; i < ARRAY_SIZE(cure); i++)
        for (size_t j = 0; r == 0 && j < checking->n_damaged; j++)
            if (!checking->damaged[j].done)
                r = attend(checking, &copies, &checking->damaged[j], cure[i]);
    return r;
}

/* SPDX-License-Identifier: MIT */
/* Stubs without a valid record: restored from a copy where there is one, else left as they are. A copy is found by the
 * id, if the record's bytes still show one, or by its path. */
#include "fs/core/copy.h"
#include "fs/core/walk.h"
#include "fs/fsck/checking.h"
#include "fs/fsck/copies.h"

#include <fcntl.h>
#include <string.h>

/* The best copy for a stub: of a file that no other stub stands for. */
static const struct found_copy *find(const struct checking *checking, const struct copies *copies,
                                     const struct damaged *damaged)
{
    const struct found_copy *best = NULL;

    for (size_t i = 0; i < copies->n; i++) {
        const struct found_copy *found = &copies->found[i];

        if (ids_find(&checking->ids, found->copy.record.id) != NULL)
            continue;
        if (damaged->has_id && memcmp(found->copy.record.id, damaged->id, ID_SIZE) == 0)
            return found;
        if (!damaged->has_id && strcmp(found->copy.path, damaged->path) == 0 &&
            (best == NULL || copies_newer(&found->copy, &best->copy)))
            best = found;
    }
    return best;
}

/* Its objects must stay where they are: they may be all there is of the file. */
static int give_up(struct checking *checking, const struct damaged *damaged, const struct stat *st)
{
    const struct spot spot = { .path = damaged->path, .disk = NO_DISK };
    struct owner owner = { .ino = st->st_ino };

    checking_tell_left(checking, "record", &spot,
                       "its record is damaged and there is no copy of it: the name stays, its bytes cannot be found");
    if (!damaged->has_id) {
        checking->keep_orphans = true;
        return 0;
    }
    memcpy(owner.id, damaged->id, ID_SIZE);
    return ids_find(&checking->ids, damaged->id) == NULL ? ids_add(&checking->ids, &owner) : 0;
}

static int restore(struct checking *checking, const struct damaged *damaged, const struct stat *st, int fd,
                   const struct found_copy *found)
{
    const struct spot spot = { .path = damaged->path, .disk = found->disk };
    struct record record = copies_record(checking->volume, &found->copy);
    struct fs fs = checking->fs;
    int r = checking->check->repair ? file_write_record(&fs, fd, "", &record, 0) : 0;

    checking_tell_fix(checking, "record", &spot, r, "its record is damaged: is restored from the copy");
    return check_stub(checking, damaged->path, st, &record, fd);
}

static int check_one(struct checking *checking, const struct copies *copies, const struct damaged *damaged)
{
    const struct disk *home = volume_home(checking->volume);
    int fd = disk_call(home, open, checking->volume->ns, damaged->path, O_PATH, 0);
    const struct found_copy *found;
    struct record record;
    struct stat st;
    int r = fd < 0 ? fd : disk_call(home, stat, fd, "", &st);

    if (r == 0 && check_read_record(checking, fd, &record) == 0) {
        r = check_stub(checking, damaged->path, &st, &record, fd); /* restored under another name of the file */
    } else if (r == 0) {
        found = find(checking, copies, damaged);
        r = found != NULL ? restore(checking, damaged, &st, fd, found) : give_up(checking, damaged, &st);
    } else {
        const struct spot spot = { .path = damaged->path, .disk = NO_DISK };

        checking_tell_left(checking, "record", &spot, "its record is damaged, and it cannot be opened: %s",
                           strerror(-r));
        checking->keep_orphans = true;
    }
    disk_close(home, &fd);
    return r == -ENOMEM ? r : 0;
}

int check_damaged(struct checking *checking)
{
    cleanup(copies_done) struct copies copies = { 0 };
    int r = checking->n_damaged > 0 ? copies_find(checking->volume, &copies) : 0;

    for (size_t i = 0; r == 0 && i < checking->n_damaged; i++)
        r = check_one(checking, &copies, &checking->damaged[i]);
    return r;
}

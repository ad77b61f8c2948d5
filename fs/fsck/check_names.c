/* SPDX-License-Identifier: MIT */
/* ns/, todo/ and tmp/: the names, and what a crash left unfinished of them. */
#include "fs/core/stub/objects.h"
#include "fs/core/stub/stub.h"
#include "fs/core/stub/todo.h"
#include "fs/fsck/checking.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const struct disk *home_of(const struct checking *checking)
{
    return volume_home(checking->volume);
}

/* -- stubs -- */

static int note_damaged(struct checking *checking, const struct walk_entry *entry)
{
    struct damaged *more;

    if (!array_grow(checking->damaged, checking->n_damaged))
        return -ENOMEM;
    more = &checking->damaged[checking->n_damaged];
    *more = (struct damaged){ .path = strdup(entry->path), .ino = entry->st.st_ino };
    if (more->path == NULL)
        return -ENOMEM;
    checking->n_damaged++;
    return 0;
}

static int check_file(struct checking *checking, const struct walk_entry *entry)
{
    const struct disk *home = home_of(checking);
    int fd = disk_call(home, open, entry->dir, entry->name, O_PATH, 0);
    struct record record;
    int r = fd < 0 ? fd : stub_read_record(checking->volume, fd, "", &record);

    if (r == 0) {
        r = check_stub(checking, entry->path, &entry->st, &record, fd);
    } else if (r == -EUCLEAN) {
        r = note_damaged(checking, entry);
    } else {
        const struct spot spot = { .path = entry->path, .disk = NO_DISK };

        checking_tell_left(checking, "unreadable", &spot, "cannot read its record: %s", volume_strerror(-r));
        checking->keep_orphans = true;
        r = 0;
    }
    disk_close(home, &fd);
    return r == -ENOMEM ? r : 0;
}

static int check_entry(struct checking *checking, const struct walk_entry *entry)
{
    int r;

    if (entry->error < 0) {
        const struct spot spot = { .path = entry->path, .disk = NO_DISK };

        checking_tell_left(checking, "unreadable", &spot, "cannot be read: %s", strerror(-entry->error));
        checking->keep_orphans = true; /* of the files in there */
        return 0;
    }
    if (entry->leaving || !(S_ISREG(entry->st.st_mode) || S_ISDIR(entry->st.st_mode)))
        return 0;
    r = check_texts(checking, entry->dir, entry->name, entry->path);
    return r == 0 && S_ISREG(entry->st.st_mode) ? check_file(checking, entry) : r;
}

int check_names(struct checking *checking)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(home_of(checking), checking->volume->ns, &walk), more = 0;

    if (r == 0)
        r = check_texts(checking, checking->volume->ns, "", "");
    while (r == 0 && (more = walk_next(walk, &entry)) > 0)
        r = check_entry(checking, &entry);
    return r < 0 ? r : more;
}

/* -- todo/ and tmp/ -- */

/* Removes a file that has no other name: its subfiles, then its stub. */
static int reap(struct checking *checking, const char *name, const struct record *record)
{
    int r = objects_remove(checking->volume, checking->layouts, record);

    return r < 0 ? r : disk_call(home_of(checking), unlink, checking->volume->todo, name, 0);
}

static int reap_damaged(struct checking *checking, const char *name, int why)
{
    char object[NAME_MAX + 8];
    const struct spot spot = { .object = object, .disk = checking->volume->home };

    snprintf(object, sizeof object, "todo/%s", name);
    if (why == -EPROTONOSUPPORT) {
        checking->keep_orphans = true;
        checking_tell_left(checking, "todo", &spot, "cannot read its record: %s", volume_strerror(-why));
        return 0;
    }
    checking_tell_aside(checking, "todo", &spot, "the stub of a removed file has a damaged record");
    return 0;
}

/* Notes that a removed file still owns the subfiles which stay for now, or they would be told as orphans. */
static int note_doomed(struct checking *checking, const struct walk_entry *entry, const struct record *record)
{
    struct owner owner = { .ino = entry->st.st_ino };

    if (ids_find(&checking->ids, record->id) != NULL)
        return 0;
    memcpy(owner.id, record->id, ID_SIZE);
    return ids_add(&checking->ids, &owner);
}

static int check_todo_entry(struct checking *checking, const struct walk_entry *entry)
{
    const struct spot spot = { .object = "todo", .disk = checking->volume->home };
    const struct disk *home = home_of(checking);
    bool repair = checking->check->repair;
    struct record record;
    int r, fixed = 0;

    if (entry->st.st_nlink > todo_count(checking->volume, entry->name)) {
        if (todo_is(entry->name, TODO_MOVES))
            return 0; /* on its way to another layout: the next mount goes on */
        fixed = repair ? disk_call(home, unlink, entry->dir, entry->name, 0) : 0;
        checking_tell_fix(checking, "todo", &spot, fixed, "a removal was begun and did not happen: is forgotten");
        return 0;
    }
    if (entry->st.st_nlink > 1 && todo_is(entry->name, TODO_MOVES)) { /* the other name tells what to do */
        fixed = repair ? disk_call(home, unlink, entry->dir, entry->name, 0) : 0;
        return MIN(fixed, 0);
    }
    r = S_ISREG(entry->st.st_mode) ? stub_read_record(checking->volume, entry->dir, entry->name, &record) : -EUCLEAN;
    if (r < 0)
        return reap_damaged(checking, entry->name, r);
    if (repair)
        fixed = reap(checking, entry->name, &record);
    checking_tell_fix(checking, "todo", &spot, fixed, "a removed file was not removed to the end: is removed");
    return !repair || fixed < 0 ? note_doomed(checking, entry, &record) : 0;
}

int check_todo(struct checking *checking)
{
    const struct spot spot = { .object = "todo", .disk = checking->volume->home };
    cleanup(walk_freep) struct walk *walk = NULL;
    const struct disk *home = home_of(checking);
    struct walk_entry entry;
    int r = walk_new(home, checking->volume->todo, &walk), more = 0;

    if (r == 0 && checking->check->repair)
        r = disk_call(home, sync, checking->volume->todo, SYNC_ALL); /* or a crash could bring names back */
    while (r == 0 && (more = checking_next(checking, walk, &spot, &entry)) > 0)
        r = check_todo_entry(checking, &entry);
    return r < 0 ? r : more;
}

static void check_tmp_entry(struct checking *checking, const struct walk_entry *entry)
{
    const struct disk *home = home_of(checking);
    char object[NAME_MAX + 8];
    const struct spot spot = { .object = object, .disk = home->index };
    int r = 0;

    snprintf(object, sizeof object, "tmp/%s", entry->name);
    if (checking->check->repair)
        r = S_ISDIR(entry->st.st_mode) ? checking_put_aside(home, object)
                                       : disk_call(home, unlink, entry->dir, entry->name, 0);
    checking_tell_fix(checking, "tmp", &spot, r, "a file that was never finished: is removed");
}

int check_tmp(struct checking *checking)
{
    const struct spot spot = { .object = "tmp", .disk = checking->volume->home };
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(home_of(checking), checking->volume->tmp, &walk);

    while (r >= 0 && (r = checking_next(checking, walk, &spot, &entry)) > 0)
        check_tmp_entry(checking, &entry);
    return r;
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/todo.h"

#include "fs/core/disk/walk.h"
#include "fs/core/stub/stub.h"

#include <string.h>

static const char *const suffix[] = { [TODO_GONE] = "", [TODO_WAITS] = ".w", [TODO_MOVES] = ".g" };

static void change_kind(char name[static TODO_NAME], enum todo_kind kind)
{
    memcpy(name + 2 * ID_SIZE, suffix[kind], strlen(suffix[kind]) + 1);
}

void todo_name(const struct record *record, enum todo_kind kind, char ret_name[static TODO_NAME])
{
    hex_print(record->id, ID_SIZE, ret_name);
    change_kind(ret_name, kind);
}

bool todo_is(const char *name, enum todo_kind kind)
{
    uint8_t id[ID_SIZE];

    return strlen(name) >= 2 * ID_SIZE && hex_parse(name, ID_SIZE, id) == 0 &&
           strcmp(name + 2 * ID_SIZE, suffix[kind]) == 0;
}

nlink_t todo_count(const struct volume *volume, const char *name)
{
    uint8_t id[ID_SIZE];
    nlink_t n = 0;

    if (strlen(name) < 2 * ID_SIZE || hex_parse(name, ID_SIZE, id) < 0)
        return 1;
    for (size_t i = 0; i < ARRAY_SIZE(suffix); i++) {
        char other[TODO_NAME];
        struct stat st;

        memcpy(other, name, 2 * ID_SIZE);
        change_kind(other, (enum todo_kind) i);
        n += disk_call(volume_home(volume), stat, volume->todo, other, &st) == 0;
    }
    return n;
}

void todo_drop_spare(struct inodes *inodes, const struct volume *volume, struct inode *inode,
                     const struct record *record)
{
    const struct disk *home = volume_home(volume);
    char name[TODO_NAME];
    struct stat st;

    if (!atomic_load(&inode->has_spare) || inode_withhold(inodes, inode, false) < 0)
        return;
    todo_name(record, TODO_WAITS, name);
    /* A link that has become the last one, which should not be, stays: the next mount removes the bytes of its file. */
    if (disk_call(home, stat, volume->todo, name, &st) == 0 && st.st_nlink > 1 &&
        disk_call(home, unlink, volume->todo, name, 0) == 0) {
        inode_unnamed(inodes, inode, NULL, name, NULL);
        atomic_store(&inode->has_spare, false);
    }
    inode_release(inodes, inode);
}

/* -- after a crash -- */

/* Takes up a file that has no name but this one in todo/: it is listed as gone, and no more as anything else. One
 * without a record, or whose link cannot be renamed, is left as it is. */
static int take_gone(const struct volume *volume, const struct walk_entry *entry, const struct todo_visit *visit)
{
    const struct disk *home = volume_home(volume);
    char name[TODO_NAME];
    struct record record;
    int r = stub_read_record(volume, volume->todo, entry->name, &record);

    if (r < 0)
        return 0;
    todo_name(&record, TODO_GONE, name);
    if (strcmp(entry->name, name) != 0 && disk_call(home, rename, volume->todo, entry->name, volume->todo, name, 0) < 0)
        return 0;
    return visit->gone(visit->arg, &record);
}

static int take(const struct volume *volume, const struct walk_entry *entry, const struct todo_visit *visit)
{
    bool moves = todo_is(entry->name, TODO_MOVES) && S_ISREG(entry->st.st_mode);
    nlink_t n_links = entry->st.st_nlink, n_listed = n_links > 1 ? todo_count(volume, entry->name) : 1;

    if (n_links > n_listed && moves)
        return visit->moves(visit->arg, entry->name, &entry->st);
    if (n_links > 1) { /* the file was to go and kept a name; or another of its links in todo/ tells what to do */
        int r = disk_call(volume_home(volume), unlink, volume->todo, entry->name, 0);

        return moves ? r : 0;
    }
    return take_gone(volume, entry, visit);
}

int todo_take_up(const struct volume *volume, const struct todo_visit *visit)
{
    cleanup(walk_freep) struct walk *walk = NULL;
    struct walk_entry entry;
    int r = walk_new(volume_home(volume), volume->todo, &walk), more = 0;

    while (r == 0 && (more = walk_next(walk, &entry)) > 0) {
        if (entry.leaving)
            return entry.error;
        walk_skip(walk);
        if (entry.error == 0)
            r = take(volume, &entry, visit);
    }
    return r < 0 ? r : more;
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/reap.h"

#include "fs/core/file.h"
#include "fs/core/subfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

void reap_name(const struct record *record, char ret_name[static REAP_NAME])
{
    hex_print(record->id, ID_SIZE, ret_name);
}

/* All generations there may be, each with the layout it had. */
static int remove_subfiles(struct fs *fs, const struct record *record)
{
    struct file_layout *layout;
    int r = layouts_get(fs->layouts, record->layout, &layout);

    if (r < 0)
        return r;
    r = subfile_remove_all(fs, record, layout, record->gen, record->gen + 1);
    layouts_put(fs->layouts, layout);
    if (record->oldest_gen == record->gen)
        return r;
    if (r == 0)
        r = layouts_get(fs->layouts, record->old_layout, &layout);
    if (r < 0)
        return r;
    r = subfile_remove_all(fs, record, layout, record->oldest_gen, record->gen);
    layouts_put(fs->layouts, layout);
    return r;
}

int fs_reap(struct fs *fs, const struct record *record)
{
    char name[REAP_NAME];
    int r = remove_subfiles(fs, record);

    if (r < 0)
        return r; /* the next mount tries again */
    reap_name(record, name);
    r = disk_call(fs_home(fs), unlink, fs->volume->todo, name, 0);
    return r == -ENOENT ? 0 : r;
}

/* -- after a crash -- */

static int reap_entry(struct fs *fs, const char *name)
{
    struct record record;
    struct stat st;
    int r = disk_call(fs_home(fs), stat, fs->volume->todo, name, &st);

    if (r < 0)
        return r;
    if (st.st_nlink > 1) /* it was about to go and did not */
        return disk_call(fs_home(fs), unlink, fs->volume->todo, name, 0);
    r = file_read_record(fs, fs->volume->todo, name, &record);
    if (r == -EUCLEAN)
        return 0; /* fsck tells what its subfiles are */
    return r < 0 ? r : fs_reap(fs, &record);
}

int fs_reap_all(struct fs *fs)
{
    _Alignas(struct dirent64) char buf[8192];
    const struct disk *home = fs_home(fs);
    ssize_t n = 0;
    int r = 0, fd = disk_call(home, open, fs->volume->todo, ".", O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return fd;
    while (r == 0 && (n = disk_call(home, read_dir, fd, buf, sizeof buf)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *) (buf + at);

            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            /* A disk that fails keeps its share; that is no reason not to serve the volume. */
            (void) reap_entry(fs, entry->d_name);
        }
    disk_close(home, &fd);
    return n < 0 ? (int) n : 0;
}

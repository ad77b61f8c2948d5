/* SPDX-License-Identifier: MIT */
#include "fs/daemon/say/troubles.h"

#include "fs/core/volume/space.h"
#include "fs/daemon/say/log.h"

#include <stdio.h>
#include <string.h>

#define KEPT      256 /* so many troubles, the newest ones */
#define DISK_TEXT 256

struct noted {
    uint64_t when; /* 0: free */
    enum trouble_kind kind;
    int error;
    const char *call;
    uint64_t nodeid;
    uint32_t slot, index;
    bool is_said;
    uint64_t at; /* on clock_ms's clock */
    char disk[DISK_TEXT];
};

struct disk_notes {
    struct log_limit limit[TROUBLE_KINDS];
    bool is_read_only;     /* troubles_look's alone */
    uint64_t silent_since; /* 0: it answers */
};

struct troubles {
    struct listener listener;
    const char *mountpoint;
    struct mutex lock;
    uint64_t n_noted;                        /* lock; how many were noted so far */
    uint64_t n_said;                         /* lock; how many of these were said, or passed over */
    struct noted noted[KEPT];                /* lock; trouble number n is at n % KEPT */
    struct disk_notes disk[STAMP_MAX_DISKS]; /* lock */
    struct log_limit other;                  /* lock; for failures that no trouble of a disk explains */
    uint32_t n_left_out;                     /* lock; of all limits: left out, and not told of yet */
};

/* -- noting -- */

static void hear(void *ctx, const struct trouble *trouble)
{
    struct troubles *troubles = ctx;
    struct noted *noted;

    mutex_lock(&troubles->lock);
    noted = &troubles->noted[troubles->n_noted % KEPT];
    *noted = (struct noted){ .when = ++troubles->n_noted,
                             .kind = trouble->kind,
                             .error = trouble->error,
                             .call = trouble->call,
                             .nodeid = trouble->nodeid,
                             .slot = trouble->slot,
                             .index = trouble->disk->index,
                             .at = clock_ms() };
    snprintf(noted->disk, sizeof noted->disk, "d%" PRIu32 " (%s)", trouble->disk->index,
             trouble->disk->path != NULL ? trouble->disk->path : "?");
    mutex_unlock(&troubles->lock);
}

int troubles_new(const char *mountpoint, struct troubles **ret_troubles)
{
    struct troubles *troubles = calloc(1, sizeof *troubles);

    if (troubles == NULL)
        return -ENOMEM;
    troubles->listener = (struct listener){ hear, troubles };
    troubles->mountpoint = mountpoint;
    mutex_init(&troubles->lock);
    *ret_troubles = troubles;
    return 0;
}

void troubles_free(struct troubles *troubles)
{
    if (troubles == NULL)
        return;
    mutex_done(&troubles->lock);
    free(troubles);
}

const struct listener *troubles_listener(struct troubles *troubles)
{
    return &troubles->listener;
}

/* -- words -- */

static const char *words_of_call(const char *call)
{
    static const struct {
        const char *call, *words;
    } known[] = {
        { "preadv", "read" },
        { "pwritev", "write" },
        { "to_pipe", "read" },
        { "truncate", "change the length of" },
        { "allocate", "allocate" },
        { "seek", "look for holes in" },
        { "stat", "look at" },
        { "statfs", "tell its room for" },
        { "read_dir", "list" },
        { "read_link", "read the link" },
        { "get_xattr", "read an attribute of" },
        { "set_xattr", "set an attribute of" },
        { "list_xattr", "list attributes of" },
        { "remove_xattr", "remove an attribute of" },
        { "set_times", "set the times of" },
        { "unlink", "remove" },
    };

    for (size_t i = 0; call != NULL && i < ARRAY_SIZE(known); i++)
        if (strcmp(call, known[i].call) == 0)
            return known[i].words;
    return call != NULL ? call : "serve"; /* the names of other calls are words: open, sync, rename */
}

static const char *what_of(const struct noted *noted, char what[static 32])
{
    if (noted->slot == NO_SUBFILE)
        return "what it has of it";
    snprintf(what, 32, "subfile %" PRIu32, noted->slot);
    return what;
}

#define MAKE_WRITABLE                                                                                               \
    "'mount -o remount,rw' lets it be written again; if it had errors (dmesg), unmount the volume, repair it, and " \
    "mount both again"

/* Whether a trouble is about names: it was on the home disk, and not with a subfile. */
static bool is_of_names(const struct fs *fs, const struct noted *noted)
{
    return fs != NULL && noted->index == fs->volume->home && noted->slot == NO_SUBFILE;
}

static void text_of_read_only(const struct noted *noted, const struct fs *fs, const char *what,
                              char text[static TROUBLE_TEXT])
{
    if (is_of_names(fs, noted))
        snprintf(text, TROUBLE_TEXT, "the home disk %s, which has all names, is read-only: " MAKE_WRITABLE,
                 noted->disk);
    else
        snprintf(text, TROUBLE_TEXT, "%s is read-only, and %s is there: " MAKE_WRITABLE, noted->disk, what);
}

static void text_of_call(const struct noted *noted, const struct fs *fs, const char *what,
                         char text[static TROUBLE_TEXT])
{
    if (noted->error == -EROFS)
        text_of_read_only(noted, fs, what, text);
    else
        snprintf(text, TROUBLE_TEXT, "%s cannot %s %s: %s; the kernel's log may say why (dmesg)", noted->disk,
                 words_of_call(noted->call), what, strerror(-noted->error));
}

/* Says what has run out: the quota, inodes, room for attributes, or bytes, as far as the disk tells now without a
 * wait. */
static void text_of_full(const struct noted *noted, const struct fs *fs, const char *what,
                         char text[static TROUBLE_TEXT])
{
    const struct disk *disk = fs != NULL ? &fs->volume->disk[noted->index] : NULL;
    const char *others = is_of_names(fs, noted) ? ": all names are there, so that another disk does not help" : "";
    bool sets = noted->call != NULL && strcmp(noted->call, "set_xattr") == 0;
    struct statvfs space;
    bool is_known = disk != NULL && disk_is_present(disk) && watch_is_prompt(disk->watch) &&
                    disk_call(disk, statfs, disk->root, &space) == 0;

    if (noted->error == -EDQUOT)
        snprintf(text, TROUBLE_TEXT,
                 "on %s the owner of the file has used up a quota, and %s goes there: remove files, or raise it",
                 noted->disk, what);
    else if (is_known && space_lacks_inodes(&space))
        snprintf(text, TROUBLE_TEXT,
                 "%s has no free inode, and %s goes there: remove files, or give its file system more inodes%s",
                 noted->disk, what, others);
    else if (is_known && sets && space.f_bavail > 0)
        snprintf(
            text, TROUBLE_TEXT,
            "%s has no room for more attributes of this file, of which file systems limit the bytes, ext4 to those "
            "of a block: remove some, or make them shorter",
            noted->disk);
    else
        snprintf(text, TROUBLE_TEXT,
                 "%s is full, and %s goes there: remove files, or make room on its file system, or make that larger%s",
                 noted->disk, what, others);
}

static void text_of(const struct noted *noted, const struct fs *fs, char text[static TROUBLE_TEXT])
{
    char number[32];
    const char *what = what_of(noted, number);

    switch (noted->kind) {
    case TROUBLE_CALL:
        text_of_call(noted, fs, what, text);
        return;
    case TROUBLE_DEAD:
        snprintf(text, TROUBLE_TEXT, "%s does not answer, and has %s: is its server up?", noted->disk, what);
        return;
    case TROUBLE_FULL:
        text_of_full(noted, fs, what, text);
        return;
    case TROUBLE_ABSENT:
        snprintf(text, TROUBLE_TEXT, "%s is not here, and has %s: mount the volume again when it is back", noted->disk,
                 what);
        return;
    case TROUBLE_MISSING:
        snprintf(text, TROUBLE_TEXT,
                 "%s on %s is missing, and its bytes with it; 'fallsctl extract --partial' saves what the others have",
                 what, noted->disk);
        return;
    case TROUBLE_NOWHERE:
        snprintf(
            text, TROUBLE_TEXT,
            "%s is to be made on %s, and its directory below .fallsfs/obj is not there: unmount the volume, put it "
            "back, or have fsck.fallsfs -y make it anew",
            what, noted->disk);
        return;
    case TROUBLE_SHORT:
        snprintf(text, TROUBLE_TEXT,
                 "%s on %s is too short: bytes are lost; 'fallsctl extract --partial' saves what there is", what,
                 noted->disk);
        return;
    case TROUBLE_FOREIGN:
        snprintf(text, TROUBLE_TEXT,
                 "what is in the place of %s on %s is no subfile of it: unmount the volume and run fsck.fallsfs", what,
                 noted->disk);
        return;
    case TROUBLE_DAMAGED:
        snprintf(text, TROUBLE_TEXT,
                 noted->error == -EPROTONOSUPPORT
                     ? "made by a newer fallsfs: use that version"
                     : "its record is damaged, or the layout that it names: unmount the volume and run fsck.fallsfs");
        return;
    case TROUBLE_JOB:
        snprintf(text, TROUBLE_TEXT, "its migration has failed: %s; 'fallsctl jobs' lists it", strerror(-noted->error));
        return;
    case TROUBLE_KINDS:
        break;
    }
    snprintf(text, TROUBLE_TEXT, "%s", strerror(-noted->error));
}

/* -- saying; the lock is not held -- */

/* Makes the start of a line, such as "/fast/a.dat: "; "" where no file is concerned. NULL without memory. */
static char *name_of(const struct troubles *troubles, struct fs *fs, uint64_t nodeid)
{
    struct inode *inode = fs != NULL && nodeid != 0 ? inodes_find(fs->inodes, nodeid) : NULL;
    cleanup(freep) char *path = NULL;
    char *name = NULL;
    int n;

    if (inode == NULL)
        return strdup("");
    if (inode == inodes_root(fs->inodes))
        n = asprintf(&name, "%s: ", troubles->mountpoint);
    else if (inode_path(fs->inodes, inode, &path) == 0)
        n = asprintf(&name, "%s/%s: ", troubles->mountpoint, path);
    else
        n = asprintf(&name, "inode %" PRIu64 " of %s, which has no name now: ", inode->ino, troubles->mountpoint);
    inode_unref(fs->inodes, inode);
    return n < 0 ? NULL : name;
}

static void say(const struct troubles *troubles, struct fs *fs, const struct noted *noted)
{
    cleanup(freep) char *name = name_of(troubles, fs, noted->nodeid);
    char text[TROUBLE_TEXT];

    text_of(noted, fs, text);
    if (noted->kind == TROUBLE_FULL)
        log_warning("%s%s", name != NULL ? name : "", text);
    else
        log_error("%s%s", name != NULL ? name : "", text);
}

static bool is_for_who_asked(enum trouble_kind kind)
{
    return kind == TROUBLE_FULL || kind == TROUBLE_ABSENT;
}

static bool may_say(struct troubles *troubles, struct log_limit *limit) REQUIRES(troubles->lock)
{
    bool may = log_may_say(limit, clock_ms());

    troubles->n_left_out += !may;
    return may;
}

/* Whether the same trouble was said within LOG_WINDOW: a read that fails ahead of a program's own read would be told of
 * twice. */
static bool was_said(const struct troubles *troubles, const struct noted *noted) REQUIRES(troubles->lock)
{
    for (uint32_t i = 0; i < KEPT; i++) {
        const struct noted *other = &troubles->noted[i];

        if (other != noted && other->is_said && other->kind == noted->kind && other->error == noted->error &&
            other->call == noted->call && other->nodeid == noted->nodeid && other->slot == noted->slot &&
            other->index == noted->index && noted->at - other->at < LOG_WINDOW)
            return true;
    }
    return false;
}

static bool take_next(struct troubles *troubles, struct noted *ret_noted)
{
    bool found = false;

    mutex_lock(&troubles->lock);
    if (troubles->n_noted - troubles->n_said > KEPT) {
        troubles->n_left_out += (uint32_t) (troubles->n_noted - troubles->n_said - KEPT);
        troubles->other.n_left_out += (uint32_t) (troubles->n_noted - troubles->n_said - KEPT);
        troubles->n_said = troubles->n_noted - KEPT;
    }
    while (!found && troubles->n_said < troubles->n_noted) {
        struct noted *noted = &troubles->noted[troubles->n_said++ % KEPT];

        if (noted->is_said || is_for_who_asked(noted->kind))
            continue;
        if (was_said(troubles, noted))
            continue;
        noted->is_said = true;
        found = may_say(troubles, &troubles->disk[noted->index].limit[noted->kind]);
        *ret_noted = *noted;
    }
    mutex_unlock(&troubles->lock);
    return found;
}

static uint32_t take_left_out(struct troubles *troubles, struct log_limit *limit, uint64_t now)
{
    uint32_t n;

    mutex_lock(&troubles->lock);
    n = log_left_out(limit, now);
    troubles->n_left_out -= n;
    mutex_unlock(&troubles->lock);
    return n;
}

static void say_left_out(struct troubles *troubles, const struct fs *fs, uint64_t now)
{
    uint32_t n_all;

    mutex_lock(&troubles->lock);
    n_all = troubles->n_left_out;
    mutex_unlock(&troubles->lock);
    if (n_all == 0)
        return;
    for (uint32_t i = 0; i < fs->volume->n_disks; i++)
        for (uint32_t kind = 0; kind < TROUBLE_KINDS; kind++) {
            uint32_t n = take_left_out(troubles, &troubles->disk[i].limit[kind], now);

            if (n > 0)
                log_warning("d%" PRIu32 " (%s): %" PRIu32 " lines like those above were left out", i,
                            fs->volume->disk[i].path, n);
        }
    n_all = take_left_out(troubles, &troubles->other, now);
    if (n_all > 0)
        log_warning("%" PRIu32 " more lines about requests that failed were left out", n_all);
}

static void say_noted(struct troubles *troubles, struct fs *fs)
{
    struct noted noted;

    while (take_next(troubles, &noted))
        say(troubles, fs, &noted);
}

void troubles_say(struct troubles *troubles, struct fs *fs)
{
    say_noted(troubles, fs);
    say_left_out(troubles, fs, clock_ms());
}

void troubles_say_last(struct troubles *troubles, struct fs *fs)
{
    say_noted(troubles, fs);
    if (fs != NULL)
        say_left_out(troubles, fs, UINT64_MAX);
}

/* Finds the newest trouble with this inode and error, and whether it is to be logged now. */
static bool find_newest(struct troubles *troubles, uint64_t nodeid, int error, struct noted *ret_noted, bool *ret_say)
{
    struct noted *newest = NULL;

    mutex_lock(&troubles->lock);
    for (uint32_t i = 0; i < KEPT; i++) {
        struct noted *noted = &troubles->noted[i];

        if (noted->when > 0 && noted->nodeid == nodeid && noted->error == error &&
            (newest == NULL || noted->when > newest->when))
            newest = noted;
    }
    if (newest != NULL) {
        *ret_say = !newest->is_said && is_for_who_asked(newest->kind) &&
                   may_say(troubles, &troubles->disk[newest->index].limit[newest->kind]);
        newest->is_said |= is_for_who_asked(newest->kind);
        *ret_noted = *newest;
    }
    mutex_unlock(&troubles->lock);
    return newest != NULL;
}

bool troubles_why(struct troubles *troubles, struct fs *fs, uint64_t nodeid, int error,
                  char ret_why[static TROUBLE_TEXT])
{
    struct noted noted;
    bool shall_say;

    troubles_say(troubles, fs);
    if (!find_newest(troubles, nodeid, error, &noted, &shall_say))
        return false;
    if (shall_say)
        say(troubles, fs, &noted);
    text_of(&noted, fs, ret_why);
    return true;
}

void troubles_failed(struct troubles *troubles, struct fs *fs, uint64_t nodeid, const char *why)
{
    cleanup(freep) char *name = name_of(troubles, fs, nodeid);
    bool may;

    mutex_lock(&troubles->lock);
    may = may_say(troubles, &troubles->other);
    mutex_unlock(&troubles->lock);
    if (may)
        log_error("%s%s", name != NULL ? name : "", why);
}

char *troubles_silent(struct fs *fs)
{
    cleanup(freep) char *list = NULL;
    size_t len;
    uint32_t n = 0;
    FILE *out = open_memstream(&list, &len);

    if (out == NULL)
        return NULL;
    for (uint32_t i = 0; i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];

        if (disk->watch != NULL && watch_oldest(disk->watch) > WATCH_STALL)
            fprintf(out, "%sd%" PRIu32 " (%s)", n++ > 0 ? ", " : "", i, disk->path);
    }
    fputs(n == 1 ? " has" : " have", out);
    return fclose(out) == 0 && n > 0 ? steal(list) : NULL;
}

/* -- looking -- */

/* Logs when a disk has become read-only, or can be written again; true: it can be written again. is_read_only needs no
 * lock: only the thread that calls troubles_look uses it. */
static bool look_at_writing(struct troubles *troubles, const struct fs *fs, uint32_t i)
{
    const struct disk *disk = &fs->volume->disk[i];
    bool was = troubles->disk[i].is_read_only, is = disk_is_present(disk) && disk_is_read_only(disk);

    troubles->disk[i].is_read_only = is;
    if (is && !was)
        log_warning("d%" PRIu32 " (%s) is read-only: %s; " MAKE_WRITABLE, i, disk->path,
                    i == fs->volume->home ? "it is the home disk, so nothing can be made, renamed or removed"
                                          : "new files go to other disks, and what it has can be read");
    else if (was && !is)
        log_note("d%" PRIu32 " (%s) can be written again", i, disk->path);
    return was && !is;
}

bool troubles_look(struct troubles *troubles, struct fs *fs)
{
    bool any = false;

    for (uint32_t i = 0; i < fs->volume->n_disks; i++) {
        const struct disk *disk = &fs->volume->disk[i];
        uint64_t waits = disk->watch != NULL ? watch_oldest(disk->watch) : 0, since;
        bool is_silent = waits > WATCH_STALL;

        any |= look_at_writing(troubles, fs, i);
        mutex_lock(&troubles->lock);
        since = troubles->disk[i].silent_since;
        if (is_silent != (since > 0))
            troubles->disk[i].silent_since = is_silent ? clock_ms() - waits : 0;
        mutex_unlock(&troubles->lock);
        if (is_silent && since == 0)
            log_warning("d%" PRIu32 " (%s) has not answered for %" PRIu64 " s: who needs it waits; is its server up?",
                        i, disk->path, waits / 1000);
        else if (!is_silent && since > 0)
            log_note("d%" PRIu32 " (%s) answers again, after %" PRIu64 " s", i, disk->path,
                     (clock_ms() - since) / 1000);
    }
    return any;
}

/* SPDX-License-Identifier: MIT */
/* Options as -o takes them: our own; those for libfuse and the kernel; those that mean nothing here. */
#include "fs/daemon/config/options.h"

#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *word, const char *const known[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, known[i]) == 0)
            return true;
    return false;
}

/* Whether a word is ignored: what mount(8) and fstab say to other programs; what holds anyway; and how file systems
 * treat times and numbers that they keep in memory, where ours are the home disk's. */
static bool is_for_others(const char *word)
{
    static const char *const known[] = { "nofail",   "_netdev",  "auto",       "noauto",     "user",
                                         "users",    "nouser",   "owner",      "defaults",   "group",
                                         "nogroup",  "nousers",  "noowner",    "norelatime", "lazytime",
                                         "iversion", "relatime", "nolazytime", "noiversion", "nostrictatime" };

    return is_one_of(word, known, ARRAY_SIZE(known)) || strncasecmp(word, "x-", 2) == 0 ||
           strncmp(word, "comment=", 8) == 0 || strncmp(word, "user=", 5) == 0;
}

/* Finds where the first option in text ends. Commas separate options, but not those after a backslash or inside a
 * layout: array(shape=8x8, dist=(block,block)). */
static size_t word_len(const char *text)
{
    bool is_layout = strncmp(text, "layout=", 7) == 0 || strncmp(text, "layout_rule=", 12) == 0;
    size_t at = 0;
    int depth = 0;

    while (text[at] != 0 && (text[at] != ',' || depth > 0)) {
        if (text[at] == '\\' && text[at + 1] != 0)
            at++;
        else if (is_layout)
            depth += (text[at] == '(' || text[at] == '{') - (text[at] == ')' || text[at] == '}');
        at++;
    }
    return at;
}

/* Passes a word on to libfuse and the kernel, which complain of what they do not know. It still has its escapes, as
 * libfuse wants them. */
static int pass_on(struct options *options, const char *word)
{
    size_t len = options->fuse != NULL ? strlen(options->fuse) : 0;
    char *more = realloc(options->fuse, len + strlen(word) + 2);

    if (more == NULL)
        return -ENOMEM;
    snprintf(more + len, strlen(word) + 2, "%s%s", len > 0 ? "," : "", word);
    options->fuse = more;
    return 0;
}

/* Takes a word back out of what was passed on to libfuse and the kernel. */
static void take_back(struct options *options, const char *word)
{
    size_t len = strlen(word), at = 0;

    while (options->fuse != NULL && options->fuse[at] != 0) {
        char *here = options->fuse + at;
        size_t here_len = word_len(here), next = here_len + (here[here_len] == ',');

        if (here_len == len && memcmp(here, word, len) == 0)
            memmove(here, here + next, strlen(here + next) + 1);
        else
            at += next;
    }
    if (at > 0 && options->fuse[at - 1] == ',')
        options->fuse[--at] = 0;
    if (at == 0) {
        free(options->fuse);
        options->fuse = NULL;
    }
}

/* Removes the backslashes before commas and backslashes. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != 0; from++) {
        if (from[0] == '\\' && (from[1] == ',' || from[1] == '\\'))
            from++;
        *to++ = *from;
    }
    *to = 0;
}

static int add_flag(struct options *options, const char *word, struct options_error *error)
{
    static const struct {
        const char *word, *name, *value;
    } known[] = {
        { "ro", "read_only", "true" },
        { "rw", "read_only", "false" },
        { "degraded", "degraded", "true" },
        { "nodegraded", "degraded", "false" },
        { "direct_io", "direct_io", "true" },
        { "nodirect_io", "direct_io", "false" },
        { "trace", "trace", "true" },
        { "notrace", "trace", "false" },
        { "nosymfollow", "nosymfollow", "true" },
        { "symfollow", "nosymfollow", "false" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(word, known[i].word) == 0)
            return options_set(options, known[i].name, known[i].value, error);
    return -ENOENT;
}

/* Takes words about when reading moves times; libfuse knows some or others of them, by its version. strictatime means
 * the same as atime: we hear of no read that the kernel's page cache answers. False: the word is not taken. */
static bool add_time_flag(struct options *options, const char *word)
{
    bool is_atime = strcmp(word, "atime") == 0 || strcmp(word, "strictatime") == 0;

    if (strcmp(word, "noatime") == 0) {
        options->noatime = true;
        return false; /* libfuse gets it as well, so that the kernel shows it */
    }
    if (strcmp(word, "nodiratime") == 0 || strcmp(word, "diratime") == 0) {
        options->nodiratime = *word == 'n';
        return true;
    }
    if (is_atime) {
        options->noatime = false;
        take_back(options, "noatime");
    }
    return is_atime;
}

/* Sets an option NAME=VALUE; word is a copy that is changed. -ENOENT: it is none of ours. */
static int add_value(struct options *options, char *word, struct options_error *error)
{
    static const char *const known[] = { "config",     "layout",     "layout_rule",  "layout_allow",
                                         "layout_gid", "missing",    "wait_disks",   "timeout",
                                         "threads",    "max_read",   "read_ahead",   "window",
                                         "reserve",    "trace_ring", "trace_sample", "metrics" };
    char *value = strchr(word, '=');
    struct options_error wrong;
    int r;

    *value++ = 0;
    if (!is_one_of(word, known, ARRAY_SIZE(known)))
        return -ENOENT;
    unescape(value);
    r = options_set(options, word, value, &wrong);
    return r == -EINVAL ? options_fail(error, "-o %s=%s: %s", word, value, wrong.why) : r;
}

static int add_word(struct options *options, const char *word, struct options_error *error)
{
    cleanup(freep) char *copy = strdup(word);
    int r;

    if (copy == NULL)
        return -ENOMEM;
    if (is_for_others(word))
        return 0;
    if (add_time_flag(options, word))
        return 0;
    if (strcmp(word, "suid") == 0 || strcmp(word, "dev") == 0) {
        options->asks_for_suid = true;
        return 0;
    }
    if (strcmp(word, "remount") == 0)
        return options_fail(error, "-o remount: fallsfs takes new options only when it starts: umount, then mount");
    if (strncmp(word, "subtype=", 8) == 0 && strcmp(word, "subtype=fallsfs") != 0)
        return options_fail(error,
                            "-o %s: the type is always fuse.fallsfs, so that tools find the mount; fsname= is "
                            "yours to choose",
                            word);
    r = strchr(copy, '=') != NULL ? add_value(options, copy, error) : add_flag(options, copy, error);
    return r == -ENOENT ? pass_on(options, word) : r;
}

int options_add_words(struct options *options, const char *words, struct options_error *error)
{
    cleanup(freep) char *copy = strdup(words);
    char *word = copy;
    bool is_last = false;
    int r = copy != NULL ? 0 : -ENOMEM;

    while (r == 0 && !is_last) {
        size_t len = word_len(word);

        is_last = word[len] == 0;
        word[len] = 0;
        if (len > 0)
            r = add_word(options, word, error);
        word += len + 1;
    }
    return r;
}

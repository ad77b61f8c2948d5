/* SPDX-License-Identifier: MIT */
#include "fs/daemon/options.h"

#include "fs/daemon/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char options_help[] =
    "usage: fallsfs [options] DISK... MOUNTPOINT\n"
    "       fallsfs [options] -c FILE [MOUNTPOINT]\n"
    "\n"
    "Mounts the volume that the directories DISK... make up; 'fallsctl format DISK...' makes one.\n"
    "\n"
    "  -c FILE         read this configuration, see fallsfs.conf(5)\n"
    "  -f              stay in the foreground\n"
    "  -d              the same, and show every request\n"
    "  -s              serve with one thread\n"
    "  -h, --help      this help\n"
    "  -V, --version   the version\n"
    "  -o OPT[,OPT]    options:\n"
    "      ro              change nothing\n"
    "      degraded        with ro: read what is there when disks are missing\n"
    "      layout=L        layout of new files, as in layout=stripe(1M); see fallsfs-layout(7)\n"
    "      direct_io       past the kernel's page cache: faster streams, nothing kept, no shared mappings\n"
    "      wait_disks=N    wait up to N seconds for disks that are not mounted yet\n"
    "      threads=N       threads that serve requests\n"
    "      config=FILE     as -c\n"
    "      allow_other, allow_root, default_permissions, max_read=N and others: see mount.fuse3(8)\n"
    "\n"
    "As root, other users may use the mount, with the permissions the files have.\n"
    "\n"
    "examples:\n"
    "  fallsfs /mnt/d0 /mnt/d1 /mnt/d2 /fast\n"
    "  fallsfs -o ro /mnt/d0 /mnt/d1 /mnt/d2 /fast\n"
    "  fallsfs -c /etc/fallsfs/fast.conf\n"
    "  umount /fast\n";

int options_fail(struct options_error *error, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(error->why, sizeof error->why, fmt, list);
    va_end(list);
    return -EINVAL;
}

void options_done(struct options *options)
{
    for (uint32_t i = 0; i < options->n_disks; i++)
        free(options->disk[i]);
    free(options->disk);
    free(options->mountpoint);
    free(options->config);
    free(options->layout);
    free(options->fuse);
    *options = (struct options){ 0 };
}

int options_add_disk(struct options *options, const char *path)
{
    char **disk = realloc(options->disk, (options->n_disks + 1) * sizeof(char *));

    if (disk == NULL)
        return -ENOMEM;
    options->disk = disk;
    disk[options->n_disks] = strdup(path);
    return disk[options->n_disks] != NULL ? (void) options->n_disks++, 0 : -ENOMEM;
}

static int replace(char **string, const char *value)
{
    free(*string);
    *string = strdup(value);
    return *string != NULL ? 0 : -ENOMEM;
}

/* -- -o -- */

static int parse_number(const char *name, const char *value, uint32_t max, uint32_t *ret, struct options_error *error)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(value, &end, 10);
    if (errno != 0 || *value < '0' || *value > '9' || *end != 0 || n > max)
        return options_fail(error, "-o %s=%s: not a number from 0 to %" PRIu32, name, value, max);
    *ret = (uint32_t) n;
    return 0;
}

/* For libfuse and the kernel: they say what they do not know. */
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

/* What mount(8) and fstab say to others. */
static bool is_for_others(const char *word)
{
    static const char *const known[] = { "rw",    "nofail", "_netdev",  "auto",  "noauto", "user",
                                         "users", "nouser", "defaults", "owner", "group" };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(word, known[i]) == 0)
            return true;
    return strncmp(word, "x-", 2) == 0 || strncmp(word, "comment=", 8) == 0;
}

static int parse_word(struct options *options, const char *word, struct options_error *error)
{
    const char *value = strchr(word, '=');
    size_t len = value != NULL ? (size_t) (value++ - word) : strlen(word);

#define IS(name) (len == sizeof(name) - 1 && strncmp(word, name, len) == 0)
    if (value == NULL && IS("ro"))
        return options->read_only = true, 0;
    if (value == NULL && IS("degraded"))
        return options->degraded = true, 0;
    if (value == NULL && IS("direct_io"))
        return options->direct_io = true, 0;
    if (value != NULL && IS("layout"))
        return replace(&options->layout, value);
    if (value != NULL && IS("config"))
        return replace(&options->config, value);
    if (value != NULL && IS("wait_disks"))
        return parse_number("wait_disks", value, 86400, &options->wait_disks, error);
    if (value != NULL && IS("threads"))
        return parse_number("threads", value, 4096, &options->threads, error);
#undef IS
    return is_for_others(word) ? 0 : pass_on(options, word);
}

/* Options are separated by commas, but not by those of a layout: array(shape=8x8, dist=(block,block)). */
static int parse_words(struct options *options, const char *words, struct options_error *error)
{
    cleanup(freep) char *copy = strdup(words);
    int depth = 0, r = 0;
    char *start = copy;

    if (copy == NULL)
        return -ENOMEM;
    for (char *at = copy; r == 0; at++) {
        char c = *at;

        depth += (c == '(' || c == '{') - (c == ')' || c == '}');
        if (c != 0 && (c != ',' || depth > 0))
            continue;
        *at = 0;
        if (*start != 0)
            r = parse_word(options, start, error);
        start = at + 1;
        if (c == 0)
            break;
    }
    return r;
}

/* -- command line -- */

/* One word may name several disks, as mount(8) has room for one only; a disk whose own name has a colon goes first. */
static int add_disks(struct options *options, const char *word)
{
    cleanup(freep) char *copy = strdup(word);
    struct stat st;
    char *save, *path;
    int r = 0;

    if (copy == NULL)
        return -ENOMEM;
    if (strchr(word, ':') == NULL || stat(word, &st) == 0)
        return options_add_disk(options, word);
    for (path = strtok_r(copy, ":", &save); r == 0 && path != NULL; path = strtok_r(NULL, ":", &save))
        r = options_add_disk(options, path);
    return r;
}

struct line {
    int argc;
    char **argv;
    int at;
    char **word; /* those that are no options */
    int n_words;
};

/* The value of an option: the rest of the word, or the next. */
static const char *value_of(struct line *line)
{
    if (line->argv[line->at][2] != 0)
        return line->argv[line->at] + 2;
    return line->at + 1 < line->argc ? line->argv[++line->at] : NULL;
}

static int parse_option(struct line *line, struct options *options, struct options_error *error)
{
    const char *word = line->argv[line->at], *value;

    if (strcmp(word, "--help") == 0)
        return options->help = true, 0;
    if (strcmp(word, "--version") == 0)
        return options->version = true, 0;
    if (word[1] == 'o' || word[1] == 'c') {
        value = value_of(line);
        if (value == NULL)
            return options_fail(error, "-%c needs a value; see fallsfs --help", word[1]);
        return word[1] == 'o' ? parse_words(options, value, error) : replace(&options->config, value);
    }
    for (const char *letter = word + 1; *letter != 0; letter++)
        switch (*letter) {
        case 'f':
            options->foreground = true;
            break;
        case 'd':
            options->debug = options->foreground = true;
            break;
        case 's':
            options->single_thread = true;
            break;
        case 'h':
            options->help = true;
            break;
        case 'V':
            options->version = true;
            break;
        case 'n':
        case 'v':
            break; /* mount(8) says so to its helpers */
        default:
            return options_fail(error, "unknown option %s; see fallsfs --help", word);
        }
    return 0;
}

static int parse_line(struct line *line, struct options *options, struct options_error *error)
{
    bool only_words = false;
    int r = 0;

    for (line->at = 1; r == 0 && line->at < line->argc; line->at++) {
        char *word = line->argv[line->at];

        if (!only_words && strcmp(word, "--") == 0)
            only_words = true;
        else if (!only_words && word[0] == '-' && word[1] != 0)
            r = parse_option(line, options, error);
        else
            line->word[line->n_words++] = word;
    }
    return r;
}

int options_parse(int argc, char **argv, struct options *ret_options, struct options_error *ret_error)
{
    cleanup(options_done) struct options options = { 0 };
    cleanup(freep) char **word = calloc((size_t) argc + 1, sizeof(char *));
    struct line line = { .argc = argc, .argv = argv, .word = word };
    int r = word != NULL ? parse_line(&line, &options, ret_error) : -ENOMEM;

    if (r == 0 && line.n_words > 0)
        r = replace(&options.mountpoint, word[--line.n_words]);
    /* With a configuration, mount(8) still names a source: what the configuration says counts. */
    for (int i = 0; r == 0 && options.config == NULL && i < line.n_words; i++)
        r = add_disks(&options, word[i]);
    if (r == 0 && options.config != NULL)
        r = config_read(options.config, &options, ret_error);
    if (r == 0 && !options.help && !options.version) {
        if (options.mountpoint == NULL)
            r = options_fail(ret_error, "where to mount? usage: fallsfs DISK... MOUNTPOINT; see fallsfs --help");
        else if (options.n_disks == 0)
            r = options_fail(ret_error, "no disks are named; usage: fallsfs DISK... MOUNTPOINT; see fallsfs --help");
        else if (options.degraded && !options.read_only)
            r = options_fail(ret_error, "degraded is for reading: add ro, as in -o ro,degraded");
    }
    if (r == -ENOMEM)
        options_fail(ret_error, "out of memory");
    if (r == 0) {
        *ret_options = options;
        options = (struct options){ 0 };
    }
    return r;
}

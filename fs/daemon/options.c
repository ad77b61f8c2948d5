/* SPDX-License-Identifier: MIT */
#include "fs/daemon/options.h"

#include "fs/core/disk_list.h"
#include "fs/daemon/config.h"
#include "layout/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_SECONDS    86400
#define MAX_THREADS    1024
#define MAX_READ_AHEAD (1 << 30)
#define MIN_WINDOW     (64 << 10)
#define MAX_WINDOW     (4 << 20) /* as fallsfs_ioctl(4) has it */

const char options_help[] =
    "usage: fallsfs [options] DISK... MOUNTPOINT\n"
    "       fallsfs [options] -c FILE [MOUNTPOINT]\n"
    "       mount -t fallsfs DISK:DISK:... MOUNTPOINT [-o options]\n"
    "\n"
    "Mounts the volume that the directories DISK... make up; 'fallsctl format DISK...' makes one.\n"
    "\n"
    "  -c FILE         read this configuration, see fallsfs.conf(5); what is said here wins over it\n"
    "  -f              stay in the foreground\n"
    "  -d              the same, and show every request\n"
    "  -s              serve with one thread\n"
    "  -h, --help      this help\n"
    "  -V, --version   the version\n"
    "  -o OPT[,OPT]    options:\n"
    "      ro              change nothing\n"
    "      degraded        with ro: read what is there when disks are missing\n"
    "      missing=W       when disks are missing: refuse, or readonly, which is ro,degraded by itself\n"
    "      wait_disks=N    wait up to N seconds for disks that are not mounted yet\n"
    "      layout=L        layout of new files, as in layout=stripe(1M); see fallsfs-layout(7)\n"
    "      layout_rule=P:L layout of new files called so, as in layout_rule=*.npy:stripe(4M) disp 128; may be repeated\n"
    "      layout_allow=W  who may give layouts to what is theirs: owner, the default; gid, those in the group\n"
    "                      layout_gid=N; or admin, nobody but root and who mounted\n"
    "      direct_io       past the kernel's page cache: faster streams, nothing kept\n"
    "      nodirect_io     through it, which is the default\n"
    "      read_ahead=S    let the kernel read ahead so much, 4M by default\n"
    "      window=S        memory that each thread at work for a group of processes uses, 4M, the default, at most\n"
    "      threads=N       threads that serve requests; 0, the default: by the number of disks\n"
    "      timeout=N       seconds a disk may take for an answer, 60 by default; 0: for ever\n"
    "      config=FILE     as -c\n"
    "      allow_other, allow_root, max_read=N, noatime, noexec and others: see mount.fuse3(8)\n"
    "\n"
    "As root, other users may use the mount, with the permissions the files have. Device files and set-user-ID bits\n"
    "never work in it.\n"
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

void options_init(struct options *options)
{
    *options = (struct options){ .timeout = 60, .read_ahead = 4 << 20, .window = MAX_WINDOW, .layout_gid = UINT32_MAX };
}

void options_done(struct options *options)
{
    for (uint32_t i = 0; i < options->n_disks; i++)
        free(options->disk[i]);
    free(options->disk);
    free(options->mountpoint);
    free(options->config);
    free(options->layout);
    for (uint32_t i = 0; i < options->n_rules; i++) {
        free(options->rule[i].match);
        free(options->rule[i].layout);
    }
    free(options->rule);
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

/* -- one option -- */

static int set_text(char **string, const char *value)
{
    char *copy = strdup(value);

    if (copy == NULL)
        return -ENOMEM;
    free(*string);
    *string = copy;
    return 0;
}

static int set_choice(bool *ret, const char *value, const char *no, const char *yes, struct options_error *error)
{
    if (strcmp(value, no) != 0 && strcmp(value, yes) != 0)
        return options_fail(error, "it is %s or %s", no, yes);
    *ret = strcmp(value, yes) == 0;
    return 0;
}

static int set_number(uint32_t *ret, const char *value, uint32_t max, struct options_error *error)
{
    unsigned long n;
    char *end;

    errno = 0;
    n = strtoul(value, &end, 10);
    if (errno != 0 || *value < '0' || *value > '9' || *end != 0 || n > max)
        return options_fail(error, "not a number from 0 to %" PRIu32, max);
    *ret = (uint32_t) n;
    return 0;
}

static int set_size(uint32_t *ret, const char *value, uint32_t min, uint32_t max, struct options_error *error)
{
    uint64_t size;

    if (layout_parse_size(value, &size) < 0 || size < min || size > max)
        return options_fail(error, "not a size from %" PRIu32 "%s to %" PRIu32 "M, as in 512K or 4M", min >> 10,
                            min > 0 ? "K" : "", max >> 20);
    *ret = (uint32_t) size;
    return 0;
}

/* Checks all but the disks it names: which there are, the volume knows. */
static int set_layout(char **ret, const char *value, struct options_error *error)
{
    cleanup(layout_freep) struct layout *layout = NULL;
    struct layout_error wrong;
    FILE *out;

    if (layout_parse(value, strlen(value), 0, &layout, &wrong) == 0)
        return set_text(ret, value);
    out = fmemopen(error->why, sizeof error->why, "w");
    if (out == NULL)
        return -ENOMEM;
    layout_error_print(out, &wrong);
    fclose(out);
    error->why[strcspn(error->why, "\n")] = 0;
    return -EINVAL;
}

int options_add_rule(struct options *options, const char *match, const char *layout, struct options_error *error)
{
    struct layout_rule *rule = realloc(options->rule, (options->n_rules + 1) * sizeof *rule);
    int r;

    if (rule == NULL)
        return -ENOMEM;
    options->rule = rule;
    rule += options->n_rules;
    *rule = (struct layout_rule){ 0 };
    if (*match == 0 || strchr(match, '/') != NULL)
        return options_fail(error, "'%s' is no pattern for names in a directory, as in *.npy", match);
    r = set_layout(&rule->layout, layout, error);
    if (r == 0)
        r = set_text(&rule->match, match);
    if (r < 0)
        free(rule->layout);
    else
        options->n_rules++;
    return r;
}

/* PATTERN:LAYOUT */
static int add_rule_word(struct options *options, const char *value, struct options_error *error)
{
    cleanup(freep) char *match = strdup(value);
    char *colon = match != NULL ? strchr(match, ':') : NULL;

    if (match == NULL)
        return -ENOMEM;
    if (colon == NULL)
        return options_fail(error, "it is PATTERN:LAYOUT, as in *.npy:stripe(4M) disp 128");
    *colon = 0;
    return options_add_rule(options, match, colon + 1, error);
}

static int set_allow(enum layout_allow *ret, const char *value, struct options_error *error)
{
    static const char *const word[] = { [ALLOW_OWNER] = "owner", [ALLOW_GROUP] = "gid", [ALLOW_ADMIN] = "admin" };

    for (unsigned i = 0; i < ARRAY_SIZE(word); i++)
        if (strcmp(value, word[i]) == 0) {
            *ret = (enum layout_allow) i;
            return 0;
        }
    return options_fail(error, "it is owner, gid or admin");
}

int options_set(struct options *options, const char *name, const char *value, struct options_error *error)
{
#define IS(what) (strcmp(name, what) == 0)
    if (IS("mount"))
        return set_text(&options->mountpoint, value);
    if (IS("config"))
        return set_text(&options->config, value);
    if (IS("layout"))
        return set_layout(&options->layout, value, error);
    if (IS("layout_rule"))
        return add_rule_word(options, value, error);
    if (IS("layout_allow"))
        return set_allow(&options->layout_allow, value, error);
    if (IS("layout_gid"))
        return set_number(&options->layout_gid, value, UINT32_MAX - 1, error);
    if (IS("read_only"))
        return set_choice(&options->read_only, value, "false", "true", error);
    if (IS("degraded"))
        return set_choice(&options->degraded, value, "false", "true", error);
    if (IS("direct_io"))
        return set_choice(&options->direct_io, value, "false", "true", error);
    if (IS("missing"))
        return set_choice(&options->missing_readonly, value, "refuse", "readonly", error);
    if (IS("wait_disks"))
        return set_number(&options->wait_disks, value, MAX_SECONDS, error);
    if (IS("timeout"))
        return set_number(&options->timeout, value, MAX_SECONDS, error);
    if (IS("threads"))
        return set_number(&options->threads, value, MAX_THREADS, error);
    if (IS("max_read"))
        return set_number(&options->max_read, value, INT32_MAX, error);
    if (IS("read_ahead"))
        return set_size(&options->read_ahead, value, 0, MAX_READ_AHEAD, error);
    if (IS("window"))
        return set_size(&options->window, value, MIN_WINDOW, MAX_WINDOW, error);
#undef IS
    return -ENOENT;
}

/* -- -o -- */

static bool is_one_of(const char *word, const char *const known[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, known[i]) == 0)
            return true;
    return false;
}

/* What mount(8) and fstab say to others, or say though it holds anyway. mount.fuse3 adds dev and suid by itself, so
 * they cannot be refused; nobody gets them. */
static bool is_for_others(const char *word)
{
    static const char *const known[] = { "nofail",   "_netdev", "auto",     "noauto", "user", "users",
                                         "nouser",   "owner",   "defaults", "group",  "dev",  "suid",
                                         "relatime", "nogroup", "nousers",  "noowner" };

    return is_one_of(word, known, ARRAY_SIZE(known)) || strncasecmp(word, "x-", 2) == 0 ||
           strncmp(word, "comment=", 8) == 0 || strncmp(word, "user=", 5) == 0;
}

/* For libfuse and the kernel: they say what they do not know. word still has its escapes, as libfuse expects. */
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

/* A comma or a backslash after a backslash is part of the value. */
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
        { "ro", "read_only", "true" },        { "rw", "read_only", "false" },
        { "degraded", "degraded", "true" },   { "nodegraded", "degraded", "false" },
        { "direct_io", "direct_io", "true" }, { "nodirect_io", "direct_io", "false" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(word, known[i].word) == 0)
            return options_set(options, known[i].name, known[i].value, error);
    return -ENOENT;
}

/* word is a copy to write in. */
static int add_value(struct options *options, char *word, struct options_error *error)
{
    static const char *const known[] = { "config",     "layout",   "layout_rule", "layout_allow",
                                         "layout_gid", "missing",  "wait_disks",  "timeout",
                                         "threads",    "max_read", "read_ahead",  "window" };
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

/* The end of the first option in text. Commas separate, but not those after a backslash and not those of a layout:
 * array(shape=8x8, dist=(block,block)). */
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

/* -- command line -- */

struct line {
    int argc;
    char **argv;
    int at;
    char **word; /* those that are no options */
    int n_words;
};

static int parse_value(struct line *line, const char *letter, struct options *options, struct options_error *error)
{
    const char *value = letter[1] != 0 ? letter + 1 : line->at + 1 < line->argc ? line->argv[++line->at] : NULL;

    if (value == NULL)
        return options_fail(error, "-%c needs a value; see fallsfs --help", *letter);
    return *letter == 'o' ? options_add_words(options, value, error) : options_set(options, "config", value, error);
}

static int parse_letters(struct line *line, const char *word, struct options *options, struct options_error *error)
{
    for (const char *letter = word + 1; *letter != 0; letter++)
        switch (*letter) {
        case 'o':
        case 'c':
            return parse_value(line, letter, options, error);
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
        default:
            return options_fail(error, "unknown option %s; see fallsfs --help", word);
        }
    return 0;
}

static int parse_option(struct line *line, const char *word, struct options *options, struct options_error *error)
{
    if (strcmp(word, "--help") == 0)
        return options->help = true, 0;
    if (strcmp(word, "--version") == 0)
        return options->version = true, 0;
    return parse_letters(line, word, options, error);
}

static int parse_line(struct line *line, struct options *options, struct options_error *error)
{
    bool only_words = false;
    int r = 0;

    line->n_words = 0;
    for (line->at = 1; r == 0 && line->at < line->argc; line->at++) {
        char *word = line->argv[line->at];

        if (!only_words && strcmp(word, "--") == 0)
            only_words = true;
        else if (!only_words && word[0] == '-' && word[1] != 0)
            r = parse_option(line, word, options, error);
        else
            line->word[line->n_words++] = word;
    }
    return r;
}

/* One word may name several disks, as mount(8) has room for one only. A disk that is called like that goes first. */
static int add_disks(struct options *options, const char *word)
{
    struct stat st;
    int r;

    if (strpbrk(word, ":\\") == NULL || stat(word, &st) == 0)
        return options_add_disk(options, word);
    for (;;) {
        cleanup(freep) char *path = NULL;

        r = disk_list_next(&word, &path);
        if (r == 1)
            r = options_add_disk(options, path) == 0 ? 1 : -ENOMEM;
        if (r <= 0)
            return r;
    }
}

/* With a configuration that names the disks the one word is what fstab has to have, as there is a column for it. */
static int use_words(const struct line *line, struct options *options, struct options_error *error)
{
    bool has_disks = options->n_disks > 0;
    int n_sources = line->n_words - 1, r = 0;

    if (line->n_words > 0)
        r = options_set(options, "mount", line->word[n_sources], error);
    if (r == 0 && has_disks && n_sources > 1)
        return options_fail(error, "%s names the disks already: name them there or on the command line",
                            options->config);
    for (int i = 0; r == 0 && !has_disks && i < n_sources; i++)
        r = add_disks(options, line->word[i]);
    return r;
}

static int check(const struct options *options, struct options_error *error)
{
    static const char usage[] = "usage: fallsfs DISK... MOUNTPOINT; see fallsfs --help";

    if (options->mountpoint == NULL && options->config != NULL)
        return options_fail(error, "where to mount? %s has no 'mount', so say it: fallsfs -c %s MOUNTPOINT",
                            options->config, options->config);
    if (options->mountpoint == NULL)
        return options_fail(error, "where to mount, and what? %s", usage);
    if (options->n_disks == 0 && options->config != NULL)
        return options_fail(error, "no disks are named: %s has no 'disks', and the command line has none",
                            options->config);
    if (options->n_disks == 0)
        return options_fail(error, "no disks are named; %s", usage);
    if (options->layout_allow == ALLOW_GROUP && options->layout_gid == UINT32_MAX)
        return options_fail(error, "layout_allow=gid: which group? add layout_gid=N");
    if (options->degraded && !options->read_only)
        return options_fail(error, "degraded is for reading: add ro, as in -o ro,degraded");
    return 0;
}

/* Rules of the command line go before those of the configuration, which were read first. */
static int order_rules(struct options *options, uint32_t n_first)
{
    uint32_t n = options->n_rules;
    struct layout_rule *rule = n > 0 ? calloc(n, sizeof *rule) : NULL;

    if (n == 0)
        return 0;
    if (rule == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        rule[i] = options->rule[(n_first + i) % n];
    free(options->rule);
    options->rule = rule;
    return 0;
}

int options_parse(int argc, char **argv, struct options *ret_options, struct options_error *ret_error)
{
    cleanup(options_done) struct options asked = { 0 };
    cleanup(options_done) struct options options = { 0 };
    cleanup(freep) char **word = calloc((size_t) argc + 1, sizeof(char *));
    struct line line = { .argc = argc, .argv = argv, .word = word };
    int r = word != NULL ? parse_line(&line, &asked, ret_error) : -ENOMEM;
    bool only_asks = asked.help || asked.version;
    uint32_t n_rules;

    /* The configuration first, the command line over it. */
    options_init(&options);
    if (r == 0 && asked.config != NULL && !only_asks)
        r = config_read_path(asked.config, &options, ret_error);
    n_rules = options.n_rules;
    if (r == 0)
        r = parse_line(&line, &options, ret_error);
    if (r == 0)
        r = order_rules(&options, n_rules);
    if (r == 0 && !only_asks)
        r = use_words(&line, &options, ret_error);
    if (r == 0 && !only_asks)
        r = check(&options, ret_error);
    if (r == -ENOMEM)
        options_fail(ret_error, "out of memory");
    if (r == 0) {
        *ret_options = options;
        options = (struct options){ 0 };
    }
    return r;
}

/* SPDX-License-Identifier: MIT */
/* The command line, and the configuration that it names. */
#include "fs/daemon/config/options.h"

#include "fs/core/disk/disk_list.h"
#include "fs/daemon/config/config.h"

#include <string.h>
#include <sys/stat.h>

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
    "      reserve=S       what new files leave free on each disk, where nobody has named disks: usually a twentieth, or\n"
    "                      16 stripes if that is more, at most a quarter; twice that on the home disk; 0: nothing\n"
    "      trace           record every access that reaches the daemon, for 'fallsctl trace export'\n"
    "      trace_sample=N  one access of N in a row through an open file, 1 by default: every one\n"
    "      trace_ring=S    how much of that is kept, 64M by default: 64 bytes an access\n"
    "      threads=N       threads that serve requests; 0, the default: by the number of disks\n"
    "      timeout=N       seconds a disk may take for an answer, 60 by default; 0: for ever\n"
    "      metrics=FILE    write figures to this file every 15 s, as Prometheus has them; see fallsfs-metrics(5)\n"
    "      config=FILE     as -c\n"
    "      noatime, nodiratime, nosymfollow: as mount(8) has them\n"
    "      allow_other, allow_root, max_read=N, noexec and others: see mount.fuse3(8)\n"
    "\n"
    "As root, other users may use the mount, with the permissions the files have. Device files and set-user-ID bits\n"
    "never work in it.\n"
    "\n"
    "examples:\n"
    "  fallsfs /mnt/d0 /mnt/d1 /mnt/d2 /fast\n"
    "  fallsfs -o ro /mnt/d0 /mnt/d1 /mnt/d2 /fast\n"
    "  fallsfs -c /etc/fallsfs/fast.conf\n"
    "  umount /fast\n";

struct line {
    int argc;
    char **argv;
    int at;
    char **word; /* the words that are no options */
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

/* Adds the disk or the disks that a word names: mount(8) has room for one word only. Where a directory has exactly that
 * name, it is meant. */
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

/* Uses the words that are no options. Where a configuration names the disks, one word before the mount point is
 * ignored: fstab has a column for it. */
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

/* Drops "dev" and "suid" from the end of -o, where mount.fuse3 has put them behind what somebody has typed: it runs
 * fallsfs SOURCE DIR -o WORDS. */
static void drop_added_words(int argc, char **argv)
{
    static const char *const added[] = { "suid", "dev" };

    if (argc != 5 || argv[1][0] == '-' || argv[2][0] == '-' || strcmp(argv[3], "-o") != 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(added); i++) {
        size_t len = strlen(argv[4]), end = strlen(added[i]);
        char *at = argv[4] + len - end;

        if (len >= end && strcmp(at, added[i]) == 0 && (len == end || at[-1] == ','))
            at[len == end ? 0 : -1] = 0;
    }
}

/* Puts the rules of the command line before the n_first of the configuration, which was read first. */
static int order_rules(struct options *options, uint32_t n_first)
{
    uint32_t n = options->n_rules;
    cleanup(freep) struct layout_rule *rule = n > 0 ? calloc(n, sizeof *rule) : NULL;

    if (n == 0)
        return 0;
    if (rule == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        rule[i] = options->rule[(n_first + i) % n];
    memcpy(options->rule, rule, n * sizeof *rule);
    return 0;
}

int options_parse(int argc, char **argv, struct options *ret_options, struct options_error *ret_error)
{
    cleanup(options_done) struct options asked = { 0 };
    cleanup(options_done) struct options options = { 0 };
    cleanup(freep) char **word = calloc((size_t) argc + 1, sizeof(char *));
    struct line line = { .argc = argc, .argv = argv, .word = word };
    int r;
    bool only_asks;
    uint32_t n_rules;

    drop_added_words(argc, argv);
    r = word != NULL ? parse_line(&line, &asked, ret_error) : -ENOMEM;
    only_asks = asked.help || asked.version;
    /* The configuration is read first, then the command line once more, which wins. */
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

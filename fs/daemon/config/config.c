/* SPDX-License-Identifier: MIT */
#include "fs/daemon/config/config.h"

#include <ctype.h>
#include <fcntl.h>
#include <libconfig.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES (1 << 20)
#define MAX_DEPTH 16

struct reader {
    const char *name; /* the file's */
    struct options *options;
    struct options_error *error;
};

PRINTF_LIKE(3, 4) static int fail_at(const struct reader *reader, unsigned line, const char *fmt, ...)
{
    struct options_error why;
    va_list list;

    va_start(list, fmt);
    vsnprintf(why.why, sizeof why.why, fmt, list);
    va_end(list);
    (void) options_fail(reader->error, "%s:%u: %s", reader->name, line, why.why);
    return -EBADMSG;
}

/* -- the text, before libconfig sees it --
 *
 * libconfig 1.5 wraps numbers that are too large, ends a text at its first NUL, closes an open comment by itself, reads
 * other files for @include, and says "memory exhausted" of deep nesting. So its tokens are walked over once. */

struct walk {
    const struct reader *reader;
    const char *at, *end;
    unsigned line, depth;
};

static char peek(const struct walk *walk, size_t ahead)
{
    return ahead < (size_t) (walk->end - walk->at) ? walk->at[ahead] : 0;
}

static void step(struct walk *walk, size_t n)
{
    for (; n > 0 && walk->at < walk->end; n--)
        walk->line += *walk->at++ == '\n';
}

/* Walks over a string or a comment to behind where it is closed. */
static int walk_to(struct walk *walk, const char *close, const char *what)
{
    size_t len = strlen(close);
    unsigned start = walk->line;
    bool is_string = *close == '"';

    while (walk->at < walk->end) {
        if ((size_t) (walk->end - walk->at) >= len && memcmp(walk->at, close, len) == 0) {
            step(walk, len);
            return 0;
        }
        if (is_string && peek(walk, 0) == '\\' && tolower(peek(walk, 1)) == 'x' && peek(walk, 2) == '0' &&
            peek(walk, 3) == '0')
            return fail_at(walk->reader, walk->line, "\\x00 ends a string: leave it out");
        step(walk, is_string && peek(walk, 0) == '\\' ? 2 : 1);
    }
    return fail_at(walk->reader, start, "this %s is never closed", what);
}

static int walk_number(struct walk *walk)
{
    bool is_hex = walk->at[0] == '0' && tolower(peek(walk, 1)) == 'x';
    long long value;
    char *end;

    errno = 0;
    value = strtoll(walk->at, &end, is_hex ? 16 : 10);
    if (errno != 0 || value > INT_MAX || value < INT_MIN)
        return fail_at(walk->reader, walk->line, "%.*s is too large a number; sizes are text, as in \"4M\"",
                       (int) MIN(end - walk->at, 40), walk->at);
    step(walk, (size_t) (end - walk->at));
    return 0;
}

static int walk_token(struct walk *walk)
{
    char c = peek(walk, 0);

    if (c == 0)
        return fail_at(walk->reader, walk->line, "a zero byte: this is no text");
    if (c == '@')
        return fail_at(walk->reader, walk->line, "@include is not supported: write everything into one file");
    if (c == '"') {
        step(walk, 1);
        return walk_to(walk, "\"", "string");
    }
    if (c == '/' && peek(walk, 1) == '*') {
        step(walk, 2);
        return walk_to(walk, "*/", "comment");
    }
    if (c == '#' || (c == '/' && peek(walk, 1) == '/'))
        return walk_to(walk, "\n", "comment");
    if (isdigit((unsigned char) c) || ((c == '-' || c == '+') && isdigit((unsigned char) peek(walk, 1))))
        return walk_number(walk);
    if (isalpha((unsigned char) c) || c == '*') {
        do
            step(walk, 1);
        while (isalnum((unsigned char) peek(walk, 0)) || (peek(walk, 0) != 0 && strchr("-_*", peek(walk, 0)) != NULL));
        return 0;
    }
    if (strchr("{([", c) != NULL && ++walk->depth > MAX_DEPTH)
        return fail_at(walk->reader, walk->line, "nested too deeply");
    if (strchr("})]", c) != NULL && walk->depth > 0)
        walk->depth--;
    step(walk, 1);
    return 0;
}

/* Checks a text that ends in a line feed and has a zero byte behind len. */
static int check_text(const struct reader *reader, const char *text, size_t len)
{
    struct walk walk = { .reader = reader, .at = text, .end = text + len, .line = 1 };
    int r = 0;

    while (r == 0 && walk.at < walk.end)
        r = walk_token(&walk);
    return r;
}

/* -- keys -- */

static const char *type_name(int type)
{
    switch (type) {
    case CONFIG_TYPE_INT:
        return "a number, as in 30";
    case CONFIG_TYPE_BOOL:
        return "true or false";
    case CONFIG_TYPE_STRING:
        return "text in quotes";
    case CONFIG_TYPE_GROUP:
        return "a group, as in { ... }";
    default:
        return "a list, as in ( ... )";
    }
}

PRINTF_LIKE(3, 4) static int fail(const struct reader *reader, const config_setting_t *setting, const char *fmt, ...)
{
    struct options_error why;
    va_list list;

    va_start(list, fmt);
    vsnprintf(why.why, sizeof why.why, fmt, list);
    va_end(list);
    return fail_at(reader, config_setting_source_line(setting), "%s", why.why);
}

struct key {
    const char *name;
    int type;
    const char *option; /* NULL, or the option it sets, as options_set calls it */
    int (*read)(const struct reader *reader, const config_setting_t *setting); /* reads it otherwise */
    const struct key *keys;                                                    /* where it is a group */
};

/* Lists the names of keys for the error of an unknown one: "disks, io, layout". */
static void list_keys(const struct key keys[], char *text, size_t size)
{
    size_t at = 0;

    *text = 0;
    for (const struct key *key = keys; key->name != NULL && at < size; key++)
        at += (size_t) snprintf(text + at, size - at, "%s%s", at > 0 ? ", " : "", key->name);
}

static int check_known(const struct reader *reader, const config_setting_t *group, const struct key keys[])
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned) i);
        const struct key *key = keys;
        char known[256];

        while (key->name != NULL && strcmp(key->name, config_setting_name(setting)) != 0)
            key++;
        if (key->name != NULL)
            continue;
        list_keys(keys, known, sizeof known);
        return fail(reader, setting, "unknown key '%s'; here are known: %s", config_setting_name(setting), known);
    }
    return 0;
}

/* Notes where a text stands, "FILE:LINE", for errors that only the volume can find later. */
static int note_where(const struct reader *reader, const config_setting_t *setting, char **ret_where)
{
    if (asprintf(ret_where, "%s:%u", reader->name, config_setting_source_line(setting)) < 0) {
        *ret_where = NULL;
        return -ENOMEM;
    }
    return 0;
}

static int set_option(const struct reader *reader, const config_setting_t *setting, const char *option)
{
    const char *value;
    struct options_error why;
    char number[16];
    int r;

    if (config_setting_type(setting) == CONFIG_TYPE_BOOL)
        value = config_setting_get_bool(setting) ? "true" : "false";
    else if (config_setting_type(setting) == CONFIG_TYPE_STRING)
        value = config_setting_get_string(setting);
    else
        snprintf(number, sizeof number, "%d", config_setting_get_int(setting)), value = number;
    r = options_set(reader->options, option, value, &why);
    if (r == 0 && strcmp(option, "layout") == 0)
        r = note_where(reader, setting, &reader->options->layout_where);
    return r == -EINVAL ? fail(reader, setting, "%s = %s: %s", config_setting_name(setting), value, why.why) : r;
}

static int read_keys(const struct reader *reader, const config_setting_t *group, const struct key keys[])
{
    int r = check_known(reader, group, keys);

    for (const struct key *key = keys; r == 0 && key->name != NULL; key++) {
        const config_setting_t *setting = config_setting_get_member(group, key->name);

        if (setting == NULL)
            continue;
        if (key->type != CONFIG_TYPE_NONE && config_setting_type(setting) != key->type)
            r = fail(reader, setting, "%s: expected %s", key->name, type_name(key->type));
        else if (key->keys != NULL)
            r = read_keys(reader, setting, key->keys);
        else
            r = key->option != NULL ? set_option(reader, setting, key->option) : key->read(reader, setting);
    }
    return r;
}

/* Refuses a relative path: a daemon may be started in any directory. */
static int check_path(const struct reader *reader, const config_setting_t *setting, const char *what)
{
    const char *path = config_setting_get_string(setting);

    if (path[0] != '/')
        return fail(reader, setting, "%s: '%s' is not an absolute path, which starts with /", what, path);
    return 0;
}

static int read_mount(const struct reader *reader, const config_setting_t *setting)
{
    int r = check_path(reader, setting, "mount");

    return r < 0 ? r : set_option(reader, setting, "mount");
}

static int read_options(const struct reader *reader, const config_setting_t *setting)
{
    struct options_error why;
    int r = options_add_words(reader->options, config_setting_get_string(setting), &why);

    if (r == -EINVAL)
        return fail(reader, setting, "options: %s", why.why);
    if (r == 0 && reader->options->config != NULL)
        return fail(reader, setting, "options: a configuration cannot name another one");
    return r;
}

static int read_disk_path(const struct reader *reader, const config_setting_t *setting)
{
    int r = check_path(reader, setting, "disks");

    return r < 0 ? r : options_add_disk(reader->options, config_setting_get_string(setting));
}

static const struct key disk_keys[] = {
    { "path", CONFIG_TYPE_STRING, .read = read_disk_path },
    { .name = NULL },
};

static int read_disks(const struct reader *reader, const config_setting_t *list)
{
    int n = config_setting_length(list), r = 0;

    if (!config_setting_is_list(list) && !config_setting_is_array(list))
        return fail(reader, list, "disks: expected %s", type_name(CONFIG_TYPE_LIST));
    if (n == 0)
        return fail(reader, list, "disks: names none; leave it out to name them when mounting");
    for (int i = 0; r == 0 && i < n; i++) {
        const config_setting_t *disk = config_setting_get_elem(list, (unsigned) i);

        if (config_setting_type(disk) == CONFIG_TYPE_STRING)
            r = read_disk_path(reader, disk);
        else if (!config_setting_is_group(disk))
            r = fail(reader, disk, "disks: expected paths in quotes, or groups { path = \"...\"; }");
        else if (config_setting_get_member(disk, "path") == NULL)
            r = fail(reader, disk, "disks: this one has no path");
        else
            r = read_keys(reader, disk, disk_keys);
    }
    return r;
}

static const char *text_of(const config_setting_t *group, const char *name)
{
    const config_setting_t *setting = config_setting_get_member(group, name);

    return setting != NULL ? config_setting_get_string(setting) : NULL;
}

static int check_is_text(const struct reader *reader, const config_setting_t *setting)
{
    (void) reader, (void) setting; /* its type has been checked, and read_rule reads both */
    return 0;
}

static const struct key rule_keys[] = {
    { "match", CONFIG_TYPE_STRING, .read = check_is_text },
    { "layout", CONFIG_TYPE_STRING, .read = check_is_text },
    { .name = NULL },
};

static int read_rule(const struct reader *reader, const config_setting_t *group)
{
    struct options_error why;
    int r = config_setting_is_group(group) ? read_keys(reader, group, rule_keys)
                                           : fail(reader, group,
                                                  "rules: expected groups { match = \"*.npy\"; layout = "
                                                  "\"stripe(4M) disp 128\"; }");

    if (r < 0)
        return r;
    if (text_of(group, "match") == NULL || text_of(group, "layout") == NULL)
        return fail(reader, group, "rules: this one has no %s", text_of(group, "match") == NULL ? "match" : "layout");
    r = options_add_rule(reader->options, text_of(group, "match"), text_of(group, "layout"), &why);
    if (r == 0)
        r = note_where(reader, config_setting_get_member(group, "layout"),
                       &reader->options->rule[reader->options->n_rules - 1].where);
    return r == -EINVAL ? fail(reader, group, "rules: %s: %s", text_of(group, "match"), why.why) : r;
}

static int read_rules(const struct reader *reader, const config_setting_t *list)
{
    int n = config_setting_length(list), r = 0;

    for (int i = 0; r == 0 && i < n; i++)
        r = read_rule(reader, config_setting_get_elem(list, (unsigned) i));
    return r;
}

static const struct key layout_keys[] = {
    { "default", CONFIG_TYPE_STRING, .option = "layout" },  { "allow", CONFIG_TYPE_STRING, .option = "layout_allow" },
    { "gid", CONFIG_TYPE_INT, .option = "layout_gid" },     { "rules", CONFIG_TYPE_LIST, .read = read_rules },
    { "reserve", CONFIG_TYPE_STRING, .option = "reserve" }, { .name = NULL },
};

static const struct key io_keys[] = {
    { "direct", CONFIG_TYPE_BOOL, .option = "direct_io" },
    { "threads", CONFIG_TYPE_INT, .option = "threads" },
    { "timeout", CONFIG_TYPE_INT, .option = "timeout" },
    { "read_ahead", CONFIG_TYPE_STRING, .option = "read_ahead" },
    { "window", CONFIG_TYPE_STRING, .option = "window" }, /* for groups of processes */
    { .name = NULL },
};

/* What one user may have. */
static const struct key limits_keys[] = {
    { "descriptors", CONFIG_TYPE_INT, .option = "limit_descriptors" },
    { "views", CONFIG_TYPE_INT, .option = "limit_views" },
    { "view_memory", CONFIG_TYPE_STRING, .option = "limit_view_memory" },
    { "hole_memory", CONFIG_TYPE_STRING, .option = "limit_hole_memory" },
    { "groups", CONFIG_TYPE_INT, .option = "limit_groups" },
    { "jobs", CONFIG_TYPE_INT, .option = "limit_jobs" },
    { "description_memory", CONFIG_TYPE_STRING, .option = "limit_description_memory" },
    { .name = NULL },
};

static const struct key trace_keys[] = {
    { "start", CONFIG_TYPE_BOOL, .option = "trace" },
    { "sample", CONFIG_TYPE_INT, .option = "trace_sample" },
    { "ring", CONFIG_TYPE_STRING, .option = "trace_ring" },
    { .name = NULL },
};

/* All keys, in the order they take effect: those behind "options" win over what it says. */
static const struct key top_keys[] = {
    { "options", CONFIG_TYPE_STRING, .read = read_options }, { "mount", CONFIG_TYPE_STRING, .read = read_mount },
    { "disks", CONFIG_TYPE_NONE, .read = read_disks },       { "wait_disks", CONFIG_TYPE_INT, .option = "wait_disks" },
    { "missing", CONFIG_TYPE_STRING, .option = "missing" },  { "read_only", CONFIG_TYPE_BOOL, .option = "read_only" },
    { "layout", CONFIG_TYPE_GROUP, .keys = layout_keys },    { "io", CONFIG_TYPE_GROUP, .keys = io_keys },
    { "limits", CONFIG_TYPE_GROUP, .keys = limits_keys },    { "metrics", CONFIG_TYPE_STRING, .option = "metrics" },
    { "trace", CONFIG_TYPE_GROUP, .keys = trace_keys },      { .name = NULL },
};

/* -- the file -- */

int config_parse_text(const char *name, const char *text, size_t len, struct options *options,
                      struct options_error *ret_error)
{
    const struct reader reader = { .name = name, .options = options, .error = ret_error };
    cleanup(freep) char *copy = malloc(len + 2);
    config_t config;
    int r;

    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, text, len);
    memcpy(copy + len, "\n", 2); /* libconfig needs a line feed behind a comment */
    r = check_text(&reader, copy, len + 1);
    if (r < 0)
        return r;
    config_init(&config);
    if (config_read_string(&config, copy))
        r = read_keys(&reader, config_root_setting(&config), top_keys);
    else
        r = fail_at(&reader, (unsigned) MAX(config_error_line(&config), 1), "%s; see fallsfs.conf(5)",
                    config_error_text(&config));
    config_destroy(&config);
    return r;
}

static int check_file(const struct reader *reader, const struct stat *st)
{
    const char *why = NULL;

    if (!S_ISREG(st->st_mode))
        why = "it is not a file";
    else if (st->st_size > MAX_BYTES)
        why = "it is larger than 1 MiB";
    else if (geteuid() == 0 && st->st_uid != 0)
        why =
            "it belongs to another user, who could have root mount anything: chown root it, if it says what it should";
    else if (geteuid() == 0 && (st->st_mode & 022) != 0)
        why = "others may write it, and could have root mount anything: chmod go-w it, if it says what it should";
    if (why == NULL)
        return 0;
    (void) options_fail(reader->error, "%s: cannot be the configuration: %s", reader->name, why);
    return -EBADMSG;
}

/* Reads a file of MAX_BYTES at most. One byte more is read, if there is one, as the file may grow meanwhile. */
static int read_all(const struct reader *reader, int fd, char *text, size_t *ret_len)
{
    size_t len = 0;

    for (;;) {
        ssize_t n = read(fd, text + len, MAX_BYTES + 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n >= 0 && len + (size_t) n <= MAX_BYTES) {
            len += (size_t) n;
            if (n > 0)
                continue;
            *ret_len = len;
            return 0;
        }
        (void) options_fail(reader->error, "cannot read the configuration %s: %s", reader->name,
                            n < 0 ? strerror(errno) : "it is larger than 1 MiB");
        return -EBADMSG;
    }
}

int config_read_path(const char *path, struct options *options, struct options_error *ret_error)
{
    const struct reader reader = { .name = path, .options = options, .error = ret_error };
    cleanup(freep) char *text = malloc(MAX_BYTES + 1);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), r;
    struct stat st;
    size_t len;

    if (fd < 0 || fstat(fd, &st) < 0) {
        (void) options_fail(ret_error, "cannot open the configuration %s: %s", path, strerror(errno));
        r = -EBADMSG;
    } else {
        r = text != NULL ? check_file(&reader, &st) : -ENOMEM;
    }
    if (r == 0)
        r = read_all(&reader, fd, text, &len);
    if (fd >= 0)
        close(fd);
    return r < 0 ? r : config_parse_text(path, text, len, options, ret_error);
}

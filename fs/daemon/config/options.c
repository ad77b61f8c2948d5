/* SPDX-License-Identifier: MIT */
#include "fs/daemon/config/options.h"

#include "layout/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_SECONDS     86400
#define MAX_THREADS     1024
#define MAX_READ_AHEAD  (1 << 30)
#define MIN_WINDOW      (64 << 10)
#define MIN_RING        (64 << 10)
#define MAX_WINDOW      (4 << 20) /* as fallsfs_ioctl(4) says */
#define MAX_DESCRIPTORS (1 << 20)
#define MAX_VIEWS       (1 << 20)
#define MAX_GROUPS      (1 << 20)
#define MAX_JOBS        (1 << 20)
#define MAX_MEMORY      (1 << 30) /* bytes of one kind that a user may be allowed */

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
    *options = (struct options){ .timeout = 60,
                                 .read_ahead = 4 << 20,
                                 .window = MAX_WINDOW,
                                 .layout_gid = UINT32_MAX,
                                 .reserve = ROOM_USUAL,
                                 .limit_views = 4096,
                                 .limit_view_memory = 256 << 20,
                                 .limit_hole_memory = 64 << 20,
                                 .trace_sample = 1,
                                 .trace_ring = 64 << 20,
                                 .limit_groups = 4096,
                                 .limit_jobs = 4096 };
}

void options_done(struct options *options)
{
    for (uint32_t i = 0; i < options->n_disks; i++)
        free(options->disk[i]);
    free(options->disk);
    free(options->mountpoint);
    free(options->config);
    free(options->metrics);
    free(options->layout);
    free(options->layout_where);
    for (uint32_t i = 0; i < options->n_rules; i++) {
        free(options->rule[i].match);
        free(options->rule[i].layout);
        free(options->rule[i].where);
    }
    free(options->rule);
    free(options->fuse);
    *options = (struct options){ 0 };
}

int options_add_disk(struct options *options, const char *path)
{
    if (!array_grow(options->disk, options->n_disks))
        return -ENOMEM;
    options->disk[options->n_disks] = strdup(path);
    return options->disk[options->n_disks] != NULL ? (void) options->n_disks++, 0 : -ENOMEM;
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

static int set_path(char **path, const char *value, struct options_error *error)
{
    size_t len = strlen(value);

    return len == 0 || value[len - 1] == '/' ? options_fail(error, "not the path of a file, as in /run/fallsfs.prom")
                                             : set_text(path, value);
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

static int set_sample(uint32_t *ret, const char *value, struct options_error *error)
{
    uint32_t n = 0;

    if (set_number(&n, value, UINT16_MAX, error) < 0 || n == 0)
        return options_fail(error, "not a number from 1, which is every access, to %u", UINT16_MAX);
    *ret = n;
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

static int set_reserve(uint64_t *ret, const char *value, struct options_error *error)
{
    uint64_t size = ROOM_USUAL;

    if (strcmp(value, "usual") != 0 && layout_parse_size(value, &size) < 0)
        return options_fail(error, "it is usual or a size, as in 100G; 0: no disk is left out");
    *ret = size;
    return 0;
}

static int set_descriptions(uint64_t *ret, const char *value, struct options_error *error)
{
    uint64_t size;

    if (layout_parse_size(value, &size) < 0)
        return options_fail(error, "not a size, as in 512M; 0: a sixteenth of the memory there is");
    *ret = size;
    return 0;
}

/* Sets a layout after checking all of it but the disks it names: only the volume knows which there are. */
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
    struct layout_rule *rule;
    int r;

    if (!array_grow(options->rule, options->n_rules))
        return -ENOMEM;
    rule = &options->rule[options->n_rules];
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

/* Adds a rule that is written as PATTERN:LAYOUT. */
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
    if (IS("metrics"))
        return set_path(&options->metrics, value, error);
    if (IS("layout")) {
        free(steal(options->layout_where)); /* config.c notes it anew for a layout from a file */
        return set_layout(&options->layout, value, error);
    }
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
    if (IS("trace"))
        return set_choice(&options->trace, value, "false", "true", error);
    if (IS("trace_sample"))
        return set_sample(&options->trace_sample, value, error);
    if (IS("trace_ring"))
        return set_size(&options->trace_ring, value, MIN_RING, MAX_MEMORY, error);
    if (IS("nosymfollow"))
        return set_choice(&options->nosymfollow, value, "false", "true", error);
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
    if (IS("reserve"))
        return set_reserve(&options->reserve, value, error);
    if (IS("window"))
        return set_size(&options->window, value, MIN_WINDOW, MAX_WINDOW, error);
    if (IS("limit_descriptors"))
        return set_number(&options->limit_descriptors, value, MAX_DESCRIPTORS, error);
    if (IS("limit_views"))
        return set_number(&options->limit_views, value, MAX_VIEWS, error);
    if (IS("limit_view_memory"))
        return set_size(&options->limit_view_memory, value, 0, MAX_MEMORY, error);
    if (IS("limit_hole_memory"))
        return set_size(&options->limit_hole_memory, value, 0, MAX_MEMORY, error);
    if (IS("limit_groups"))
        return set_number(&options->limit_groups, value, MAX_GROUPS, error);
    if (IS("limit_jobs"))
        return set_number(&options->limit_jobs, value, MAX_JOBS, error);
    if (IS("limit_description_memory"))
        return set_descriptions(&options->limit_descriptions, value, error);
#undef IS
    return -ENOENT;
}

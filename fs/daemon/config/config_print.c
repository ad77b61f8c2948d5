/* SPDX-License-Identifier: MIT */
#include "fs/daemon/config/config.h"

#include <libconfig.h>
#include <limits.h>
#include <stdio.h>

/* A group that settings are added to. failed: libconfig had no memory for one, which it says by NULL or
 * CONFIG_FALSE. */
struct writer {
    config_setting_t *group;
    bool failed;
};

static config_setting_t *add(struct writer *writer, const char *name, int type)
{
    config_setting_t *setting = writer->group != NULL ? config_setting_add(writer->group, name, type) : NULL;

    writer->failed |= setting == NULL;
    return setting;
}

static void add_text(struct writer *writer, const char *name, const char *value)
{
    config_setting_t *setting = value != NULL ? add(writer, name, CONFIG_TYPE_STRING) : NULL;

    if (setting != NULL)
        writer->failed |= config_setting_set_string(setting, value) != CONFIG_TRUE;
}

static void add_number(struct writer *writer, const char *name, uint32_t value)
{
    config_setting_t *setting = add(writer, name, CONFIG_TYPE_INT);

    if (setting != NULL)
        (void) config_setting_set_int(setting, (int) value);
}

static void add_bool(struct writer *writer, const char *name, bool value)
{
    config_setting_t *setting = add(writer, name, CONFIG_TYPE_BOOL);

    if (setting != NULL)
        (void) config_setting_set_bool(setting, value);
}

/* Adds a number of bytes as text, such as "4M". */
static void add_size(struct writer *writer, const char *name, uint64_t value)
{
    char text[32];
    bool is_whole = value != 0 && value % (1 << 20) == 0;

    snprintf(text, sizeof text, is_whole ? "%" PRIu64 "M" : "%" PRIu64, is_whole ? value >> 20 : value);
    add_text(writer, name, text);
}

/* Adds "options", with the words of what has no key of its own. */
static void add_words(struct writer *writer, const struct options *options)
{
    cleanup(freep) char *words = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&words, &len);

    if (out == NULL) {
        writer->failed = true;
        return;
    }
    if (options->fuse != NULL)
        fprintf(out, ",%s", options->fuse);
    if (options->degraded)
        fputs(",degraded", out);
    if (options->nodiratime)
        fputs(",nodiratime", out);
    if (options->nosymfollow)
        fputs(",nosymfollow", out);
    if (options->max_read > 0)
        fprintf(out, ",max_read=%" PRIu32, options->max_read);
    if (options->layout_gid != UINT32_MAX && options->layout_gid > INT_MAX)
        fprintf(out, ",layout_gid=%" PRIu32, options->layout_gid);
    writer->failed |= fclose(out) != 0;
    if (len > 0 && !writer->failed)
        add_text(writer, "options", words + 1);
}

static void add_rules(struct writer *layout, const struct options *options)
{
    struct writer list = { .group = options->n_rules > 0 ? add(layout, "rules", CONFIG_TYPE_LIST) : NULL };

    for (uint32_t i = 0; i < options->n_rules; i++) {
        struct writer rule = { .group = add(&list, NULL, CONFIG_TYPE_GROUP) };

        add_text(&rule, "match", options->rule[i].match);
        add_text(&rule, "layout", options->rule[i].layout);
        layout->failed |= rule.failed;
    }
    layout->failed |= list.failed;
}

static void add_layout(struct writer *top, const struct options *options)
{
    static const char *const allow[] = { [ALLOW_OWNER] = "owner", [ALLOW_GROUP] = "gid", [ALLOW_ADMIN] = "admin" };
    struct writer layout = { .group = add(top, "layout", CONFIG_TYPE_GROUP) };

    add_text(&layout, "default", options->layout != NULL ? options->layout : DEFAULT_LAYOUT);
    add_text(&layout, "allow", allow[options->layout_allow]);
    if (options->layout_gid <= INT_MAX)
        add_number(&layout, "gid", options->layout_gid);
    add_rules(&layout, options);
    if (options->reserve == ROOM_USUAL)
        add_text(&layout, "reserve", "usual");
    else
        add_size(&layout, "reserve", options->reserve);
    top->failed |= layout.failed;
}

static void add_io(struct writer *top, const struct options *options)
{
    struct writer io = { .group = add(top, "io", CONFIG_TYPE_GROUP) };

    add_bool(&io, "direct", options->direct_io);
    add_number(&io, "threads", options->threads);
    add_number(&io, "timeout", options->timeout);
    add_size(&io, "read_ahead", options->read_ahead);
    add_size(&io, "window", options->window);
    top->failed |= io.failed;
}

static void add_limits(struct writer *top, const struct options *options)
{
    struct writer limits = { .group = add(top, "limits", CONFIG_TYPE_GROUP) };

    add_number(&limits, "descriptors", options->limit_descriptors);
    add_number(&limits, "views", options->limit_views);
    add_size(&limits, "view_memory", options->limit_view_memory);
    add_size(&limits, "hole_memory", options->limit_hole_memory);
    add_number(&limits, "groups", options->limit_groups);
    add_number(&limits, "jobs", options->limit_jobs);
    add_size(&limits, "description_memory", options->limit_descriptions);
    top->failed |= limits.failed;
}

static void add_trace(struct writer *top, const struct options *options)
{
    struct writer trace = { .group = add(top, "trace", CONFIG_TYPE_GROUP) };

    add_bool(&trace, "start", options->trace);
    add_number(&trace, "sample", options->trace_sample);
    add_size(&trace, "ring", options->trace_ring);
    top->failed |= trace.failed;
}

static void add_disks(struct writer *top, const char *const path[], uint32_t n)
{
    struct writer list = { .group = add(top, "disks", CONFIG_TYPE_LIST) };

    for (uint32_t i = 0; i < n; i++)
        add_text(&list, NULL, path[i]);
    top->failed |= list.failed;
}

int config_print(FILE *out, const struct options *options, const char *const disk[], uint32_t n_disks)
{
    config_t config;
    struct writer top;

    config_init(&config);
    top = (struct writer){ .group = config_root_setting(&config) };
    add_words(&top, options);
    add_text(&top, "mount", options->mountpoint);
    add_disks(&top, disk, n_disks);
    add_number(&top, "wait_disks", options->wait_disks);
    add_text(&top, "missing", options->missing_readonly ? "readonly" : "refuse");
    add_bool(&top, "read_only", options->read_only);
    if (options->metrics != NULL)
        add_text(&top, "metrics", options->metrics);
    add_layout(&top, options);
    add_io(&top, options);
    add_limits(&top, options);
    add_trace(&top, options);
    if (!top.failed)
        config_write(&config, out);
    config_destroy(&config);
    return top.failed ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: MIT */
#include "fs/daemon/config.h"

#include <libconfig.h>
#include <limits.h>
#include <stdio.h>

/* libconfig gives NULL, or CONFIG_FALSE, where it has no memory. */
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

/* Bytes as the notation has them: "4M". */
static void add_size(struct writer *writer, const char *name, uint32_t value)
{
    char text[32];
    bool is_whole = value != 0 && value % (1 << 20) == 0;

    snprintf(text, sizeof text, is_whole ? "%" PRIu32 "M" : "%" PRIu32, is_whole ? value >> 20 : value);
    add_text(writer, name, text);
}

/* What has no key of its own. */
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
    add_layout(&top, options);
    add_io(&top, options);
    if (!top.failed)
        config_write(&config, out);
    config_destroy(&config);
    return top.failed ? -ENOMEM : 0;
}

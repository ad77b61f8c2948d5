/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration: it is refused with a line and a reason, or all it sets is within limits, and what is
 * printed of it sets the same. */
#include "fs/daemon/config/config.h"
#include "layout/layout.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/libconfig_leaks.h"

#include <string.h>

static void check(const struct options *options)
{
    struct layout *layout = NULL;
    struct layout_error error;

    REQUIRE(options->wait_disks <= 86400 && options->timeout <= 86400 && options->threads <= 1024);
    REQUIRE(options->read_ahead <= 1 << 30 && options->window >= 64 << 10 && options->window <= 4 << 20);
    REQUIRE(options->limit_descriptors <= 1 << 20 && options->limit_views <= 1 << 20 &&
            options->limit_groups <= 1 << 20 && options->limit_jobs <= 1 << 20 &&
            options->limit_view_memory <= 1 << 30 && options->limit_hole_memory <= 1 << 30);
    REQUIRE(options->config == NULL);
    REQUIRE(options->mountpoint == NULL || options->mountpoint[0] == '/');
    for (uint32_t i = 0; i < options->n_disks; i++)
        REQUIRE(options->disk[i][0] == '/');
    if (options->layout != NULL) {
        REQUIRE(layout_parse(options->layout, strlen(options->layout), 0, &layout, &error) == 0);
        layout_free(layout);
    }
}

static char *print(const struct options *options)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    REQUIRE(out != NULL);
    REQUIRE(config_print(out, options, (const char *const *) options->disk, options->n_disks) == 0);
    REQUIRE(fclose(out) == 0);
    return text;
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* What is not said may be said in print: the usual layout. */
static void check_printed(const struct options *options)
{
    cleanup(options_done) struct options again = { 0 };
    cleanup(freep) char *text = print(options);
    struct options_error error = { .why = "" };

    options_init(&again);
    if (options->n_disks == 0) /* a volume has some */
        return;
    REQUIRE(config_parse_text("again", text, strlen(text), &again, &error) == 0);
    REQUIRE(again.n_disks == options->n_disks && again.n_rules == options->n_rules);
    for (uint32_t i = 0; i < again.n_disks; i++)
        REQUIRE(is_same(again.disk[i], options->disk[i]));
    for (uint32_t i = 0; i < again.n_rules; i++)
        REQUIRE(is_same(again.rule[i].match, options->rule[i].match) &&
                is_same(again.rule[i].layout, options->rule[i].layout));
    REQUIRE(is_same(again.layout, options->layout != NULL ? options->layout : DEFAULT_LAYOUT));
    REQUIRE(is_same(again.mountpoint, options->mountpoint) && is_same(again.fuse, options->fuse));
    REQUIRE(again.layout_allow == options->layout_allow && again.layout_gid == options->layout_gid);
    REQUIRE(again.read_only == options->read_only && again.degraded == options->degraded);
    REQUIRE(again.direct_io == options->direct_io && again.missing_readonly == options->missing_readonly);
    REQUIRE(again.wait_disks == options->wait_disks && again.threads == options->threads);
    REQUIRE(again.timeout == options->timeout && again.read_ahead == options->read_ahead);
    REQUIRE(again.max_read == options->max_read && again.window == options->window);
    REQUIRE(again.reserve == options->reserve);
    REQUIRE(again.limit_views == options->limit_views && again.limit_view_memory == options->limit_view_memory);
    REQUIRE(again.limit_descriptors == options->limit_descriptors);
    REQUIRE(again.limit_hole_memory == options->limit_hole_memory);
    REQUIRE(again.limit_jobs == options->limit_jobs);
    REQUIRE(again.limit_groups == options->limit_groups && again.limit_descriptions == options->limit_descriptions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(options_done) struct options options = { 0 };
    struct options_error error = { .why = "" };
    int r;

    options_init(&options);
    r = config_parse_text("conf", (const char *) data, size, &options, &error);
    REQUIRE(r == 0 || (r == -EBADMSG && strncmp(error.why, "conf:", 5) == 0 && strlen(error.why) > 8));
    if (r == 0) {
        check(&options);
        check_printed(&options);
    }
    return 0;
}

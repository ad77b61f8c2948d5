/* SPDX-License-Identifier: MIT */
/* Any bytes as a configuration: it is refused with a line and a reason, or all it sets is within limits. */
#include "fs/daemon/config.h"
#include "layout/layout.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/libconfig_leaks.h"

#include <string.h>

static void check(const struct options *options)
{
    struct layout *layout = NULL;
    struct layout_error error;

    REQUIRE(options->wait_disks <= 86400 && options->timeout <= 86400 && options->threads <= 1024);
    REQUIRE(options->read_ahead <= 1 << 30);
    REQUIRE(options->config == NULL);
    REQUIRE(options->mountpoint == NULL || options->mountpoint[0] == '/');
    for (uint32_t i = 0; i < options->n_disks; i++)
        REQUIRE(options->disk[i][0] == '/');
    if (options->layout != NULL) {
        REQUIRE(layout_parse(options->layout, strlen(options->layout), 0, &layout, &error) == 0);
        layout_free(layout);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(options_done) struct options options = { 0 };
    struct options_error error = { .why = "" };
    int r;

    options_init(&options);
    r = config_parse_text("conf", (const char *) data, size, &options, &error);
    REQUIRE(r == 0 || (r == -EBADMSG && strncmp(error.why, "conf:", 5) == 0 && strlen(error.why) > 8));
    if (r == 0)
        check(&options);
    return 0;
}

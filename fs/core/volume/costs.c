/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/costs.h"

#include "fs/core/disk/file_text.h"
#include "fs/core/volume/sealed.h"

#include <libconfig.h>
#include <string.h>

#define FORMAT   1
#define MAX_TEXT 16384

/* -- text -- */

static void print_side(FILE *out, const char *name, const struct costs_of *of)
{
    fprintf(out, "%s = { call = \"%" PRIu64 "\"; seek = \"%" PRIu64 "\"; rate = \"%" PRIu64 "\"; };\n", name, of->call,
            of->seek, of->rate);
}

static void print_body(FILE *out, const void *what)
{
    const struct costs *costs = what;

    fprintf(out, "format = %d;\n", FORMAT);
    sealed_print_id(out, "disk", costs->disk);
    fprintf(out, "\nmeasured = \"%" PRIu64 "\";\ndirect = %s;\nspread = %" PRIu32 ";\n", costs->measured,
            costs->direct ? "true" : "false", costs->spread);
    print_side(out, "read", &costs->read);
    print_side(out, "write", &costs->write);
    fputs("chunks = (\n", out);
    for (uint32_t i = 0; i < costs->n_chunks; i++) {
        const struct costs_chunk *chunk = &costs->chunk[i];

        fprintf(out,
                "    { bytes = %" PRIu32 "; read = \"%" PRIu64 "\"; read_apart = \"%" PRIu64 "\"; write = \"%" PRIu64
                "\"; write_apart = \"%" PRIu64 "\"; }%s\n",
                chunk->bytes, chunk->read, chunk->read_apart, chunk->write, chunk->write_apart,
                i + 1 < costs->n_chunks ? "," : "");
    }
    fputs(");\n", out);
}

static bool read_side(const config_setting_t *in, const char *name, struct costs_of *of)
{
    const config_setting_t *side = config_setting_get_member(in, name);

    return side != NULL && sealed_number(side, "call", &of->call) && sealed_number(side, "seek", &of->seek) &&
           sealed_number(side, "rate", &of->rate) && of->call <= COSTS_MAX_NS && of->seek <= COSTS_MAX_NS &&
           of->rate > 0;
}

static bool read_chunk(const config_setting_t *in, struct costs_chunk *chunk)
{
    return sealed_small(in, "bytes", &chunk->bytes) && chunk->bytes > 0 && sealed_number(in, "read", &chunk->read) &&
           sealed_number(in, "read_apart", &chunk->read_apart) && sealed_number(in, "write", &chunk->write) &&
           sealed_number(in, "write_apart", &chunk->write_apart);
}

static bool read_chunks(const config_setting_t *in, struct costs *costs)
{
    int n = in != NULL && config_setting_is_list(in) ? config_setting_length(in) : -1;

    if (n < 0 || n > COSTS_MAX_CHUNKS)
        return false;
    for (costs->n_chunks = 0; costs->n_chunks < (uint32_t) n; costs->n_chunks++)
        if (!read_chunk(config_setting_get_elem(in, costs->n_chunks), &costs->chunk[costs->n_chunks]))
            return false;
    return true;
}

static int read_settings(const config_setting_t *in, void *ret_costs)
{
    struct costs *costs = ret_costs;
    uint32_t format;
    int direct;

    if (!sealed_small(in, "format", &format) || format != FORMAT || !sealed_id(in, "disk", costs->disk) ||
        !sealed_number(in, "measured", &costs->measured) || !config_setting_lookup_bool(in, "direct", &direct) ||
        !sealed_small(in, "spread", &costs->spread) || !read_side(in, "read", &costs->read) ||
        !read_side(in, "write", &costs->write) || !read_chunks(config_setting_get_member(in, "chunks"), costs))
        return -EUCLEAN;
    costs->direct = direct != 0;
    return 0;
}

static const struct sealed_kind kind = { FORMAT, print_body, read_settings };

int costs_print(const struct costs *costs, char **ret_text)
{
    return sealed_print(&kind, costs, ret_text);
}

int costs_parse(const char *text, size_t len, struct costs *ret_costs)
{
    struct costs costs = { 0 };
    int r = sealed_parse(&kind, text, len, &costs);

    if (r == 0)
        *ret_costs = costs;
    return r;
}

/* -- file -- */

int costs_read(const struct disk *disk, const uint8_t uuid[DISK_UUID_SIZE], struct costs *ret_costs)
{
    cleanup(freep) char *text = NULL;
    struct costs costs;
    size_t len;
    int r = file_text_read(disk, COSTS_NAME, MAX_TEXT, &text, &len);

    if (r == 0)
        r = costs_parse(text, len, &costs);
    if (r == 0 && memcmp(costs.disk, uuid, DISK_UUID_SIZE) != 0)
        r = -EXDEV;
    if (r == 0)
        *ret_costs = costs;
    return r;
}

int costs_write(const struct disk *disk, const struct costs *costs)
{
    cleanup(freep) char *text = NULL;
    int r = costs_print(costs, &text);

    return r < 0 ? r : file_text_replace(disk, COSTS_NAME, text, strlen(text));
}

void costs_learn(struct disk *disk, const struct costs *costs)
{
    const uint64_t rate = MAX(costs->read.rate, 1);

    atomic_store_explicit(&disk->read_mib, (UINT64_C(1000000000) << 20) / rate, memory_order_relaxed);
    atomic_store_explicit(&disk->read_call, MAX(costs->read.call + costs->read.seek, 1), memory_order_relaxed);
}

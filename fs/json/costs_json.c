/* SPDX-License-Identifier: MIT */
#include "fs/json/costs_json.h"

static void json_side(struct json *json, const char *name, const struct costs_of *of)
{
    json_open(json, name, '{');
    json_u64(json, "call_ns", of->call);
    json_u64(json, "seek_ns", of->seek);
    json_u64(json, "bytes_per_second", of->rate);
    json_close(json, '}');
}

static void json_chunk(struct json *json, const struct costs_chunk *chunk)
{
    json_open(json, NULL, '{');
    json_u64(json, "bytes", chunk->bytes);
    json_u64(json, "read", chunk->read);
    json_u64(json, "read_apart", chunk->read_apart);
    json_u64(json, "write", chunk->write);
    json_u64(json, "write_apart", chunk->write_apart);
    json_close(json, '}');
}

void costs_json(struct json *json, const struct costs *costs)
{
    json_u64(json, "measured", costs->measured);
    json_bool(json, "direct", costs->direct);
    json_u64(json, "spread", costs->spread);
    json_side(json, "read", &costs->read);
    json_side(json, "write", &costs->write);
    json_open(json, "chunks", '[');
    for (uint32_t i = 0; i < costs->n_chunks; i++)
        json_chunk(json, &costs->chunk[i]);
    json_close(json, ']');
}

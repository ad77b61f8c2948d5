/* SPDX-License-Identifier: MIT */
#include "fs/ctl/json.h"

#include "fs/ctl/ctl.h"
#include "fs/ctl/utf8.h"

static void put_string(FILE *out, const char *s)
{
    fputc('"', out);
    while (*s != 0) {
        unsigned char c = (unsigned char) *s;
        size_t len = utf8_len(s);

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ')
            fprintf(out, "\\u%04x", c);
        else if (len == 0)
            fputs(UTF8_REPLACEMENT, out);
        else
            fwrite(s, 1, len, out);
        s += MAX(len, 1);
    }
    fputc('"', out);
}

static void put_name(struct json *json, const char *name)
{
    if (json->follows)
        fputc(',', json->out);
    json->follows = true;
    if (name != NULL) {
        put_string(json->out, name);
        fputc(':', json->out);
    }
}

void json_begin(struct json *json, FILE *out)
{
    *json = (struct json){ .out = out };
    json_open(json, NULL, '{');
    json_u64(json, "output_version", OUTPUT_VERSION);
}

void json_end(struct json *json)
{
    json_close(json, '}');
    fputc('\n', json->out);
}

void json_open(struct json *json, const char *name, char bracket)
{
    put_name(json, name);
    fputc(bracket, json->out);
    json->follows = false;
}

void json_close(struct json *json, char bracket)
{
    fputc(bracket, json->out);
    json->follows = true;
}

void json_u64(struct json *json, const char *name, uint64_t value)
{
    put_name(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

void json_real(struct json *json, const char *name, double value)
{
    put_name(json, name);
    fprintf(json->out, "%.4f", value);
}

void json_seconds(struct json *json, const char *name, double value)
{
    put_name(json, name);
    fprintf(json->out, "%.9f", value);
}

void json_bool(struct json *json, const char *name, bool value)
{
    put_name(json, name);
    fputs(value ? "true" : "false", json->out);
}

void json_string(struct json *json, const char *name, const char *value)
{
    put_name(json, name);
    if (value != NULL)
        put_string(json->out, value);
    else
        fputs("null", json->out);
}

void json_raw(struct json *json, const char *name, char open, const char *values, char close)
{
    put_name(json, name);
    fprintf(json->out, "%c%s%c", open, values, close);
}

/* SPDX-License-Identifier: MIT */
#include "fs/json/json.h"

#include "fs/json/utf8.h"

static void put_string(FILE *out, const char *s)
{
    fputc('"', out);
    while (*s != 0) {
        unsigned char c = (unsigned char) *s;
        size_t len = utf8_len(s);

        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (utf8_acts(s, len) && len > 0)
            fprintf(out, "\\u%04x", len == 1 ? c : (unsigned char) s[1]);
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

/* Writes a number with no more digits than it needs: jq prints numbers as they were written since its 1.7, and would
 * not write 8.0000 itself. */
static void put_real(struct json *json, double value, int digits)
{
    char text[400];
    size_t len = (size_t) snprintf(text, sizeof text, "%.*f", digits, value);

    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    fprintf(json->out, "%.*s", (int) len, text);
}

void json_real(struct json *json, const char *name, double value)
{
    put_name(json, name);
    put_real(json, value, 4);
}

void json_seconds(struct json *json, const char *name, double value)
{
    put_name(json, name);
    put_real(json, value, 9);
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

/* SPDX-License-Identifier: MIT */
#include "fs/core/volume/sealed.h"

#include "fs/core/volume/record.h"

#include <libconfig.h>
#include <string.h>
#include <xxhash.h>

static const char checksum_key[] = "checksum = \"";

int sealed_print(const struct sealed_kind *kind, const void *what, char **ret_text)
{
    cleanup(freep) char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    bool failed;

    if (out == NULL)
        return -ENOMEM;
    kind->print(out, what);
    if (fflush(out) == 0)
        fprintf(out, "%s%016" PRIx64 "\";\n", checksum_key, (uint64_t) XXH3_64bits(text, len));
    failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return -ENOMEM;
    *ret_text = steal(text);
    return 0;
}

/* Whether libconfig would include a file. That could be any file, also one that never ends. */
static bool includes(const char *text, size_t len)
{
    const char *end = text + len;

    for (const char *line = text; line != NULL && line < end; line = memchr(line, '\n', (size_t) (end - line))) {
        while (line < end && (*line == '\n' || *line == '\r' || *line == ' ' || *line == '\t'))
            line++;
        if (line < end && *line == '@')
            return true;
    }
    return false;
}

/* Whether the text ends with its checksum. This is asked before the text is parsed: no damaged text gets to the parser.
 */
static bool is_whole(const char *text, size_t len)
{
    const char *line = memmem(text, len, checksum_key, sizeof checksum_key - 1);
    char want[64];

    if (line == NULL || memchr(text, 0, len) != NULL)
        return false;
    snprintf(want, sizeof want, "%s%016" PRIx64 "\";\n", checksum_key,
             (uint64_t) XXH3_64bits(text, (size_t) (line - text)));
    return strlen(want) == len - (size_t) (line - text) && memcmp(want, line, strlen(want)) == 0;
}

/* Whether a text is of a later format: what else is in it, only a newer fallsfs knows. */
static bool is_newer(const char *text, uint32_t newest)
{
    static const char key[] = "format = ";
    unsigned long long format;
    char *end;

    if (strncmp(text, key, sizeof key - 1) != 0 || text[sizeof key - 1] < '1' || text[sizeof key - 1] > '9')
        return false;
    format = strtoull(text + sizeof key - 1, &end, 10);
    return format > newest && strncmp(end, ";\n", 2) == 0;
}

int sealed_parse(const struct sealed_kind *kind, const char *text, size_t len, void *what)
{
    cleanup(freep) char *copy = NULL, *again = NULL;
    config_t config;
    int r = -EUCLEAN;

    if (!is_whole(text, len))
        return -EUCLEAN;
    copy = strndup(text, len);
    if (copy == NULL)
        return -ENOMEM;
    if (is_newer(copy, kind->format))
        return -EPROTONOSUPPORT;
    if (includes(text, len))
        return -EUCLEAN;
    config_init(&config);
    if (config_read_string(&config, copy))
        r = kind->read(config_root_setting(&config), what);
    config_destroy(&config);
    if (r == 0)
        r = sealed_print(kind, what, &again);
    if (r == 0 && strcmp(again, copy) != 0) /* a checksum can be forged */
        r = -EUCLEAN;
    return r;
}

/* -- settings -- */

void sealed_print_id(FILE *out, const char *key, const uint8_t id[DISK_UUID_SIZE])
{
    char hex[2 * DISK_UUID_SIZE + 1];

    hex_print(id, DISK_UUID_SIZE, hex);
    fprintf(out, "%s = \"%s\";", key, hex);
}

bool sealed_id(const struct config_setting_t *in, const char *key, uint8_t ret[DISK_UUID_SIZE])
{
    const char *hex;

    return config_setting_lookup_string(in, key, &hex) && strlen(hex) == 2 * DISK_UUID_SIZE &&
           hex_parse(hex, DISK_UUID_SIZE, ret) == 0;
}

bool sealed_number(const struct config_setting_t *in, const char *key, uint64_t *ret)
{
    const char *text;
    char *end;

    if (!config_setting_lookup_string(in, key, &text))
        return false;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && *end == 0;
}

bool sealed_small(const struct config_setting_t *in, const char *key, uint32_t *ret)
{
    int value;

    if (!config_setting_lookup_int(in, key, &value) || value < 0)
        return false;
    *ret = (uint32_t) value;
    return true;
}

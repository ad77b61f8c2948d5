/* SPDX-License-Identifier: MIT */
/* fallsctl where: on which disk single bytes and elements of arrays lie. */
#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "layout/map.h"

#include <stdarg.h>
#include <string.h>

static const char help[] =
    "usage: fallsctl where [--json] FILE OFFSET|I,J...\n"
    "\n"
    "Says where bytes of a file lie: at offsets, or at indices into the array that the file is said to hold\n"
    "(user.falls.array), counted from 0. A line for each: what was asked, the offset in the file, the element of the\n"
    "layout (h is the header), the offset in its subfile, the disk, and the subfile.\n"
    "\n"
    "  --json    machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl where /fast/a.dat 0 1M 4095\n"
    "  fallsctl where /fast/matrix 17,4096\n"
    "  fallsctl where --json /fast/matrix 0,0 | jq -r '.places[].disk'\n";

struct request {
    const char *path;
    struct file_info info;
    bool as_json;
    struct json json;
    int done, failed;
};

PRINTF_LIKE(3, 4) static void fail(struct request *request, const char *word, const char *fmt, ...)
{
    char why[512];
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, sizeof why, fmt, list);
    va_end(list);
    utf8_complain("%s: %s: %s", request->path, word, why);
    if (request->as_json) {
        json_open(&request->json, NULL, '{');
        json_string(&request->json, "place", word);
        json_string(&request->json, "error", why);
        json_close(&request->json, '}');
    }
    request->failed++;
}

/* Finds the byte of an array's element by its indices I,J,..., as many as the array has dimensions. */
static bool read_indices(struct request *request, const char *word, uint64_t *ret_off)
{
    const struct array *array = &request->info.array;
    cleanup(freep) char *copy = strdup(word);
    uint64_t index[ARRAY_MAX_DIMS], pace = array->elem, off = array->header;
    char *rest = copy;
    uint32_t n = 0;

    if (request->info.array_text == NULL) {
        fail(request, word,
             "nobody has said what array this is: 'fallsctl array set FILE' reads it from headers, or say it, "
             "setfattr -n user.falls.array -v 'shape=8192x8192 type=f8' FILE");
        return false;
    }
    while (rest != NULL && n < ARRAY_MAX_DIMS) {
        if (layout_parse_size(strsep(&rest, ","), &index[n++]) < 0) {
            fail(request, word, "not an index or offset");
            return false;
        }
    }
    if (n != array->ndims || rest != NULL) {
        fail(request, word, "the array has %" PRIu32 " dimensions: %s", array->ndims, request->info.array_text);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t dim = array_dim(array, i);

        if (index[dim] >= array->size[dim]) {
            fail(request, word, "index %" PRIu64 " lies outside dimension %" PRIu32 ", which has 0 to %" PRIu64,
                 index[dim], dim, array->size[dim] - 1);
            return false;
        }
        off += index[dim] * pace;
        pace *= array->size[dim];
    }
    *ret_off = off;
    return true;
}

/* Finds a field in what the mount says of a byte, "element=1 suboffset=0 disk=d1 object=/mnt/d1/...". The object's path
 * comes last, and may have blanks. */
static bool read_field(const char *text, const char *name, const char **ret_value, int *ret_len)
{
    const char *at = strstr(text, name);

    if (at == NULL)
        return false;
    *ret_value = at + strlen(name);
    *ret_len = strcmp(name, "object=") == 0 ? (int) strlen(*ret_value) : (int) strcspn(*ret_value, " ");
    return true;
}

static void tell(struct request *request, const char *word, uint64_t off, const char *at)
{
    static const char *const name[] = { "element=", "suboffset=", "disk=", "object=" };
    const char *value[ARRAY_SIZE(name)];
    int len[ARRAY_SIZE(name)];

    for (size_t i = 0; i < ARRAY_SIZE(name); i++)
        if (!read_field(at, name[i], &value[i], &len[i])) {
            fail(request, word, "the mount says '%s', which makes no sense here", at);
            return;
        }
    request->done++;
    if (!request->as_json) {
        printf("%s  %" PRIu64 "  %.*s  %.*s  %.*s  %.*s\n", word, off, len[0], value[0], len[1], value[1], len[2],
               value[2], len[3], value[3]);
        return;
    }
    json_open(&request->json, NULL, '{');
    json_string(&request->json, "place", word);
    json_u64(&request->json, "offset", off);
    for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
        cleanup(freep) char *key = strndup(name[i], strlen(name[i]) - 1), *text = strndup(value[i], (size_t) len[i]);

        if (i < 2 && text != NULL && *text != 'h')
            json_u64(&request->json, key, strtoull(text, NULL, 10));
        else
            json_string(&request->json, key, text);
    }
    json_close(&request->json, '}');
}

static void find_one(struct request *request, const char *word)
{
    cleanup(freep) char *at = NULL;
    char name[32];
    uint64_t off = 0;
    int r = strchr(word, ',') == NULL ? layout_parse_size(word, &off) : 0;

    if (strchr(word, ',') != NULL ? !read_indices(request, word, &off) : r < 0) {
        if (r < 0)
            fail(request, word, r == -EOVERFLOW ? "lies past 2^62, the last byte a layout can reach" : "not an offset");
        return;
    }
    snprintf(name, sizeof name, "at.%" PRIu64, off);
    r = attrs_get(request->path, name, &at);
    if (r < 0)
        fail(request, word, "%s", strerror(-r));
    else
        tell(request, word, off, at);
}

enum ctl_status ctl_where(int argc, char **argv)
{
    struct request request = { 0 };
    const struct arg arg[] = { { .name = "--json", .set = &request.as_json } };
    struct args args = { .verb = "where", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    char why[ATTRS_WHY];
    enum ctl_status status;
    int r;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n < 2)
        return args_complain("where", args.n == 0 ? "which file?" : "which offsets or indices?", NULL);
    request.path = args.word[0];
    r = file_info_init(&request.info, request.path, why);
    if (r < 0 || request.info.is_dir) {
        file_info_done(&request.info);
        return report(request.as_json, "%s: %s", request.path, r < 0 ? why : "is a directory: name a file");
    }
    if (request.as_json) {
        json_begin(&request.json, stdout);
        json_string(&request.json, "file", request.path);
        json_open(&request.json, "places", '[');
    }
    for (int i = 1; i < args.n; i++)
        find_one(&request, args.word[i]);
    if (request.as_json) {
        json_close(&request.json, ']');
        json_end(&request.json);
    }
    file_info_done(&request.info);
    return request.failed == 0 ? CTL_OK : request.done > 0 ? CTL_PARTIAL : CTL_ERROR;
}

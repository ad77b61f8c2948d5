/* SPDX-License-Identifier: MIT */
/* fallsctl replica list: in which layouts files lie, and how much of them. */
#include "fs/ctl/ask/replicas_info.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"

static const char help[] =
    "usage: fallsctl replica list [-b] " TABLE_USAGE " [--json] FILE...\n"
    "\n"
    "Says for files which replicas they have, a line for each:\n"
    "\n"
    "  NUMBER    by which it is dropped\n"
    "  STATE     filled; filling, which begins when nobody has changed the file for some seconds; failing, which is tried\n"
    "            again; lost, which is of no use: drop it\n"
    "  HAS       how much of its range can be read from it\n"
    "  DURABLE   how much of that the next mount will find, also after a crash\n"
    "  ROOM      what it takes on the disks\n"
    "  RANGE     which bytes of the file it is to have\n"
    "  ON-WRITE  what becomes of it where the file is written: drop or update\n"
    "\n"
    "  -b              sizes in bytes; else in powers of 1024\n" TABLE_HELP
    "  --json          machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl replica list /fast/matrix\n"
    "  fallsctl replica list --raw -o FILE,NUMBER,STATE /fast/run7/*\n";

static const struct column columns[] = {
    { "FILE", COLUMN_LEFT },     { "NUMBER", COLUMN_RIGHT },  { "STATE", COLUMN_LEFT }, { "FILLED", COLUMN_RIGHT },
    { "HAS", COLUMN_RIGHT },     { "DURABLE", COLUMN_RIGHT }, { "ROOM", COLUMN_RIGHT }, { "RANGE", COLUMN_LEFT },
    { "ON-WRITE", COLUMN_LEFT }, { "LAYOUT", COLUMN_LEFT },   { "WHY", COLUMN_LEFT }
};

#define USUAL "FILE,NUMBER,STATE,FILLED,HAS,DURABLE,ROOM,RANGE,ON-WRITE,LAYOUT"

struct request {
    bool raw;
    uint32_t n_rows;
    struct paths paths;
    struct table table;
};

static void add_range(struct request *request, const struct replica_info *replica)
{
    char off[SIZE_TEXT], len[SIZE_TEXT];

    if (replica->offset == 0 && replica->length == UINT64_MAX)
        table_add(&request->table, "all");
    else if (replica->length == UINT64_MAX)
        table_addf(&request->table, "%s:", size_text(replica->offset, request->raw, off));
    else
        table_addf(&request->table, "%s:%s", size_text(replica->offset, request->raw, off),
                   size_text(replica->length, request->raw, len));
}

static const char *or_unknown(const char *text)
{
    return text != NULL ? text : "?";
}

static void add_row(struct request *request, const char *path, const struct replica_info *replica)
{
    struct table *table = &request->table;
    char text[SIZE_TEXT];

    request->n_rows++;
    table_add(table, path);
    table_addf(table, "%" PRIu64, replica->number);
    table_add(table, or_unknown(replica->state));
    table_addf(table, "%" PRIu32 "%%", replica_info_percent(replica));
    table_add(table, size_text(replica->has, request->raw, text));
    table_add(table, size_text(replica->durable, request->raw, text));
    table_add(table, size_text(replica->room, request->raw, text));
    add_range(request, replica);
    table_addf(table, "%s%s", or_unknown(replica->on_write), replica->is_copy ? ", copy" : "");
    table_add(table, or_unknown(replica->layout));
    table_add(table, replica->error != NULL ? replica->error : "");
}

static void json_file(struct request *request, const char *path, const struct replicas_info *info)
{
    struct json *json = &request->paths.json;

    json_open(json, NULL, '{');
    json_string(json, "file", path);
    json_open(json, "replicas", '[');
    for (uint32_t i = 0; i < info->n; i++)
        json_again(json, NULL, info->replica[i].said);
    json_close(json, ']');
    json_close(json, '}');
}

static void list_one(struct request *request, const char *path)
{
    cleanup(replicas_info_done) struct replicas_info info = { 0 };
    char why[ATTRS_WHY];

    if (replicas_info_init(&info, path, why) < 0) {
        paths_fail(&request->paths, path, "%s", why);
        return;
    }
    request->paths.done++;
    if (request->paths.as_json)
        json_file(request, path, &info);
    for (uint32_t i = 0; i < info.n; i++) {
        add_row(request, path, &info.replica[i]);
        if (info.replica[i].error != NULL)
            utf8_complain("%s: replica %" PRIu64 ": %s", path, info.replica[i].number, info.replica[i].error);
    }
    if (info.n == 0 && !request->paths.as_json)
        utf8_complain("%s: has no replica", path);
}

enum ctl_status ctl_replica_list(int argc, char **argv)
{
    struct request request = { .raw = false };
    struct table_options options = { 0 };
    bool as_json = false;
    struct arg arg[2 + TABLE_ARGS] = { { .name = "-b", .other = "--bytes", .set = &request.raw },
                                       { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "replica list", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    table_args(&options, arg + 2);
    if (!args_read(&args, argc, argv, &status) ||
        !table_check(&options, "replica list", columns, ARRAY_SIZE(columns), &status))
        return status;
    if (args.n == 0)
        return args_complain("replica list", "which files?", NULL);
    table_init(&request.table, columns, ARRAY_SIZE(columns), USUAL, &options);
    paths_begin(&request.paths, as_json);
    for (int i = 0; i < args.n; i++)
        list_one(&request, args.word[i]);
    if (!as_json && (request.n_rows > 0 || table_is_alone(&options)))
        (void) table_print(&request.table, stdout);
    table_done(&request.table);
    return paths_end(&request.paths);
}

/* SPDX-License-Identifier: MIT */
/* fallsctl bench: how fast sections of arrays come and go on a mount, in the ways that there are. */
#include "fs/ctl/ask/mounts.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "ioctl/client/bench/content.h"
#include "ioctl/client/bench/method.h"
#include "ioctl/client/bench/paper.h"
#include "ioctl/client/bench/pieces.h"
#include "ioctl/client/bench/trial.h"
#include "layout/array.h"

#include <ctype.h>
#include <fallsfs.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: fallsctl bench sections [-n P] [--rounds N] " TABLE_USAGE " [--json] FILE CASE...\n"
    "       fallsctl bench sections [-n P] [--rounds N] [--json] --size N,N,... [--elem BYTES] [--order col|row]\n"
    "                               [--write] FILE SECTION...\n"
    "\n"
    "Makes the new file FILE in a mounted volume, lets P processes read or write sections of the array in it, and removes\n"
    "it. Each way is checked byte by byte, then timed; all take turns. The ways are\n"
    "\n"
    "  direct        each process, a system call for each piece that is contiguous in the file\n"
    "  independent   each process, its section in one request, sieved\n"
    "  static        all together, the array being divided in equal parts\n"
    "  dynamic       all together, what is asked for going to whoever is free\n"
    "\n"
    "A CASE is a table of Thakur and Choudhary, An extended two-phase method for accessing sections of out-of-core\n"
    "arrays, 1 to 8, or one line of it, 5/III; where one reads and writes, the line that writes ends with w, 8/VIw.\n"
    "A SECTION is lower:upper:stride in each dimension, from 1, both included; p is the process, counted from 0, and P how\n"
    "many there are. What lies outside the array is cut off.\n"
    "\n"
    "  -n P, --processes P   1 to 256; 16 unless told\n"
    "  --rounds N            how often each is timed, 1 to 32; 7 unless told\n"
    "  --size N,N,...        the array, for a SECTION\n"
    "  --elem BYTES          of an element; 4 unless told\n"
    "  --order col|row       how the array is stored: col, as in Fortran, unless told\n"
    "  --write               the sections are written; else they are read\n" TABLE_HELP
    "  --json                machine-readable output; seconds, and quartiles with the medians\n"
    "\n"
    "examples:\n"
    "  fallsctl bench sections /fast/try 5\n"
    "  fallsctl bench sections -n 4 --json /fast/try 1/I 6/III | jq '.cases[].methods[].median'\n"
    "  fallsctl bench sections -n 8 --size 1000,1000 --elem 8 --write /fast/try '(1+125p:125+125p:2,1:1000)'\n";

static const struct method *const methods[] = { &method_direct, &method_independent, &method_static, &method_dynamic };

#define WAYS ARRAY_SIZE(methods)

struct bench {
    const char *file;
    uint32_t nranks, n_rounds;
    bool write, as_json;
    struct fallsfs_array array; /* of sections; of cases that of their table */
    struct fallsfs_array made;  /* what the file has been filled for; ndims 0: nothing */
    struct squad *squad;
    uint32_t n_tasks, n_failed;
    struct json json;
    struct table_options options;
    struct table table;
};

/* -- the file, which must not stay whatever happens -- */

static const char *file_to_remove;

static void remove_file(int signal)
{
    if (file_to_remove != NULL)
        unlink(file_to_remove);
    _exit(128 + signal);
}

static int make_file(const struct bench *bench)
{
    const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    const struct sigaction action = { .sa_handler = remove_file };
    int fd = open(bench->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    close(fd);
    file_to_remove = bench->file;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        (void) sigaction(ends[i], &action, NULL);
    return 0;
}

static void unmake_file(void)
{
    unlink(file_to_remove);
    file_to_remove = NULL;
}

static bool is_in_mount(const char *file)
{
    cleanup(mounts_done) struct mounts mounts = { 0 };
    cleanup(freep) char *real = realpath(file, NULL);
    const char *below;

    return real != NULL && mounts_read(&mounts) == 0 && mounts_around(&mounts, real, &below) != NULL;
}

/* Fills the file for an array, unless it has been filled for the same one: every case leaves the bytes as they were. */
static int fill_file(struct bench *bench, const struct fallsfs_array *array)
{
    int r = 0;

    if (memcmp(array, &bench->made, sizeof *array) != 0)
        r = content_make_file(bench->file, array);
    if (r == 0)
        bench->made = *array;
    return r;
}

/* -- telling -- */

static void tell_json(struct bench *bench, const char *name, const struct trial *trial, uint64_t pieces, uint64_t bytes)
{
    struct json *json = &bench->json;
    double direct = spread_of(trial->contender[0].seconds, trial->contender[0].n_samples).mid;

    json_open(json, NULL, '{');
    json_string(json, "case", name);
    json_bool(json, "write", trial->write);
    json_u64(json, "pieces", pieces);
    json_u64(json, "bytes", bytes);
    json_open(json, "methods", '[');
    for (uint32_t i = 0; i < WAYS; i++) {
        const struct contender *c = &trial->contender[i];
        struct spread spread = spread_of(c->seconds, c->n_samples);

        json_open(json, NULL, '{');
        json_string(json, "method", methods[i]->name);
        if (c->error < 0) {
            json_string(json, "error", c->why);
        } else {
            json_u64(json, "samples", c->n_samples);
            json_seconds(json, "median", spread.mid);
            json_seconds(json, "lower_quartile", spread.low);
            json_seconds(json, "upper_quartile", spread.high);
            if (direct > 0)
                json_real(json, "speed_up", direct / spread.mid);
        }
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

static const struct column columns[] = {
    { "CASE", COLUMN_LEFT },      { "OP", COLUMN_LEFT },        { "PIECES", COLUMN_RIGHT },
    { "BYTES", COLUMN_RIGHT },    { "DIRECT", COLUMN_RIGHT },   { "INDEPENDENT", COLUMN_RIGHT },
    { "SPEED-UP", COLUMN_RIGHT }, { "STATIC", COLUMN_RIGHT },   { "SPEED-UP", COLUMN_RIGHT },
    { "DYNAMIC", COLUMN_RIGHT },  { "SPEED-UP", COLUMN_RIGHT },
};

static void tell_row(struct bench *bench, const char *name, const struct trial *trial, uint64_t pieces, uint64_t bytes)
{
    double direct = spread_of(trial->contender[0].seconds, trial->contender[0].n_samples).mid;
    char text[SIZE_TEXT];

    table_add(&bench->table, name);
    table_add(&bench->table, trial->write ? "write" : "read");
    table_addf(&bench->table, "%" PRIu64, pieces);
    table_add(&bench->table, size_text(bytes, false, text));
    for (uint32_t i = 0; i < WAYS; i++) {
        const struct contender *c = &trial->contender[i];
        double mid = spread_of(c->seconds, c->n_samples).mid;

        if (c->error < 0)
            table_add(&bench->table, "failed");
        else
            table_addf(&bench->table, "%.2f ms", mid * 1e3);
        if (i > 0 && (c->error < 0 || direct <= 0))
            table_add(&bench->table, "");
        else if (i > 0)
            table_addf(&bench->table, "x%.2f", direct / mid);
    }
}

static void tell(struct bench *bench, const char *name, const struct trial *trial)
{
    uint64_t pieces = 0, bytes = 0;

    for (uint32_t rank = 0; rank < bench->nranks; rank++) {
        struct fallsfs_range section[FALLSFS_MAX_DIMS];

        deal_section(&trial->deal, &trial->array, rank, bench->nranks, section);
        pieces += pieces_count(&trial->array, section);
        bytes += pieces_bytes(&trial->array, section);
    }
    for (uint32_t i = 0; i < WAYS; i++)
        if (trial->contender[i].error < 0) {
            utf8_complain("%s, %s: %s", name, methods[i]->name, trial->contender[i].why);
            bench->n_failed++;
        }
    if (bench->as_json)
        tell_json(bench, name, trial, pieces, bytes);
    else
        tell_row(bench, name, trial, pieces, bytes);
}

/* -- measuring -- */

static enum ctl_status run_one(struct bench *bench, const char *name, const char *section, bool write,
                               const struct fallsfs_array *array)
{
    struct contender contender[WAYS] = { 0 };
    struct trial trial = { .array = *array,
                           .write = write,
                           .task = ++bench->n_tasks,
                           .n_rounds = bench->n_rounds,
                           .budget = 5,
                           .contender = contender,
                           .n_contenders = WAYS };
    const char *bad;
    int r = deal_parse(section, &trial.deal, &bad);

    if (r == 0)
        r = fill_file(bench, array);
    if (r < 0)
        return report(false, "%s: cannot be filled: %s", bench->file, strerror(-r));
    for (uint32_t i = 0; i < WAYS; i++)
        contender[i] = (struct contender){ .squad = bench->squad, .method = i, .path = bench->file };
    r = trial_run(&trial);
    if (r < 0)
        return report(false, "%s: %s", name,
                      r == -ECHILD      ? "one of the processes has died"
                      : r == -ETIMEDOUT ? "it has hung: 'fallsctl status' may say why"
                                        : strerror(-r));
    tell(bench, name, &trial);
    return CTL_OK;
}

static enum ctl_status run_cases(struct bench *bench, const char *word)
{
    enum ctl_status status = CTL_OK;

    for (size_t i = 0; status == CTL_OK && i < paper_n_cases; i++) {
        const struct paper_case *c = &paper_cases[i];
        struct fallsfs_array array = paper_array(c);
        char name[24];

        if (!paper_is_named(c, word))
            continue;
        snprintf(name, sizeof name, "%" PRIu32 "/%s", c->table, c->name);
        status = run_one(bench, name, c->section, c->write, &array);
    }
    return status;
}

static enum ctl_status run_all(struct bench *bench, int n, char **words)
{
    const char *const paths[] = { bench->file };
    const struct method_set set = { methods, WAYS, paths, 1, fallsfs_alloc, fallsfs_free };
    enum ctl_status status = CTL_OK;
    int r = squad_new(NULL, bench->nranks, &bench->squad);

    if (r == 0)
        r = squad_fork(bench->squad, method_member, drop_const(&set));
    if (r < 0)
        return report(bench->as_json, "cannot start %" PRIu32 " processes: %s", bench->nranks, strerror(-r));
    if (bench->as_json) {
        json_begin(&bench->json, stdout);
        json_u64(&bench->json, "processes", bench->nranks);
        json_open(&bench->json, "cases", '[');
    }
    for (int i = 0; i < n && status == CTL_OK; i++)
        status = words[i][0] == '(' ? run_one(bench, words[i], words[i], bench->write, &bench->array)
                                    : run_cases(bench, words[i]);
    if (bench->as_json) {
        json_close(&bench->json, ']');
        json_end(&bench->json);
    } else if (table_print(&bench->table, stdout) < 0) {
        return report(false, "no memory for the table");
    }
    return status;
}

/* -- the command line -- */

static bool read_number(const char *text, uint64_t most, uint64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    return isdigit((unsigned char) text[0]) && *end == 0 && errno == 0 && *ret_number >= 1 && *ret_number <= most;
}

static bool read_size(char *text, struct fallsfs_array *array)
{
    char *word;

    while ((word = strsep(&text, ",")) != NULL)
        if (array->ndims == FALLSFS_MAX_DIMS || !read_number(word, FALLS_LIMIT, &array->size[array->ndims++]))
            return false;
    return true;
}

static bool is_whole(const struct fallsfs_array *array)
{
    struct array same = { .ndims = array->ndims, .order = (enum array_order) array->order, .elem = array->elem };
    uint64_t bytes;

    memcpy(same.size, array->size, sizeof same.size);
    return array_bytes(&same, &bytes) == 0;
}

struct typed {
    const char *processes, *rounds, *size, *elem, *order;
};

static enum ctl_status take_options(struct bench *bench, const struct typed *typed)
{
    uint64_t number = 16;

    if (typed->processes != NULL && !read_number(typed->processes, SQUAD_MAX, &number))
        return args_complain("bench", "1 to 256 processes can take part", typed->processes);
    bench->nranks = (uint32_t) number;
    number = 7;
    if (typed->rounds != NULL && !read_number(typed->rounds, TRIAL_MAX_ROUNDS, &number))
        return args_complain("bench", "1 to 32 rounds can be timed", typed->rounds);
    bench->n_rounds = (uint32_t) number;
    bench->array.elem = 4;
    if (typed->elem != NULL && !read_number(typed->elem, FALLS_LIMIT, &bench->array.elem))
        return args_complain("bench", "this is no size of an element", typed->elem);
    if (typed->order != NULL && strcmp(typed->order, "col") != 0 && strcmp(typed->order, "row") != 0)
        return args_complain("bench", "the order is col or row", typed->order);
    bench->array.order = typed->order != NULL && typed->order[0] == 'r' ? FALLSFS_ROW_MAJOR : FALLSFS_COLUMN_MAJOR;
    if (typed->size != NULL) {
        cleanup(freep) char *copy = strdup(typed->size);

        if (copy == NULL || !read_size(copy, &bench->array) || !is_whole(&bench->array))
            return args_complain("bench", "this is no size of an array, such as 1000,1000", typed->size);
    }
    return CTL_OK;
}

static enum ctl_status check_section(const struct bench *bench, const char *text)
{
    struct deal deal;
    const char *bad;

    if (bench->array.ndims == 0)
        return args_complain("bench", "a section needs --size, the array it is of", text);
    if (deal_parse(text, &deal, &bad) < 0) {
        utf8_complain("%s", text);
        utf8_complain("column %td: a section is (lower:upper:stride,...), such as (1+10p:100+10p,1:16)",
                      bad - text + 1);
        return CTL_USAGE;
    }
    return deal.ndims == bench->array.ndims ? CTL_OK
                                            : args_complain("bench", "--size has not as many numbers as this", text);
}

static enum ctl_status check_words(const struct bench *bench, int n, char **words)
{
    if (n == 0)
        return args_complain("bench", "which cases? 5 is all of Table 5, 5/III one line of it", NULL);
    for (int i = 0; i < n; i++) {
        bool is_section = words[i][0] == '(', is_known = false;
        enum ctl_status status = is_section ? check_section(bench, words[i]) : CTL_OK;

        if (status != CTL_OK)
            return status;
        for (size_t k = 0; !is_known && k < paper_n_cases; k++)
            is_known = paper_is_named(&paper_cases[k], words[i]);
        if (!is_section && !is_known)
            return args_complain("bench", "there is no such table or case", words[i]);
    }
    return CTL_OK;
}

static enum ctl_status bench_sections(struct bench *bench, int n, char **words)
{
    enum ctl_status status;
    int r = make_file(bench);

    if (r < 0)
        return report(bench->as_json, "%s: %s", bench->file,
                      r == -EEXIST ? "exists: name a file that is not there yet, it is removed at the end"
                                   : strerror(-r));
    if (is_in_mount(bench->file)) {
        table_init(&bench->table, columns, ARRAY_SIZE(columns), NULL, &bench->options);
        status = run_all(bench, n, words);
        table_done(&bench->table);
        squad_free(bench->squad);
    } else {
        status = report(bench->as_json, "%s: lies in no mounted fallsfs; 'fallsctl status' lists those", bench->file);
    }
    unmake_file();
    return status != CTL_OK ? status : bench->n_failed > 0 ? CTL_PARTIAL : CTL_OK;
}

enum ctl_status ctl_bench(int argc, char **argv)
{
    struct bench bench = { 0 };
    struct typed typed = { 0 };
    struct arg arg[7 + TABLE_ARGS] = { { .name = "-n", .other = "--processes", .value = &typed.processes },
                                       { .name = "--rounds", .value = &typed.rounds },
                                       { .name = "--size", .value = &typed.size },
                                       { .name = "--elem", .value = &typed.elem },
                                       { .name = "--order", .value = &typed.order },
                                       { .name = "--write", .set = &bench.write },
                                       { .name = "--json", .set = &bench.as_json } };
    struct args args = { .verb = "bench", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    table_args(&bench.options, arg + 7);
    if (!args_read(&args, argc, argv, &status) ||
        !table_check(&bench.options, "bench", columns, ARRAY_SIZE(columns), &status))
        return status;
    if (args.n == 0 || strcmp(args.word[0], "sections") != 0)
        return args_complain("bench", "what? 'fallsctl bench sections' it is", args.n > 0 ? args.word[0] : NULL);
    if (args.n < 2)
        return args_complain("bench", "in which new file?", NULL);
    bench.file = args.word[1];
    status = take_options(&bench, &typed);
    if (status == CTL_OK)
        status = check_words(&bench, args.n - 2, args.word + 2);
    return status == CTL_OK ? bench_sections(&bench, args.n - 2, args.word + 2) : status;
}

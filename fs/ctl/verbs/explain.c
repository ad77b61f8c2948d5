/* SPDX-License-Identifier: MIT */
/* fallsctl explain: what it takes to read a part of a file as it lies, and as it could lie. */
#include "fs/core/file/file_store.h"
#include "fs/core/view/view.h"
#include "fs/core/view/view_texts.h"
#include "fs/ctl/ask/file_info.h"
#include "fs/ctl/ask/replicas_info.h"
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/talk/args.h"
#include "fs/ctl/talk/paths.h"
#include "fs/ctl/think/advice.h"
#include "fs/ctl/think/candidates.h"
#include "fs/ctl/think/section_read.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "layout/overlap.h"
#include "layout/section.h"

#include <stdarg.h>
#include <string.h>

static const char help[] =
    "usage: fallsctl explain [--section L:U:S,... | --view L [--element N] | --range OFFSET:LENGTH] [--json] FILE...\n"
    "\n"
    "Says what reading a part of a file takes: how many disks, runs (pieces of what is wanted that lie together in one\n"
    "subfile), requests when small holes are read across, bytes read against bytes wanted, and about how long that takes\n"
    "on disks that seek; then which of many layouts would be best for it, and what changing to that one would move.\n"
    "Of a file with replicas it says from which the mount would read it just now, and what it reckons with for each.\n"
    "Nothing is read.\n"
    "\n"
    "  --section S    a section of the array that the file is said to hold (user.falls.array): lower, upper and stride in\n"
    "                 each dimension, from 0, both included; the stride may be left out\n"
    "  --view L       what one element of this layout has, as in '... element 2'; or the name of a view of the file\n"
    "  --element N    which element, if the text does not say; 0 unless told\n"
    "  --range O:N    N bytes from offset O on; the whole file unless told\n"
    "  --json         machine-readable output\n"
    "\n"
    "examples:\n"
    "  fallsctl explain /fast/a.dat\n"
    "  fallsctl explain --section 0:8191,0:0 /fast/matrix\n"
    "  fallsctl explain --view 'array(shape=8192x8192, elem=8, dist=(block,*), grid=4x1)' --element 2 /fast/matrix\n";

struct request {
    const char *section, *view, *element, *range;
    struct paths paths;
};

/* One file, and what is wanted of it. */
struct question {
    struct file_info info;
    struct nest *wanted;
    char *asked; /* the layout that --view means */
    struct access now;
    struct advice best;
    bool knows_moves;
    uint64_t bytes, moves;     /* of the file, and of those what would change disks */
    struct json_object *costs; /* of the file and its replicas, as the mount reckons; NULL: there are none */
};

static void question_done(struct question *question)
{
    file_info_done(&question->info);
    nest_free(question->wanted);
    free(question->asked);
    advice_done(&question->best);
    json_read_done(&question->costs);
}

/* -- what is wanted -- */

static int want_section(struct question *question, const char *text, char why[static ATTRS_WHY])
{
    if (question->info.array_text == NULL)
        return attrs_refuse(
            why, -EINVAL,
            "nobody has said what array this is: 'fallsctl array set FILE' reads it from headers, or say it, setfattr -n "
            "user.falls.array -v 'shape=8192x8192 type=f8' FILE");
    return section_read(text, &question->info.array, question->info.array_text, &question->wanted, why);
}

/* Wants the bytes [off, off + len). */
static int want_range(struct question *question, uint64_t off, uint64_t len)
{
    const struct array bytes = { .ndims = 1, .elem = 1, .header = off, .size = { MAX(len, 1) } };
    const struct range all = { len == 0, MAX(len, 1) - 1, 1 };

    return section_new(&bytes, &all, &question->wanted);
}

static void view_putp(struct view **view)
{
    view_put(*view);
}

/* Parses a view, of the element that --element says, or the text itself, or else of element 0. */
static int parse_view(const char *text, const uint64_t *element, uint32_t n_disks, struct view **ret_view,
                      struct layout_error *ret_error)
{
    cleanup(freep) char *full = NULL;
    struct layout_error second;

    if (element == NULL && view_parse(text, strlen(text), n_disks, ret_view, ret_error) == 0)
        return 0;
    if (asprintf(&full, "%s element %" PRIu64, text, element != NULL ? *element : 0) < 0)
        return -ENOMEM;
    return view_parse(full, strlen(full), n_disks, ret_view, element != NULL ? ret_error : &second);
}

/* Finds what --view means: the view of that name, if the file has one, else the pattern that is written there. */
static int find_view(const struct question *question, const char *path, const char *asked, const uint64_t *element,
                     struct view **ret_view, char why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    struct layout_error error = { 0 };
    char name[256];

    snprintf(name, sizeof name, "view.%s", asked);
    if (!view_name_is_valid(asked) || attrs_get(path, name, &text) < 0)
        text = strdup(asked);
    if (text == NULL)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    if (parse_view(text, element, question->info.n_takes, ret_view, &error) < 0)
        return attrs_refuse(why, -EINVAL, "--view: %scolumn %zu: %s",
                            view_name_is_valid(text) ? "the file has no view of that name, and as a layout " : "",
                            error.column, error.why);
    return 0;
}

static int want_view(struct question *question, const char *path, const struct request *request,
                     char why[static ATTRS_WHY])
{
    cleanup(view_putp) struct view *view = NULL;
    uint64_t element, end;
    int r = 0;

    if (request->element != NULL && layout_parse_size(request->element, &element) < 0)
        r = attrs_refuse(why, -EINVAL, "--element %s is no number from 0 on", request->element);
    if (r == 0)
        r = find_view(question, path, request->view, request->element != NULL ? &element : NULL, &view, why);
    if (r < 0)
        return r;
    question->asked = layout_without_disks(view->layout);
    end = question->info.size > 0 ? question->info.size : view->layout->pattern->disp + view->layout->pattern->size;
    r = question->asked == NULL ? -ENOMEM : nest_cut(view->nest, 0, end, &question->wanted);
    return r < 0 ? attrs_refuse(why, r, "--view: %s", strerror(-r)) : 0;
}

static int find_wanted(struct question *question, const char *path, const struct request *request,
                       char why[static ATTRS_WHY])
{
    cleanup(freep) char *copy = request->range != NULL ? strdup(request->range) : NULL;
    struct range range = { 0, question->info.size, 1 };
    uint64_t end;
    int r;

    if (request->section != NULL)
        return want_section(question, request->section, why);
    if (request->view != NULL)
        return want_view(question, path, request, why);
    if (request->range != NULL &&
        (copy == NULL || strchr(copy, ':') != strrchr(copy, ':') || !section_read_range(copy, &range)))
        return attrs_refuse(why, -EINVAL, "--range %s is not OFFSET:LENGTH", request->range);
    if (add_overflows(range.lower, range.upper, &end) || end > FALLS_LIMIT)
        return attrs_refuse(why, -EINVAL, "--range reaches past 2^62, the last byte a layout can reach");
    r = want_range(question, range.lower, range.upper);
    return r < 0 ? attrs_refuse(why, r, "%s", strerror(-r)) : 0;
}

/* -- what changes -- */

#define MAX_PAIRS 65536 /* of elements that are compared */

/* Counts the bytes of one common period that stay on their disks when the file gets the layout that is best. */
static int count_staying(const struct question *question, uint64_t *ret_stay, uint64_t *ret_period)
{
    const struct pattern *now = question->info.layout->pattern, *then = question->best.layout->pattern;
    uint64_t lo, period, stay = 0;
    int r = overlap_period(now, then, &lo, &period);

    if (r == 0 && (uint64_t) now->n_elements * then->n_elements > MAX_PAIRS)
        r = -E2BIG;
    for (uint32_t i = 0; r == 0 && i < now->n_elements; i++)
        for (uint32_t j = 0; r == 0 && j < then->n_elements; j++) {
            uint64_t size, runs;

            if (file_info_disk(&question->info, i) != question->info.takes[j % question->info.n_takes])
                continue;
            r = overlap_count(now->element[i].file, then->element[j].file, lo, period, &size, &runs);
            stay += r == 0 ? size : 0;
        }
    *ret_stay = stay;
    *ret_period = period;
    return r;
}

static void find_moves(struct question *question)
{
    uint64_t stay, period, array_size;

    question->bytes = question->info.size;
    if (question->bytes == 0 && question->info.array_text != NULL &&
        array_bytes(&question->info.array, &array_size) == 0)
        question->bytes = array_size;
    if (count_staying(question, &stay, &period) < 0)
        return;
    question->knows_moves = true;
    question->moves = question->bytes - (uint64_t) ((double) question->bytes * (double) stay / (double) period);
}

/* -- replicas -- */

#define MAX_NAME 200 /* bytes of a set that the name of an attribute has room for */

/* Asks the mount what it takes to read this from the file and from its replicas. Of sets too long to say it is not
 * asked. */
static void ask_costs(struct question *question, const char *path)
{
    cleanup(replicas_info_done) struct replicas_info info = { 0 };
    cleanup(freep) char *name = NULL, *text = NULL;
    char why[ATTRS_WHY];
    size_t len = 0;
    FILE *out = replicas_info_init(&info, path, why) == 0 && info.n > 0 ? open_memstream(&name, &len) : NULL;

    if (out == NULL)
        return;
    fputs("replicas.cost.", out);
    nest_print(out, question->wanted);
    if (fclose(out) == 0 && len <= MAX_NAME && attrs_get(path, name, &text) == 0)
        (void) json_read(text, &question->costs);
}

static uint64_t number_in(const struct json_object *object, const char *name)
{
    uint64_t number = 0;

    (void) json_number(json_member(object, name), &number);
    return number;
}

static void print_costs(const struct question *question)
{
    const struct json_object *list = json_member(question->costs, "costs");
    const uint64_t all = number_in(question->costs, "windows");

    for (size_t i = 0; i < json_count(list); i++) {
        struct json_object *cost = json_at(list, i);
        const uint64_t number = number_in(cost, "replica"), n = number_in(cost, "windows");
        const uint64_t chosen = number_in(cost, "chosen");

        if (number == 0)
            fputs("  read    from the file", stdout);
        else
            printf("          from replica %" PRIu64, number);
        printf(": %.3g ms", (double) number_in(cost, "ns") / 1e6);
        if (n < all)
            printf(", which has %" PRIu64 " of %" PRIu64 " windows", n, all);
        if (chosen > 0)
            printf(chosen == all ? ": chosen" : ": chosen for %" PRIu64 " of %" PRIu64 " windows", chosen, all);
        putchar('\n');
    }
}

static int answer(struct question *question, const char *path, const struct request *request,
                  char why[static ATTRS_WHY])
{
    struct file_info *info = &question->info;
    int r = file_info_init(info, path, why);

    if (r == 0 && info->is_dir)
        r = attrs_refuse(why, -EISDIR, "is a directory: name files");
    if (r == 0)
        r = find_wanted(question, path, request, why);
    if (r < 0)
        return r;
    r = access_count(info->layout->pattern, info->disk, info->header_disk, question->wanted, &file_store_cost,
                     &question->now);
    if (r == 0)
        r = advice_find(info->array_text != NULL ? &info->array : NULL, question->asked, info->n_takes,
                        question->wanted, &file_store_cost, &question->best);
    if (r == 0) {
        question->best.text = candidates_keep_copies(question->best.text, info->layout);
        r = question->best.text != NULL ? 0 : -ENOMEM;
    }
    if (r < 0)
        return attrs_refuse(why, r, "this cannot be counted: %s",
                            r == -E2BIG ? "it has too many different pieces" : strerror(-r));
    find_moves(question);
    ask_costs(question, path);
    return 0;
}

/* -- telling -- */

static double useful(const struct access *access)
{
    return access->read > 0 ? 100.0 * (double) access->wanted / (double) access->read : 100;
}

/* A size as 26 B, or 4.0M. */
static const char *bytes_text(uint64_t bytes, char text[static SIZE_TEXT])
{
    if (bytes >= 1024)
        return size_text(bytes, false, text);
    snprintf(text, SIZE_TEXT, "%" PRIu64 " B", bytes);
    return text;
}

static void print_access(const struct access *access)
{
    char text[SIZE_TEXT], run[SIZE_TEXT];

    if (access->runs == 0) {
        fputs("nothing to read\n", stdout);
        return;
    }
    printf("%" PRIu32 " disk%s, %" PRIu64 " run%s of %s%s; sieved: %s%" PRIu64
           " request%s, %s read, %.0f%% useful, %.3g ms\n",
           access->n_disks, access->n_disks == 1 ? "" : "s", access->runs, access->runs == 1 ? "" : "s",
           bytes_text(access->wanted / access->runs, run), access->runs > 1 ? " on average" : "",
           access->estimated ? "about " : "", access->requests, access->requests == 1 ? "" : "s",
           bytes_text(access->read, text), useful(access), (double) access->ns / 1e6);
}

static void print_answer(const struct question *question, const char *path)
{
    const struct access *now = &question->now, *best = &question->best.access;
    char text[SIZE_TEXT], whole[SIZE_TEXT], stay[SIZE_TEXT];

    utf8_print_line(stdout, path, false);
    fputs("  ", stdout);
    utf8_print_line(stdout, question->info.text, false);
    printf("\n  wanted  %s of %s\n  now     ", bytes_text(question->wanted->size, text),
           bytes_text(question->info.size, whole));
    print_access(now);
    print_costs(question);
    if (!access_is_worth(best, now)) {
        puts("  best    this layout: none that was tried takes much less");
        return;
    }
    printf("  best    %s\n          ", question->best.text);
    print_access(best);
    if (question->knows_moves)
        printf("  cost    move %s of %s, %s stay on their disks\n", bytes_text(question->moves, text),
               bytes_text(question->bytes, whole), bytes_text(question->bytes - question->moves, stay));
    printf("  to do   fallsctl migrate -L '%s' ", question->best.text);
    utf8_print_line(stdout, path, false);
    putchar('\n');
}

static void json_access(struct json *json, const char *name, const struct access *access, const char *layout)
{
    json_open(json, name, '{');
    json_string(json, "layout", layout);
    json_u64(json, "disks", access->n_disks);
    json_u64(json, "runs", access->runs);
    json_u64(json, "requests", access->requests);
    json_u64(json, "bytes_wanted", access->wanted);
    json_u64(json, "bytes_read", access->read);
    json_seconds(json, "seconds", (double) access->ns / 1e9);
    json_bool(json, "estimated", access->estimated);
    json_close(json, '}');
}

static void json_costs(struct json *json, const struct question *question)
{
    const struct json_object *list = json_member(question->costs, "costs");

    if (list == NULL)
        return;
    json_open(json, "reads", '[');
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json_object *cost = json_at(list, i);

        json_open(json, NULL, '{');
        json_u64(json, "replica", number_in(cost, "replica"));
        json_seconds(json, "seconds", (double) number_in(cost, "ns") / 1e9);
        json_u64(json, "windows", number_in(cost, "windows"));
        json_u64(json, "chosen", number_in(cost, "chosen"));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_answer(struct json *json, const struct question *question, const char *path)
{
    json_open(json, NULL, '{');
    json_string(json, "file", path);
    json_access(json, "now", &question->now, question->info.text);
    json_access(json, "best", &question->best.access, question->best.text);
    json_bool(json, "is_best", !access_is_worth(&question->best.access, &question->now));
    if (question->knows_moves) {
        json_u64(json, "bytes", question->bytes);
        json_u64(json, "bytes_to_move", question->moves);
    }
    json_costs(json, question);
    json_close(json, '}');
}

static void explain_one(struct request *request, const char *path)
{
    cleanup(question_done) struct question question = { 0 };
    char why[ATTRS_WHY];

    if (answer(&question, path, request, why) < 0) {
        paths_fail(&request->paths, path, "%s", why);
        return;
    }
    request->paths.done++;
    if (request->paths.as_json)
        json_answer(&request->paths.json, &question, path);
    else
        print_answer(&question, path);
}

enum ctl_status ctl_explain(int argc, char **argv)
{
    struct request request = { 0 };
    bool as_json = false;
    const struct arg arg[] = { { .name = "--section", .value = &request.section },
                               { .name = "--view", .value = &request.view },
                               { .name = "--element", .value = &request.element },
                               { .name = "--range", .value = &request.range },
                               { .name = "--json", .set = &as_json } };
    struct args args = { .verb = "explain", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    enum ctl_status status;

    if (!args_read(&args, argc, argv, &status))
        return status;
    if (args.n == 0)
        return args_complain("explain", "which files?", NULL);
    if ((request.section != NULL) + (request.view != NULL) + (request.range != NULL) > 1)
        return args_complain("explain", "one of --section, --view and --range at a time", NULL);
    if (request.element != NULL && request.view == NULL)
        return args_complain("explain", "--element is of a view: say --view", NULL);
    paths_begin(&request.paths, as_json);
    for (int i = 0; i < args.n; i++)
        explain_one(&request, args.word[i]);
    return paths_end(&request.paths);
}

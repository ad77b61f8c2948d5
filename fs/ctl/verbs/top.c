/* SPDX-License-Identifier: MIT */
/* fallsctl top: what a mount does, live. */
#include "fs/ctl/ask/which_mount.h"
#include "fs/ctl/show/screen.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/verbs/report_times.h"
#include "fs/ctl/verbs/top_frame.h"
#include "fs/ctl/verbs/verbs.h"
#include "fs/json/utf8.h"
#include "layout/clock.h"

#include <string.h>

static const char help[] =
    "usage: fallsctl top [-b] [-n COUNT] [--bytes] [--sort ORDER] [--filter TEXT] [SECONDS] [MOUNTPOINT]\n"
    "\n"
    "Shows what a mount does: its disks, jobs, the busiest requests, groups with who waits for whom, and open files with\n"
    "who has opened them: one's own groups, for root all; one's own files, for root and who mounted all. First since it\n"
    "was mounted, then each so many SECONDS, 2 unless told. Without MOUNTPOINT the only mount there is. What the kernel\n"
    "answers from its page cache is not seen. AT-ONCE is how many requests were under way at the same time, on average.\n"
    "\n"
    "Keys:\n"
    "  q               quit\n"
    "  s               sort by bytes, calls, time, name\n"
    "  /               type what to look for in names of requests, files, processes and users; Enter; Escape: all\n"
    "  d r g f         show disks, requests, groups, open files, or do not\n"
    "  b               bytes in full, or in powers of 1024\n"
    "  blank           look now\n"
    "\n"
    "  -b, --batch     print one report after the other, all of it, for who has no terminal\n"
    "  -n COUNT        so many reports\n"
    "  --bytes         bytes in full\n"
    "  --sort ORDER    bytes, calls, time or name\n"
    "  --filter TEXT   as / does\n"
    "\n"
    "examples:\n"
    "  fallsctl top /fast\n"
    "  fallsctl top -b -n 2 --sort time 10 /fast\n";

struct request {
    bool is_batch;
    const char *count, *sort, *filter;
    struct top_view view;
    struct report_times times;
};

/* -- the last two looks -- */

struct looks {
    struct top_look before, now;
    uint32_t n; /* so far */
};

static int look(struct looks *looks, const char *target, char why[static ATTRS_WHY])
{
    struct top_look next;
    int r = top_look(target, &next, why);

    if (r < 0)
        return r;
    top_look_done(&looks->before);
    looks->before = looks->now;
    looks->now = next;
    looks->n++;
    return 0;
}

static void looks_done(struct looks *looks)
{
    top_look_done(&looks->before);
    top_look_done(&looks->now);
}

/* The frame of the last look; NULL without memory. head stands in front of it. */
static char *frame_of(const struct top_view *view, const struct looks *looks, const char *head, uint32_t rows)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    fputs(head, out);
    top_frame(view, looks->n > 1 ? &looks->before : NULL, &looks->now, rows, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* -- without a terminal -- */

static enum ctl_status print_reports(const struct request *request)
{
    cleanup(looks_done) struct looks looks = { .n = 0 };
    char why[ATTRS_WHY];

    for (uint64_t i = 0; report_times_wait(&request->times, i); i++) {
        cleanup(freep) char *frame = NULL;

        if (look(&looks, request->view.target, why) < 0)
            return report(false, "fallsctl top: %s", why);
        frame = frame_of(&request->view, &looks, "", TOP_ALL);
        if (frame == NULL)
            return report(false, "fallsctl top: out of memory");
        screen_print(frame, stdout);
        if (fflush(stdout) != 0)
            return CTL_ERROR;
    }
    return CTL_OK;
}

/* -- on a terminal -- */

struct live {
    struct request *request;
    struct looks looks;
    bool is_typing; /* what is looked for */
};

static void draw(const struct live *live)
{
    const struct top_view *view = &live->request->view;
    cleanup(freep) char *frame = NULL;
    char head[128 + TOP_FILTER], shown[TOP_FILTER];
    uint32_t rows, columns;

    snprintf(shown, sizeof shown, "%s", view->filter);
    utf8_tame(shown);
    if (live->is_typing)
        snprintf(head, sizeof head, SCREEN_HEADING "look for: %s_\n", shown);
    else
        snprintf(head, sizeof head,
                 SCREEN_HEADING "by %s%s%s   q quit  s sort  / look for  d disks  r requests  g groups  f files\n",
                 top_order_name(view->order), *shown != 0 ? ", with " : "", shown);
    screen_size(&rows, &columns);
    frame = frame_of(view, &live->looks, head, MAX(rows, 4) - 2);
    if (frame != NULL)
        screen_draw(frame);
}

/* Takes a key while somebody types what to look for. */
static void type(struct live *live, int key)
{
    char *filter = live->request->view.filter;
    size_t len = strlen(filter);

    if (key == '\r' || key == '\n' || key == '\033') {
        live->is_typing = false;
        if (key == '\033')
            filter[0] = 0;
    } else if ((key == 127 || key == '\b') && len > 0) {
        filter[len - 1] = 0;
    } else if (key >= ' ' && key != 127 && len + 1 < TOP_FILTER) {
        filter[len] = (char) key;
        filter[len + 1] = 0;
    }
}

/* Takes a key. True: it is time to look again. */
static bool take_key(struct live *live, int key)
{
    struct top_view *view = &live->request->view;

    if (live->is_typing) {
        type(live, key);
        return false;
    }
    switch (key) {
    case 's':
        view->order = (view->order + 1) % TOP_ORDERS;
        break;
    case '/':
        live->is_typing = true;
        view->filter[0] = 0;
        break;
    case '\033':
        view->filter[0] = 0;
        break;
    case 'd':
        view->shows_disks = !view->shows_disks;
        break;
    case 'r':
        view->shows_operations = !view->shows_operations;
        break;
    case 'g':
        view->shows_groups = !view->shows_groups;
        break;
    case 'f':
        view->shows_files = !view->shows_files;
        break;
    case 'b':
        view->raw = !view->raw;
        break;
    default:
        break;
    }
    return key == ' ';
}

/* Shows one look until it is time for the next; false: no other is wanted. */
static bool show_until(struct live *live, uint64_t until)
{
    for (;;) {
        int key;

        draw(live);
        key = screen_wait(until);
        if (key == SCREEN_END || (key == 'q' && !live->is_typing))
            return false;
        if ((key != SCREEN_NO_KEY && take_key(live, key)) || clock_ns() >= until)
            return true;
    }
}

static int show_live(struct request *request, char why[static ATTRS_WHY])
{
    struct live live = { .request = request };
    uint64_t period = (uint64_t) (request->times.seconds * 1e9);
    int r = screen_begin();

    if (r < 0)
        return attrs_refuse(why, r, "the terminal cannot be used: %s", strerror(-r));
    for (uint64_t i = 0; request->times.count == 0 || i < request->times.count; i++) {
        r = look(&live.looks, request->view.target, why);
        if (r < 0 || !show_until(&live, clock_ns() + period))
            break;
    }
    screen_end();
    looks_done(&live.looks);
    return r;
}

/* -- the command line -- */

static bool read_view(struct request *request, enum ctl_status *ret_status)
{
    unsigned order = 0;

    while (request->sort != NULL && order < TOP_ORDERS && strcmp(request->sort, top_order_name(order)) != 0)
        order++;
    if (order == TOP_ORDERS) {
        *ret_status = args_complain("top", "--sort takes bytes, calls, time or name", request->sort);
        return false;
    }
    request->view.order = (enum top_order) order;
    snprintf(request->view.filter, TOP_FILTER, "%s", request->filter != NULL ? request->filter : "");
    return true;
}

enum ctl_status ctl_top(int argc, char **argv)
{
    struct request request = {
        .view = { .shows_disks = true, .shows_operations = true, .shows_groups = true, .shows_files = true }
    };
    const struct arg arg[] = { { .name = "-b", .other = "--batch", .set = &request.is_batch },
                               { .name = "--bytes", .set = &request.view.raw },
                               { .name = "-n", .value = &request.count },
                               { .name = "--sort", .value = &request.sort },
                               { .name = "--filter", .value = &request.filter } };
    struct args args = { .verb = "top", .help = help, .arg = arg, .n_args = ARRAY_SIZE(arg) };
    cleanup(freep) char *target = NULL;
    enum ctl_status status;
    char why[ATTRS_WHY];
    const char *place;

    if (!args_read(&args, argc, argv, &status) || !read_view(&request, &status) ||
        !report_times_read(&args, request.count, 2, 0, &request.times, &place, &status))
        return status;
    if (which_mount(place, &target, why) < 0)
        return report(false, "fallsctl top: %s", why);
    request.view.target = target;
    if (request.is_batch || !screen_is_there())
        return print_reports(&request);
    return show_live(&request, why) < 0 ? report(false, "fallsctl top: %s", why) : CTL_OK;
}

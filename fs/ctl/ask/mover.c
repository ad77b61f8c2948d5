/* SPDX-License-Identifier: MIT */
#include "fs/ctl/ask/mover.h"

#include "fs/ctl/ask/job.h"
#include "fs/ctl/ask/json_read.h"
#include "layout/layout.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHORTEST 2000   /* us between two looks: few files are soon moved */
#define LONGEST  100000 /* the same, after a while */

bool mover_is_rate(const char *limit)
{
    uint64_t rate;

    return limit == NULL || layout_parse_size(limit, &rate) == 0;
}

static uint64_t number_of(const struct json_object *object, const char *name)
{
    uint64_t value = 0;

    (void) json_number(json_member(object, name), &value);
    return value;
}

static bool is_text(const struct json_object *object, const char *name, const char *wanted)
{
    const char *text = json_text(json_member(object, name));

    return text != NULL && strcmp(text, wanted) == 0;
}

static bool is_running(const struct json_object *order)
{
    return is_text(order, "state", "running") || is_text(order, "state", "waiting");
}

/* -- what the mount tells -- */

static int read_orders(const struct mover_asked *asked, struct json_object **ret_all, char why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    int r = attrs_get(asked->path, "jobs.json", &text);

    if (r == 0)
        r = json_read(text, ret_all);
    return r == 0 ? 0
                  : attrs_refuse(why, r, "the mount does not tell how far it is: %s%s", attrs_strerror(r),
                                 asked->is_below ? "" : ". A disk that is to leave goes on with the next mount");
}

/* The newest order about disks that does what is asked for; of a plan for one disk, the one for this disk. */
static bool is_asked(const struct mover_asked *asked, const struct json_object *order)
{
    const char *disk = json_text(json_member(order, "disk")), *kind = json_text(json_member(order, "order"));
    const char *behind;

    if (kind == NULL || strncmp(asked->order, kind, strlen(kind)) != 0 ||
        json_is_true(json_member(order, "is_plan")) != asked->is_plan)
        return false;
    behind = asked->order + strlen(kind);
    return disk == NULL || behind[0] == 0 || strcmp(behind + 1, disk) == 0;
}

/* number 0: the newest that is asked for. NULL: the mount does not tell of it. */
static const struct json_object *find(const struct mover_asked *asked, uint64_t number, const struct json_object *all)
{
    const struct json_object *orders = json_member(all, "orders");

    for (size_t i = 0; i < json_count(orders); i++) {
        const struct json_object *order = json_at(orders, i);

        if (number > 0 ? number_of(order, "number") == number : is_asked(asked, order))
            return order;
    }
    return NULL;
}

int mover_list(const char *path, struct json_object **ret_all)
{
    const struct mover_asked asked = { .path = path };
    char ignored[ATTRS_WHY];

    return read_orders(&asked, ret_all, ignored);
}

/* Who may not see more of an order than that there is one is not told of its files. */
static bool is_seen(const struct json_object *order)
{
    return json_member(order, "files") != NULL && json_text(json_member(order, "order")) != NULL &&
           json_text(json_member(order, "state")) != NULL;
}

bool mover_next(const struct json_object *all, size_t *at, struct mover_row *ret_row)
{
    const struct json_object *orders = json_member(all, "orders"), *order;

    while (*at < json_count(orders) && !is_seen(json_at(orders, *at)))
        (*at)++;
    if (*at >= json_count(orders))
        return false;
    order = json_at(orders, (*at)++);
    *ret_row = (struct mover_row){ .number = number_of(order, "number"),
                                   .user = number_of(order, "user"),
                                   .files = number_of(order, "files"),
                                   .moved = number_of(order, "moved"),
                                   .failed = number_of(order, "failed"),
                                   .done = number_of(order, "done"),
                                   .total = number_of(order, "total"),
                                   .rate = number_of(order, "rate"),
                                   .limit = number_of(order, "limit"),
                                   .order = json_text(json_member(order, "order")),
                                   .state = json_text(json_member(order, "state")),
                                   .disk = json_text(json_member(order, "disk")),
                                   .directory = json_text(json_member(order, "directory")),
                                   .is_plan = json_is_true(json_member(order, "is_plan")),
                                   .is_open = is_running(order) || is_text(order, "state", "paused") };
    return true;
}

/* -- asking -- */

/* The number of the last order for a directory. */
static int find_number_below(const char *path, uint64_t *ret_number, char why[static ATTRS_WHY])
{
    static const char word[] = " order=";
    cleanup(freep) char *text = NULL;
    int r = attrs_get(path, "migrate", &text);
    const char *at = r == 0 ? strstr(text, word) : NULL;

    if (at == NULL)
        return attrs_refuse(why, r < 0 ? r : -ENODATA,
                            "the mount does not tell of the order: is its daemon as new as fallsctl?");
    *ret_number = strtoull(at + strlen(word), NULL, 10);
    return 0;
}

static int find_number(const struct mover_asked *asked, uint64_t *ret_number, char why[static ATTRS_WHY])
{
    cleanup(json_read_done) struct json_object *all = NULL;
    const struct json_object *order;
    int r = read_orders(asked, &all, why);

    if (r < 0)
        return r;
    order = find(asked, 0, all);
    if (order == NULL)
        return attrs_refuse(why, -ENODATA, "the mount does not tell of the order any more");
    *ret_number = number_of(order, "number");
    return 0;
}

int mover_ask(const struct mover_asked *asked, uint64_t *ret_number, char ret_why[static ATTRS_WHY])
{
    cleanup(freep) char *text = NULL;
    int r;

    if (asprintf(&text, "%s%s%s%s%s", asked->limit != NULL ? "limit=" : "", asked->limit != NULL ? asked->limit : "",
                 asked->limit != NULL ? " " : "", asked->is_plan ? "plan " : "", asked->order) < 0)
        return attrs_refuse(ret_why, -ENOMEM, "out of memory");
    r = attrs_set(asked->path, asked->is_below ? "migrate" : "disks", text, ret_why);
    if (r < 0)
        return r;
    return asked->is_below ? find_number_below(asked->path, ret_number, ret_why)
                           : find_number(asked, ret_number, ret_why);
}

/* -- waiting -- */

static void show(struct job_bar *bar, const struct json_object *order)
{
    job_bar(bar, number_of(order, "done"), number_of(order, "total"), number_of(order, "rate"),
            (uint32_t) number_of(order, "open"), false);
}

static int follow(const struct mover_asked *asked, uint64_t number, struct json_object **ret_all,
                  const struct json_object **ret_order, char why[static ATTRS_WHY])
{
    struct job_bar bar = { .shown = false };
    useconds_t pause = SHORTEST;
    int r;

    while ((r = read_orders(asked, ret_all, why)) == 0) {
        *ret_order = find(asked, number, *ret_all);
        if (*ret_order == NULL)
            r = attrs_refuse(why, -ENODATA, "the mount does not tell of the order any more");
        if (*ret_order == NULL || !is_running(*ret_order))
            break;
        if (pause == LONGEST && !asked->is_plan)
            show(&bar, *ret_order);
        json_read_done(ret_all);
        *ret_all = NULL;
        usleep(pause);
        pause = MIN(2 * pause, LONGEST);
    }
    if (bar.shown)
        fputc('\n', stderr);
    return r;
}

/* -- what became of it -- */

static int read_disks(const struct json_object *disks, struct mover_info *info)
{
    uint32_t n = (uint32_t) json_count(disks);

    info->before = calloc(MAX(n, 1), sizeof info->before[0]);
    info->after = calloc(MAX(n, 1), sizeof info->after[0]);
    if (info->before == NULL || info->after == NULL)
        return -ENOMEM;
    info->n_disks = n;
    for (uint32_t i = 0; i < n; i++) {
        info->before[i] = number_of(json_at(disks, i), "before");
        info->after[i] = number_of(json_at(disks, i), "after");
    }
    return 0;
}

static int read_failures(const struct json_object *failures, struct mover_info *info)
{
    uint32_t n = (uint32_t) json_count(failures);

    info->failure = calloc(MAX(n, 1), sizeof info->failure[0]);
    if (info->failure == NULL)
        return -ENOMEM;
    info->n_failures = n;
    for (uint32_t i = 0; i < n; i++)
        info->failure[i] = (struct mover_failure){ json_copy(json_member(json_at(failures, i), "file")),
                                                   json_copy(json_member(json_at(failures, i), "why")) };
    return 0;
}

static int read_order(const struct json_object *order, struct mover_info *info)
{
    const char *state = json_text(json_member(order, "state"));
    int r;

    snprintf(info->state, sizeof info->state, "%s", state != NULL ? state : "");
    info->why = json_copy(json_member(order, "why"));
    info->error = json_copy(json_member(order, "error"));
    info->files = number_of(order, "files");
    info->moved = number_of(order, "moved");
    info->failed = number_of(order, "failed");
    info->bytes = number_of(order, "bytes");
    r = read_disks(json_member(order, "disks"), info);
    return r < 0 ? r : read_failures(json_member(order, "failures"), info);
}

int mover_wait(const struct mover_asked *asked, uint64_t number, struct mover_info *ret_info,
               char ret_why[static ATTRS_WHY])
{
    cleanup(json_read_done) struct json_object *all = NULL;
    const struct json_object *order = NULL;
    int r = follow(asked, number, &all, &order, ret_why);

    *ret_info = (struct mover_info){ .state = "" };
    if (r < 0)
        return r;
    if (read_order(order, ret_info) == 0)
        return 0;
    mover_done(ret_info);
    return attrs_refuse(ret_why, -ENOMEM, "out of memory");
}

void mover_done(struct mover_info *info)
{
    for (uint32_t i = 0; i < info->n_failures; i++) {
        free(info->failure[i].file);
        free(info->failure[i].why);
    }
    free(info->failure);
    free(info->why);
    free(info->error);
    free(info->before);
    free(info->after);
    *info = (struct mover_info){ .state = "" };
}

void mover_tell_failures(const struct mover_asked *asked, const struct mover_info *info, const char *stays,
                         struct paths *paths)
{
    for (uint32_t i = 0; i < info->n_failures; i++) {
        const struct mover_failure *failure = &info->failure[i];
        cleanup(freep) char *path = NULL;

        if (failure->file != NULL && asprintf(&path, "%s/%s", asked->path, failure->file) < 0)
            path = NULL;
        paths_fail(paths, path != NULL ? path : asked->path, "%s: %s", stays,
                   failure->why != NULL ? failure->why : "nobody knows why");
    }
    if (info->failed > info->n_failures)
        paths_fail(paths, asked->path, "%s: %" PRIu64 " more files", stays, info->failed - info->n_failures);
}

/* SPDX-License-Identifier: MIT */
/* user.falls.replicas: the further layouts in which a file lies.
 *
 *     setfattr -n user.falls.replicas -v 'add stripe(64K)' FILE     only=1G:64M or on-write=update before the layout
 *     setfattr -n user.falls.replicas -v 'drop 2' FILE              or 'drop all'
 *     getfattr -n user.falls.replicas --only-values FILE            a line for each; ENODATA: there is none
 *     getfattr -n user.falls.replicas.json --only-values FILE       the same for programs, none, too
 *     getfattr -n user.falls.replicas.map --only-values FILE        which subfiles they have, as user.falls.map
 *     getfattr -n 'user.falls.replicas.cost.{(0,7,64,100)}' FILE    what reading these bytes takes from each, as JSON
 */
#include "fs/core/change/replicate.h"
#include "fs/core/stub/objects.h"
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/serve/handle.h"
#include "fs/json/json.h"
#include "fs/json/utf8.h"
#include "ioctl/collective.h"

#include <string.h>

/* A file, and its replicas at one moment. */
struct look {
    struct fs *fs;
    struct file *file;
    uint32_t n;
    struct replica_view view[REPLICAS_MAX];
};

static int look_init(struct look *look, const struct virtual_call *call)
{
    int r = file_get(call->fs, call->inode, &look->file);

    if (r < 0)
        return r;
    look->fs = call->fs;
    look->n = file_view_replicas(call->fs, look->file, look->view);
    return 0;
}

static void look_done(struct look *look)
{
    for (uint32_t i = 0; i < look->n; i++)
        replica_view_done(look->fs, &look->view[i]);
    if (look->file != NULL)
        file_put(look->fs, look->file);
}

/* -- telling -- */

static uint64_t wanted(const struct replica_view *view)
{
    return view->hi - view->lo;
}

static const char *state_of(const struct replica_view *view)
{
    if (view->is_lost)
        return "lost";
    if (view->error != 0 || view->is_failing)
        return "failing";
    return view->has == wanted(view) && view->right == wanted(view) ? "filled" : "filling";
}

static uint64_t percent_of(const struct replica_view *view)
{
    return wanted(view) > 0 ? (uint64_t) ((double) view->has * 100 / (double) wanted(view)) : 100;
}

/* The words for what is wrong; NULL: nothing is known to be. */
static const char *error_of(const struct replica_view *view)
{
    if (view->error != 0)
        return strerror(-view->error);
    return view->is_failing ? "it could not be read" : NULL;
}

static const char *policy_of(const struct replica_view *view)
{
    return (view->flags & REPLICA_UPDATE) != 0 ? "update" : "drop";
}

static void print_one(FILE *out, const struct replica_view *view)
{
    fprintf(out,
            "replica=%" PRIu32 " state=%s percent=%" PRIu64 " has=%" PRIu64 " durable=%" PRIu64 " bytes=%" PRIu64
            " room=%" PRIu64 " on_write=%s%s only=%" PRIu64 ":",
            view->number, state_of(view), percent_of(view), view->has, view->right, wanted(view), view->blocks * 512,
            policy_of(view), (view->flags & REPLICA_COPY) != 0 ? " copy=yes" : "", view->asked_lo);
    if (view->asked_hi < UINT64_MAX)
        fprintf(out, "%" PRIu64, view->asked_hi - view->asked_lo);
    if (error_of(view) != NULL)
        fprintf(out, " error=%d", view->error != 0 ? -view->error : EIO);
    fputs(" layout=", out);
    utf8_print_line(out, view->layout != NULL ? view->layout->layout->text : "?", false);
    fputc('\n', out);
}

int replicas_get(const struct virtual_call *call, FILE *out)
{
    cleanup(look_done) struct look look = { 0 };
    int r = look_init(&look, call);

    for (uint32_t i = 0; i < look.n; i++)
        print_one(out, &look.view[i]);
    return r == 0 && look.n == 0 ? -ENODATA : r;
}

#define LONG_TEXT 8192 /* longer texts are null, so that all of them have room in a value */
#define LONG_LIST 1024 /* elements; the disks of more are left out */

static uint32_t disk_of(const struct virtual_call *call, const struct replica_view *view, uint32_t slot)
{
    return file_layout_disk(view->layout, call->fs->volume->home, view->rotate, slot);
}

static void json_disks(struct json *json, const struct virtual_call *call, const struct replica_view *view)
{
    const uint32_t n = view->layout->pattern->n_elements;
    char name[16];

    if (n > LONG_LIST)
        return;
    json_open(json, "disks", '[');
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "d%" PRIu32, disk_of(call, view, i));
        json_string(json, NULL, name);
    }
    json_close(json, ']');
}

static void json_one(struct json *json, const struct virtual_call *call, const struct replica_view *view)
{
    const char *text = view->layout != NULL ? view->layout->layout->text : NULL;

    json_open(json, NULL, '{');
    json_u64(json, "number", view->number);
    json_string(json, "layout", text != NULL && strlen(text) <= LONG_TEXT ? text : NULL);
    json_u64(json, "rotate", view->rotate);
    if (view->layout != NULL)
        json_disks(json, call, view);
    json_u64(json, "offset", view->asked_lo);
    if (view->asked_hi < UINT64_MAX)
        json_u64(json, "length", view->asked_hi - view->asked_lo);
    json_string(json, "on_write", policy_of(view));
    json_bool(json, "is_copy", (view->flags & REPLICA_COPY) != 0);
    json_string(json, "state", state_of(view));
    if (error_of(view) != NULL)
        json_string(json, "error", error_of(view));
    json_u64(json, "bytes", wanted(view));
    json_u64(json, "has", view->has);
    json_u64(json, "durable", view->right);
    json_u64(json, "room", view->blocks * 512);
    json_close(json, '}');
}

int replicas_json_get(const struct virtual_call *call, FILE *out)
{
    cleanup(look_done) struct look look = { 0 };
    int r = look_init(&look, call);
    struct json json;

    if (r < 0)
        return r;
    json_begin(&json, out);
    json_open(&json, "replicas", '[');
    for (uint32_t i = 0; i < look.n; i++)
        json_one(&json, call, &look.view[i]);
    json_close(&json, ']');
    json_end(&json);
    return 0;
}

/* Tells how a subfile is, and how long; nobody waits for its disk. */
static const char *subfile_state(const struct disk *disk, const char *object, uint64_t *ret_len)
{
    struct stat st;
    int r;

    *ret_len = 0;
    if (!disk_is_present(disk) || !watch_is_prompt(disk->watch))
        return "offline";
    r = disk_call(disk, stat, disk->root, object, &st);
    if (r == 0)
        *ret_len = (uint64_t) st.st_size;
    return r == 0 ? "present" : "hole";
}

static void print_subfiles(FILE *out, const struct virtual_call *call, const struct look *look,
                           const struct replica_view *view)
{
    for (uint32_t slot = 0; slot < file_layout_slots(view->layout); slot++) {
        const struct disk *disk = &call->fs->volume->disk[disk_of(call, view, slot)];
        char object[OBJECT_PATH];
        const char *state;
        uint64_t len;

        object_path(call->fs->volume, look->file->record.id, REPLICA_GEN | view->number, slot, view->layout, object);
        state = subfile_state(disk, object, &len);
        fprintf(out, "replica=%" PRIu32 " ", view->number);
        if (file_layout_element(view->layout, slot) == ELEMENT_HEADER)
            fputs("element=h", out);
        else
            fprintf(out, "element=%" PRIu32, slot);
        fprintf(out, " length=%" PRIu64 " state=%s disk=d%" PRIu32 " object=%s/" STAMP_DIR "/%s\n", len, state,
                disk->index, disk->path, object);
    }
}

int replicas_map_get(const struct virtual_call *call, FILE *out)
{
    cleanup(look_done) struct look look = { 0 };
    int r = look_init(&look, call);

    for (uint32_t i = 0; i < look.n; i++)
        if (look.view[i].layout != NULL)
            print_subfiles(out, call, &look, &look.view[i]);
    return r == 0 && look.n == 0 ? -ENODATA : r;
}

#define MAX_WINDOWS 1024 /* that are looked at: those behind cost the same, mostly */

int replicas_cost_get(const struct virtual_call *call, FILE *out)
{
    cleanup(nest_freep) struct nest *nest = NULL;
    struct replica_costs costs;
    struct layout_error error;
    struct file *file;
    struct json json;
    int r = nest_parse(call->rest, strlen(call->rest), &nest, &error) < 0 ? -ENODATA : 0;

    if (r == 0)
        r = file_get(call->fs, call->inode, &file);
    if (r < 0)
        return r;
    file_weigh_replicas(call->fs, file, nest, COLLECTIVE_WINDOW, MAX_WINDOWS, &costs);
    file_put(call->fs, file);
    json_begin(&json, out);
    json_u64(&json, "windows", costs.n);
    json_open(&json, "costs", '[');
    for (uint32_t i = 0; i < costs.n_of; i++) {
        json_open(&json, NULL, '{');
        json_u64(&json, "replica", costs.of[i].number);
        json_u64(&json, "ns", (uint64_t) costs.of[i].ns);
        json_u64(&json, "windows", costs.of[i].n);
        json_u64(&json, "chosen", costs.of[i].chosen);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_end(&json);
    return 0;
}

/* -- orders -- */

#define ADD      "add "
#define DROP     "drop "
#define ONLY     "only="
#define ON_WRITE "on-write="

/* Takes the next word of an order that begins with name, and moves *at behind it; NULL: it does not begin so. */
static char *take_word(char **at, const char *name)
{
    char *word = *at + strlen(name);

    if (strncmp(*at, name, strlen(name)) != 0)
        return NULL;
    *at = word + strcspn(word, " ");
    if (**at == ' ')
        *(*at)++ = 0;
    *at += strspn(*at, " ");
    return word;
}

static int read_range(const struct virtual_call *call, char *text, struct replica_asked *asked)
{
    char *colon = strchr(text, ':');
    uint64_t len;

    if (colon != NULL)
        *colon = 0;
    if (colon == NULL || layout_parse_size(text, &asked->lo) < 0 || layout_parse_size(colon + 1, &len) < 0 ||
        len == 0 || add_overflows(asked->lo, len, &asked->hi) || asked->hi > FALLS_LIMIT)
        return virtual_refuse(call, -EINVAL,
                              "only= is an offset and how many bytes from there on, as only=1G:64M, below 2^62");
    return 0;
}

/* Reads what stands before the layout. */
static int read_asked(const struct virtual_call *call, char **at, struct replica_asked *asked)
{
    char *word;
    int r = 0;

    while (r == 0) {
        if ((word = take_word(at, ONLY)) != NULL) {
            r = read_range(call, word, asked);
        } else if ((word = take_word(at, ON_WRITE)) != NULL) {
            asked->updates = strcmp(word, "update") == 0;
            if (!asked->updates && strcmp(word, "drop") != 0)
                r = virtual_refuse(call, -EINVAL, "on-write= is drop or update");
        } else {
            return 0;
        }
    }
    return r;
}

/* Says why there is no further replica, where the error alone does not tell. */
static int refuse_add(const struct virtual_call *call, int r, const struct volume_error *error)
{
    switch (r) {
    case -EUSERS:
        return virtual_refuse(call, r,
                              "the file has %d replicas, as many as may be: drop one first, 'fallsctl replica list' "
                              "shows them",
                              REPLICAS_USERS);
    case -EBUSY:
        return virtual_refuse(call, r,
                              "replicas that were dropped still wait to be removed from a disk that does not answer: "
                              "'fallsctl status' shows which, try again when it does");
    case -EEXIST:
        return virtual_refuse(call, -EINVAL, "the file lies so itself, on the same disks: say another layout");
    case -ENOSPC:
        return virtual_refuse(call, r,
                              "a replica takes as much room again, and a disk of this layout has not enough of it: "
                              "'fallsctl df' tells of each; --only makes one of a part");
    default:
        return error->why[0] != 0 ? virtual_refuse(call, r, "%s", error->why) : r;
    }
}

static int add_to(const struct virtual_call *call, struct file *file, const struct replica_asked *asked, bool rotates)
{
    struct volume_error error = { 0 };
    uint32_t number;
    int r = virtual_charge(call, file, asked->layout);

    if (r == 0)
        r = replicate(call->fs, file, asked, rotates, &number, &error);
    if (r == 0)
        (void) handles_recharge(call->handles, call->inode,
                                file_weight(file)); /* of who has opened it meanwhile, too */
    return r < 0 && call->why[0] == 0 ? refuse_add(call, r, &error) : r;
}

static int add(const struct virtual_call *call, char *text)
{
    struct replica_asked asked = { .hi = UINT64_MAX };
    struct file_layout *layout = NULL;
    struct file *file;
    bool rotates;
    int r = virtual_check_may_lay_out(call);

    if (r == 0)
        r = read_asked(call, &text, &asked);
    if (r == 0)
        r = virtual_keep_layout(call, text, &layout, &rotates);
    if (r < 0)
        return r;
    asked.layout = layout;
    if (layout->layout->copies > 1)
        r = virtual_refuse(call, -EINVAL, "a replica is one copy: leave out 'copies', or give the file such a layout");
    if (r == 0)
        r = file_get(call->fs, call->inode, &file);
    if (r == 0) {
        r = add_to(call, file, &asked, rotates);
        file_put(call->fs, file);
    }
    layouts_put(call->fs->layouts, layout);
    return r;
}

static int drop_one(const struct virtual_call *call, struct file *file, uint32_t number)
{
    int r = file_drop_replica(call->fs, file, number);

    if (r == -ENOENT)
        return virtual_refuse(call, -EINVAL, "the file has no replica %" PRIu32, number);
    if (r == -EPERM)
        return virtual_refuse(call, r,
                              "replica %" PRIu32
                              " is the second copy, which goes with the layout: migrate to one without copies",
                              number);
    return r;
}

/* Drops all but the second copy. */
static int drop_all(const struct virtual_call *call, const struct look *look)
{
    int first = 0;

    for (uint32_t i = 0; i < look->n; i++) {
        int r = (look->view[i].flags & REPLICA_COPY) == 0 ? drop_one(call, look->file, look->view[i].number) : 0;

        first = first != 0 ? first : r;
    }
    return first;
}

static int drop(const struct virtual_call *call, const char *text)
{
    cleanup(look_done) struct look look = { 0 };
    bool all = strcmp(text, "all") == 0;
    uint64_t number = 0;
    int r = virtual_check_owner(call);

    if (r == 0 && !all && (layout_parse_size(text, &number) < 0 || number == 0 || number > UINT32_MAX))
        r = virtual_refuse(call, -EINVAL, "say which, as 'drop 2', or 'drop all'");
    if (r == 0)
        r = look_init(&look, call);
    if (r < 0)
        return r;
    r = all ? drop_all(call, &look) : drop_one(call, look.file, (uint32_t) number);
    (void) file_count_blocks(call->fs, look.file);
    return r;
}

int replicas_set(const struct virtual_call *call, const char *value, size_t len)
{
    cleanup(freep) char *copy = strndup(value, len);

    if (copy == NULL)
        return -ENOMEM;
    if (strncmp(copy, ADD, strlen(ADD)) == 0)
        return add(call, copy + strlen(ADD) + strspn(copy + strlen(ADD), " "));
    if (strncmp(copy, DROP, strlen(DROP)) == 0)
        return drop(call, copy + strlen(DROP));
    return virtual_refuse(call, -EINVAL, "say 'add' and a layout, or 'drop' and the number of a replica");
}

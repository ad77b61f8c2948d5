/* SPDX-License-Identifier: MIT */
/* The ring of a trace against a list of all that was ever recorded: what a reader is told, what he is told is missing,
 * and what he must not know. The tables of names against what they promise. */
#include "fs/daemon/trace/ring.h"
#include "ioctl/trace/trace_write.h"
#include "test/support/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* -- names -- */

#define N_KEYS 40

struct names_model {
    struct names names;
    uint32_t place[N_KEYS]; /* as far as it is used */
    uint32_t uses[N_KEYS];
    uint32_t last_number;
};

static struct name_words words_of(uint32_t *key, char text[static 64])
{
    memset(text, 'a' + (int) (*key % 26), *key);
    text[*key] = 0;
    return (struct name_words){ .key = key, .key_len = sizeof *key, .text = text, .text_len = *key + 1 };
}

/* A name that is used stays what it is, in its place; one that is added is there; and there are never too many. */
static void step_names(struct names_model *model, struct rng *rng)
{
    uint32_t key = (uint32_t) rng_below(rng, N_KEYS);
    char text[64];
    struct name_words words = words_of(&key, text);
    uint32_t place = names_find(&model->names, &words);

    if (model->uses[key] > 0)
        cr_assert_eq(place, model->place[key], RNG_SEED, rng->seed);
    if (place == 0 && (place = names_add(&model->names, &words)) != 0) {
        cr_assert_gt(model->names.at[place]->number, model->last_number, RNG_SEED, rng->seed);
        model->last_number = model->names.at[place]->number;
    }
    if (place == 0) {
        cr_assert(model->names.oldest == NULL, RNG_SEED, rng->seed); /* all are in use */
        return;
    }
    cr_assert_eq(memcmp(name_key(model->names.at[place]), &key, sizeof key), 0, RNG_SEED, rng->seed);
    cr_assert_str_eq(name_text(model->names.at[place]), text, RNG_SEED, rng->seed);
    if (model->uses[key] > 0 && rng_chance(rng, 60)) {
        names_unuse(&model->names, place);
        model->uses[key]--;
    } else {
        names_use(&model->names, place);
        model->uses[key]++;
    }
    model->place[key] = place;
}

Test(trace, names_are_bounded_and_stay_as_long_as_they_are_used)
{
    for (struct rng rng = rng_from_env(300); rng_next(&rng);) {
        struct names_model model = { .last_number = 0 };
        uint32_t max = (uint32_t) rng_between(&rng, 1, N_KEYS + 5);
        size_t bytes = rng_between(&rng, 1000, 8000), n = 0;

        cr_assert_eq(names_init(&model.names, max, bytes), 0);
        for (int i = 0; i < 500; i++) {
            step_names(&model, &rng);
            cr_assert_leq(model.names.bytes, bytes, RNG_SEED, rng.seed);
        }
        for (uint32_t i = 1; i <= model.names.n_places; i++)
            n += model.names.at[i] != NULL;
        cr_assert_leq(n, max, RNG_SEED, rng.seed);
        names_done(&model.names);
    }
}

/* -- items -- */

/* An item is as long as it says, its texts stand where they should, and what is behind them is 0. */
Test(trace, items_are_whole)
{
    for (struct rng rng = rng_from_env(2000); rng_next(&rng);) {
        struct trace_file file = { .number = (uint32_t) rng_u64(&rng), .inode = rng_u64(&rng), .size = rng_u64(&rng) };
        char path[300] = "", layout[300] = "", *bytes = NULL;
        size_t path_len = rng_below(&rng, sizeof path), layout_len = rng_below(&rng, sizeof layout), len = 0, texts;
        FILE *out = open_memstream(&bytes, &len);
        struct trace_file told;

        memset(path, 'p', path_len > 0 ? path_len - 1 : 0);
        memset(layout, 'l', layout_len > 0 ? layout_len - 1 : 0);
        trace_write_file(out, &file, path, layout);
        cr_assert_eq(fclose(out), 0);
        memcpy(&told, bytes, sizeof told);
        texts = strlen(path) + strlen(layout) + 2;
        cr_assert_eq(told.item.type, TRACE_FILE);
        cr_assert_eq(told.item.len, len, RNG_SEED, rng.seed);
        cr_assert(len % 8 == 0 && len >= sizeof told + texts && len < sizeof told + texts + 8, RNG_SEED, rng.seed);
        cr_assert(told.number == file.number && told.inode == file.inode && told.size == file.size);
        cr_assert_str_eq(bytes + sizeof told, path);
        cr_assert_str_eq(bytes + sizeof told + told.layout_at, layout);
        for (size_t i = sizeof told + texts; i < len; i++)
            cr_assert_eq(bytes[i], 0, RNG_SEED, rng.seed);
        free(bytes);
    }
}

/* -- the ring -- */

#define N_PUSHED  3000
#define N_FILES   12
#define N_READERS 4
#define FIRST_UID 1000 /* of three users, who have the files in turn */
#define N_USERS   3
#define ADMIN     N_USERS

/* What was recorded, in order: its place in this list stands in its offset. */
struct pushed {
    uint32_t file, process, pattern;
};

struct told {
    struct ring_reader *reader;
    uint32_t user; /* ADMIN: all */
    uint64_t next; /* of pushed, that he has not been told of */
    uint8_t item[1 << 16];
    size_t len;
    bool has_head;
    struct {
        uint32_t number, is;
    } name[3][512]; /* of processes, files and patterns: what a number stands for, by what comes next */
    uint32_t n_names[3];
};

struct model {
    struct rng *rng;
    struct ring *ring;
    struct pushed pushed[N_PUSHED];
    uint64_t n, kept;
    uint64_t began[N_USERS + 1]; /* where readers of that user, or an administrator's, begin */
    struct told told[N_READERS];
};

static uint32_t user_of(uint32_t file)
{
    return file % N_USERS;
}

static void push(struct model *model)
{
    struct pushed *pushed = &model->pushed[model->n];
    char name[32], file[64], pattern[32];
    struct ring_file_key file_key = { .reserved = 0 };
    struct ring_process_key process_key;
    struct ring_access access;
    bool has_texts = rng_chance(model->rng, 50);

    *pushed = (struct pushed){ (uint32_t) rng_below(model->rng, N_FILES), (uint32_t) rng_below(model->rng, 20),
                               (uint32_t) rng_below(model->rng, 30) };
    file_key.inode = 100 + pushed->file;
    file_key.owner = FIRST_UID + user_of(pushed->file);
    process_key = (struct ring_process_key){ 7, 5000 + pushed->process, FIRST_UID + pushed->process % N_USERS };
    access = (struct ring_access){
        .access = { .item.type = TRACE_ACCESS, .offset = model->n, .len = 1, .flags = TRACE_WRITES },
        .file = { .key = &file_key, .key_len = sizeof file_key, .size = pushed->file },
        .process = { .key = &process_key, .key_len = pushed->process > 0 ? sizeof process_key : 0 },
        .pattern = { .key = &pushed->pattern, .key_len = pushed->pattern > 0 ? sizeof pushed->pattern : 0 },
    };
    for (int i = 0; i < 2; i++) {
        unsigned missing;

        if (i == 1 || has_texts) {
            access.process.text_len = (size_t) snprintf(name, sizeof name, "p%u", pushed->process) + 1;
            access.file.text_len =
                (size_t) snprintf(file, sizeof file, "f%u%cstripe(%u)", pushed->file, 0, pushed->file) + 1;
            access.pattern.text_len = (size_t) snprintf(pattern, sizeof pattern, "s%u", pushed->pattern) + 1;
            access.process.text = name;
            access.file.text = file;
            access.pattern.text = pattern;
        }
        missing = ring_push(model->ring, &access);
        cr_assert(missing == 0 || (i == 0 && !has_texts), RNG_SEED, model->rng->seed);
        if (missing == 0)
            break;
    }
    model->n++;
}

static bool may_see(const struct told *told, const struct pushed *pushed)
{
    return told->user == ADMIN || user_of(pushed->file) == told->user;
}

/* The next of what was recorded that the reader may see. */
static uint64_t next_of(const struct model *model, const struct told *told)
{
    uint64_t i = told->next;

    while (i < model->n && !may_see(told, &model->pushed[i]))
        i++;
    return i;
}

static void learn(struct told *told, int kind, uint32_t number, const char *text, uint32_t is)
{
    cr_assert_eq((uint32_t) atoi(text + 1), is, "'%s' is %u", text, is);
    told->name[kind][told->n_names[kind]].number = number;
    told->name[kind][told->n_names[kind]++].is = is;
}

/* What a number stands for; a number that has not been told is a failure. */
static uint32_t known(const struct told *told, int kind, uint32_t number)
{
    for (uint32_t i = 0; number > 0; i++) {
        cr_assert_lt(i, told->n_names[kind], "number %u of kind %d is not known", number, kind);
        if (told->name[kind][i].number == number)
            return told->name[kind][i].is;
    }
    return 0;
}

static void take_process(struct told *told, const struct trace_process *process)
{
    const char *name = (const char *) (process + 1);

    if (told->user == ADMIN || process->uid == FIRST_UID + told->user) {
        learn(told, 0, process->number, name, process->tgid - 5000);
        cr_assert_eq(process->start, 7);
        return;
    }
    cr_assert_str_empty(name);
    cr_assert(process->tgid == 0 && process->start == 0);
    told->name[0][told->n_names[0]].number = process->number;
    told->name[0][told->n_names[0]++].is = UINT32_MAX; /* it may be any of that user's */
}

static void take_access(struct model *model, struct told *told, const struct trace_access *access)
{
    uint64_t i = next_of(model, told);
    const struct pushed *pushed = &model->pushed[i];
    uint32_t process = known(told, 0, access->process);

    cr_assert_lt(i, model->n, RNG_SEED, model->rng->seed);
    cr_assert_eq(access->offset, i, RNG_SEED, model->rng->seed);
    cr_assert_eq(known(told, 1, access->file), pushed->file, RNG_SEED, model->rng->seed);
    cr_assert(process == pushed->process || process == UINT32_MAX, RNG_SEED, model->rng->seed);
    cr_assert_eq(known(told, 2, access->pattern), pushed->pattern, RNG_SEED, model->rng->seed);
    told->next = i + 1;
}

static void take_item(struct model *model, struct told *told, const struct trace_item *item)
{
    const struct trace_file *file = (const void *) item;
    const char *path = (const char *) (file + 1);

    switch (item->type) {
    case TRACE_FILE:
        learn(told, 1, file->number, path, (uint32_t) file->inode - 100);
        cr_assert_eq(file->size, file->inode - 100);
        cr_assert_eq(strncmp(path + file->layout_at, "stripe(", 7), 0);
        break;
    case TRACE_PROCESS:
        take_process(told, (const void *) item);
        break;
    case TRACE_PATTERN:
        learn(told, 2, ((const struct trace_pattern *) item)->number,
              (const char *) item + sizeof(struct trace_pattern),
              (uint32_t) atoi((const char *) item + sizeof(struct trace_pattern) + 1));
        break;
    case TRACE_ACCESS:
        take_access(model, told, (const void *) item);
        break;
    case TRACE_DROPPED:
        for (uint64_t n = ((const struct trace_dropped *) item)->n; n > 0; n--)
            told->next = next_of(model, told) + 1;
        cr_assert_leq(told->next, model->n, RNG_SEED, model->rng->seed);
        break;
    default:
        cr_assert_fail("an item of type %u", item->type);
    }
}

/* Takes whole items out of what the reader has; what is left stays for the next time. */
static void take_items(struct model *model, struct told *told)
{
    size_t at = 0;
    struct trace_item item;

    if (!told->has_head && told->len >= sizeof(struct trace_head)) {
        cr_assert_eq(memcmp(told->item, TRACE_MAGIC, 8), 0);
        told->has_head = true;
        at = sizeof(struct trace_head);
    }
    while (told->has_head && at + sizeof item <= told->len) {
        memcpy(&item, told->item + at, sizeof item);
        cr_assert(item.len >= sizeof item && item.len % 8 == 0, RNG_SEED, model->rng->seed);
        if (at + item.len > told->len)
            break;
        take_item(model, told, (const void *) (told->item + at));
        at += item.len;
    }
    memmove(told->item, told->item + at, told->len - at);
    told->len -= at;
}

static ssize_t take_some(struct model *model, struct told *told)
{
    size_t room = sizeof told->item - told->len;
    ssize_t n = ring_read(told->reader, told->item + told->len, rng_between(model->rng, 1, MIN(room, 5000)));

    cr_assert_geq(n, 0);
    told->len += (size_t) n;
    take_items(model, told);
    return n;
}

static void open_reader(struct model *model, struct told *told)
{
    if (told->reader != NULL)
        ring_reader_free(told->reader);
    memset(told, 0, sizeof *told);
    told->user = (uint32_t) rng_below(model->rng, N_USERS + 1);
    told->next = model->began[told->user];
    cr_assert_eq(ring_reader_new(model->ring, FIRST_UID + told->user, told->user == ADMIN, &told->reader), 0);
}

/* What the ring says that there is for a user, beside the list. */
static void check_count(const struct model *model, uint32_t user)
{
    struct ring_count count = ring_count(model->ring, FIRST_UID + user, user == ADMIN);
    struct told like = { .user = user };
    uint64_t n = 0;

    for (uint64_t i = model->began[user]; i < model->n; i++)
        n += may_see(&like, &model->pushed[i]);
    cr_assert_eq(count.records + count.dropped, n, RNG_SEED, model->rng->seed);
    n = 0;
    for (uint64_t i = MAX(model->began[user], model->n - MIN(model->n, model->kept)); i < model->n; i++)
        n += may_see(&like, &model->pushed[i]);
    cr_assert_eq(count.records, n, RNG_SEED, model->rng->seed);
}

static void begin(struct model *model, uint32_t user)
{
    if (user == ADMIN)
        ring_begin(model->ring);
    else
        ring_begin_user(model->ring, FIRST_UID + user);
    model->began[user] = model->n;
}

static void step(struct model *model)
{
    struct told *told = &model->told[rng_below(model->rng, N_READERS)];

    if (rng_chance(model->rng, 1) && rng_chance(model->rng, 30)) {
        begin(model, (uint32_t) rng_below(model->rng, N_USERS + 1));
    } else if (rng_chance(model->rng, 1) || told->reader == NULL) {
        open_reader(model, told);
    } else if (rng_chance(model->rng, 10)) {
        (void) take_some(model, told);
    } else if (rng_chance(model->rng, 2)) {
        check_count(model, (uint32_t) rng_below(model->rng, N_USERS + 1));
    } else {
        push(model);
    }
}

Test(trace, a_reader_is_told_of_all_he_may_see_or_how_much_is_missing)
{
    static const uint8_t volume[16] = { 1 };
    static struct model model;

    for (struct rng rng = rng_from_env(60); rng_next(&rng);) {
        memset(&model, 0, sizeof model);
        model.rng = &rng;
        model.kept = rng_between(&rng, 1, 200);
        cr_assert_eq(ring_new(model.kept * 64, volume, &model.ring), 0);
        while (model.n < N_PUSHED)
            step(&model);
        for (int i = 0; i < N_READERS; i++)
            if (model.told[i].reader != NULL) {
                while (take_some(&model, &model.told[i]) > 0)
                    ;
                cr_assert_eq(next_of(&model, &model.told[i]), model.n, RNG_SEED, rng.seed);
                cr_assert_eq(model.told[i].len, 0);
                ring_reader_free(model.told[i].reader);
            }
        ring_free(model.ring);
    }
}

static unsigned push_named(struct ring *ring, uint32_t pattern, size_t text_len)
{
    static char text[1 << 20];
    const struct ring_file_key key = { .inode = 1, .owner = FIRST_UID };
    const struct ring_access access = {
        .access = { .item.type = TRACE_ACCESS },
        .file = { .key = &key, .key_len = sizeof key, .text = "f\0l", .text_len = 4 },
        .pattern = { .key = &pattern, .key_len = sizeof pattern, .text = text, .text_len = text_len },
    };

    memset(text, 'x', text_len - 1);
    text[text_len - 1] = 0;
    return ring_push(ring, &access);
}

/* Names of a great many bytes push older records out, and one that has no room at all is counted. */
Test(trace, names_without_room_cost_records_that_are_counted)
{
    static const uint8_t volume[16] = { 1 };
    struct ring *ring;
    struct ring_count count;

    cr_assert_eq(ring_new(64 << 20, volume, &ring), 0);
    for (uint32_t i = 1; i <= 100; i++)
        cr_assert_eq(push_named(ring, i, 1 << 20), 0);
    count = ring_count(ring, FIRST_UID, false);
    cr_expect_eq(count.records, RING_MAX_BYTES / (1 << 20) - 1, "%zu", (size_t) count.records);
    cr_expect_eq(count.records + count.dropped, 100);
    cr_expect_eq(ring_count(ring, FIRST_UID + 1, false).dropped, 0);
    ring_drop(ring, 5);
    cr_expect_eq(ring_count(ring, FIRST_UID, true).dropped, count.dropped + 5);
    ring_free(ring);
}

Test(trace, users_have_so_many_readers)
{
    static const uint8_t volume[16] = { 1 };
    struct ring_reader *reader[RING_MAX_ALL], *one;
    struct ring *ring;
    uint32_t n = 0;

    cr_assert_eq(ring_new(1 << 16, volume, &ring), 0);
    for (uid_t uid = 1; uid <= RING_MAX_ALL / 2 / RING_MAX_READERS; uid++) {
        for (int i = 0; i < RING_MAX_READERS; i++)
            cr_assert_eq(ring_reader_new(ring, uid, false, &reader[n++]), 0);
        cr_expect_eq(ring_reader_new(ring, uid, false, &one), -EUSERS);
    }
    cr_expect_eq(ring_reader_new(ring, 99, false, &one), -EUSERS, "all places of users are taken");
    while (n < RING_MAX_ALL)
        cr_assert_eq(ring_reader_new(ring, 0, true, &reader[n++]), 0);
    cr_expect_eq(ring_reader_new(ring, 0, true, &one), -EUSERS);
    while (n > 0)
        ring_reader_free(reader[--n]);
    cr_expect_eq(ring_reader_new(ring, 1, false, &one), 0);
    ring_reader_free(one);
    ring_free(ring);
}

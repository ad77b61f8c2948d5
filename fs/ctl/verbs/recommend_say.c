/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/table.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/verbs/recommend.h"
#include "fs/json/utf8.h"

#define MAX_SHOWN 10 /* layouts */

static const struct column column[] = {
    { "TIME", COLUMN_RIGHT },     { "FASTER", COLUMN_RIGHT }, { "BUSY", COLUMN_RIGHT },
    { "REQUESTS", COLUMN_RIGHT }, { "SEEKS", COLUMN_RIGHT },  { "DEGREE", COLUMN_RIGHT },
    { "MOVES", COLUMN_RIGHT },    { "PAYS", COLUMN_RIGHT },   { "LAYOUT", COLUMN_CUT },
};

static void add_row(struct table *table, const struct candidate *candidate, const struct candidate *now)
{
    uint64_t runs = now != NULL ? candidate_pays_after(candidate, now) : 0;
    char text[SIZE_TEXT];

    table_addf(table, "%.3g s", (double) candidate->busy.elapsed / 1e9);
    if (now != NULL && candidate->busy.elapsed > 0)
        table_addf(table, "%.2fx", (double) now->busy.elapsed / (double) candidate->busy.elapsed);
    else
        table_add(table, "");
    table_addf(table, "%.3g s", (double) candidate->busy.most / 1e9);
    table_addf(table, "%" PRIu64, candidate->busy.requests);
    table_addf(table, "%" PRIu64, candidate->busy.seeks);
    table_addf(table, "%.2f", candidate->degree);
    table_add(table, candidate->is_now        ? "now"
                     : candidate->knows_moves ? size_text(candidate->moves, false, text)
                                              : "");
    if (runs > 0)
        table_addf(table, "%" PRIu64 " run%s", runs, runs == 1 ? "" : "s");
    else
        table_add(table, "");
    table_add(table, candidate->text);
}

/* The best ones, and the present one wherever it stands. */
static int print_table(const struct recommendation *found)
{
    struct table table;
    int r;

    table_init(&table, column, ARRAY_SIZE(column), NULL, NULL);
    for (size_t i = 0; i < found->n; i++)
        if (i < MAX_SHOWN || found->candidate[i].is_now)
            add_row(&table, &found->candidate[i], found->now);
    r = table_print(&table, stdout);
    table_done(&table);
    return r;
}

void recommend_print_file(const struct recommending *asked)
{
    const char *path = asked->profile->file->path;

    if (asked->called == NULL && path[0] != 0 && path[0] != '/')
        fputs("MOUNTPOINT/", stdout);
    utf8_print_word(stdout, asked->called != NULL ? asked->called : path[0] != 0 ? path : "FILE");
}

void recommend_to_do(const struct recommending *asked, const char *layout)
{
    printf("to do: fallsctl migrate -L '%s' ", layout);
    recommend_print_file(asked);
    putchar('\n');
}

static void print_advice(const struct recommendation *found, const struct recommending *asked, bool applies)
{
    if (found->chosen == found->now && found->replicas.n == 0) {
        puts("no gain: no layout that was tried takes much less than the present one");
        return;
    }
    printf("best: %s%s\n", found->chosen->text,
           found->replicas.n == 0        ? ""
           : found->chosen == found->now ? ", as it is, and beside it"
                                         : ", and beside it");
    if (recommend_moves_file(found) && !applies)
        recommend_to_do(asked, found->chosen->text);
}

/* Says what is not traced but follows, and what is thought there. */
static void print_predicted(const struct profile *profile)
{
    char text[SIZE_TEXT];

    if (!profile->is_predicted)
        return;
    printf("not traced: as follows for %" PRIu32 " process%s and %s\n", profile->touches.n_ranks,
           profile->touches.n_ranks == 1 ? "" : "es", size_text(profile->size, false, text));
    if (profile->is_rounded)
        puts(
            "note: what does not go up is thought to be divided with the first parts one longer: the traces do not tell");
    if (profile->by_bytes)
        puts("note: rows are divided to the byte, since nobody has said what they are made of: --array does");
}

static void print_chance(const struct recommending *asked)
{
    if (asked->profile->by_chance && (asked->of & EXTENTS_READ) != 0)
        puts("note: what is read lies here and there in no order, and another run will hardly read the same: layouts "
             "that follow it are not tried");
}

static enum ctl_status print_all(const struct recommending *asked, const struct recommendation *found, bool applies)
{
    const struct profile *profile = asked->profile;

    utf8_print_line(stdout, profile->file->path[0] != 0 ? profile->file->path : "the array", false);
    printf(": %" PRIu32 " process%s; disks: %" PRIu32 ", ", profile->touches.n_ranks,
           profile->touches.n_ranks == 1 ? "" : "es", asked->n_disks);
    file_costs_print(asked->costs, stdout);
    if (!asked->costs->is_measured && asked->costs->why[0] != 0)
        printf(" (%s)", asked->costs->why);
    putchar('\n');
    print_predicted(profile);
    print_chance(asked);
    if (print_table(found) < 0)
        return report(false, "out of memory");
    print_advice(found, asked, applies);
    return replicas_print(asked, found, applies);
}

static void json_candidate(struct json *json, const struct candidate *candidate, const struct candidate *now)
{
    json_open(json, NULL, '{');
    json_string(json, "layout", candidate->text);
    json_bool(json, "is_now", candidate->is_now);
    json_seconds(json, "busy", (double) candidate->busy.most / 1e9);
    json_seconds(json, "elapsed", (double) candidate->busy.elapsed / 1e9);
    json_seconds(json, "busy_together", (double) candidate->busy.all / 1e9);
    json_u64(json, "requests", candidate->busy.requests);
    json_u64(json, "seeks", candidate->busy.seeks);
    json_real(json, "degree", candidate->degree);
    if (candidate->knows_moves) {
        json_u64(json, "bytes_to_move", candidate->moves);
        json_seconds(json, "seconds_to_move", (double) candidate->moves_ns / 1e9);
        json_u64(json, "pays_after", candidate_pays_after(candidate, now));
    }
    json_close(json, '}');
}

void recommend_json(struct json *json, const struct recommending *asked, const struct recommendation *found)
{
    const struct profile *profile = asked->profile;

    json_string(json, "path", profile->file->path[0] != 0 ? profile->file->path : NULL);
    json_u64(json, "processes", profile->touches.n_ranks);
    json_bool(json, "of_a_sample", profile->touches.of_accesses > profile->touches.accesses);
    json_u64(json, "size", profile->size);
    json_bool(json, "predicted", profile->is_predicted);
    json_bool(json, "rounded", profile->is_rounded);
    json_bool(json, "by_bytes", profile->by_bytes);
    json_bool(json, "by_chance", profile->by_chance);
    json_u64(json, "n_disks", asked->n_disks);
    file_costs_json(asked->costs, json);
    json_bool(json, "gain", found->chosen != found->now || found->replicas.n > 0);
    json_open(json, "candidates", '[');
    for (size_t i = 0; i < found->n; i++)
        json_candidate(json, &found->candidate[i], found->now);
    json_close(json, ']');
    replicas_json(json, asked, found);
}

static enum ctl_status json_all(const struct recommending *asked, const struct recommendation *found)
{
    struct json json;

    json_begin(&json, stdout);
    recommend_json(&json, asked, found);
    json_end(&json);
    return CTL_OK;
}

enum ctl_status recommend_say(const struct recommending *asked, const struct recommendation *found, bool as_json,
                              bool applies)
{
    return as_json ? json_all(asked, found) : print_all(asked, found, applies);
}

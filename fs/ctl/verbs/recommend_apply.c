/* SPDX-License-Identifier: MIT */
/* Does what recommend would tell users to do. */
#include "fs/ctl/ask/replicas_info.h"
#include "fs/ctl/talk/answer.h"
#include "fs/ctl/verbs/recommend.h"
#include "fs/json/utf8.h"

static void say_began(const char *what, const char *path, const char *then, const char *layout, const char *ask)
{
    fputs(what, stdout);
    utf8_print_line(stdout, path, false);
    printf("%s%s: '%s' shows how far\n", then, layout, ask);
}

/* Begins to move a file. quiet: nothing is said of what began. */
static enum ctl_status move(struct together_file *file, const char *layout, bool quiet)
{
    const char *path = file->asked.called;
    char why[ATTRS_WHY];

    if (attrs_set(path, "migrate", layout, why) < 0) {
        enum ctl_status status = report(false, "%s: %s", path, why);

        if (!quiet)
            recommend_to_do(&file->asked, layout);
        return status;
    }
    file->found.began.moves = true;
    if (!quiet)
        say_began("on its way: ", path, " to ", layout, "fallsctl jobs");
    return CTL_OK;
}

static enum ctl_status add_replica(struct together_file *file, uint32_t i, bool quiet)
{
    cleanup(proposed_done) struct proposed proposed = { 0 };
    const char *path = file->asked.called;
    char why[ATTRS_WHY];

    if (proposed_init(&proposed, &file->asked, &file->found, i) < 0)
        return report(false, "out of memory");
    if (!proposed.has_room)
        return CTL_OK;
    if (replicas_info_add(path, proposed.layout, proposed.only, proposed.on_write, why) < 0) {
        enum ctl_status status = report(false, "%s: %s", path, why);

        if (!quiet)
            proposed_to_do(&proposed, &file->asked);
        return status;
    }
    file->found.began.replica[i] = true;
    if (!quiet)
        say_began("being filled: a replica of ", path, " as ", proposed.layout, "fallsctl replica list");
    return CTL_OK;
}

enum ctl_status recommend_apply(struct together_file *file, bool quiet)
{
    const struct recommendation *found = &file->found;
    uint32_t n = 0, n_failed = 0;

    file->found.began.is_asked = true;
    if (recommend_moves_file(found)) {
        n++;
        n_failed += move(file, found->chosen->text, quiet) != CTL_OK;
    }
    for (uint32_t i = 0; found->now != NULL && i < found->replicas.n; i++) {
        n++;
        n_failed += add_replica(file, i, quiet) != CTL_OK;
    }
    return n_failed == 0 ? CTL_OK : n_failed < n ? CTL_PARTIAL : CTL_ERROR;
}

enum ctl_status recommend_apply_together(struct together *together, bool quiet)
{
    const bool is_worth = together->knows_now && together_is_worth(together);
    uint32_t n = 0, n_failed = 0;

    for (size_t i = 0; i < together->n; i++) {
        cleanup(freep) char *text = together_text(&together->file[i]);

        if (text == NULL)
            return report(false, "out of memory");
        together->file[i].found.began.is_asked = true;
        if (!is_worth || !together_changes(&together->file[i]))
            continue;
        n++;
        n_failed += move(&together->file[i], text, quiet) != CTL_OK;
    }
    return n_failed == 0 ? CTL_OK : n_failed < n ? CTL_PARTIAL : CTL_ERROR;
}

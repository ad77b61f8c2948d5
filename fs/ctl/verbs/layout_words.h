/* SPDX-License-Identifier: MIT */
/* The command line of 'fallsctl layout VERB' about layouts alone, and what all of these verbs read and print. */
#ifndef FALLSFS_FS_CTL_VERBS_LAYOUT_WORDS_H
#define FALLSFS_FS_CTL_VERBS_LAYOUT_WORDS_H

#include "fs/ctl/talk/answer.h"
#include "layout/pattern.h"

/* A command line whose options have been taken out. */
struct layout_words {
    char **word; /* behind the verb */
    int n;
    bool as_json, help;
    const char *svg;
    uint32_t n_disks;
};

/* Says what is wrong with the command line. word may be NULL. */
enum ctl_status layout_words_wrong(const char *verb, const char *why, const char *word);

/* Parses the layout in a text, and says why when it is none; which is "A: " or "B: " where there are two, else
 * empty. */
int layout_words_layout(const struct layout_words *words, const char *which, const char *text,
                        struct layout **ret_layout);

/* Parses a layout that must have a pattern, since its number of elements is known; says why when it has none. */
int layout_words_pattern(const struct layout_words *words, const char *which, const char *text,
                         struct layout **ret_layout);

/* Reads what the notation takes as SIZE; false: it is none. A size that is too large becomes UINT64_MAX, which lies
 * past everything. */
bool layout_words_size(const char *word, uint64_t *ret_size);

/* Reads the name of an element: a number, or h for the header. */
bool layout_words_element(const char *word, uint32_t *ret_element);

/* Which elements a layout has, for messages about one that it has not. */
const char *layout_words_range(const struct layout *layout, char range[static 48]);

/* Both write a string, in FALLS. */
void json_layout(struct json *json, const char *key, const struct layout *layout);
void json_nest(struct json *json, const char *key, const struct nest *nest);

/* The verbs for layouts alone. */
enum ctl_status ctl_layout_check(const struct layout_words *words);
enum ctl_status ctl_layout_map(const struct layout_words *words);
enum ctl_status ctl_layout_unmap(const struct layout_words *words);
enum ctl_status ctl_layout_runs(const struct layout_words *words);
enum ctl_status ctl_layout_show(const struct layout_words *words);
enum ctl_status ctl_layout_intersect(const struct layout_words *words);
enum ctl_status ctl_layout_match(const struct layout_words *words);

#endif

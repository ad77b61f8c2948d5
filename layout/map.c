/* SPDX-License-Identifier: MIT */
#include "layout/map.h"

int pattern_map(const struct pattern *pattern, uint64_t file_off, struct place *ret_place)
{
    struct cover_path path;
    uint64_t inside;

    if (file_off > FALLS_LIMIT)
        return -EOVERFLOW;
    if (file_off < pattern->disp) {
        *ret_place = (struct place){ ELEMENT_HEADER, file_off };
        return 0;
    }
    inside = cover_find(pattern->cover, file_off - pattern->disp, &path);
    *ret_place = (struct place){ path.leaf->element, cover_sub_off(pattern->cover, &path) + inside };
    return 0;
}

int pattern_unmap(const struct pattern *pattern, uint32_t element, uint64_t sub_off, uint64_t *ret_file_off)
{
    const struct nest *nest = pattern_element(pattern, element);
    uint64_t file_off;

    if (nest == NULL)
        return -ENOENT;
    if (sub_off >= nest->size)
        return element == ELEMENT_HEADER || nest->size == 0 ? -ERANGE : -EOVERFLOW;
    file_off = nest_select(nest, sub_off);
    if (file_off > FALLS_LIMIT)
        return -EOVERFLOW;
    *ret_file_off = file_off;
    return 0;
}

int pattern_map_between(const struct pattern *from, uint32_t element, uint64_t sub_off, const struct pattern *to,
                        struct place *ret_place)
{
    uint64_t file_off;
    int r = pattern_unmap(from, element, sub_off, &file_off);

    return r < 0 ? r : pattern_map(to, file_off, ret_place);
}

int runs_init(struct runs *runs, const struct pattern *pattern, uint64_t file_off, uint64_t len)
{
    if (file_off > FALLS_LIMIT || len > FALLS_LIMIT - file_off + 1)
        return -EOVERFLOW;
    runs->pattern = pattern;
    runs->file_off = file_off;
    runs->end = file_off + len;
    runs->inside = cover_find(pattern->cover, MAX(file_off, pattern->disp) - pattern->disp, &runs->path);
    return 0;
}

/* Joins to the run that reaches end the segments of the same element that follow it in the file, since they follow it
 * in the subfile too. Returns where the run ends then, and leaves the path at its last segment. */
static uint64_t join_following(struct runs *runs, uint64_t end)
{
    const struct cover *cover = runs->pattern->cover;
    uint32_t element = runs->path.leaf->element;

    if (cover->n_leaves == 1)
        end = runs->end;
    while (end < runs->end) {
        struct cover_path here = runs->path;

        cover_advance(cover, &runs->path);
        if (runs->path.leaf->element != element) {
            runs->path = here;
            break;
        }
        end += runs->path.leaf->len;
    }
    return end;
}

bool runs_next(struct runs *runs, struct run *ret_run)
{
    const struct pattern *pattern = runs->pattern;
    const struct cover_node *leaf = runs->path.leaf;
    uint64_t end;

    if (runs->file_off >= runs->end)
        return false;
    ret_run->file_off = runs->file_off;
    if (runs->file_off < pattern->disp) {
        ret_run->element = ELEMENT_HEADER;
        ret_run->sub_off = runs->file_off;
        end = pattern->disp;
    } else {
        ret_run->element = leaf->element;
        ret_run->sub_off = cover_sub_off(pattern->cover, &runs->path) + runs->inside;
        end = runs->file_off + leaf->len - runs->inside;
        if (leaf->joins)
            end = join_following(runs, end);
        runs->inside = 0;
        if (end < runs->end)
            cover_advance(pattern->cover, &runs->path);
    }
    runs->file_off = MIN(end, runs->end);
    ret_run->len = runs->file_off - ret_run->file_off;
    return true;
}

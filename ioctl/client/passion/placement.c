/* SPDX-License-Identifier: MIT */
/* From local placement to global placement, and back. */
#include "ioctl/client/client.h"
#include "ioctl/client/passion/section.h"
#include "ioctl/client/passion/turn.h"

#include <stdio.h>

#define TURN_BYTES (UINT64_C(16) << 20)

/* One turn's two sections, of which either is read and the other one is written. */
struct sides {
    struct section part, whole;
};

/* In memory both are dense and alike. */
static int side_init(struct section *section, const struct array *array, const uint64_t room[],
                     const int64_t access[][3])
{
    struct box memory = { .lower = { 0 } };

    for (uint32_t d = 0; d < array->ndims; d++)
        memory.size[d] =
            access[d][0] <= access[d][1] ? (uint64_t) ((access[d][1] - access[d][0]) / access[d][2]) + 1 : 0;
    return section_init(section, array, room, &memory, NULL, access);
}

static int sides_init(struct sides *sides, const struct turns *turns, uint64_t process, uint64_t t,
                      const struct local *local, const struct array *whole)
{
    int64_t in_part[ARRAY_MAX_DIMS][3], in_whole[ARRAY_MAX_DIMS][3];
    int r;

    turns_get(turns, process, t, in_part, in_whole);
    r = side_init(&sides->part, &local->part, local->room, (const int64_t(*)[3]) in_part);
    return r < 0 ? r : side_init(&sides->whole, whole, whole->size, (const int64_t(*)[3]) in_whole);
}

static int take_turn(const struct sides *sides, bool to_global, uint8_t *bytes)
{
    int r = section_run(to_global ? &sides->part : &sides->whole, bytes);

    return r < 0 ? r : section_run(to_global ? &sides->whole : &sides->part, bytes);
}

/* What moves, once it is known that it can. */
struct change {
    PFILE *local, *global;
    OCAD *ocad;
    bool to_global;
    struct local of;
    uint8_t *bytes;
};

static int check(const PFILE *global, const OCAD *ocad)
{
    int r = ocad_check(ocad);

    if (r < 0)
        return r;
    if (ocad_n_procs(ocad) != global->who.n)
        return words(-EINVAL, "the array is dealt out to %" PRIu64 " processes, and there are %" PRIu32,
                     ocad_n_procs(ocad), global->who.n);
    if (global->is_part)
        return words(-EINVAL, "the global file was opened as a part: open it without the number behind its name");
    return 0;
}

static int prepare(struct change *change)
{
    int r = pfile_local(change->local, change->ocad, &change->of);

    if (r < 0)
        return r;
    change->bytes = fallsfs_alloc(MAX(TURN_BYTES, change->ocad->array.elem));
    return change->bytes != NULL ? 0 : words(-ENOMEM, "there is not enough memory");
}

/* Who cannot take part, for r, says so to the others, who would wait for it, before anything is moved. */
static int agree(struct fallsfs_group *group, int r)
{
    uint8_t none = 0;
    int of_round;

    if (group == NULL || !group_has_board(group))
        return r;
    group_tell(group, r < 0);
    of_round = fallsfs_read_falls_all(group, 0, "{}", &none);
    if (r == 0 && of_round == 0 && group_told(group) != 0)
        return words(-ECANCELED, "another process cannot take part, and was told why: nothing has been moved");
    return r < 0 ? r : of_round;
}

static int move_all(const struct change *change, struct fallsfs_group *group)
{
    struct array whole = change->ocad->array;
    struct turns turns;
    int r = 0;

    whole.header = change->global->header;
    turns_init(&turns, change->ocad, TURN_BYTES);
    for (uint64_t t = 0; t < turns.n && r == 0; t++) {
        struct sides sides;

        r = sides_init(&sides, &turns, pfile_process(change->local), t, &change->of, &whole);
        sides.part.fd = change->of.fd;
        sides.whole.fd = change->global->fd;
        sides.whole.group = group;
        sides.part.write = !change->to_global;
        sides.whole.write = change->to_global;
        if (r == 0)
            r = take_turn(&sides, change->to_global, change->bytes);
    }
    if (r < 0)
        pfile_leave(change->global, (int) change->global->who.n);
    return r;
}

static int change_placement(PFILE *local, PFILE *global, OCAD *ocad, bool to_global)
{
    struct change change = { .local = local, .global = global, .ocad = ocad, .to_global = to_global };
    struct fallsfs_group *group = NULL;
    char why[512];
    int r = pfile_check(local), r_group;

    if (r == 0)
        r = pfile_check(global);
    if (r < 0)
        return r;
    r = check(global, ocad);
    if (r == 0 && local->is_view && local->header == global->header && pfile_is_same(local, global))
        return 0;
    if (r == 0)
        r = prepare(&change);
    snprintf(why, sizeof why, "%s", fallsfs_strerror_last());
    r_group = pfile_group(global, (int) global->who.n, &group);
    if (r < 0)
        r = words(agree(group, r), "%s", why);
    else
        r = r_group == 0 ? agree(group, 0) : r_group;
    if (r == 0)
        r = move_all(&change, group);
    fallsfs_free(change.bytes);
    return r;
}

int fallsfs_passion_to_global(PFILE *local, PFILE *global, OCAD *OCADptr)
{
    return change_placement(local, global, OCADptr, true);
}

int fallsfs_passion_to_local(PFILE *local, PFILE *global, OCAD *OCADptr)
{
    return change_placement(local, global, OCADptr, false);
}

/* SPDX-License-Identifier: MIT */
/* PASSION's calls by one process that plays all of them in turn, beside a model: passion DIRECTORY. */
#include "test/arrays/dealt.h"
#include "test/arrays/shot.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PREFETCHES 3

/* What files have to have. Where local files are parts of the global one, so are the bytes. */
struct model {
    struct dealt dealt;
    OCAD *ocad;
    bool is_view;
    uint8_t *whole, *local[DEALT_MAX_PROCS]; /* elements, without headers */
    size_t len[DEALT_MAX_PROCS];
    uint8_t header[DEALT_MAX_PROCS + 1][100]; /* of each local file; of the global one */
    PFILE *file[DEALT_MAX_PROCS], *global;
};

/* -- elements -- */

static uint8_t *cell(struct model *model, uint32_t p, const uint64_t index[])
{
    const struct fallsfs_array *array = &model->dealt.array;
    uint64_t in_whole[DEALT_MAX_DIMS];

    if (!model->is_view) {
        uint64_t room[DEALT_MAX_DIMS];

        dealt_room(&model->dealt, p, room);
        return model->local[p] + files_element(array, room, index);
    }
    for (uint32_t d = 0; d < array->ndims; d++)
        in_whole[d] = model->dealt.part[p].whole[d][index[d]];
    return model->whole + files_element(array, array->size, in_whole);
}

struct of_part {
    struct model *model;
    uint32_t p;
};

static uint8_t *cell_of_part(void *ctx, const uint64_t index[])
{
    const struct of_part *of = ctx;

    return cell(of->model, of->p, index);
}

static void move_in_part(struct shot *shot, struct model *model, uint32_t p, bool write)
{
    struct of_part of = { model, p };

    shot_move(shot, cell_of_part, &of, write);
}

static uint8_t *cell_of_whole(void *ctx, const uint64_t index[])
{
    const struct model *model = ctx;

    return model->whole + files_element(&model->dealt.array, model->dealt.array.size, index);
}

static struct shot shot_local(struct model *model, struct rng *rng, uint32_t p)
{
    struct shot shot = { .array = &model->dealt.array };

    memcpy(shot.size, model->dealt.part[p].size, sizeof shot.size);
    dealt_memory(&model->dealt, p, shot.memory);
    shot_aim(&shot, rng);
    shot_load(&shot, rng);
    return shot;
}

/* -- operations -- */

static void do_section(struct model *model, struct rng *rng, uint32_t p)
{
    struct shot shot = shot_local(model, rng, p);
    bool write = rng_chance(rng, 50);

    move_in_part(&shot, model, p, write);
    if (write)
        EXPECT(PASSION_write_section(model->file[p], model->ocad, (char *) shot.bytes, shot.index, shot.access) == 0);
    else
        EXPECT(PASSION_read_section(model->file[p], model->ocad, (char *) shot.bytes, shot.index, shot.access) == 0);
    shot_check(&shot);
}

static void do_global(struct model *model, struct rng *rng, uint32_t p)
{
    struct shot shot = shot_global(&model->dealt, rng);
    bool write = rng_chance(rng, 50);

    (void) p;
    shot_move(&shot, cell_of_whole, model, write);
    if (write)
        EXPECT(PASSION_global_write(model->global, model->ocad, (char *) shot.bytes, shot.index, shot.access, 1) == 0);
    else
        EXPECT(PASSION_global_read(model->global, model->ocad, (char *) shot.bytes, shot.index, shot.access, 1) == 0);
    shot_check(&shot);
}

/* All of a part, dense in memory. */
static void move_whole(struct model *model, struct rng *rng, uint32_t p, bool write)
{
    struct shot shot = { .array = &model->dealt.array };

    memcpy(shot.size, model->dealt.part[p].size, sizeof shot.size);
    memcpy(shot.memory, shot.size, sizeof shot.memory);
    for (uint32_t d = 0; d < shot.array->ndims; d++) {
        shot.n[d] = shot.size[d];
        shot.access[d][2] = 1;
        shot.is_empty |= shot.size[d] == 0;
    }
    shot_load(&shot, rng);
    move_in_part(&shot, model, p, write);
    if (write)
        EXPECT(PASSION_write(model->file[p], model->ocad, (char *) shot.bytes) == 0);
    else
        EXPECT(PASSION_read(model->file[p], model->ocad, (char *) shot.bytes) == 0);
    shot_check(&shot);
}

static void do_whole(struct model *model, struct rng *rng, uint32_t p)
{
    move_whole(model, rng, p, rng_chance(rng, 50));
}

static void do_header(struct model *model, struct rng *rng, uint32_t p)
{
    uint32_t which = model->is_view || rng_chance(rng, 30) ? model->dealt.n : p;
    PFILE *file = which == model->dealt.n && rng_chance(rng, 50) ? model->global : model->file[p];
    char bytes[100];

    if (!model->is_view && which == model->dealt.n)
        file = model->global;
    if (rng_chance(rng, 50)) {
        files_fill(rng, model->header[which], model->dealt.array.header);
        memcpy(bytes, model->header[which], sizeof bytes);
        EXPECT(PASSION_write_header(file, bytes) == 0);
    }
    EXPECT(PASSION_read_header(file, bytes) == 0);
    EXPECT(memcmp(bytes, model->header[which], model->dealt.array.header) == 0);
}

static void do_prefetch(struct model *model, struct rng *rng, uint32_t p)
{
    uint32_t n = (uint32_t) rng_between(rng, 1, MAX_PREFETCHES);
    struct shot shot[MAX_PREFETCHES];
    PREFETCH *prefetch[MAX_PREFETCHES];

    for (uint32_t i = 0; i < n; i++) {
        shot[i] = shot_local(model, rng, p);
        move_in_part(&shot[i], model, p, false);
        prefetch[i] = (i == 0 ? PASSION_read_prefetch : PASSION_prefetch_read)(
            model->file[p], model->ocad, (char *) shot[i].bytes, shot[i].index, shot[i].access);
        EXPECT(prefetch[i] != NULL);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t which = rng_chance(rng, 50) ? i : n - 1;

        while (prefetch[which] == NULL)
            which = (which + 1) % n;
        EXPECT(PASSION_prefetch_wait(prefetch[which]) == 0);
        prefetch[which] = NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        shot_check(&shot[i]);
}

/* The dimensions that the ICLA has not all of, the one that varies slowest first; all if it has them all. */
static uint32_t slowest_cut(const struct model *model, uint32_t p)
{
    const struct fallsfs_array *array = &model->dealt.array;
    uint32_t slowest = array->order == FALLSFS_ROW_MAJOR ? 0 : array->ndims - 1;

    for (uint32_t i = 0; i < array->ndims; i++) {
        uint32_t d = array->order == FALLSFS_ROW_MAJOR ? i : array->ndims - 1 - i;

        if (model->dealt.icla[d][0] > 0 && (uint64_t) model->dealt.icla[d][0] < model->dealt.part[p].size[d])
            return d;
    }
    return slowest;
}

/* Every tile's every element, with overlaps as far as the part goes, and nothing else. */
static void do_reuse(struct model *model, struct rng *rng, uint32_t p)
{
    const struct dealt *dealt = &model->dealt;
    const struct fallsfs_array *array = &dealt->array;
    const uint64_t *size = dealt->part[p].size;
    uint32_t axis = slowest_cut(model, p);
    uint64_t start = rng_chance(rng, 60) ? 0 : rng_below(rng, size[axis] + 2), own[DEALT_MAX_DIMS] = { 0 };
    uint64_t tile[DEALT_MAX_DIMS], memory[DEALT_MAX_DIMS], n_tiles = 1;
    REUSE *reuse = PASSION_reuse_init(model->file[p], model->ocad, (int) start);
    size_t len = array->elem;
    uint8_t *bytes, *wanted;

    EXPECT(reuse != NULL);
    dealt_memory(dealt, p, memory);
    for (uint32_t d = 0; d < array->ndims; d++) {
        len *= memory[d];
        tile[d] = dealt->icla[d][0] > 0 ? (uint64_t) dealt->icla[d][0] : MAX(size[d], 1);
        own[d] = d == axis ? start : 0;
        n_tiles *= own[d] < size[d] ? (size[d] - own[d] + tile[d] - 1) / tile[d] : 0;
    }
    bytes = malloc(len + 1);
    wanted = malloc(len + 1);
    EXPECT(bytes != NULL && wanted != NULL);
    for (uint64_t t = 0; t < n_tiles; t++) {
        uint64_t from[DEALT_MAX_DIMS], n[DEALT_MAX_DIMS], at[DEALT_MAX_DIMS] = { 0 }, zero[DEALT_MAX_DIMS] = { 0 },
                                                          rest = t;

        for (uint32_t i = array->ndims; i-- > 0;) {
            uint32_t d = array->order == FALLSFS_ROW_MAJOR ? i : array->ndims - 1 - i;
            uint64_t first = d == axis ? start : 0, tiles = (size[d] - first + tile[d] - 1) / tile[d];
            uint64_t low = (uint64_t) dealt->overlap[d][0], high = (uint64_t) dealt->overlap[d][1];

            own[d] = first + rest % tiles * tile[d];
            rest /= tiles;
            from[d] = own[d] - MIN(own[d], low);
            n[d] = MIN(MIN(own[d] + tile[d], size[d]) + high, size[d]) - from[d];
        }
        files_fill(rng, bytes, len);
        memcpy(wanted, bytes, len);
        do {
            uint64_t index[DEALT_MAX_DIMS], place[DEALT_MAX_DIMS];

            for (uint32_t d = 0; d < array->ndims; d++) {
                index[d] = from[d] + at[d];
                place[d] = index[d] + (uint64_t) dealt->overlap[d][0] - own[d];
            }
            memcpy(wanted + files_element(array, memory, place), cell(model, p, index), array->elem);
        } while (files_step(array->ndims, zero, n, at));
        EXPECT(PASSION_read_reuse(reuse, (char *) bytes) == (int) MIN(tile[axis], size[axis] - own[axis]));
        EXPECT(memcmp(bytes, wanted, len) == 0);
    }
    errno = 1;
    EXPECT(PASSION_read_reuse(reuse, (char *) bytes) == -1 && errno == 0);
    EXPECT(PASSION_read_reuse(reuse, (char *) bytes) == -1 && errno == 0);
    free(bytes);
    free(wanted);
}

/* What is wrong is an error, and nothing is touched. */
static void do_wrong(struct model *model, struct rng *rng, uint32_t p)
{
    struct shot shot = shot_local(model, rng, p);
    uint32_t d = (uint32_t) rng_below(rng, shot.array->ndims);
    int wrong = (int) rng_below(rng, 4), error = wrong > 1 ? EINVAL : ERANGE;

    if (shot.is_empty) {
        shot_check(&shot);
        return;
    }
    if (wrong == 0)
        shot.access[d][1] = (int) shot.size[d];
    else if (wrong == 1)
        shot.index[d] = (int) (shot.memory[d] - shot.n[d]) + 1;
    else if (wrong == 2)
        shot.access[d][2] = 0;
    else
        shot.access[d][0] = -1;
    errno = 0;
    EXPECT(PASSION_read_section(model->file[p], model->ocad, (char *) shot.bytes, shot.index, shot.access) == -1);
    EXPECT(errno == error);
    EXPECT(PASSION_write_section(model->file[p], model->ocad, (char *) shot.bytes, shot.index, shot.access) == -1);
    EXPECT(errno == error);
    shot_check(&shot);
}

/* -- a case -- */

static void open_all(struct model *model, const char *directory, bool of_one)
{
    char name[300], path[300];
    uint8_t token[16] = { 1 };

    snprintf(path, sizeof path, "%s/array", directory);
    (void) unlink(path);
    for (uint32_t p = 0; p < model->dealt.n; p++) {
        snprintf(name, sizeof name, of_one ? "%s/array:%u" : "%s/part.%u", directory, p);
        (void) unlink(name);
        EXPECT(fallsfs_passion_init(of_one ? 0 : (int) p, of_one ? 1 : (int) model->dealt.n, token) == 0);
        model->file[p] = PASSION_open(name, (unsigned) model->dealt.array.header);
        EXPECT(model->file[p] != NULL);
    }
    EXPECT(fallsfs_passion_init(0, 1, NULL) == 0);
    model->global = PASSION_open(path, (unsigned) model->dealt.array.header);
    EXPECT(model->global != NULL);
}

/* The file of a part ends with its last element. */
static void fill_part(struct model *model, struct rng *rng, uint32_t p)
{
    const struct fallsfs_array *array = &model->dealt.array;
    uint64_t room[DEALT_MAX_DIMS], last[DEALT_MAX_DIMS];
    size_t all = array->elem;
    bool is_empty = false;

    dealt_room(&model->dealt, p, room);
    for (uint32_t d = 0; d < array->ndims; d++) {
        all *= room[d];
        last[d] = model->dealt.part[p].size[d] - 1;
        is_empty |= model->dealt.part[p].size[d] == 0;
    }
    model->len[p] = is_empty ? 0 : files_element(array, room, last) + array->elem;
    model->local[p] = calloc(1, all + 1);
    EXPECT(model->local[p] != NULL);
    move_whole(model, rng, p, true);
}

static void fill_all(struct model *model, struct rng *rng)
{
    int index[DEALT_MAX_DIMS] = { 0 }, access[DEALT_MAX_DIMS][3];
    size_t len = files_array_bytes(&model->dealt.array);
    struct dealt plain = model->dealt;
    OCAD *ocad;

    memset(plain.icla, 0, sizeof plain.icla);
    memset(plain.overlap, 0, sizeof plain.overlap);
    ocad = dealt_ocad(&plain);
    model->whole = malloc(len);
    EXPECT(model->whole != NULL);
    files_fill(rng, model->whole, len);
    for (uint32_t d = 0; d < plain.array.ndims; d++) {
        access[d][0] = 0;
        access[d][1] = plain.size[d] - 1;
        access[d][2] = 1;
    }
    EXPECT(PASSION_global_write(model->global, ocad, (char *) model->whole, index, access, 1) == 0);
    PASSION_free_OCAD(ocad);
    for (uint32_t p = 0; p < model->dealt.n && !model->is_view; p++)
        fill_part(model, rng, p);
}

/* All files have what they are to have, and nothing behind it. */
static void check_file(const char *path, const uint8_t *header, size_t header_len, const uint8_t *bytes, size_t len)
{
    uint8_t *got = malloc(header_len + len + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    EXPECT(fd >= 0 && got != NULL);
    EXPECT(len == 0 || pread(fd, got, header_len + len + 1, 0) == (ssize_t) (header_len + len));
    EXPECT(len == 0 || memcmp(got, header, header_len) == 0);
    EXPECT(len == 0 || memcmp(got + header_len, bytes, len) == 0);
    close(fd);
    free(got);
}

static void check_all(struct model *model, const char *directory, bool of_one)
{
    size_t header = model->dealt.array.header;
    char name[300];

    for (uint32_t p = 0; p < model->dealt.n; p++) {
        EXPECT(PASSION_close(model->file[p]) == 0);
        snprintf(name, sizeof name, of_one ? "%s/array:%u" : "%s/part.%u", directory, p);
        if (!model->is_view) {
            check_file(name, model->header[p], header, model->local[p], model->len[p]);
            EXPECT(unlink(name) == 0);
            free(model->local[p]);
        }
    }
    EXPECT(PASSION_close(model->global) == 0);
    snprintf(name, sizeof name, "%s/array", directory);
    check_file(name, model->header[model->dealt.n], header, model->whole, files_array_bytes(&model->dealt.array));
    free(model->whole);
    PASSION_free_OCAD(model->ocad);
}

static void one_case(struct rng *rng, const char *directory, bool is_mount)
{
    static void (*const operations[])(struct model *, struct rng *, uint32_t) = { do_section, do_section, do_global,
                                                                                  do_whole,   do_header,  do_prefetch,
                                                                                  do_reuse,   do_wrong };
    static struct model model;
    bool of_one = rng_chance(rng, 50);

    memset(&model, 0, sizeof model);
    dealt_make(&model.dealt, rng);
    model.is_view = is_mount && of_one;
    if (!model.is_view && rng_chance(rng, 25))
        dealt_leave_room(&model.dealt, rng);
    model.ocad = dealt_ocad(&model.dealt);
    open_all(&model, directory, of_one);
    fill_all(&model, rng);
    for (uint64_t n = rng_between(rng, 3, 8); n > 0; n--)
        operations[rng_below(rng, ARRAY_SIZE(operations))](&model, rng, (uint32_t) rng_below(rng, model.dealt.n));
    check_all(&model, directory, of_one);
}

int main(int argc, char **argv)
{
    bool is_mount;

    if (argc != 2)
        return 2;
    files_in(argv[1]);
    is_mount = files_are_on_mount();
    for (struct rng rng = rng_from_env(is_mount ? 200 : 20000); rng_next(&rng);) {
        files_case(&rng);
        one_case(&rng, argv[1], is_mount);
    }
    return 0;
}

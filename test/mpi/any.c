/* SPDX-License-Identifier: MIT */
/* A random program of several ranks: any STEPS DIRECTORY TRANSCRIPT wild|tame|model|tame-model. The same seed
 * (FALLSFS_SEED) is the same program, whatever library serves it; what each rank sees is written to TRANSCRIPT.rank:
 * error classes, counts, positions, and a sum of all that it has in memory. Between steps, ranks wait for each other,
 * and what they write in one does not overlap, so that there is one right answer.
 *
 * The models answer with byte by byte reads and writes, as the standard words it (model.h), and are what libraries are
 * held against. One of the files is only read, through views that overlap, too. Wild programs have any types; tame ones
 * keep to what the MPIs' own files do alike, or nearly so: few kinds of types, no mistakes, nothing near the end of the
 * file, where they count what was not there. */
#include "test/mpi/model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_COUNT 6
#define TAME_SIZE 4000000
#define OLD_SIZE  30000
#define ROOM      (2 * MADE_MAX_REACH * MAX_COUNT)

static FILE *transcript;
static bool is_model, is_tame;
static int rank, n_ranks;
static uint8_t *memory; /* ROOM */

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vfprintf(transcript, fmt, args);
    va_end(args);
}

static int class_of(int r)
{
    int class = MPI_SUCCESS;

    if (r != MPI_SUCCESS)
        MPI_Error_class(r, &class);
    return class;
}

/* Names are the same for all MPIs; numbers are not. */
static const char *class_name(int r)
{
    switch (class_of(r)) {
    case MPI_SUCCESS:
        return "ok";
    case MPI_ERR_ARG:
        return "arg";
    case MPI_ERR_COUNT:
        return "count";
    case MPI_ERR_TYPE:
        return "type";
    case MPI_ERR_IO:
        return "io";
    case MPI_ERR_ACCESS:
        return "access";
    case MPI_ERR_READ_ONLY:
        return "read only";
    case MPI_ERR_NO_SUCH_FILE:
        return "no such file";
    case MPI_ERR_FILE_EXISTS:
        return "exists";
    case MPI_ERR_AMODE:
        return "amode";
    case MPI_ERR_UNSUPPORTED_OPERATION:
        return "unsupported";
    default:
        return "other";
    }
}

/* -- what the ranks work on -- */

struct place {
    MPI_Comm comm;
    MPI_File file;
    struct model model; /* instead of the file */
    int rank, n_ranks;
    bool is_old;       /* opened to be read */
    struct made made;  /* what the view is made of */
    MPI_Datatype tile; /* its filetype: one made in n_ranks */
    bool has_tile;
    int etype_size;
};

static void say_position(const struct place *place)
{
    MPI_Offset position = -1, byte = -1;

    if (is_model) {
        position = model_position(&place->model);
        byte = model_offset(&place->model, (uint64_t) (position * place->etype_size));
    } else if (MPI_File_get_position(place->file, &position) == MPI_SUCCESS) {
        (void) MPI_File_get_byte_offset(place->file, position, &byte);
    }
    say(" at %lld byte %lld", (long long) position, (long long) byte);
}

static uint64_t sum(const uint8_t *bytes, size_t len)
{
    uint64_t value = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < len; i++)
        value = (value ^ bytes[i]) * UINT64_C(1099511628211);
    return value;
}

static MPI_Count count_of(int r, MPI_Status *status)
{
    MPI_Count bytes = -1;

    if (r == MPI_SUCCESS)
        MPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes;
}

static void say_result(const struct place *place, int r, MPI_Count bytes)
{
    say(" %s %lld", class_name(r), (long long) bytes);
    say_position(place);
    say(" memory %016" PRIx64 "\n", sum(memory, ROOM));
}

/* -- views -- */

/* One with bytes. */
static void made_some(struct rng *rng, unsigned depth, enum made_for what_for, struct made *made)
{
    if (is_tame)
        what_for = MADE_TAME;
    for (made_make(rng, depth, what_for, made); made->n == 0; made_make(rng, depth, what_for, made))
        made_free(made);
}

/* Each rank has every n_ranks-th of the made type's extents, so that ranks interleave and do not overlap; in a file
 * that is read, tiles overlap. */
static void set_view(struct rng *common, struct place *place)
{
    MPI_Offset disp = (MPI_Offset) rng_below(common, 100);
    MPI_Datatype etype = MPI_BYTE;
    int64_t extent, stride;
    int r;

    if (place->has_tile) {
        MPI_Type_free(&place->tile);
        made_free(&place->made);
    }
    made_some(common, is_tame ? 1 : 4, place->is_old ? MADE_FOR_READING : MADE_FOR_FILES, &place->made);
    extent = MAX(place->made.extent, 1);
    stride = extent * place->n_ranks;
    if (place->is_old)
        stride = 1 + extent / 8 + (int64_t) rng_below(common, (uint64_t) extent);
    if (place->made.n % 4 == 0 && rng_chance(common, 30))
        etype = MPI_INT;
    MPI_Type_size(etype, &place->etype_size);
    MPI_Type_create_resized(place->made.type, 0, stride, &place->tile);
    MPI_Type_commit(&place->tile);
    place->has_tile = true;
    disp += place->rank * extent;
    model_view(&place->model, disp, place->etype_size, &place->made, stride);
    r = is_model ? MPI_SUCCESS : MPI_File_set_view(place->file, disp, etype, place->tile, "native", MPI_INFO_NULL);
    say("set_view %lld %s", (long long) disp, place->made.words);
    say_result(place, r, -1);
}

/* -- data -- */

struct data {
    struct made made;
    int count;
    uint8_t *buf;
};

/* Memory of a type, and bytes in it that tell who wrote them. A whole number of etypes. */
static void data_make(struct rng *own, const struct place *place, struct data *data)
{
    for (;;) {
        if (is_tame)
            made_some(own, 1, MADE_TAME, &data->made);
        else
            made_make(own, 3, MADE_FOR_FILES, &data->made);
        data->count = rng_chance(own, 10) ? 0 : (int) rng_below(own, MAX_COUNT);
        if (data->made.n * (size_t) data->count % (size_t) place->etype_size == 0)
            break;
        made_free(&data->made);
    }
    data->buf = memory + rng_below(own, 64);
}

static void fill(struct rng *own)
{
    for (size_t i = 0; i < ROOM; i += 8) {
        uint64_t word = rng_u64(own);

        memcpy(memory + i, &word, 8);
    }
}

enum how { ALL, AT_ALL, ALONE, AT_ALONE, SPLIT, SPLIT_AT, LATER, LATER_AT, LATER_ALL, LATER_AT_ALL, N_HOWS };

static int do_write(const struct place *place, enum how how, MPI_Offset at, const struct data *data, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_File file = place->file;
    int r;

    switch (how) {
    case ALL:
        return MPI_File_write_all(file, data->buf, data->count, data->made.type, status);
    case AT_ALL:
        return MPI_File_write_at_all(file, at, data->buf, data->count, data->made.type, status);
    case ALONE:
        return MPI_File_write(file, data->buf, data->count, data->made.type, status);
    case AT_ALONE:
        return MPI_File_write_at(file, at, data->buf, data->count, data->made.type, status);
    case SPLIT:
        r = MPI_File_write_all_begin(file, data->buf, data->count, data->made.type);
        return r == MPI_SUCCESS ? MPI_File_write_all_end(file, data->buf, status) : r;
    case SPLIT_AT:
        r = MPI_File_write_at_all_begin(file, at, data->buf, data->count, data->made.type);
        return r == MPI_SUCCESS ? MPI_File_write_at_all_end(file, data->buf, status) : r;
    case LATER:
        r = MPI_File_iwrite(file, data->buf, data->count, data->made.type, &request);
        break;
    case LATER_AT:
        r = MPI_File_iwrite_at(file, at, data->buf, data->count, data->made.type, &request);
        break;
    case LATER_ALL:
        r = MPI_File_iwrite_all(file, data->buf, data->count, data->made.type, &request);
        break;
    default:
        r = MPI_File_iwrite_at_all(file, at, data->buf, data->count, data->made.type, &request);
        break;
    }
    return r == MPI_SUCCESS ? MPI_Wait(&request, status) : r;
}

static int do_read(const struct place *place, enum how how, MPI_Offset at, const struct data *data, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const MPI_File file = place->file;
    int r;

    switch (how) {
    case ALL:
        return MPI_File_read_all(file, data->buf, data->count, data->made.type, status);
    case AT_ALL:
        return MPI_File_read_at_all(file, at, data->buf, data->count, data->made.type, status);
    case ALONE:
        return MPI_File_read(file, data->buf, data->count, data->made.type, status);
    case AT_ALONE:
        return MPI_File_read_at(file, at, data->buf, data->count, data->made.type, status);
    case SPLIT:
        r = MPI_File_read_all_begin(file, data->buf, data->count, data->made.type);
        return r == MPI_SUCCESS ? MPI_File_read_all_end(file, data->buf, status) : r;
    case SPLIT_AT:
        r = MPI_File_read_at_all_begin(file, at, data->buf, data->count, data->made.type);
        return r == MPI_SUCCESS ? MPI_File_read_at_all_end(file, data->buf, status) : r;
    case LATER:
        r = MPI_File_iread(file, data->buf, data->count, data->made.type, &request);
        break;
    case LATER_AT:
        r = MPI_File_iread_at(file, at, data->buf, data->count, data->made.type, &request);
        break;
    case LATER_ALL:
        r = MPI_File_iread_all(file, data->buf, data->count, data->made.type, &request);
        break;
    default:
        r = MPI_File_iread_at_all(file, at, data->buf, data->count, data->made.type, &request);
        break;
    }
    return r == MPI_SUCCESS ? MPI_Wait(&request, status) : r;
}

static const char *const how_names[N_HOWS] = { "all",      "at_all", "alone",    "at_alone",  "split",
                                               "split_at", "later",  "later_at", "later_all", "later_at_all" };

static void move(struct rng *common, struct rng *own, struct place *place)
{
    const bool write = rng_chance(common, 55) && !place->is_old;
    const enum how how = (enum how) rng_below(common, N_HOWS);
    const MPI_Offset at = (MPI_Offset) rng_below(own, 2000) / place->etype_size;
    struct data data;
    const bool explicit = how == AT_ALL || how == AT_ALONE || how == SPLIT_AT || how == LATER_AT || how == LATER_AT_ALL;
    MPI_Status status;
    MPI_Count bytes;
    int r = MPI_SUCCESS;

    data_make(own, place, &data);
    fill(own);
    memset(&status, 0, sizeof status);
    if (is_model) {
        bytes = model_move(&place->model, write, explicit ? at : -1, data.buf, data.count, &data.made);
    } else {
        r = write ? do_write(place, how, at, &data, &status) : do_read(place, how, at, &data, &status);
        bytes = count_of(r, &status);
    }
    if (is_tame && !explicit) /* behind some of these, ROMIO 4.0.2 has the pointer where it does not belong */
        (void) (is_model ? model_seek(&place->model, 7, 0) : MPI_File_seek(place->file, 7, MPI_SEEK_SET));
    say("%s %s %lld %d of %s", write ? "write" : "read", how_names[how], (long long) at, data.count, data.made.words);
    say_result(place, r, bytes);
    made_free(&data.made);
}

/* -- what is around -- */

static void seek(struct rng *own, struct place *place)
{
    static const int whences[] = { MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END };
    const int i = is_tame ? 0 : (int) rng_below(own, ARRAY_SIZE(whences));
    const MPI_Offset to = (MPI_Offset) rng_below(own, 300) - (i == 0 ? 0 : 150);
    int r = is_model ? model_seek(&place->model, to, i) : MPI_File_seek(place->file, to, whences[i]);

    say("seek %d %lld", i, (long long) to);
    say_result(place, r, -1);
}

static void size(struct rng *common, struct place *place)
{
    const MPI_Offset to = (MPI_Offset) rng_below(common, 30000);
    const bool set = rng_chance(common, 50);
    MPI_Offset is = -1;
    int r = MPI_SUCCESS;

    if (is_model && place->rank == 0)
        model_set_size(&place->model, to, set);
    else if (!is_model)
        r = set ? MPI_File_set_size(place->file, to) : MPI_File_preallocate(place->file, to);
    MPI_Barrier(place->comm);
    if (is_model)
        is = model_size(&place->model);
    else
        (void) MPI_File_get_size(place->file, &is);
    say("size %lld, is %lld", (long long) to, (long long) is);
    say_result(place, r, -1);
}

/* What a type of the view is, whose handle is given back. */
static void say_type(MPI_Datatype type)
{
    int size, n_ints, n_addresses, n_types, combiner;
    MPI_Aint lb, extent;

    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    say(" %d %ld", size, (long) extent);
    MPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&type);
}

static void look_at_view(struct place *place)
{
    MPI_Offset disp = place->model.disp;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING] = "native";
    int r = MPI_SUCCESS;

    if (is_model) {
        MPI_Type_contiguous(place->etype_size, MPI_BYTE, &etype);
        if (place->has_tile)
            MPI_Type_dup(place->tile, &filetype);
        else
            filetype = MPI_BYTE;
    } else {
        r = MPI_File_get_view(place->file, &disp, &etype, &filetype, datarep);
    }
    say("view %lld %s", (long long) disp, datarep);
    if (r == MPI_SUCCESS) {
        say_type(etype);
        say_type(filetype);
    }
    say_result(place, r, -1);
}

/* Nothing of it is done. */
static void mistake(struct rng *common, struct place *place)
{
    MPI_Status status;
    const unsigned which = (unsigned) rng_below(common, 3);
    int r = MPI_ERR_OTHER;

    if (!is_model && which == 0)
        r = MPI_File_read_at(place->file, -1, memory, 1, MPI_INT, &status);
    else if (!is_model && which == 1)
        r = MPI_File_write(place->file, memory, -1, MPI_INT, &status);
    else if (!is_model)
        r = MPI_File_seek(place->file, -5, MPI_SEEK_SET);
    say("mistake %u %s", which, r == MPI_SUCCESS ? "passes" : "is refused");
    say_result(place, MPI_SUCCESS, -1);
}

static void step(struct rng *common, struct rng *own, struct place *place)
{
    switch (rng_below(common, 20)) {
    case 0:
    case 1:
    case 2:
        set_view(common, place);
        break;
    case 3:
    case 4:
        seek(own, place);
        break;
    case 5:
        if (!is_tame && !place->is_old)
            size(common, place);
        break;
    case 6:
        if (place->is_old)
            break;
        say("sync");
        say_result(place, is_model ? MPI_SUCCESS : MPI_File_sync(place->file), -1);
        break;
    case 7:
        look_at_view(place);
        break;
    case 8:
        if (!is_tame)
            mistake(common, place);
        break;
    default:
        move(common, own, place);
        break;
    }
    if (!is_model && !place->is_old)
        (void) MPI_File_sync(place->file);
    MPI_Barrier(place->comm);
}

/* What every program finds in the file that it only reads. */
static bool make_old(const char *path)
{
    FILE *file = fopen(path, "w");

    for (int i = 0; file != NULL && i < OLD_SIZE; i++)
        fputc(i * 7 + i / 251 + i % 13, file);
    return file != NULL && fclose(file) == 0;
}

static bool place_open(struct place *place, MPI_Comm comm, const char *directory, const char *name, bool is_old)
{
    const int amode = is_old ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_RDWR;
    char path[4096];
    int r = MPI_SUCCESS;

    *place = (struct place){ .comm = comm, .etype_size = 1, .is_old = is_old };
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_size(comm, &place->n_ranks);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (is_old && place->rank == 0 && !make_old(path))
        return false;
    MPI_Barrier(comm);
    if (is_model)
        r = model_open(&place->model, path) ? MPI_SUCCESS : MPI_ERR_IO;
    else
        r = MPI_File_open(comm, path, amode, MPI_INFO_NULL, &place->file);
    say("open %s", class_name(r));
    if (r == MPI_SUCCESS)
        say_position(place);
    say("\n");
    return r == MPI_SUCCESS;
}

static void place_close(struct place *place)
{
    if (is_model)
        model_close(&place->model);
    say("close %s\n", class_name(is_model ? MPI_SUCCESS : MPI_File_close(&place->file)));
    if (place->has_tile) {
        MPI_Type_free(&place->tile);
        made_free(&place->made);
    }
}

int main(int argc, char **argv)
{
    static struct place whole, part, old;
    uint64_t seed;
    struct rng common, own;
    char path[4096], half[16];
    MPI_Comm comm;
    int steps;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc != 5 || getenv("FALLSFS_SEED") == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    seed = strtoull(getenv("FALLSFS_SEED"), NULL, 10);
    steps = (int) strtol(argv[1], NULL, 10);
    is_model = strstr(argv[4], "model") != NULL;
    is_tame = strstr(argv[4], "tame") != NULL;
    snprintf(path, sizeof path, "%s.%d", argv[3], rank);
    transcript = fopen(path, "w");
    memory = malloc(ROOM);
    common = rng_from_seed(seed);
    own = rng_from_seed(seed * 1000 + (uint64_t) rank + 1);
    if (transcript == NULL || memory == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(memory, 0, ROOM);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    snprintf(half, sizeof half, "half%d", rank % 2);
    if (!place_open(&whole, MPI_COMM_WORLD, argv[2], "whole", false) ||
        !place_open(&part, comm, argv[2], half, false) || !place_open(&old, MPI_COMM_WORLD, argv[2], "old", true))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (is_tame && is_model) {
        model_set_size(&whole.model, TAME_SIZE, true);
        model_set_size(&part.model, TAME_SIZE, true);
    } else if (is_tame) {
        (void) MPI_File_set_size(whole.file, TAME_SIZE);
        (void) MPI_File_set_size(part.file, TAME_SIZE);
    }
    set_view(&common, &whole); /* without views, ranks would overlap */
    set_view(&common, &part);
    for (int i = 0; i < steps; i++) {
        say("%d: ", i);
        if (!is_tame && rng_chance(&common, 25))
            step(&common, &own, &old);
        else
            step(&common, &own, rng_chance(&common, 70) ? &whole : &part);
    }
    place_close(&old);
    place_close(&part);
    place_close(&whole);
    MPI_Comm_free(&comm);
    free(memory);
    fclose(transcript);
    MPI_Finalize();
    return 0;
}

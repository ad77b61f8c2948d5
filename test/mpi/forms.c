/* SPDX-License-Identifier: MIT */
#include "test/mpi/calls.h"

#include <unistd.h>

/* -- large counts -- */

#define LEN 800

#if MPI_VERSION >= 4

static uint8_t mine[LEN], again[LEN];

static bool is_whole(int r, MPI_Status *status)
{
    MPI_Count bytes = -1;

    MPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return r == MPI_SUCCESS && bytes == LEN;
}

/* Each writes what the one before has not. */
#define WROTE(call)                            \
    do {                                       \
        for (size_t i = 0; i < LEN; i++)       \
            mine[i] = (uint8_t) (mine[i] + 1); \
        WANT(is_whole(call, &status));         \
    } while (0)
#define READ(call)                                   \
    do {                                             \
        memset(again, 0, LEN);                       \
        WANT(is_whole(call, &status));               \
        WANT(memcmp(mine, again, sizeof mine) == 0); \
    } while (0)
#define REWIND      MPI_File_seek(file, 0, MPI_SEEK_SET)
#define LATER(call) (call, MPI_Wait(&request, &status))

bool large(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    MPI_Request request;
    MPI_Status status;

    for (size_t i = 0; i < LEN; i++)
        mine[i] = value_at(rank, i);
    set_turns(file, 8);
    WROTE(MPI_File_write_at_all_c(file, 0, mine, LEN, MPI_BYTE, &status));
    READ(MPI_File_read_at_all_c(file, 0, again, LEN, MPI_BYTE, &status));
    WROTE((REWIND, MPI_File_write_all_c(file, mine, LEN, MPI_BYTE, &status)));
    READ((REWIND, MPI_File_read_all_c(file, again, LEN, MPI_BYTE, &status)));
    WROTE((REWIND, MPI_File_write_c(file, mine, LEN, MPI_BYTE, &status)));
    READ((REWIND, MPI_File_read_c(file, again, LEN, MPI_BYTE, &status)));
    WROTE(MPI_File_write_at_c(file, 0, mine, LEN, MPI_BYTE, &status));
    READ(MPI_File_read_at_c(file, 0, again, LEN, MPI_BYTE, &status));
    WROTE(
        (MPI_File_write_at_all_begin_c(file, 0, mine, LEN, MPI_BYTE), MPI_File_write_at_all_end(file, mine, &status)));
    READ((MPI_File_read_at_all_begin_c(file, 0, again, LEN, MPI_BYTE), MPI_File_read_at_all_end(file, again, &status)));
    WROTE((REWIND, MPI_File_write_all_begin_c(file, mine, LEN, MPI_BYTE), MPI_File_write_all_end(file, mine, &status)));
    READ((REWIND, MPI_File_read_all_begin_c(file, again, LEN, MPI_BYTE), MPI_File_read_all_end(file, again, &status)));
    WROTE(LATER(MPI_File_iwrite_at_c(file, 0, mine, LEN, MPI_BYTE, &request)));
    READ(LATER(MPI_File_iread_at_c(file, 0, again, LEN, MPI_BYTE, &request)));
    WROTE(LATER(MPI_File_iwrite_at_all_c(file, 0, mine, LEN, MPI_BYTE, &request)));
    READ(LATER(MPI_File_iread_at_all_c(file, 0, again, LEN, MPI_BYTE, &request)));
    WROTE((REWIND, LATER(MPI_File_iwrite_c(file, mine, LEN, MPI_BYTE, &request))));
    READ((REWIND, LATER(MPI_File_iread_c(file, again, LEN, MPI_BYTE, &request))));
    WROTE((REWIND, LATER(MPI_File_iwrite_all_c(file, mine, LEN, MPI_BYTE, &request))));
    READ((REWIND, LATER(MPI_File_iread_all_c(file, again, LEN, MPI_BYTE, &request))));
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}
#else
bool large(void)
{
    return false; /* the MPI has none */
}
#endif

/* -- error handlers -- */

static int n_handled;

static void handle(MPI_File *file, int *error, ...)
{
    (void) file;
    (void) error;
    n_handled++;
}

bool handlers(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    MPI_Errhandler handler;
    uint8_t byte = 0;

    MPI_File_create_errhandler(handle, &handler);
    WANT(MPI_File_set_errhandler(file, handler) == MPI_SUCCESS);
    WANT(MPI_File_read_at(file, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS && n_handled == 1);
    WANT(MPI_File_seek(file, -5, MPI_SEEK_SET) != MPI_SUCCESS && n_handled == 2);
    WANT(MPI_File_set_view(file, -5, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) != MPI_SUCCESS && n_handled == 3);
    WANT(MPI_File_write_at_all(file, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS && n_handled == 4);
    WANT(MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS && n_handled == 4);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    return true;
}

/* -- views that overlap -- */

#define N_INTS 16

static bool see(MPI_File file, MPI_Offset at, const int *want, int n, int n_there)
{
    int got[N_INTS];
    MPI_Status status;
    MPI_Count bytes = -1;

    for (int way = 0; way < 2; way++) {
        memset(got, -1, sizeof got);
        WANT((way == 0 ? MPI_File_read_at_all(file, at, got, n, MPI_INT, &status)
                       : MPI_File_read_at(file, at, got, n, MPI_INT, &status)) == MPI_SUCCESS);
        MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
        WANT(bytes == n_there * (MPI_Count) sizeof(int));
        for (int i = 0; i < n; i++)
            WANT(got[i] == (i < n_there ? want[i] : -1));
    }
    return true;
}

/* One block twice, and tiles of three that begin two apart, or four back in each other; behind the end nothing is. */
bool overlaps(void)
{
    static const int offs[] = { 2, 2, 5, 5 };
    static const int twice[] = { 22, 22, 55, 55, 66, 66, 99, 99, 110, 110, 143, 143 };
    static const int tiles[] = { 0, 11, 22, 22, 33, 44, 44, 55, 66, 66, 77, 88 };
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    MPI_Datatype blocks, three, tile;
    MPI_Offset end = 0;
    int value[N_INTS];

    for (int i = 0; i < N_INTS; i++)
        value[i] = i * 11;
    if (rank == 0)
        WANT(MPI_File_write_at(file, 0, value, N_INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Type_create_indexed_block(4, 1, offs, MPI_INT, &blocks);
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_create_resized(three, 0, 2 * sizeof(int), &tile);
    MPI_Type_commit(&blocks);
    MPI_Type_commit(&tile);
    set_turns(file, 4);
    WANT(class_of(MPI_File_set_view(file, 0, MPI_INT, blocks, "native", MPI_INFO_NULL)) == MPI_ERR_TYPE);
    WANT(MPI_File_get_byte_offset(file, 5, &end) == MPI_SUCCESS && end == 4 * (n_ranks + rank) + 1); /* as it was */
    WANT(MPI_File_close(&file) == MPI_SUCCESS);

    WANT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    WANT(MPI_File_set_view(file, 0, MPI_INT, blocks, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    WANT(see(file, rank % 3, twice + rank % 3, 9, 9));
    WANT(see(file, 1, twice + 1, rank == 1 ? 0 : 4, rank == 1 ? 0 : 4));
    WANT(MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    WANT(see(file, rank % 3, tiles + rank % 3, 8, 8));
    WANT(see(file, 20, (const int[]){ 154, 154, 165, 0 }, 4, 3));
    WANT(MPI_File_seek(file, 0, MPI_SEEK_END) == MPI_SUCCESS && MPI_File_get_position(file, &end) == MPI_SUCCESS);
    WANT(end == 23);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&blocks);
    MPI_Type_free(&three);
    MPI_Type_free(&tile);
    return true;
}

/* -- hints -- */

static bool is_ours(MPI_File file)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info used;
    int found = 0;

    MPI_File_get_info(file, &used);
    MPI_Info_get(used, "fallsfs", MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&used);
    return found && strcmp(value, "yes") == 0;
}

static bool said(MPI_File file, bool ours, const char *why)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info used;
    int found = 0;

    WANT(is_ours(file) == ours);
    WANT(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    MPI_Info_get(used, "fallsfs_why", MPI_MAX_INFO_VAL, value, &found);
    WANT(found && strstr(value, why) != NULL);
    MPI_Info_free(&used);
    return true;
}

static MPI_Info hints(void)
{
    char text[1000], *rest = text, *hint;
    MPI_Info info;

    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%s", getenv("FALLSFS_TEST_HINTS"));
    while ((hint = strsep(&rest, ",")) != NULL) {
        char *value = strchr(hint, '=');

        if (value != NULL) {
            *value++ = 0;
            MPI_Info_set(info, hint, value);
        }
    }
    return info;
}

bool hinted(void)
{
    const bool alone = getenv("FALLSFS_TEST_ALONE") != NULL;
    static uint8_t bytes[1 << 18], got[1 << 13];
    MPI_Info info = hints();
    MPI_Datatype tile;
    MPI_File file;
    int r;

    WANT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS);
    if (rank == 0)
        WANT(MPI_File_write_at(file, 0, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_vector((int) sizeof got / 8, 8, 256, MPI_BYTE, &tile);
    MPI_Type_commit(&tile);
    WANT(MPI_File_set_view(file, 16 * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    memset(bytes, rank + 1, sizeof bytes);
    r = alone ? MPI_File_write_at(file, 0, bytes, sizeof got, MPI_BYTE, MPI_STATUS_IGNORE)
              : MPI_File_write_at_all(file, 0, bytes, sizeof got, MPI_BYTE, MPI_STATUS_IGNORE);
    WANT(r == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    r = alone ? MPI_File_read_at(file, 0, got, sizeof got, MPI_BYTE, MPI_STATUS_IGNORE)
              : MPI_File_read_at_all(file, 0, got, sizeof got, MPI_BYTE, MPI_STATUS_IGNORE);
    WANT(r == MPI_SUCCESS && memcmp(bytes, got, sizeof got) == 0);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&tile);
    MPI_Info_free(&info);
    return true;
}

bool disabled(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, "fallsfs", "disable");
    uint8_t byte = 1;

    WANT(said(file, false, "hint fallsfs=disable"));
    WANT(MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

bool no_layout(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, "fallsfs_layout", "stripes of all kinds");

    WANT(said(file, true, "layout that hints ask for cannot be had"));
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* -- limits -- */

#define MANY 20

/* All ranks say so of the same files, and go on with the MPI's own. */
bool many(void)
{
    static char name[MANY][4096];
    const char *directory = path;
    MPI_File file[MANY];
    int n_ours = 0, least, most;
    uint8_t byte = 7;

    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "%s.%d", directory, i);
        path = name[i];
        file[i] = open_file(MPI_COMM_WORLD, NULL, NULL);
        n_ours += is_ours(file[i]);
        WANT(is_ours(file[i]) || said(file[i], false, "limits.groups"));
    }
    MPI_Allreduce(&n_ours, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&n_ours, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    WANT(least == most && most > 0 && most < MANY);
    for (int i = 0; i < MANY; i++) {
        WANT(MPI_File_write_at_all(file[i], rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        WANT(MPI_File_close(&file[i]) == MPI_SUCCESS);
    }
    return true;
}

/* SPDX-License-Identifier: MIT */
/* What MPI-IO makes of the same sections. Started by mpiexec, as
 *
 *     romio_sections serve SQUAD FILE...     members of the squad at that path; methods count as in romio.h
 *     romio_sections barrier                 microseconds of a barrier
 */
#include "ioctl/client/bench/method.h"
#include "ioctl/client/bench/pieces.h"
#include "layout/base.h"
#include "test/bench/romio.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define SIEVE_BUFFER      "262144"
#define COLLECTIVE_BUFFER "4194304"

struct hint {
    const char *name, *value;
};

/* Files and views are the same for all; these say how they are opened, and with which calls they are read and written.
 */
struct way {
    bool together;
    struct hint hint[8];
};

static const struct way ways[] = {
    [ROMIO_PLAIN] = { false, { { "romio_ds_read", "disable" }, { "romio_ds_write", "disable" } } },
    [ROMIO_SIEVE] = { false,
                      { { "romio_ds_read", "enable" },
                        { "romio_ds_write", "enable" },
                        { "ind_rd_buffer_size", SIEVE_BUFFER },
                        { "ind_wr_buffer_size", SIEVE_BUFFER } } },
    [ROMIO_DEFAULT] = { true, { { NULL, NULL } } },
    [ROMIO_ONE] = { true,
                    { { "romio_cb_read", "enable" },
                      { "romio_cb_write", "enable" },
                      { "cb_config_list", "*:*" },
                      { "cb_nodes", "1" },
                      { "cb_buffer_size", COLLECTIVE_BUFFER } } },
    [ROMIO_FOUR] = { true,
                     { { "romio_cb_read", "enable" },
                       { "romio_cb_write", "enable" },
                       { "cb_config_list", "*:*" },
                       { "cb_nodes", "4" },
                       { "cb_buffer_size", COLLECTIVE_BUFFER } } },
    [ROMIO_ALL] = { true, /* automatic: independent where ranks do not interleave */
                    { { "cb_config_list", "*:*" },
                      { "cb_nodes", "all" },
                      { "cb_buffer_size", COLLECTIVE_BUFFER },
                      { "ind_rd_buffer_size", SIEVE_BUFFER },
                      { "ind_wr_buffer_size", SIEVE_BUFFER } } },
};

static int explain(int code, char why[static SQUAD_TEXT])
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;

    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &len);
    snprintf(why, SQUAD_TEXT, "%.*s", len, text);
    return -EIO;
}

static MPI_Info info_of(const struct way *way, uint32_t nranks)
{
    char all[16];
    MPI_Info info;

    snprintf(all, sizeof all, "%" PRIu32, nranks);
    MPI_Info_create(&info);
    for (const struct hint *hint = way->hint; hint < way->hint + ARRAY_SIZE(way->hint) && hint->name != NULL; hint++)
        MPI_Info_set(info, hint->name, strcmp(hint->value, "all") == 0 ? all : hint->value);
    return info;
}

/* -- the view -- */

static bool is_unit_stride(const struct method_request *request)
{
    for (uint32_t d = 0; d < request->order->array.ndims; d++)
        if (request->section[d].stride != 1)
            return false;
    return true;
}

static int subarray(const struct method_request *request, MPI_Datatype *ret_type)
{
    const struct fallsfs_array *array = &request->order->array;
    int size[FALLSFS_MAX_DIMS], part[FALLSFS_MAX_DIMS], start[FALLSFS_MAX_DIMS];

    for (uint32_t d = 0; d < array->ndims; d++) {
        size[d] = (int) array->size[d];
        part[d] = (int) (request->section[d].upper - request->section[d].lower + 1);
        start[d] = (int) request->section[d].lower;
    }
    return MPI_Type_create_subarray((int) array->ndims, size, part, start,
                                    array->order == FALLSFS_COLUMN_MAJOR ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT32_T,
                                    ret_type);
}

/* A vector of vectors; *ret_start is where the first element is. */
static int vectors(const struct method_request *request, MPI_Datatype *ret_type, MPI_Offset *ret_start)
{
    const struct fallsfs_array *array = &request->order->array;
    MPI_Aint bytes = (MPI_Aint) array->elem;
    MPI_Datatype type = MPI_INT32_T;
    int r = MPI_SUCCESS;

    *ret_start = 0;
    for (uint32_t pace = 0; r == MPI_SUCCESS && pace < array->ndims; pace++) {
        uint32_t d = array->order == FALLSFS_COLUMN_MAJOR ? pace : array->ndims - 1 - pace;
        const struct fallsfs_range *range = &request->section[d];
        int count = (int) ((range->upper - range->lower) / range->stride + 1);
        MPI_Datatype inner = type;

        *ret_start += bytes * (MPI_Offset) range->lower;
        r = MPI_Type_create_hvector(count, 1, bytes * (MPI_Aint) range->stride, inner, &type);
        if (inner != MPI_INT32_T)
            MPI_Type_free(&inner);
        bytes *= (MPI_Aint) array->size[d];
    }
    *ret_type = type;
    return r;
}

static int set_view(MPI_File file, const struct method_request *request)
{
    MPI_Offset start = 0;
    MPI_Datatype type = MPI_INT32_T;
    int r = MPI_SUCCESS;

    if (request->bytes > 0)
        r = is_unit_stride(request) ? subarray(request, &type) : vectors(request, &type, &start);
    if (r == MPI_SUCCESS && type != MPI_INT32_T)
        r = MPI_Type_commit(&type);
    if (r == MPI_SUCCESS)
        r = MPI_File_set_view(file, (MPI_Offset) request->order->array.header + start, MPI_INT32_T, type, "native",
                              MPI_INFO_NULL);
    if (type != MPI_INT32_T)
        MPI_Type_free(&type);
    return r;
}

/* -- methods -- */

struct view {
    MPI_File file;
    bool together;
};

static void view_close(void *state)
{
    struct view *view = state;

    MPI_File_close(&view->file);
    free(view);
}

static int view_open(enum romio_way way, const struct method_request *request, void **ret_state)
{
    int r, mode = request->order->write ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
    struct view *view = malloc(sizeof *view);
    MPI_Info info;

    if (view == NULL)
        return -ENOMEM;
    if (request->order->array.elem != sizeof(int32_t)) {
        free(view);
        return -EINVAL;
    }
    view->together = ways[way].together;
    info = info_of(&ways[way], request->nranks);
    r = MPI_File_open(MPI_COMM_WORLD, request->path, mode, info, &view->file);
    MPI_Info_free(&info);
    if (r != MPI_SUCCESS) {
        free(view);
        return explain(r, request->why);
    }
    r = set_view(view->file, request);
    if (r != MPI_SUCCESS)
        view_close(view);
    else
        *ret_state = view;
    return explain(r, request->why);
}

static int view_move(void *state, const struct method_request *request)
{
    const struct view *view = state;
    int r, n = (int) (request->bytes / sizeof(int32_t)), done = 0;
    MPI_Status status;

    if (request->order->write)
        r = (view->together ? MPI_File_write_at_all : MPI_File_write_at)(view->file, 0, request->buf, n, MPI_INT32_T,
                                                                         &status);
    else
        r = (view->together ? MPI_File_read_at_all : MPI_File_read_at)(view->file, 0, request->buf, n, MPI_INT32_T,
                                                                       &status);
    if (r == MPI_SUCCESS)
        MPI_Get_count(&status, MPI_INT32_T, &done);
    if (r == MPI_SUCCESS && done != n) {
        snprintf(request->why, SQUAD_TEXT, "%d of %d elements were moved", done, n);
        return -EIO;
    }
    return explain(r, request->why);
}

static int plain_open(const struct method_request *request, void **ret_state)
{
    return view_open(ROMIO_PLAIN, request, ret_state);
}

static int sieve_open(const struct method_request *request, void **ret_state)
{
    return view_open(ROMIO_SIEVE, request, ret_state);
}

static int default_open(const struct method_request *request, void **ret_state)
{
    return view_open(ROMIO_DEFAULT, request, ret_state);
}

static int one_open(const struct method_request *request, void **ret_state)
{
    return view_open(ROMIO_ONE, request, ret_state);
}

static int four_open(const struct method_request *request, void **ret_state)
{
    return view_open(ROMIO_FOUR, request, ret_state);
}

static int all_open(const struct method_request *request, void **ret_state)
{
    return view_open(ROMIO_ALL, request, ret_state);
}

static const struct method methods[] = {
    [ROMIO_PLAIN] = { "plain", plain_open, view_move, view_close, NULL },
    [ROMIO_SIEVE] = { "sieve", sieve_open, view_move, view_close, NULL },
    [ROMIO_DEFAULT] = { "default", default_open, view_move, view_close, NULL },
    [ROMIO_ONE] = { "one", one_open, view_move, view_close, NULL },
    [ROMIO_FOUR] = { "four", four_open, view_move, view_close, NULL },
    [ROMIO_ALL] = { "all", all_open, view_move, view_close, NULL },
};

/* -- verbs -- */

static int serve(const char *path, uint32_t n_paths, char **paths)
{
    const struct method *method[ROMIO_WAYS];
    struct method_set set = { method, ROMIO_WAYS, (const char *const *) paths, n_paths, malloc, free };
    cleanup(squad_freep) struct squad *squad = NULL;
    int rank, r = squad_attach(path, &squad);

    if (r < 0) {
        fprintf(stderr, "romio_sections: %s: %s\n", path, strerror(-r));
        return 1;
    }
    for (size_t i = 0; i < ROMIO_WAYS; i++)
        method[i] = &methods[i];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    method_member(&set, squad, (uint32_t) rank);
    return 0;
}

static int barrier(void)
{
    enum { TIMES = 20 };
    double start;
    int rank, nranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    for (int i = 0; i < TIMES / 4; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.0f\n", (MPI_Wtime() - start) / TIMES * 1e6);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 2;

    MPI_Init(&argc, &argv);
    if (argc > 3 && strcmp(argv[1], "serve") == 0)
        status = serve(argv[2], (uint32_t) argc - 3, argv + 3);
    else if (argc == 2 && strcmp(argv[1], "barrier") == 0)
        status = barrier();
    else
        fprintf(stderr, "usage: romio_sections serve SQUAD FILE... | barrier\n");
    MPI_Finalize();
    return status;
}

/* SPDX-License-Identifier: MIT */
/* What MPI-IO makes of the same programs, all ranks together, as it comes. Started by mpiexec, as
 *
 *     romio_profile WORKLOAD BYTES SEED FILE write|read          prints "SECONDS BYTES" */
#include "ioctl/client/bench/content.h"
#include "test/bench/workloads.h"

#include <mpi.h>
#include <stdio.h>

struct rank {
    struct program program;
    MPI_File file;
    bool writes;
    uint32_t index;
};

static void require(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &len);
    fprintf(stderr, "romio_profile: %s: %.*s\n", what, len, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Datatype section_type(const struct fallsfs_array *array, const struct step *step)
{
    int size[FALLSFS_MAX_DIMS], part[FALLSFS_MAX_DIMS], start[FALLSFS_MAX_DIMS];
    MPI_Datatype elem, type;

    for (uint32_t d = 0; d < array->ndims; d++) {
        size[d] = (int) array->size[d];
        start[d] = (int) step->section[d].lower;
        part[d] = (int) (step->section[d].upper - step->section[d].lower + 1);
    }
    require(MPI_Type_contiguous((int) array->elem, MPI_BYTE, &elem), "an element");
    require(MPI_Type_create_subarray((int) array->ndims, size, part, start, MPI_ORDER_C, elem, &type), "a section");
    require(MPI_Type_commit(&type), "a section");
    MPI_Type_free(&elem);
    return type;
}

/* One call of all ranks; those that have nothing to do any more take part with nothing. */
static void move(const struct rank *rank, const struct step *step, void *buf)
{
    MPI_Offset at = step->is_section ? 0 : (MPI_Offset) step->off;
    MPI_Datatype type = MPI_BYTE;
    MPI_Status status;

    if (step->is_section) {
        type = section_type(&rank->program.array, step);
        require(MPI_File_set_view(rank->file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), "a view");
    }
    if (rank->writes)
        require(MPI_File_write_at_all(rank->file, at, buf, (int) step->len, MPI_BYTE, &status), "writing");
    else
        require(MPI_File_read_at_all(rank->file, at, buf, (int) step->len, MPI_BYTE, &status), "reading");
    if (step->is_section)
        MPI_Type_free(&type);
}

static uint64_t walk(const struct rank *rank)
{
    uint64_t mine = program_count(&rank->program, rank->index, rank->writes), n = 0, bytes = 0, room = 1;
    void *buf = malloc(room);

    MPI_Allreduce(&mine, &n, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    for (uint64_t i = 0; i < n && buf != NULL; i++) {
        struct step step = { 0 };

        if (i < mine)
            step = program_step(&rank->program, rank->index, rank->writes, i);
        if (step.len > room) {
            free(buf);
            room = step.len;
            buf = malloc(room);
        }
        if (buf != NULL && rank->writes && !step.is_section)
            content_fill(buf, step.off, step.len, 1);
        else if (buf != NULL && rank->writes)
            content_fill_section(buf, &rank->program.array, step.section, 1);
        if (buf != NULL)
            move(rank, &step, buf);
        bytes += step.len;
    }
    free(buf);
    return bytes;
}

static double timed(struct rank *rank, char *path, uint64_t *ret_bytes)
{
    int mode = rank->writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    uint64_t bytes;
    double seconds;

    require(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &rank->file), path);
    if (rank->writes)
        require(MPI_File_set_size(rank->file, 0), path);
    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    bytes = walk(rank);
    if (rank->writes)
        require(MPI_File_sync(rank->file), "sync");
    seconds = MPI_Wtime() - seconds;
    require(MPI_File_close(&rank->file), "close");
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&bytes, ret_bytes, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return seconds;
}

int main(int argc, char **argv)
{
    const struct workload *workload = argc == 6 ? workload_find(argv[1]) : NULL;
    struct rank rank = { .writes = argc == 6 && strcmp(argv[5], "write") == 0 };
    int n_procs, index, r;
    uint64_t bytes;
    double seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &n_procs);
    MPI_Comm_rank(MPI_COMM_WORLD, &index);
    rank.index = (uint32_t) index;
    r = workload == NULL ? -EINVAL
                         : program_init(&rank.program, workload, (uint32_t) n_procs, strtoull(argv[2], NULL, 10),
                                        strtoull(argv[3], NULL, 10));
    if (r < 0) {
        fprintf(stderr, "usage: romio_profile WORKLOAD BYTES SEED FILE write|read\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    seconds = timed(&rank, argv[4], &bytes);
    if (index == 0)
        printf("%.6f %" PRIu64 "\n", seconds, bytes);
    program_done(&rank.program);
    MPI_Finalize();
    return 0;
}

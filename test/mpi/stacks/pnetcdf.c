/* SPDX-License-Identifier: MIT */
/* PnetCDF: vara, varn and merged iput of two variables. pnetcdf FILE */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

#define OK(call)                                                    \
    do {                                                            \
        int r_ = (call);                                            \
        if (r_ != NC_NOERR) {                                       \
            fprintf(stderr, "%s: %s\n", #call, ncmpi_strerror(r_)); \
            MPI_Abort(MPI_COMM_WORLD, 1);                           \
        }                                                           \
    } while (0)

enum { ROWS = 40, MINE = 9, POINTS = 10 };

static int block[ROWS][MINE], again[ROWS][MINE];
static int rank, n_ranks;
static MPI_Offset start[2], count[2] = { ROWS, MINE };

static int compare(void)
{
    int wrong = 0;

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < MINE; j++) {
            wrong += again[i][j] != block[i][j];
            again[i][j] = 0;
        }
    return wrong;
}

/* Single elements here and there, this rank's alone. */
static int points(int file, int var)
{
    MPI_Offset where[POINTS][2], *starts[POINTS];
    int values[POINTS], read[POINTS] = { 0 }, wrong = 0;

    for (int i = 0; i < POINTS; i++) {
        where[i][0] = (i * i + i) % ROWS;
        where[i][1] = rank * MINE + i % MINE;
        starts[i] = where[i];
        values[i] = 1000 + rank * POINTS + (int) where[i][0] * MINE + i % MINE;
    }
    OK(ncmpi_put_varn_int_all(file, var, POINTS, starts, NULL, values));
    OK(ncmpi_get_varn_int_all(file, var, POINTS, starts, NULL, read));
    for (int i = 0; i < POINTS; i++)
        wrong += read[i] != values[i];
    return wrong;
}

int main(int argc, char **argv)
{
    int file, dims[2], var[3], request[2], status[2], wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    start[1] = rank * MINE;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < MINE; j++)
            block[i][j] = i * MINE * n_ranks + rank * MINE + j;
    OK(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
    OK(ncmpi_def_dim(file, "row", ROWS, &dims[0]));
    OK(ncmpi_def_dim(file, "column", (MPI_Offset) MINE * n_ranks, &dims[1]));
    OK(ncmpi_def_var(file, "a", NC_INT, 2, dims, &var[0]));
    OK(ncmpi_def_var(file, "b", NC_INT, 2, dims, &var[1]));
    OK(ncmpi_def_var(file, "c", NC_INT, 2, dims, &var[2]));
    OK(ncmpi_enddef(file));
    OK(ncmpi_put_vara_int_all(file, var[0], start, count, &block[0][0]));
    OK(ncmpi_iput_vara_int(file, var[1], start, count, &block[0][0], &request[0]));
    OK(ncmpi_iput_vara_int(file, var[2], start, count, &block[0][0], &request[1]));
    OK(ncmpi_wait_all(file, 2, request, status));
    wrong = 0;
    for (int i = 0; i < 3; i++) {
        OK(ncmpi_get_vara_int_all(file, var[i], start, count, &again[0][0]));
        wrong += compare();
    }
    wrong += points(file, var[0]);
    OK(ncmpi_close(file));
    MPI_Finalize();
    return wrong != 0;
}

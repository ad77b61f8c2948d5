/* SPDX-License-Identifier: MIT */
/* netCDF-4 in parallel: blocks of columns, collectively. netcdf FILE */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>

#define OK(call)                                                 \
    do {                                                         \
        int r_ = (call);                                         \
        if (r_ != NC_NOERR) {                                    \
            fprintf(stderr, "%s: %s\n", #call, nc_strerror(r_)); \
            MPI_Abort(MPI_COMM_WORLD, 1);                        \
        }                                                        \
    } while (0)

enum { ROWS = 50, MINE = 13 };

int main(int argc, char **argv)
{
    static int block[ROWS][MINE], again[ROWS][MINE];
    int rank, n_ranks, file, dims[2], var, wrong = 0;
    size_t start[2] = { 0 }, count[2] = { ROWS, MINE };

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    start[1] = (size_t) rank * MINE;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < MINE; j++)
            block[i][j] = i * MINE * n_ranks + rank * MINE + j;
    OK(nc_create_par(argv[1], NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    OK(nc_def_dim(file, "row", ROWS, &dims[0]));
    OK(nc_def_dim(file, "column", (size_t) MINE * (size_t) n_ranks, &dims[1]));
    OK(nc_def_var(file, "values", NC_INT, 2, dims, &var));
    OK(nc_enddef(file));
    OK(nc_var_par_access(file, var, NC_COLLECTIVE));
    OK(nc_put_vara_int(file, var, start, count, &block[0][0]));
    OK(nc_close(file));
    OK(nc_open_par(argv[1], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    OK(nc_inq_varid(file, "values", &var));
    OK(nc_var_par_access(file, var, NC_COLLECTIVE));
    OK(nc_get_vara_int(file, var, start, count, &again[0][0]));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < MINE; j++)
            wrong += again[i][j] != block[i][j];
    OK(nc_close(file));
    MPI_Finalize();
    return wrong != 0;
}

/* SPDX-License-Identifier: MIT */
/* Another tool that sits before an MPI, as Darshan does: it catches the names of collective calls, says at the end how
 * many of them it has seen, and calls whoever comes next under the same name. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int n_opens, n_writes, n_reads, n_closes;

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found == NULL)
        abort();
    return found;
}

#define CATCH(name, parameters, arguments, counter) \
    int name parameters                             \
    {                                               \
        union {                                     \
            void *found;                            \
            int(*next) parameters;                  \
        } call = { .found = next(#name) };          \
                                                    \
        counter++;                                  \
        return call.next arguments;                 \
    }

#define BOTH(name, parameters, arguments, counter)         \
    CATCH(MPI_File_##name, parameters, arguments, counter) \
    CATCH(PMPI_File_##name, parameters, arguments, counter)

BOTH(open, (MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *file), (comm, name, amode, info, file),
     n_opens)
BOTH(close, (MPI_File * file), (file), n_closes)
BOTH(write_all, (MPI_File file, const void *buf, int count, MPI_Datatype type, MPI_Status *status),
     (file, buf, count, type, status), n_writes)
BOTH(read_at_all, (MPI_File file, MPI_Offset offset, void *buf, int count, MPI_Datatype type, MPI_Status *status),
     (file, offset, buf, count, type, status), n_reads)

__attribute__((destructor)) static void say(void)
{
    if (n_opens > 0)
        fprintf(stderr, "counter: %d opens, %d writes, %d reads, %d closes\n", n_opens, n_writes, n_reads, n_closes);
}

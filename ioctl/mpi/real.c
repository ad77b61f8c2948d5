/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/real.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void real_find(void **known, const char *name, void *ret_function)
{
    void *found = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    if (found == NULL) {
        found = dlsym(RTLD_NEXT, name);
        if (found == NULL) {
            fprintf(stderr, "fallsfs: no MPI library after this one has %s: %s\n", name, dlerror());
            abort();
        }
        __atomic_store_n(known, found, __ATOMIC_RELEASE);
    }
    memcpy(ret_function, &found, sizeof found);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ours;

/* Handles of the other MPI must not be looked into. The library that the program's calls go to says which one it is:
 * one of Open MPI has the objects that its handles point to. */
static void look(void)
{
    void *init = dlsym(RTLD_DEFAULT, "PMPI_Init"), *library;
    Dl_info info;
    bool open_mpi;

    if (init == NULL || dladdr(init, &info) == 0 || (library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) == NULL)
        return;
    open_mpi = dlsym(library, "ompi_mpi_comm_world") != NULL;
    (void) dlclose(library);
#ifdef OPEN_MPI
    ours = open_mpi;
#else
    ours = !open_mpi;
#endif
}

bool real_is_ours(void)
{
    (void) pthread_once(&once, look);
    return ours;
}

/* SPDX-License-Identifier: MIT */
/* The MPIs write many small pieces by reading what is around them, and writing all of it back. In a file of ours that
 * would undo what others have written meanwhile, who know of no locks. Other files are none of our business. */
#include "ioctl/mpi/file.h"

/* ROMIO has hints for it: its collective writes, too, read where the ranks together leave holes. */
MPI_Info sieving_hints(MPI_Info info)
{
    MPI_Info own = MPI_INFO_NULL;
    int r = info == MPI_INFO_NULL ? PMPI_Info_create(&own) : PMPI_Info_dup(info, &own);

    if (r != MPI_SUCCESS)
        return MPI_INFO_NULL;
    (void) PMPI_Info_set(own, "romio_ds_write", "disable");
    (void) PMPI_Info_set(own, "romio_cb_write", "disable");
    (void) PMPI_Info_set(own, "romio_no_indep_rw", "false"); /* true means romio_cb_write=enable, too */
    return own;
}

MPI_Info sieving_later(const struct file *file, MPI_Info info)
{
    return file->no_sieving && info != MPI_INFO_NULL ? sieving_hints(info) : MPI_INFO_NULL;
}

#ifdef OPEN_MPI

#include <dlfcn.h>

/* OMPIO has a parameter for all files alike, which it looks at with each write, so it is changed while a call for one
 * of these files is under way. Where threads may call at once, OMPIO never sieves; so no other file's call meets that.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool *sieves, was; /* lock; NULL: not found so far */
static unsigned n_calls;  /* lock */

/* Open MPI's tools find parameters so. There is none of that name before the first file is open, or where another
 * component writes files. */
static bool *find(void)
{
    union {
        void *symbol;
        int (*find)(const char *project, const char *framework, const char *component, const char *name);
        int (*value)(int number, const void *value, void *source, const char **file);
    } call = { .symbol = dlsym(RTLD_DEFAULT, "mca_base_var_find") };
    bool *value = NULL;
    int number = call.symbol == NULL ? -1 : call.find("ompi", "fbtl", "posix", "write_datasieving");

    call.symbol = dlsym(RTLD_DEFAULT, "mca_base_var_get_value");
    if (number < 0 || call.symbol == NULL || call.value(number, &value, NULL, NULL) != 0)
        return NULL;
    return value;
}

void sieving_stop(void)
{
    pthread_mutex_lock(&lock);
    if (n_calls++ == 0 && (sieves != NULL || (sieves = find()) != NULL)) {
        was = *sieves;
        *sieves = false;
    }
    pthread_mutex_unlock(&lock);
}

void sieving_go_on(void)
{
    pthread_mutex_lock(&lock);
    if (--n_calls == 0 && sieves != NULL)
        *sieves = was;
    pthread_mutex_unlock(&lock);
}

#else

void sieving_stop(void)
{
}

void sieving_go_on(void)
{
}

#endif

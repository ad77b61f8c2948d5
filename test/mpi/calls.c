/* SPDX-License-Identifier: MIT */
/* Single things that a program with several ranks may do: calls WHAT FILE. Ends with 0 or 1 on all ranks, but for what
 * is killed. */
#include "test/mpi/calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int rank, n_ranks;
const char *path;

int class_of(int r)
{
    int class = MPI_SUCCESS;

    if (r != MPI_SUCCESS)
        MPI_Error_class(r, &class);
    return class;
}

MPI_File open_file(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_File file = MPI_FILE_NULL;

    if (key != NULL) {
        MPI_Info_create(&info);
        MPI_Info_set(info, key, value);
    }
    if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return file;
}

void set_turns(MPI_File file, int block)
{
    MPI_Datatype bytes, tile;

    MPI_Type_contiguous(block, MPI_BYTE, &bytes);
    MPI_Type_create_resized(bytes, 0, (MPI_Aint) block * n_ranks, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (MPI_Offset) rank * block, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    MPI_Type_free(&tile);
    MPI_Type_free(&bytes);
}

uint8_t value_at(int of_rank, size_t i)
{
    return (uint8_t) (i * 7 + i / 251 + (size_t) of_rank * 31 + 1);
}

/* -- more than is staged at a time: ranks with much, little and nothing -- */

static bool rounds(void)
{
    const size_t len = rank == 1 ? 0 : rank == 2 ? 1000 : (7 << 19) + 13;
    uint8_t *bytes = malloc(len + 1), *again = calloc(len + 1, 1);
    MPI_File file = open_file(MPI_COMM_WORLD, "cb_buffer_size", "1048576");
    MPI_Status status;
    int count;

    WANT(bytes != NULL && again != NULL);
    for (size_t i = 0; i < len; i++)
        bytes[i] = value_at(rank, i);
    set_turns(file, 100);
    WANT(MPI_File_write_all(file, bytes, (int) len, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    WANT(count == (int) len);
    WANT(MPI_File_read_at_all(file, 0, again, (int) len, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    WANT(count == (int) len && memcmp(bytes, again, len) == 0);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    free(bytes);
    free(again);
    return true;
}

/* -- pieces that are no progression, ranks interleaved -- */

#define N_PIECES 20000

static bool irregular(void)
{
    static int lengths[N_PIECES];
    static MPI_Aint offs[N_PIECES];
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    MPI_Aint at = 0;
    MPI_Datatype tile;
    uint8_t *bytes, *again;
    int len = 0;

    for (int i = 0; i < N_PIECES; i++)
        for (int of = 0; of < n_ranks; of++) {
            const int piece = 8 + (i * 5 + of * 3) % 9;

            if (of == rank) {
                lengths[i] = piece;
                offs[i] = at;
                len += piece;
            }
            at += piece + i % 2;
        }
    bytes = malloc((size_t) len);
    again = calloc(1, (size_t) len);
    WANT(bytes != NULL && again != NULL);
    for (int i = 0; i < len; i++)
        bytes[i] = value_at(rank, (size_t) i);
    MPI_Type_create_hindexed(N_PIECES, lengths, offs, MPI_BYTE, &tile);
    MPI_Type_commit(&tile);
    for (int step = 0; step < 3; step++) {
        WANT(MPI_File_set_view(file, step * at, MPI_BYTE, tile, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        WANT(MPI_File_write_all(file, bytes, len, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        WANT(MPI_File_read_at_all(file, 0, again, len, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        WANT(memcmp(bytes, again, (size_t) len) == 0);
        WANT(MPI_File_read_at(file, 0, again, len, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        WANT(memcmp(bytes, again, (size_t) len) == 0);
    }
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&tile);
    free(bytes);
    free(again);
    return true;
}

/* Another rank's pieces are few, and others want nothing, as often as rank 0 needs. */
static bool uneven(void)
{
    static int lengths[N_PIECES], offs[N_PIECES];
    const int len = rank == 0 ? 3 * N_PIECES : rank == 1 ? 50 : 0;
    uint8_t *bytes = malloc((size_t) len + 1), *again = calloc(1, (size_t) len + 1);
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    MPI_Datatype tile;
    MPI_Status status;
    int count = -1;

    WANT(bytes != NULL && again != NULL);
    for (int i = 0; i < len; i++)
        bytes[i] = value_at(rank, (size_t) i);
    for (int i = 0; i < N_PIECES; i++) {
        lengths[i] = 1 + i * i % 2;
        offs[i] = 10 * i + i * i % 7;
    }
    MPI_Type_indexed(N_PIECES, lengths, offs, MPI_BYTE, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, 5, MPI_BYTE, rank == 0 ? tile : MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_seek(file, rank == 0 ? 7 : 40 * N_PIECES, MPI_SEEK_SET); /* amid the pieces, into the next tile */
    WANT(MPI_File_write_all(file, bytes, len, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    WANT(count == len);
    MPI_File_seek(file, rank == 0 ? 7 : 40 * N_PIECES, MPI_SEEK_SET);
    WANT(MPI_File_read_all(file, again, len, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    WANT(count == len && memcmp(bytes, again, (size_t) len) == 0);
    memset(again, 0, (size_t) len);
    if (rank == 0)
        WANT(MPI_File_read_at(file, 7, again, len, MPI_BYTE, &status) == MPI_SUCCESS);
    WANT(rank != 0 || memcmp(bytes, again, (size_t) len) == 0);
    if (rank == 0)
        WANT(MPI_File_write_at(file, 7, bytes, len, MPI_BYTE, &status) == MPI_SUCCESS);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&tile);
    free(bytes);
    free(again);
    return true;
}

/* -- shared pointers -- */

static bool shared(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    uint8_t mine = (uint8_t) (rank + 1), all[64] = { 0 };
    MPI_Offset at = -1;

    MPI_File_set_view(file, 4, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    WANT(class_of(MPI_File_write_shared(file, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_File_seek(file, 5, MPI_SEEK_SET);
    WANT(MPI_File_write_ordered(file, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    WANT(MPI_File_get_position(file, &at) == MPI_SUCCESS && at == 5);
    WANT(MPI_File_read_at(file, 0, all, n_ranks, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < n_ranks; i++)
        WANT(all[i] == i + 1);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);

    file = open_file(MPI_COMM_WORLD, "fallsfs_shared", "true");
    set_turns(file, 1);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    WANT(MPI_File_write_shared(file, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    WANT(MPI_File_get_position_shared(file, &at) == MPI_SUCCESS && at == n_ranks);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

static bool atomic(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    uint8_t mine[100], all[100];
    int is = 0;

    memset(mine, rank + 1, sizeof mine);
    set_turns(file, 10);
    WANT(MPI_File_write_all(file, mine, 50, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    WANT(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    WANT(MPI_File_get_atomicity(file, &is) == MPI_SUCCESS && is == 1);
    WANT(MPI_File_write(file, mine, 50, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    WANT(MPI_File_read_at(file, 0, all, 100, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    WANT(memcmp(mine, all, 100) == 0);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* -- what it says -- */

static bool info(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, "fallsfs_layout", "stripe(12K,2)");
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info used;
    int found = 0;

    WANT(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    MPI_Info_get(used, "fallsfs", MPI_MAX_INFO_VAL, value, &found);
    WANT(found && strcmp(value, "yes") == 0);
    MPI_Info_get(used, "fallsfs_why", MPI_MAX_INFO_VAL, value, &found);
    WANT(found && strlen(value) > 0);
    MPI_Info_free(&used);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* A file that is none of ours is opened as the program says. */
static bool elsewhere(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info used;
    int found = 0;

    WANT(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    MPI_Info_get(used, "fallsfs", MPI_MAX_INFO_VAL, value, &found);
    WANT(found && strcmp(value, "no") == 0);
    MPI_Info_get(used, "romio_ds_write", MPI_MAX_INFO_VAL, value, &found);
    WANT(!found || strcmp(value, "disable") != 0);
    MPI_Info_free(&used);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* -- nothing stays behind -- */

static int n_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n;
}

static bool opens(void)
{
    const int n = getenv("FALLSFS_FULL") != NULL ? 2000 : 200;
    size_t memory = 0;
    uint8_t bytes[1000];
    int before = 0;

    memset(bytes, rank + 1, sizeof bytes);
    for (int i = 0; i < n; i++) {
        MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);

        set_turns(file, 10 + i % 3);
        WANT(MPI_File_write_all(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        WANT(MPI_File_read_at(file, 0, bytes, 500, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        WANT(MPI_File_close(&file) == MPI_SUCCESS);
        if (i == 50) {
            before = n_descriptors();
            memory = mallinfo2().uordblks;
        }
    }
    WANT(n_descriptors() == before);
    /* MPIs keep some hundred bytes of each open; a request or a datatype that is left takes thousands. */
    WANT(mallinfo2().uordblks < memory + (size_t) (n - 50) * 1024);
    return true;
}

/* -- no lost updates: bytes of two communicators in turn, one of them asking as a group, the other rank by rank -- */

#define TURN  8
#define TURNS 4096

/* What becomes of the second one's file. */
enum later {
    LATER_OURS,
    LATER_THEIRS,         /* it is the MPI's, and written collectively, too */
    LATER_THEIRS_SIEVED,  /* and the MPI is told to sieve, later than at open: by MPI_File_set_info */
    LATER_THEIRS_SIEVED2, /* by MPI_File_set_view */
};

/* All that has ROMIO read what is around, and write it back. */
static MPI_Info sieved(void)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_no_indep_rw", "true");
    return info;
}

static bool update(enum later later)
{
    const bool theirs = later != LATER_OURS;
    const int n_rounds = later > LATER_THEIRS ? 4 : 30; /* piece by piece, the MPI is slow */
    const int side = rank % 2;
    uint8_t *mine = malloc(TURN * TURNS), *all = malloc(2 * TURN * TURNS);
    MPI_Comm comm;
    MPI_File file;
    MPI_Info info = sieved();
    MPI_Datatype tile;
    int n_side, rank_side;

    WANT(mine != NULL && all != NULL);
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &comm);
    MPI_Comm_size(comm, &n_side);
    MPI_Comm_rank(comm, &rank_side);
    file = open_file(comm, NULL, NULL);
    MPI_Type_vector(TURNS / n_side, TURN, 2 * TURN * n_side, MPI_BYTE, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (2 * rank_side + side) * TURN, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    if (later == LATER_THEIRS_SIEVED && side == 1)
        WANT(MPI_File_set_info(file, info) == MPI_SUCCESS);
    if (theirs && side == 1)
        WANT(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    if (later == LATER_THEIRS_SIEVED2 && side == 1)
        MPI_File_set_view(file, (2 * rank_side + side) * TURN, MPI_BYTE, tile, "native", info);
    for (int i = 1; i <= n_rounds; i++) {
        const int len = TURN * (TURNS / n_side);

        memset(mine, 2 * i + side, (size_t) len);
        if (side == 0 || theirs)
            WANT(MPI_File_write_at_all(file, 0, mine, len, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        else
            WANT(MPI_File_write_at(file, 0, mine, len, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int again = 0; again < 20 && side == 0; again++) { /* while the others write theirs */
            WANT(MPI_File_read_at(file, 0, all, len, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            WANT(memcmp(mine, all, (size_t) len) == 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    WANT(MPI_File_read_at(file, 0, all, 2 * TURN * TURNS, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (size_t i = 0; i < 2 * TURN * (TURNS / 2); i++)
        WANT(all[i] == 2 * (size_t) n_rounds + i / TURN % 2);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&tile);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
    free(mine);
    free(all);
    return true;
}

static bool updates(void)
{
    return update(LATER_OURS);
}

static bool hints_later(void)
{
    WANT(update(LATER_THEIRS_SIEVED) && update(LATER_THEIRS_SIEVED2));
    return true;
}

#ifdef OPEN_MPI
/* How OMPIO writes files in general. */
static bool sieves(void)
{
    union {
        void *symbol;
        int (*find)(const char *project, const char *framework, const char *component, const char *name);
        int (*value)(int number, const void *value, void *source, const char **file);
    } call = { .symbol = dlsym(RTLD_DEFAULT, "mca_base_var_find") }; /* MPI_T of 4.1.4 reads no bool */
    const bool *value = NULL;
    int number = call.symbol == NULL ? -1 : call.find("ompi", "fbtl", "posix", "write_datasieving");

    call.symbol = dlsym(RTLD_DEFAULT, "mca_base_var_get_value");
    return number >= 0 && call.symbol != NULL && call.value(number, &value, NULL, NULL) == 0 && *value;
}
#else
static bool sieves(void)
{
    return true;
}
#endif

/* What the MPI writes of a file that has become its own is not read before, and other files are written as ever. */
static bool sieving(void)
{
    WANT(update(LATER_THEIRS));
    WANT(sieves());
    return true;
}

/* -- threads: one waits in a collective for a rank that waits for what another thread reads -- */

static void *read_and_tell(void *arg)
{
    MPI_File *file = arg;
    char byte = 0;

    MPI_File_read_at(*file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Send(&byte, 1, MPI_BYTE, (rank + 1) % n_ranks, 5, MPI_COMM_WORLD);
    return NULL;
}

static bool threads(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    pthread_t thread;
    char byte = 'x';

    WANT(MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (rank == 0) {
        MPI_File_write_at_all_begin(file, 100, &byte, 0, MPI_BYTE);
        MPI_File_write_at_all_end(file, &byte, MPI_STATUS_IGNORE);
    } else {
        MPI_File_write_at_all(file, 100, &byte, 0, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    if (rank == 0 && pthread_create(&thread, NULL, read_and_tell, &file) != 0)
        return false;
    if (rank == 1)
        MPI_Recv(&byte, 1, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    WANT(byte == 'x');
    WANT(MPI_File_read_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS && byte == 'x');
    if (rank == 0)
        pthread_join(thread, NULL);
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* -- death -- */

static bool killed(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    uint8_t byte = 1;

    WANT(MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (rank == 1)
        raise(SIGKILL);
    (void) MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return true;
}

/* The script kills the daemon once it is told that all have begun. */
static bool deserted(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    uint8_t bytes[1000] = { 1 };
    double begun = MPI_Wtime();
    struct timespec now;
    int r = MPI_SUCCESS;

    set_turns(file, 10);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("begun\n");
    fflush(stdout);
    while (r == MPI_SUCCESS && MPI_Wtime() - begun < 60)
        r = MPI_File_write_all(file, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    clock_gettime(CLOCK_REALTIME, &now);
    printf("rank %d: %s at %lld\n", rank, class_of(r) == MPI_ERR_IO ? "MPI_ERR_IO" : "something else",
           (long long) now.tv_sec * 1000 + now.tv_nsec / 1000000);
    fflush(stdout);
    (void) MPI_File_close(&file);
    return class_of(r) == MPI_ERR_IO;
}

/* -- what is refused -- */

/* A collective call with a wrong argument is an error, of all ranks, and no end of the program. */
static bool refused(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    int value = 0, read = MPI_File_read_at_all(file, -3, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    int written = MPI_File_write_at_all(file, 3, &value, -1, MPI_INT, MPI_STATUS_IGNORE);

    return MPI_File_close(&file) == MPI_SUCCESS && read != MPI_SUCCESS && written != MPI_SUCCESS;
}

/* All ranks can write together, and read it back. */
static bool goes_on(MPI_File file)
{
    uint8_t mine[8], again[8] = { 0 };

    memset(mine, rank + 1, sizeof mine);
    WANT(MPI_File_write_at_all(file, 0, mine, sizeof mine, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    WANT(MPI_File_read_at_all(file, 0, again, sizeof again, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    WANT(memcmp(mine, again, sizeof mine) == 0);
    return true;
}

/* One rank's call is wrong: its error is the one that says so, the others' that a round has failed. */
static bool refused_one(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    const bool wrong = rank == 1;
    uint8_t bytes[8] = { 1 };

    set_turns(file, 8);
    for (int i = 0; i < 3; i++) {
        int r = MPI_File_write_at_all(file, 0, bytes, wrong ? -1 : 8, MPI_BYTE, MPI_STATUS_IGNORE);

        WANT(class_of(r) == (wrong ? MPI_ERR_COUNT : MPI_ERR_IO));
        r = MPI_File_write_at_all(file, wrong ? -1 : 0, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
        WANT(class_of(r) == (wrong ? MPI_ERR_ARG : MPI_ERR_IO));
        r = MPI_File_read_all(file, bytes, 1, wrong ? MPI_DATATYPE_NULL : MPI_BYTE, MPI_STATUS_IGNORE);
        WANT(class_of(r) == (wrong ? MPI_ERR_TYPE : MPI_ERR_IO));
        r = MPI_File_read_at_all(file, 0, wrong ? MPI_BOTTOM : bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
        WANT(class_of(r) == (wrong ? MPI_ERR_BUFFER : MPI_ERR_IO));
        r = MPI_File_write_at_all_begin(file, 0, bytes, wrong ? -1 : 8, MPI_BYTE);
        WANT(class_of(r) == (wrong ? MPI_ERR_COUNT : MPI_ERR_IO));
        WANT(goes_on(file));
    }
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* What a file is not open for is refused at once, and leaves nothing behind for the next call. */
static bool refused_mode(void)
{
    MPI_File file;
    uint8_t byte = 1;

    WANT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        WANT(class_of(MPI_File_read_at_all(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS);
        WANT(MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* A file that one rank may not open is nobody's, and the ranks still meet in the same calls afterwards. */
static bool refused_open(void)
{
    const bool last = rank == n_ranks - 1;
    int one = 1, sum = 0, r;
    MPI_File file;

    if (rank == 0) {
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        WANT(fd >= 0 && close(fd) == 0);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        WANT(!last || seteuid(65534) == 0);
        r = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        WANT(!last || seteuid(0) == 0);
        WANT(r != MPI_SUCCESS && (!last || class_of(r) == MPI_ERR_ACCESS));
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        WANT(sum == n_ranks);
    }
    file = open_file(MPI_COMM_WORLD, NULL, NULL);
    set_turns(file, 8);
    WANT(goes_on(file));
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* A view that one rank is refused: the ranks have no view in common until the next one. One that all are refused leaves
 * them the one that they have. */
static bool refused_view(const char *key, const char *value)
{
    MPI_File file = open_file(MPI_COMM_WORLD, key, value);
    uint8_t bytes[8] = { 1 };
    char native[] = "native", foreign[] = "foreign";
    const bool wrong = rank == 1;
    int r;

    set_turns(file, 8);
    WANT(goes_on(file));
    r = MPI_File_set_view(file, wrong ? -1 : rank, MPI_BYTE, MPI_BYTE, native, MPI_INFO_NULL);
    WANT(class_of(r) == (wrong ? MPI_ERR_ARG : MPI_SUCCESS));
    for (int i = 0; i < 2; i++) {
        r = MPI_File_write_at_all(file, 0, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
        WANT(class_of(r) == MPI_ERR_IO);
    }
    set_turns(file, 16);
    WANT(goes_on(file));
    r = MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, wrong ? foreign : native, MPI_INFO_NULL);
    WANT(class_of(r) == (wrong ? MPI_ERR_UNSUPPORTED_DATAREP : MPI_SUCCESS));
    r = MPI_File_read_all(file, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
    WANT(class_of(r) == MPI_ERR_IO);
    set_turns(file, 16);
    WANT(class_of(MPI_File_set_view(file, -1, MPI_BYTE, MPI_BYTE, native, MPI_INFO_NULL)) == MPI_ERR_ARG);
    WANT(goes_on(file) && goes_on(file));
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

static bool refused_views(void)
{
    return refused_view(NULL, NULL) && refused_view("fallsfs_shared", "true");
}

/* One rank has no memory for copies; once it has, all go on. */
static bool no_memory(void)
{
    const size_t len = 40 << 20;
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    uint8_t *bytes = calloc(1, len);
    const bool wrong = rank == 1;
    struct rlimit before, less;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    int r;

    WANT(bytes != NULL && statm != NULL && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    memset(bytes, rank + 1, len);
    set_turns(file, 8);
    WANT(getrlimit(RLIMIT_AS, &before) == 0);
    less = before;
    less.rlim_cur = pages * (unsigned long) sysconf(_SC_PAGESIZE) + (16 << 20);
    WANT(!wrong || setrlimit(RLIMIT_AS, &less) == 0);
    r = MPI_File_write_at_all(file, 0, bytes, wrong ? (int) len : 100, MPI_BYTE, MPI_STATUS_IGNORE);
    WANT(setrlimit(RLIMIT_AS, &before) == 0);
    WANT(class_of(r) == (wrong ? MPI_ERR_NO_MEM : MPI_ERR_IO));
    r = MPI_File_write_at_all(file, 0, bytes, wrong ? (int) len : 100, MPI_BYTE, MPI_STATUS_IGNORE);
    WANT(r == MPI_SUCCESS && goes_on(file));
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    free(bytes);
    return true;
}

/* Begins and ends that do not belong to each other are errors, and the one that has begun can be ended. */
static bool split(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    uint8_t bytes[8] = { 0 };
    MPI_Status status;
    int count = 0;

    set_turns(file, 8);
    WANT(goes_on(file));
    WANT(class_of(MPI_File_read_all_end(file, bytes, &status)) == MPI_ERR_IO);
    WANT(class_of(MPI_File_write_at_all_end(file, bytes, &status)) == MPI_ERR_IO);
    WANT(class_of(MPI_File_read_ordered_end(file, bytes, &status)) == MPI_ERR_IO);
    WANT(class_of(MPI_File_write_ordered_end(file, bytes, &status)) == MPI_ERR_IO);
    WANT(MPI_File_read_at_all_begin(file, 0, bytes, 8, MPI_BYTE) == MPI_SUCCESS);
    WANT(class_of(MPI_File_read_at_all_begin(file, 0, bytes, 8, MPI_BYTE)) == MPI_ERR_IO);
    WANT(class_of(MPI_File_write_all_begin(file, bytes, 8, MPI_BYTE)) == MPI_ERR_IO);
    WANT(class_of(MPI_File_write_at_all_end(file, bytes, &status)) == MPI_ERR_IO);
    WANT(class_of(MPI_File_read_ordered_end(file, bytes, &status)) == MPI_ERR_IO);
    WANT(class_of(MPI_File_seek_shared(file, 0, MPI_SEEK_SET)) == MPI_ERR_IO);
    WANT(MPI_File_read_at_all_end(file, bytes, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    WANT(count == 8 && bytes[0] == rank + 1 && bytes[7] == rank + 1);
    WANT(class_of(MPI_File_read_at_all_end(file, bytes, &status)) == MPI_ERR_IO);
    /* one rank has forgotten an end: the next begin is an error of all, none of which has begun then */
    if (rank == 1)
        WANT(MPI_File_write_all_begin(file, bytes, 0, MPI_BYTE) == MPI_SUCCESS);
    else
        WANT(MPI_File_write_all(file, bytes, 0, MPI_BYTE, &status) == MPI_SUCCESS);
    WANT(class_of(MPI_File_write_all_begin(file, bytes, 8, MPI_BYTE)) == MPI_ERR_IO);
    WANT((rank == 1 ? MPI_SUCCESS : MPI_ERR_IO) == class_of(MPI_File_write_all_end(file, bytes, &status)));
    WANT(goes_on(file));
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

/* -- for traces: each rank has a block of columns; the last rank is the first to begin -- */

#define ROWS  64
#define WIDTH 32 /* bytes of a row that a rank has */

static bool columns(void)
{
    MPI_File file = open_file(MPI_COMM_WORLD, NULL, NULL);
    const int half = ROWS / 2 * WIDTH;
    uint8_t bytes[ROWS * WIDTH], again[ROWS * WIDTH];
    MPI_Status status;
    MPI_Request request;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = value_at(rank, i);
    set_turns(file, WIDTH);
    for (int turn = n_ranks - 1; turn >= 0; turn--) {
        if (turn == rank)
            WANT(MPI_File_write_at(file, 0, bytes, half, MPI_BYTE, &status) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_seek(file, half, MPI_SEEK_SET);
    WANT(MPI_File_write_all(file, bytes + half, half, MPI_BYTE, &status) == MPI_SUCCESS);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    WANT(MPI_File_iread(file, again, half, MPI_BYTE, &request) == MPI_SUCCESS);
    MPI_Wait(&request, &status);
    WANT(MPI_File_read_at_all_begin(file, half, again + half, half, MPI_BYTE) == MPI_SUCCESS);
    WANT(MPI_File_read_at_all_end(file, again + half, &status) == MPI_SUCCESS);
    WANT(memcmp(bytes, again, sizeof bytes) == 0);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    WANT(MPI_File_read_at(file, ROWS * WIDTH * n_ranks, again, WIDTH, MPI_BYTE, &status) == MPI_SUCCESS); /* the end */
    WANT(MPI_File_close(&file) == MPI_SUCCESS);
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool (*run)(void);
    } all[] = {
        { "rounds", rounds },
        { "irregular", irregular },
        { "shared", shared },
        { "atomic", atomic },
        { "refused", refused },
        { "info", info },
        { "opens", opens },
        { "updates", updates },
        { "refused_one", refused_one },
        { "refused_mode", refused_mode },
        { "refused_open", refused_open },
        { "refused_views", refused_views },
        { "no_memory", no_memory },
        { "split", split },
        { "uneven", uneven },
        { "sieving", sieving },
        { "hints_later", hints_later },
        { "elsewhere", elsewhere },
        { "threads", threads },
        { "killed", killed },
        { "deserted", deserted },
        { "columns", columns },
        { "large", large },
        { "handlers", handlers },
        { "overlaps", overlaps },
        { "hinted", hinted },
        { "disabled", disabled },
        { "no_layout", no_layout },
        { "many", many },
    };
    int given, right = 0, every;

    /* OMPIO does not sieve where threads may call at once */
    MPI_Init_thread(&argc, &argv, argc > 1 && strcmp(argv[1], "sieving") == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
                    &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 1);
    path = argv[2];
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (strcmp(argv[1], all[i].name) == 0)
            right = all[i].run();
    MPI_Allreduce(&right, &every, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Finalize();
    return every ? 0 : 1;
}

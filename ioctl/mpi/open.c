/* SPDX-License-Identifier: MIT */
/* Whether a file is ours is one decision of all ranks. Each of them says what it sees; what any of them has against it
 * all get to know:
 *
 *     rank 0    volume 7, life 3, inode 12, token t     ──┐
 *     rank 1    volume 7, life 3, inode 12              ──┼── or of the bits ──> one file? nothing against it?
 *     rank 2    volume 7, life 3, inode 12              ──┘
 *
 * x and not x of all ranks, or'ed, have no bit in common where all have the same x. */
#include "ioctl/client/client.h"
#include "ioctl/mpi/file.h"
#include "ioctl/mpi/real.h"
#include "ioctl/mpi/stage.h"
#include "ioctl/mpi/trace.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FUSE_MAGIC 0x65735546

/* Why a file is the MPI's, the first one that any rank has. */
enum against {
    AGAINST_OPEN,
    AGAINST_HINT,
    AGAINST_SEQUENTIAL,
    AGAINST_NO_MOUNT,
    AGAINST_DESCRIPTOR,
    AGAINST_OLD,
    AGAINST_RANKS,
    AGAINST_OTHER_FILE,
    AGAINST_OTHER_MODE,
    AGAINST_JOIN,
    AGAINST_MEMORY,
    AGAINST_BOARD,
};

static const char *const reasons[] = {
    [AGAINST_OPEN] = "a rank could not open it",
    [AGAINST_HINT] = "the hint fallsfs=disable says so",
    [AGAINST_SEQUENTIAL] = "it is opened with MPI_MODE_SEQUENTIAL",
    [AGAINST_NO_MOUNT] = "it is not a regular file on a fallsfs mount for all ranks",
    [AGAINST_DESCRIPTOR] = "a rank could not open it a second time",
    [AGAINST_OLD] = "the daemon is older than this library",
    [AGAINST_RANKS] = "more ranks than a group may have",
    [AGAINST_OTHER_FILE] = "ranks see different files, volumes or daemons under this name",
    [AGAINST_OTHER_MODE] = "ranks open it with different modes",
    [AGAINST_JOIN] =
        "a group cannot be had: fallsctl groups shows what there are, limits.groups in fallsfs.conf allows more",
    [AGAINST_MEMORY] = "the daemon cannot be shown memory of a rank",
    [AGAINST_BOARD] = "the ranks cannot share memory",
};

enum flag {
    FLAG_READ_ALONE = 1,
    FLAG_WRITE_ALONE = 2,
    FLAG_READ_NO_SIEVE = 4,
    FLAG_READ_SIEVE = 8,
    FLAG_WRITE_NO_SIEVE = 16,
    FLAG_WRITE_SIEVE = 32,
    FLAG_SHARED = 64,
};

/* What is to be the same for all ranks. */
enum same {
    SAME_VOLUME,
    SAME_LIFE = SAME_VOLUME + 2,
    SAME_INODE,
    SAME_MODE,
    N_SAME,
};

/* What goes round. */
struct vote {
    uint64_t same[N_SAME], not_same[N_SAME];
    uint64_t against; /* a bit for each enum against */
    uint64_t flags;
    uint64_t token[2];  /* rank 0's */
    uint64_t no_layout; /* rank 0's: the errno that a layout was refused with */
};

_Static_assert(sizeof(struct vote) % sizeof(uint64_t) == 0, "sent as numbers");

static void vote(MPI_Comm comm, struct vote *mine)
{
    struct vote all = *mine;

    for (size_t i = 0; i < N_SAME; i++)
        mine->not_same[i] = ~mine->same[i];
    if (PMPI_Allreduce(mine, &all, (int) (sizeof all / sizeof(uint64_t)), MPI_UINT64_T, MPI_BOR, comm) != MPI_SUCCESS)
        all.against |= UINT64_C(1) << AGAINST_OPEN;
    for (size_t i = 0; i < N_SAME; i++)
        if ((all.same[i] & all.not_same[i]) != 0)
            all.against |= UINT64_C(1) << (i == SAME_MODE ? AGAINST_OTHER_MODE : AGAINST_OTHER_FILE);
    *mine = all;
}

static void object(struct vote *vote, enum against why)
{
    vote->against |= UINT64_C(1) << why;
}

/* What the MPI is told must be the same for all ranks, though one of them may not be allowed to look at the file. */
static bool any_rank(MPI_Comm comm, bool mine)
{
    int one = mine, any = 0;

    return PMPI_Allreduce(&one, &any, 1, MPI_INT, MPI_LOR, comm) == MPI_SUCCESS && any != 0;
}

/* The vote of a rank that has no more to say. */
static void vote_against(MPI_Comm comm, enum against why)
{
    struct vote mine = { .flags = 0 };

    object(&mine, why);
    vote(comm, &mine);
}

/* -- hints -- */

static bool hint(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    int found = 0;

    value[0] = 0;
    return info != MPI_INFO_NULL && PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found) == MPI_SUCCESS && found;
}

static bool hint_is(MPI_Info info, const char *key, const char *value)
{
    char is[MPI_MAX_INFO_VAL + 1];

    return hint(info, key, is) && strcmp(is, value) == 0;
}

static uint64_t hint_number(MPI_Info info, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1];

    return hint(info, key, value) ? strtoull(value, NULL, 10) : 0;
}

static uint64_t flags_of(MPI_Info info)
{
    uint64_t flags = 0;

    if (hint_is(info, "romio_cb_read", "disable"))
        flags |= FLAG_READ_ALONE;
    if (hint_is(info, "romio_cb_write", "disable"))
        flags |= FLAG_WRITE_ALONE;
    if (hint_is(info, "romio_ds_read", "disable"))
        flags |= FLAG_READ_NO_SIEVE;
    if (hint_is(info, "romio_ds_read", "enable"))
        flags |= FLAG_READ_SIEVE;
    if (hint_is(info, "romio_ds_write", "disable"))
        flags |= FLAG_WRITE_NO_SIEVE;
    if (hint_is(info, "romio_ds_write", "enable"))
        flags |= FLAG_WRITE_SIEVE;
    if (hint_is(info, "fallsfs_shared", "true"))
        flags |= FLAG_SHARED;
    return flags;
}

/* How the daemon is to sieve what comes of flags: never wins where ranks differ. */
static uint32_t sieve_of(uint64_t flags)
{
    const uint32_t reads = (flags & FLAG_READ_NO_SIEVE) != 0 ? FALLSFS_SIEVE_OFF
                           : (flags & FLAG_READ_SIEVE) != 0  ? FALLSFS_SIEVE_ON
                                                             : FALLSFS_SIEVE_AUTO;
    const uint32_t writes = (flags & FLAG_WRITE_NO_SIEVE) != 0 ? FALLSFS_SIEVE_OFF
                            : (flags & FLAG_WRITE_SIEVE) != 0  ? FALLSFS_SIEVE_ON
                                                               : FALLSFS_SIEVE_AUTO;

    return reads == writes ? reads : FALLSFS_SIEVE_EACH(reads, writes);
}

/* -- the file -- */

/* Without what names a file system for ROMIO: "ufs:/fast/x". */
static const char *path_of(const char *name)
{
    static const char *const kinds[] = { "ufs:", "nfs:", "xfs:", "panfs:", "lustre:", "gpfs:", "testfs:", "daos:" };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return name + strlen(kinds[i]);
    return name;
}

static bool may_be_ours(const char *path)
{
    struct stat st;
    struct statfs fs;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && statfs(path, &fs) == 0 && fs.f_type == FUSE_MAGIC;
}

/* Before the MPI opens it, and has made it if it is new: then its directory is asked. */
static bool is_on_fallsfs(const char *name)
{
    const char *path = path_of(name), *slash = strrchr(path, '/');
    char directory[PATH_MAX] = ".";

    if (getxattr(path, "user.falls.layout.json", NULL, 0) >= 0)
        return true;
    if (errno != ENOENT || (slash != NULL && (size_t) (slash - path) + 1 >= sizeof directory))
        return false;
    if (slash != NULL)
        snprintf(directory, sizeof directory, "%.*s", (int) (slash - path) + 1, path);
    return getxattr(directory, "user.falls.layout.json", NULL, 0) >= 0;
}

static int flags_for(int amode)
{
    if ((amode & MPI_MODE_RDWR) != 0)
        return O_RDWR;
    return (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDONLY;
}

/* What an append begins behind. */
static int first_position(struct file *file)
{
    MPI_Offset size = 0;
    int r = (file->amode & MPI_MODE_APPEND) != 0 ? mfile_size(file, &size) : 0;

    file->position = (uint64_t) size;
    return r;
}

#define NEEDED \
    (FALLSFS_SUPPORTS_LIST | FALLSFS_SUPPORTS_TILES | FALLSFS_SUPPORTS_NO_DEADLINE | FALLSFS_SUPPORTS_FILE_SIZE)

static void look_at(struct file *file, const char *name, struct vote *vote)
{
    struct fallsfs_ioc_info info;
    const char *path = path_of(name);

    if (!may_be_ours(path)) {
        object(vote, AGAINST_NO_MOUNT);
        return;
    }
    file->fd = open(path, flags_for(file->amode) | O_CLOEXEC | O_NOCTTY);
    if (file->fd < 0) {
        object(vote, AGAINST_DESCRIPTOR);
        return;
    }
    if (fallsfs_info(file->fd, &info) < 0) {
        object(vote, AGAINST_NO_MOUNT);
        return;
    }
    file->max_pieces = info.max_pieces;
    if ((info.supports & NEEDED) != NEEDED ||
        (sieve_of(vote->flags) > FALLSFS_SIEVE_OFF && (info.supports & FALLSFS_SUPPORTS_SIEVE_EACH) == 0))
        object(vote, AGAINST_OLD);
    if ((uint64_t) file->n_ranks > info.max_ranks)
        object(vote, AGAINST_RANKS);
    if (mview_init(file) < 0 || first_position(file) < 0)
        object(vote, AGAINST_MEMORY);
    memcpy(&vote->same[SAME_VOLUME], info.volume, sizeof info.volume);
    vote->same[SAME_LIFE] = info.life;
    vote->same[SAME_INODE] = info.inode;
}

/* A file without bytes takes the layout that is asked for; one that cannot be had is not worth an error: 0, or -errno.
 * */
static int lay_out(const struct file *file, MPI_Info info)
{
    char layout[MPI_MAX_INFO_VAL + 1];
    uint64_t factor = hint_number(info, "striping_factor"), unit = hint_number(info, "striping_unit");
    MPI_Offset size;

    if (file->fd < 0 || (file->amode & MPI_MODE_CREATE) == 0 || mfile_size(file, &size) < 0 || size > 0)
        return 0;
    if (!hint(info, "fallsfs_layout", layout)) {
        if (factor == 0 && unit == 0)
            return 0;
        unit = unit > 0 ? unit : 1 << 20;
        if (factor > 0)
            snprintf(layout, sizeof layout, "stripe(%" PRIu64 ",%" PRIu64 ")", unit, factor);
        else
            snprintf(layout, sizeof layout, "stripe(%" PRIu64 ")", unit);
    }
    return fsetxattr(file->fd, "user.falls.layout", layout, strlen(layout), 0) < 0 ? -errno : 0;
}

/* How the daemon sieves what a rank asks for alone. Only a hint: one that takes none decides by itself. */
static void hint_alone(const struct file *file, uint64_t flags)
{
    const struct fallsfs_hints hints = { .sieve = sieve_of(flags) };

    if (file->fd >= 0 && hints.sieve != FALLSFS_SIEVE_AUTO)
        (void) fallsfs_hint(file->fd, &hints);
}

/* -- together -- */

static void join(struct file *file, struct vote *vote)
{
    const struct fallsfs_hints hints = { .timeout_ms = FALLSFS_TIMEOUT_NONE, .sieve = sieve_of(vote->flags) };
    uint8_t token[16];

    memcpy(token, vote->token, sizeof token);
    if (fallsfs_join(file->fd, token, (uint32_t) file->rank, (uint32_t) file->n_ranks, &hints, &file->group) < 0)
        object(vote, AGAINST_JOIN);
    else if (!stage_is_shown(file->fd))
        object(vote, AGAINST_MEMORY);
    else if (!group_has_board(file->group))
        object(vote, AGAINST_BOARD);
    if (file->group != NULL)
        group_read_first(file->group);
}

static void take_flags(struct file *file, uint64_t flags, MPI_Info info)
{
    uint64_t max_stage = hint_number(info, "cb_buffer_size");

    file->alone_read = (flags & FLAG_READ_ALONE) != 0;
    file->alone_write = (flags & FLAG_WRITE_ALONE) != 0;
    file->shared_hint = (flags & FLAG_SHARED) != 0;
    file->max_stage = max_stage > 0 ? MAX(max_stage, STAGE_LEAST) : STAGE_MOST;
}

static void give_back(struct file *file)
{
    if (file->group != NULL)
        (void) fallsfs_leave(file->group);
    file->group = NULL;
    mview_put(file->view);
    file->view = NULL;
    mfile_forget_tiles(file);
    if (file->fd >= 0) {
        stage_forget_all();
        close(file->fd);
    }
    file->fd = -1;
}

static void add_why(struct file *file, const char *what, int error)
{
    const size_t len = strlen(file->why);

    snprintf(file->why + len, sizeof file->why - len, "%s: %s", what, strerror(error));
}

/* All ranks come here, whatever has gone wrong for some of them. */
static void agree(struct file *file, MPI_Comm comm, const char *name, MPI_Info info, bool opened)
{
    int no_layout;
    struct vote all = { .flags = flags_of(info), .same = { [SAME_MODE] = (uint64_t) file->amode } };

    if (!opened)
        object(&all, AGAINST_OPEN);
    else if (hint_is(info, "fallsfs", "disable"))
        object(&all, AGAINST_HINT);
    else if ((file->amode & MPI_MODE_SEQUENTIAL) != 0)
        object(&all, AGAINST_SEQUENTIAL);
    else
        look_at(file, name, &all);
    if (file->rank == 0) {
        all.no_layout = (uint64_t) -lay_out(file, info);
        if (fallsfs_token((uint8_t *) all.token) < 0)
            object(&all, AGAINST_JOIN);
    }
    vote(comm, &all);
    file->group_number = (uint32_t) all.token[0] | 1;
    take_flags(file, all.flags, info);
    hint_alone(file, all.flags);
    no_layout = (int) all.no_layout;
    if (all.against == 0 && file->n_ranks > 1) {
        join(file, &all);
        memset(all.same, 0, sizeof all.same);
        vote(comm, &all);
    }
    file->theirs = all.against != 0;
    if (file->theirs) {
        give_back(file);
        snprintf(file->why, sizeof file->why, "%s", reasons[__builtin_ctzll(all.against)]);
    }
    if (no_layout != 0)
        add_why(file, "; the layout that hints ask for cannot be had", no_layout);
}

static struct file *mfile_new(MPI_Comm comm, const char *name, int amode)
{
    struct file *file = calloc(1, sizeof *file);

    if (file == NULL || (file->name = strdup(name)) == NULL) {
        free(file);
        return NULL;
    }
    file->refs = 1;
    file->fd = -1;
    file->amode = amode;
    file->view_told = true;
    file->handle = MPI_FILE_NULL;
    pthread_mutex_init(&file->round, NULL);
    pthread_mutex_init(&file->lock, NULL);
    (void) PMPI_Comm_rank(comm, &file->rank);
    (void) PMPI_Comm_size(comm, &file->n_ranks);
    snprintf(file->why, sizeof file->why, "%s", file->n_ranks > 1 ? "ranks ask as a group" : "one rank asks alone");
    return file;
}

static bool is_for_files(MPI_Comm comm)
{
    int inter = 1;

    return comm != MPI_COMM_NULL && PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

/* Of a file that is the MPI's, who traces has to know the view all the same. */
static void begin_trace(struct file *file, const char *name)
{
    if (file->view == NULL)
        (void) mview_init(file); /* without one, what is accessed is counted as missing */
    mtrace_open(file, path_of(name));
}

int mfile_open(mpi_file_open *opener, MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *handle)
{
    MPI_Info own = MPI_INFO_NULL;
    struct file *file;
    bool no_sieving;
    int r;

    if (!is_for_files(comm) || name == NULL)
        return opener(comm, name, amode, info, handle);
    no_sieving = any_rank(comm, is_on_fallsfs(name) && !hint_is(info, "fallsfs", "disable"));
    if (no_sieving)
        own = sieving_hints(info);
    r = opener(comm, name, amode, own != MPI_INFO_NULL ? own : info, handle);
    if (own != MPI_INFO_NULL)
        (void) PMPI_Info_free(&own);
    file = mfile_new(comm, name, amode);
    if (file == NULL) {
        vote_against(comm, AGAINST_MEMORY);
        return r;
    }
    file->no_sieving = no_sieving;
    agree(file, comm, name, info, r == MPI_SUCCESS);
    if (r != MPI_SUCCESS) {
        mfile_put(file);
        return r;
    }
    file->handle = *handle;
    if (mtrace_is_wanted())
        begin_trace(file, name);
    mhandles_add(file);
    return MPI_SUCCESS;
}

void mfile_close(struct file *file)
{
    mhandles_remove(file);
    if (info_is_wanted() && file->rank == 0)
        info_say(file);
    mtrace_close(file);
    give_back(file);
}

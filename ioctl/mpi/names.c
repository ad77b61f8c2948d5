/* SPDX-License-Identifier: MIT */
/* What programs call comes here from doors.c, when its MPI is ours. One table makes all functions:
 *
 *     READ(read_at_all, ...)  ──>  MPI_File_read_at_all, PMPI_File_read_at_all, MPI_File_read_at_all_c, ...
 *
 * What is not ours goes to the function of the same name that comes next. An MPI that calls itself by these names,
 * inside of one of its functions, means itself: a thread that is inside already goes straight on. */
#include "ioctl/mpi/file.h"
#include "ioctl/mpi/real.h"
#include "ioctl/mpi/trace.h"

static _Thread_local unsigned inside;
static _Thread_local MPI_Info lent =
    MPI_INFO_NULL; /* instead of the program's, for the call that this thread is inside of */

static bool is_theirs(struct file *file)
{
    bool theirs;

    pthread_mutex_lock(&file->lock);
    theirs = file->theirs;
    pthread_mutex_unlock(&file->lock);
    return theirs;
}

static struct file *enter(MPI_File fh)
{
    return inside++ == 0 && !info_is_off() ? mhandles_get(fh) : NULL;
}

/* The hints that the MPI gets for a file, whenever it does: none that has it sieve what it writes. */
static MPI_Info lend(const struct file *file, MPI_Info info)
{
    lent = file != NULL ? sieving_later(file, info) : MPI_INFO_NULL;
    return lent != MPI_INFO_NULL ? lent : info;
}

/* What a call has moved, as far as anybody can tell: without a status, what was asked for. */
static MPI_Count moved(const MPI_Status *status, MPI_Count count, MPI_Datatype type)
{
    MPI_Count bytes = 0;

    if (status != MPI_STATUS_IGNORE && PMPI_Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes >= 0)
        return bytes;
    return PMPI_Type_size_x(type, &bytes) == MPI_SUCCESS ? count * bytes : 0;
}

/* What the MPI has moved for a file that there is a struct of. */
static void end_theirs(struct file *file, struct mtrace_call *call, unsigned how, int r, MPI_Count bytes)
{
    if (r == MPI_SUCCESS)
        mfile_count(file, is_theirs(file) ? WAY_THEIRS : WAY_SHARED, (uint64_t) bytes);
    mtrace_end(file, call, how, (uint64_t) bytes, r != MPI_SUCCESS);
}

/* The view of a file that is the MPI's: only who traces wants to know. */
static void note_view(struct file *file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                      const char *datarep, int r)
{
    if (r == MPI_SUCCESS && mtrace_is_wanted())
        mfile_note_view(file, disp, etype, filetype, datarep);
}

/* An error of ours is the file's error handler's, like one of the MPI's. */
static int leave(struct file *file, MPI_File fh, int r, bool ours)
{
    inside--;
    if (file != NULL && lent != MPI_INFO_NULL)
        (void) PMPI_Info_free(&lent);
    mfile_put(file);
    if (ours && r != MPI_SUCCESS)
        (void) PMPI_File_call_errhandler(fh, r);
    return r;
}

/* do_: what is done when the file is ours; it may turn out to be the MPI's all the same. before_, after_: what is noted
 * around the MPI's own. */
#define FUNCTION(prefix, name, parameters, arguments, do_, before_, after_)                \
    int fallsfs_##prefix##_File_##name parameters;                                         \
    int fallsfs_##prefix##_File_##name parameters                                          \
    {                                                                                      \
        static void *known;                                                                \
        struct file *file = enter(fh);                                                     \
        int r = file != NULL && !is_theirs(file) ? (do_) : FILE_THEIRS;                    \
        const bool ours = r != FILE_THEIRS, no_sieving = file != NULL && file->no_sieving; \
                                                                                           \
        if (!ours) {                                                                       \
            struct mtrace_call call = { .began = 0 };                                      \
            int(*next) parameters;                                                         \
                                                                                           \
            real_find(&known, #prefix "_File_" #name, &next);                              \
            if (file != NULL)                                                              \
                before_;                                                                   \
            if (no_sieving)                                                                \
                sieving_stop();                                                            \
            r = next arguments;                                                            \
            if (no_sieving)                                                                \
                sieving_go_on();                                                           \
            if (file != NULL)                                                              \
                after_;                                                                    \
            (void) call;                                                                   \
        }                                                                                  \
        return leave(file, fh, r, ours);                                                   \
    }

/* What has a name and its profiling name. */
#define BOTH_NOTED(name, parameters, arguments, do_, before_, after_) \
    FUNCTION(MPI, name, parameters, arguments, do_, before_, after_)  \
    FUNCTION(PMPI, name, parameters, arguments, do_, before_, after_)
#define BOTH(name, parameters, arguments, do_) BOTH_NOTED(name, parameters, arguments, do_, (void) 0, (void) 0)

/* What moves data; bytes: what the MPI's own has moved, when it went well. */
#define BOTH_MOVE(name, parameters, arguments, how, offset, bytes, do_)                         \
    BOTH_NOTED(name, parameters, arguments, do_, call = mtrace_begin_theirs(file, how, offset), \
               end_theirs(file, &call, how, r, r == MPI_SUCCESS ? (bytes) : MOVED_ASKED))

/* What has a form for large counts, too. */
#if MPI_VERSION >= 4
#define COUNTED(macro, name, ...) macro(name, int, __VA_ARGS__) macro(name##_c, MPI_Count, __VA_ARGS__)
#else
#define COUNTED(macro, name, ...) macro(name, int, __VA_ARGS__)
#endif

#define MOVED_ASKED moved(MPI_STATUS_IGNORE, count, datatype)
#define MOVED       moved(status, count, datatype)

#define READ_(name, count_type, how)                                                                       \
    BOTH_MOVE(name, (MPI_File fh, void *buf, count_type count, MPI_Datatype datatype, MPI_Status *status), \
              (fh, buf, count, datatype, status), how, 0, MOVED,                                           \
              mfile_access(file, how, 0, buf, count, datatype, status, NULL))
#define WRITE_(name, count_type, how)                                                                            \
    BOTH_MOVE(name, (MPI_File fh, const void *buf, count_type count, MPI_Datatype datatype, MPI_Status *status), \
              (fh, buf, count, datatype, status), (how) | ACCESS_WRITE, 0, MOVED,                                \
              mfile_access(file, (how) | ACCESS_WRITE, 0, drop_const(buf), count, datatype, status, NULL))
#define READ_AT_(name, count_type, how)                                                                           \
    BOTH_MOVE(                                                                                                    \
        name,                                                                                                     \
        (MPI_File fh, MPI_Offset offset, void *buf, count_type count, MPI_Datatype datatype, MPI_Status *status), \
        (fh, offset, buf, count, datatype, status), (how) | ACCESS_AT, offset, MOVED,                             \
        mfile_access(file, (how) | ACCESS_AT, offset, buf, count, datatype, status, NULL))
#define WRITE_AT_(name, count_type, how)                                                             \
    BOTH_MOVE(                                                                                       \
        name,                                                                                        \
        (MPI_File fh, MPI_Offset offset, const void *buf, count_type count, MPI_Datatype datatype,   \
         MPI_Status *status),                                                                        \
        (fh, offset, buf, count, datatype, status), (how) | ACCESS_AT | ACCESS_WRITE, offset, MOVED, \
        mfile_access(file, (how) | ACCESS_AT | ACCESS_WRITE, offset, drop_const(buf), count, datatype, status, NULL))
#define IREAD_(name, count_type, how)                                                                        \
    BOTH_MOVE(name, (MPI_File fh, void *buf, count_type count, MPI_Datatype datatype, MPI_Request *request), \
              (fh, buf, count, datatype, request), (how) | ACCESS_LATER, 0, MOVED_ASKED,                     \
              mfile_access(file, (how) | ACCESS_LATER, 0, buf, count, datatype, NULL, request))
#define IWRITE_(name, count_type, how)                                                                       \
    BOTH_MOVE(                                                                                               \
        name, (MPI_File fh, const void *buf, count_type count, MPI_Datatype datatype, MPI_Request *request), \
        (fh, buf, count, datatype, request), (how) | ACCESS_LATER | ACCESS_WRITE, 0, MOVED_ASKED,            \
        mfile_access(file, (how) | ACCESS_LATER | ACCESS_WRITE, 0, drop_const(buf), count, datatype, NULL, request))
#define IREAD_AT_(name, count_type, how)                                                                            \
    BOTH_MOVE(                                                                                                      \
        name,                                                                                                       \
        (MPI_File fh, MPI_Offset offset, void *buf, count_type count, MPI_Datatype datatype, MPI_Request *request), \
        (fh, offset, buf, count, datatype, request), (how) | ACCESS_LATER | ACCESS_AT, offset, MOVED_ASKED,         \
        mfile_access(file, (how) | ACCESS_LATER | ACCESS_AT, offset, buf, count, datatype, NULL, request))
#define IWRITE_AT_(name, count_type, how)                                                                           \
    BOTH_MOVE(name,                                                                                                 \
              (MPI_File fh, MPI_Offset offset, const void *buf, count_type count, MPI_Datatype datatype,            \
               MPI_Request *request),                                                                               \
              (fh, offset, buf, count, datatype, request), (how) | ACCESS_LATER | ACCESS_AT | ACCESS_WRITE, offset, \
              MOVED_ASKED,                                                                                          \
              mfile_access(file, (how) | ACCESS_LATER | ACCESS_AT | ACCESS_WRITE, offset, drop_const(buf), count,   \
                           datatype, NULL, request))
#define BEGIN_(name, count_type, const_, how)                                                 \
    BOTH_MOVE(name, (MPI_File fh, const_ void *buf, count_type count, MPI_Datatype datatype), \
              (fh, buf, count, datatype), (how) | SPLIT, 0, MOVED_ASKED,                      \
              mfile_access(file, (how) | SPLIT, 0, drop_const(buf), count, datatype, MPI_STATUS_IGNORE, NULL))
#define AT_BEGIN_(name, count_type, const_, how)                                                                 \
    BOTH_MOVE(name, (MPI_File fh, MPI_Offset offset, const_ void *buf, count_type count, MPI_Datatype datatype), \
              (fh, offset, buf, count, datatype), (how) | SPLIT | ACCESS_AT, offset, MOVED_ASKED,                \
              mfile_access(file, (how) | SPLIT | ACCESS_AT, offset, drop_const(buf), count, datatype,            \
                           MPI_STATUS_IGNORE, NULL))
#define SPLIT                                  (ACCESS_ALL | ACCESS_SPLIT)
#define READ_BEGIN_(name, count_type, how)     BEGIN_(name, count_type, , how)
#define WRITE_BEGIN_(name, count_type, how)    BEGIN_(name, count_type, const, (how) | ACCESS_WRITE)
#define READ_AT_BEGIN_(name, count_type, how)  AT_BEGIN_(name, count_type, , how)
#define WRITE_AT_BEGIN_(name, count_type, how) AT_BEGIN_(name, count_type, const, (how) | ACCESS_WRITE)

#define READ_END(name, do_)  BOTH(name, (MPI_File fh, void *buf, MPI_Status *status), (fh, buf, status), do_)
#define WRITE_END(name, do_) BOTH(name, (MPI_File fh, const void *buf, MPI_Status *status), (fh, buf, status), do_)

/* -- one rank -- */

COUNTED(READ_, read, 0)
COUNTED(WRITE_, write, 0)
COUNTED(READ_AT_, read_at, 0)
COUNTED(WRITE_AT_, write_at, 0)
COUNTED(IREAD_, iread, 0)
COUNTED(IWRITE_, iwrite, 0)
COUNTED(IREAD_AT_, iread_at, 0)
COUNTED(IWRITE_AT_, iwrite_at, 0)

/* -- all ranks -- */

COUNTED(READ_, read_all, ACCESS_ALL)
COUNTED(WRITE_, write_all, ACCESS_ALL)
COUNTED(READ_AT_, read_at_all, ACCESS_ALL)
COUNTED(WRITE_AT_, write_at_all, ACCESS_ALL)
COUNTED(IREAD_, iread_all, ACCESS_ALL)
COUNTED(IWRITE_, iwrite_all, ACCESS_ALL)
COUNTED(IREAD_AT_, iread_at_all, ACCESS_ALL)
COUNTED(IWRITE_AT_, iwrite_at_all, ACCESS_ALL)
COUNTED(READ_BEGIN_, read_all_begin, 0)
COUNTED(WRITE_BEGIN_, write_all_begin, 0)
COUNTED(READ_AT_BEGIN_, read_at_all_begin, 0)
COUNTED(WRITE_AT_BEGIN_, write_at_all_begin, 0)
READ_END(read_all_end, mfile_access_end(file, false, status))
WRITE_END(write_all_end, mfile_access_end(file, true, status))
READ_END(read_at_all_end, mfile_access_end(file, false, status))
WRITE_END(write_at_all_end, mfile_access_end(file, true, status))

/* -- with the shared pointer -- */

COUNTED(READ_, read_shared, ACCESS_SHARED)
COUNTED(WRITE_, write_shared, ACCESS_SHARED)
COUNTED(IREAD_, iread_shared, ACCESS_SHARED)
COUNTED(IWRITE_, iwrite_shared, ACCESS_SHARED)
BOTH(get_position_shared, (MPI_File fh, MPI_Offset *offset), (fh, offset), mfile_shared(file, 0))

COUNTED(READ_, read_ordered, ACCESS_SHARED | ACCESS_ALL)
COUNTED(WRITE_, write_ordered, ACCESS_SHARED | ACCESS_ALL)
COUNTED(READ_BEGIN_, read_ordered_begin, ACCESS_SHARED)
COUNTED(WRITE_BEGIN_, write_ordered_begin, ACCESS_SHARED)
READ_END(read_ordered_end, MPI_ERR_IO) /* none has begun: the file would be the MPI's */
WRITE_END(write_ordered_end, MPI_ERR_IO)
BOTH(seek_shared, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence), mfile_shared(file, ACCESS_ALL))

/* -- views and pointers -- */

BOTH_NOTED(set_view,
           (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
            MPI_Info info),
           (fh, disp, etype, filetype, datarep, lend(file, info)),
           mfile_set_view(file, disp, etype, filetype, datarep, info), (void) 0,
           note_view(file, disp, etype, filetype, datarep, r))
BOTH(get_view, (MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep),
     (fh, disp, etype, filetype, datarep), mfile_get_view(file, disp, etype, filetype, datarep))
BOTH(seek, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence), mfile_seek(file, offset, whence))
BOTH(get_position, (MPI_File fh, MPI_Offset *offset), (fh, offset), mfile_get_position(file, offset))
BOTH(get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset *disp), (fh, offset, disp),
     mfile_get_byte_offset(file, offset, disp))

/* -- the file -- */

BOTH(get_size, (MPI_File fh, MPI_Offset *size), (fh, size), mfile_get_size(file, size))
BOTH(preallocate, (MPI_File fh, MPI_Offset size), (fh, size), mfile_preallocate(file, size))
BOTH(sync, (MPI_File fh), (fh), mfile_sync(file))
BOTH(set_atomicity, (MPI_File fh, int flag), (fh, flag),
     flag ? mfile_hand_over(file, "atomic mode is the MPI's") : FILE_THEIRS)

BOTH(set_info, (MPI_File fh, MPI_Info info), (fh, lend(file, info)), FILE_THEIRS)

#define INFO(prefix)                                                        \
    int fallsfs_##prefix##_File_get_info(MPI_File fh, MPI_Info *info_used); \
    int fallsfs_##prefix##_File_get_info(MPI_File fh, MPI_Info *info_used)  \
    {                                                                       \
        static void *known;                                                 \
        const bool own = inside++ == 0 && !info_is_off();                   \
        struct file *file = own ? mhandles_get(fh) : NULL;                  \
        mpi_file_get_info *next;                                            \
        int r;                                                              \
                                                                            \
        real_find(&known, #prefix "_File_get_info", &next);                 \
        r = next(fh, info_used);                                            \
        if (r == MPI_SUCCESS && file != NULL)                               \
            mfile_add_info(file, *info_used);                               \
        return leave(file, fh, r, false);                                   \
    }

typedef int mpi_file_get_info(MPI_File fh, MPI_Info *info);
INFO(MPI)
INFO(PMPI)

#define OPEN(prefix)                                                                                               \
    int fallsfs_##prefix##_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh); \
    int fallsfs_##prefix##_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)  \
    {                                                                                                              \
        static void *known;                                                                                        \
        mpi_file_open *next;                                                                                       \
        int r;                                                                                                     \
                                                                                                                   \
        real_find(&known, #prefix "_File_open", &next);                                                            \
        if (inside++ == 0 && !info_is_off())                                                                       \
            r = mfile_open(next, comm, filename, amode, info, fh);                                                 \
        else                                                                                                       \
            r = next(comm, filename, amode, info, fh);                                                             \
        inside--;                                                                                                  \
        return r;                                                                                                  \
    }

OPEN(MPI)
OPEN(PMPI)

#define CLOSE(prefix)                                                   \
    int fallsfs_##prefix##_File_close(MPI_File *fh);                    \
    int fallsfs_##prefix##_File_close(MPI_File *fh)                     \
    {                                                                   \
        static void *known;                                             \
        const bool own = inside++ == 0 && !info_is_off() && fh != NULL; \
        struct file *file = own ? mhandles_get(*fh) : NULL;             \
        mpi_file_close *next;                                           \
        int r;                                                          \
                                                                        \
        real_find(&known, #prefix "_File_close", &next);                \
        if (file != NULL)                                               \
            mfile_close(file);                                          \
        mfile_put(file);                                                \
        r = next(fh);                                                   \
        inside--;                                                       \
        return r;                                                       \
    }

typedef int mpi_file_close(MPI_File *fh);
CLOSE(MPI)
CLOSE(PMPI)

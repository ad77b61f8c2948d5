/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"
#include "ioctl/mpi/dealing.h"
#include "ioctl/mpi/file.h"
#include "ioctl/mpi/stage.h"
#include "ioctl/mpi/trace.h"
#include "ioctl/mpi/types.h"

#include <stdio.h>
#include <unistd.h>

/* What ranks tell each other with a round: somebody has more to move than the round has taken, could not take part, or
 * has kept the view from before, as his last one was refused. */
enum told {
    TOLD_MORE = 1,
    TOLD_FAILED = 2,
    TOLD_OLD_VIEW = 4,
};

#define ROUNDS_UNSURE 2 /* without data: who has an old view says so, and hears whether others have a new one */

/* Bytes of a view's stream, and where in memory they are. */
struct transfer {
    struct file *file;
    struct view *view;
    struct typemap *memory;
    uint8_t *buf;
    bool write;
    bool view_refused;       /* the view is not the one that the program has set last */
    uint64_t at, bytes;      /* of the view's stream */
    uint64_t done;           /* of these, in the file or behind its end */
    uint64_t valid;          /* of these, in the file */
    uint64_t n_pieces;       /* of a list, at a time; 0: the whole list */
    bool goes_back;          /* what is read of the view does not ascend */
    struct dealing *dealing; /* then, while it is moved */
};

/* -- the file's side -- */

/* The piece of the tile that a byte is in which the tile has; off: where in the tile that is. */
static uint64_t piece_at(const struct tile *tile, uint64_t off)
{
    uint64_t lo = 0, hi = tile->n_pieces;

    while (hi - lo > 1) {
        const uint64_t mid = lo + (hi - lo) / 2;

        if (tile->pieces[mid].off <= off)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Some pieces of one tile, for at most len bytes from the done-th on. */
static void describe_some(const struct transfer *transfer, uint64_t len, struct fallsfs_list *ret_list)
{
    const struct tile *tile = transfer->view->tile;
    const struct typemap *typemap = tile->typemap;
    const uint64_t from = transfer->at + transfer->done, n_before = from / typemap->one.size;
    const uint64_t origin = n_before * (uint64_t) typemap->extent;
    const uint64_t off = (uint64_t) typemap_offset(typemap, from) - origin, first = piece_at(tile, off);
    uint64_t bytes = tile->pieces[first].off + tile->pieces[first].len - off, n = 1;

    while (bytes < len && n < transfer->n_pieces && first + n < tile->n_pieces)
        bytes += tile->pieces[first + n++].len;
    *ret_list = (struct fallsfs_list){ .disp = (uint64_t) transfer->view->disp + origin,
                                       .pieces = tile->pieces + first,
                                       .n = n,
                                       .skip = off - tile->pieces[first].off,
                                       .bytes = MIN(bytes, len) };
}

/* Up to len bytes from the done-th on, as the daemon has it. No bytes need no view: a refused call has none. */
static void describe(const struct transfer *transfer, uint64_t len, struct fallsfs_list *ret_list, char text[64])
{
    const uint64_t from = transfer->at + transfer->done;
    const struct tile *tile;
    int64_t off;

    *ret_list = (struct fallsfs_list){ .disp = 0 };
    if (len == 0) {
        memcpy(text, "{}", sizeof "{}");
        ret_list->falls = text;
        return;
    }
    tile = transfer->view->tile;
    ret_list->disp = (uint64_t) transfer->view->disp;
    if (transfer->dealing != NULL) {
        ret_list->pieces = transfer->dealing->pieces;
        ret_list->n = transfer->dealing->n;
        ret_list->bytes = transfer->dealing->bytes;
        return;
    }
    if (typemap_is_run(tile->typemap, from, len, &off)) {
        snprintf(text, 64, "{(0,%" PRIu64 ",%" PRIu64 ",1)}", len - 1, len);
        ret_list->disp += (uint64_t) off;
        ret_list->falls = text;
        ret_list->bytes = len;
        return;
    }
    if (transfer->n_pieces > 0) {
        describe_some(transfer, len, ret_list);
        return;
    }
    ret_list->falls = tile->pieces == NULL ? tile->text : NULL;
    ret_list->pieces = tile->pieces;
    ret_list->n = tile->n_pieces;
    ret_list->id = tile->id;
    ret_list->extent =
        tile->typemap->extent > 0 && tile->typemap->stream.ascends ? (uint64_t) tile->typemap->extent : 0;
    ret_list->skip = from;
    ret_list->bytes = len;
}

/* How much of len bytes can be asked for at once. */
static uint64_t bytes_at_once(const struct transfer *transfer, uint64_t len)
{
    struct fallsfs_list list;
    char text[64];

    if (transfer->dealing != NULL && len > 0)
        return dealing_take(transfer->dealing, transfer->at + transfer->done, len, transfer->n_pieces);
    if (transfer->n_pieces == 0)
        return len;
    describe(transfer, len, &list, text);
    return list.bytes;
}

/* Pieces of the whole list; 0: it goes as text. */
static uint64_t all_pieces(const struct transfer *transfer)
{
    if (transfer->dealing != NULL)
        return transfer->dealing->max_runs;
    return transfer->view != NULL ? transfer->view->tile->n_pieces : 0;
}

/* The daemon has no room for the list now: whether there is less that can be asked for. One piece is none. */
static bool ask_for_less(struct transfer *transfer, int r)
{
    const uint64_t n = transfer->n_pieces, all = all_pieces(transfer);

    if ((r != -EUSERS && r != -E2BIG) || all == 0 || n == 1)
        return false;
    transfer->n_pieces = ((n > 0 ? n : all) + 1) / 2;
    return true;
}

/* It had room for that: more of it may go well next time, as others give theirs back. */
static void ask_for_more(struct transfer *transfer)
{
    if (transfer->n_pieces > 0)
        transfer->n_pieces *= 2;
    if (transfer->n_pieces >= all_pieces(transfer))
        transfer->n_pieces = 0;
}

/* Of the len bytes from the done-th on, those before the end of the file. */
static uint64_t before_end(const struct transfer *transfer, uint64_t len, uint64_t size)
{
    const struct view *view = transfer->view;
    const uint64_t from = transfer->at + transfer->done;
    uint64_t below;

    if (size <= (uint64_t) view->disp)
        return 0;
    below =
        typemap_below(view->tile->typemap, (int64_t) MIN(size - (uint64_t) view->disp, (uint64_t) TYPEMAP_LIMIT - 1));
    return below <= from ? 0 : MIN(below - from, len);
}

static uint64_t size_seen(const struct file *file)
{
    uint64_t size = fallsfs_size_last();
    MPI_Offset now;

    if (size == FALLSFS_SIZE_UNKNOWN && mfile_size(file, &now) == 0)
        size = (uint64_t) now;
    return size;
}

/* -- parts through a stage -- */

/* What has come for len bytes from the done-th on goes to memory; how many of these the file has. None are after one
 * that it has not. */
static uint64_t take_in(const struct transfer *transfer, uint64_t len, const uint8_t *bytes)
{
    const uint64_t size = size_seen(transfer->file), disp = (uint64_t) transfer->view->disp;
    uint64_t valid;

    if (transfer->valid < transfer->done)
        return 0;
    if (transfer->dealing != NULL)
        return dealing_scatter(transfer->dealing, size > disp ? (int64_t) (size - disp) : 0, bytes, transfer->memory,
                               transfer->buf, transfer->done);
    valid = before_end(transfer, len, size);
    if (valid > 0)
        typemap_scatter(transfer->memory, transfer->buf, transfer->done, valid, bytes);
    return valid;
}

/* len bytes from the done-th on. all: with the group. */
static int move(struct transfer *transfer, struct stage *stage, uint64_t len, bool all)
{
    struct file *file = transfer->file;
    uint8_t *bytes = len > 0 ? stage_bytes(stage) : NULL;
    struct fallsfs_list list;
    char text[64];
    int r;

    describe(transfer, len, &list, text);
    if (transfer->write && len > 0)
        typemap_gather(transfer->memory, transfer->buf, transfer->done, len, bytes);
    if (transfer->write)
        r = all ? fallsfs_write_list_all(file->group, &list, bytes) : fallsfs_write_list(file->fd, &list, bytes);
    else
        r = all ? fallsfs_read_list_all(file->group, &list, bytes) : fallsfs_read_list(file->fd, &list, bytes);
    if (r < 0)
        return r;
    transfer->valid += transfer->write || len == 0 ? len : take_in(transfer, len, bytes);
    transfer->done += len;
    if (len > 0)
        ask_for_more(transfer);
    return 0;
}

/* What is needed to move that many bytes at a time, more than 0. */
static int take_memory(struct transfer *transfer, uint64_t most, struct stage **ret_stage)
{
    if (transfer->goes_back && (transfer->dealing = dealing_new(transfer->view->tile->typemap, most)) == NULL)
        return -ENOMEM;
    *ret_stage = stage_take(most);
    return *ret_stage == NULL ? -ENOMEM : 0;
}

static void give_memory(struct transfer *transfer, struct stage *stage)
{
    stage_give(stage);
    dealing_free(transfer->dealing);
    transfer->dealing = NULL;
}

static int move_alone(struct transfer *transfer)
{
    uint64_t most = MIN(transfer->bytes, transfer->file->max_stage);
    struct stage *stage = NULL;
    int r = take_memory(transfer, most, &stage);

    while (r == 0 && transfer->done < transfer->bytes) {
        r = move(transfer, stage, bytes_at_once(transfer, MIN(transfer->bytes - transfer->done, most)), false);
        if (ask_for_less(transfer, r))
            r = 0;
    }
    give_memory(transfer, stage);
    return r;
}

/* One round, for at most that many bytes. Where the daemon does not take what this rank asks for, the rank asks for
 * less, at last for nothing, as others wait for it, and tells them; ret_own is why. If even that is not taken, the
 * group is over: nobody is to wait for ever. */
static int move_round(struct transfer *transfer, struct stage *stage, uint64_t most, unsigned told, int *ret_own)
{
    struct fallsfs_group *group = transfer->file->group;
    const uint64_t rounds = group_rounds(group);
    int r;

    do {
        const uint64_t len = bytes_at_once(transfer, most);

        if (most > 0 && transfer->done + len < transfer->bytes)
            told |= TOLD_MORE;
        group_tell(group, told);
        r = move(transfer, stage, len, true);
        if (r == 0 || group_rounds(group) != rounds)
            return r;
    } while (ask_for_less(transfer, r));
    *ret_own = r;
    group_tell(group, TOLD_FAILED);
    r = move(transfer, stage, 0, true);
    if (group_rounds(group) == rounds)
        group_give_up(group);
    return r;
}

/* What this rank tells, beside that it has more to move. */
static unsigned tells(unsigned unsure, int r)
{
    if (r < 0)
        return TOLD_FAILED;
    if (unsure > 0)
        return unsure == ROUNDS_UNSURE ? TOLD_OLD_VIEW | TOLD_MORE : TOLD_MORE;
    return 0;
}

/* All ranks come here, those with nothing to move, too, and go round until nobody has anything left. own: what this
 * rank's part has failed with already. A rank whose last view was refused moves nothing until it knows that all others'
 * was as well, so that theirs is the one before, too. */
static int move_together(struct transfer *transfer, int own)
{
    struct file *file = transfer->file;
    uint64_t most = MIN(transfer->bytes, file->max_stage);
    struct stage *stage = NULL;
    const bool is_old = transfer->view_refused;
    unsigned told, unsure = is_old ? ROUNDS_UNSURE : 0;
    int r = own, round;

    pthread_mutex_lock(&file->round);
    if (r == 0 && most > 0)
        r = take_memory(transfer, most, &stage);
    do {
        uint64_t len = r == 0 && unsure == 0 ? MIN(transfer->bytes - transfer->done, most) : 0;

        round = move_round(transfer, stage, len, tells(unsure, r), &r);
        told = round == 0 ? group_told(file->group) : TOLD_FAILED;
        if (r == 0 && ((told & TOLD_FAILED) != 0 || ((told & TOLD_OLD_VIEW) != 0 && !is_old)))
            r = round < 0 ? round : -EIO;
        unsure -= unsure > 0;
    } while (round == 0 && (told & TOLD_MORE) != 0);
    give_memory(transfer, stage);
    pthread_mutex_unlock(&file->round);
    return r;
}

/* -- without the daemon's help: one run, memory and file -- */

/* The kernel may think that the file ends here, having dropped the daemon's answer that it does not, when others made
 * it forget the file's attributes just then. What stat says goes past that. */
static int end_run(struct transfer *transfer, int64_t off)
{
    MPI_Offset size;
    int r = mfile_size(transfer->file, &size);

    return r == 0 && size > off + (int64_t) transfer->done ? move_alone(transfer) : r;
}

static int read_run(struct transfer *transfer, uint8_t *to, int64_t off)
{
    while (transfer->done < transfer->bytes) {
        ssize_t n = pread(transfer->file->fd, to + transfer->done, transfer->bytes - transfer->done,
                          off + (int64_t) transfer->done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : end_run(transfer, off);
        transfer->done += (uint64_t) n;
        transfer->valid += (uint64_t) n;
    }
    return 0;
}

static int write_run(struct transfer *transfer, const uint8_t *from, int64_t off)
{
    while (transfer->done < transfer->bytes) {
        ssize_t n = pwrite(transfer->file->fd, from + transfer->done, transfer->bytes - transfer->done,
                           off + (int64_t) transfer->done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        transfer->done += (uint64_t) n;
        transfer->valid += (uint64_t) n;
    }
    return 0;
}

static int run_alone(struct transfer *transfer)
{
    int64_t off, in_memory;

    if (transfer->bytes == 0)
        return 0;
    if (!typemap_is_run(transfer->view->tile->typemap, transfer->at, transfer->bytes, &off) ||
        !typemap_is_run(transfer->memory, 0, transfer->bytes, &in_memory))
        return move_alone(transfer);
    off += transfer->view->disp;
    return transfer->write ? write_run(transfer, typemap_place(transfer->buf, in_memory), off)
                           : read_run(transfer, typemap_place(transfer->buf, in_memory), off);
}

/* -- calls -- */

/* What the file was opened for, by all ranks alike: a class of MPI's, or MPI_SUCCESS. */
static int check_mode(const struct file *file, unsigned how)
{
    if ((how & ACCESS_WRITE) != 0)
        return (file->amode & MPI_MODE_RDONLY) != 0 ? MPI_ERR_READ_ONLY : MPI_SUCCESS;
    return (file->amode & MPI_MODE_WRONLY) != 0 ? MPI_ERR_ACCESS : MPI_SUCCESS;
}

/* What is wrong with this rank's call whatever the view. */
static int check(unsigned how, MPI_Offset offset, MPI_Count count)
{
    if (count < 0)
        return MPI_ERR_COUNT;
    return (how & ACCESS_AT) != 0 && offset < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
}

/* Whether the bytes would be where no memory can be: in the first page, counted from no address. */
static bool has_no_memory(const struct transfer *transfer)
{
    const struct typemap_node *one = &transfer->memory->one;

    return transfer->buf == MPI_BOTTOM && one->off + one->lo < 4096;
}

/* Whether the view's stream, up to that byte, is one to be moved: what is written ascends, what is read only goes from
 * tile to tile without going back to before the view. */
static bool may_move(const struct transfer *transfer, const struct typemap *typemap, uint64_t end)
{
    if (typemap->one.size == 0)
        return false;
    return typemap_ascends(typemap, end) || (!transfer->write && (typemap->extent >= 0 || end <= typemap->one.size));
}

/* Takes the view and the place in it; an individual pointer moves on at once, by what is asked for. */
static int begin(struct transfer *transfer, unsigned how, MPI_Offset offset, uint64_t count)
{
    struct file *file = transfer->file;
    struct view *view;
    uint64_t end = 0;
    int r = MPI_SUCCESS;

    pthread_mutex_lock(&file->lock);
    view = file->view;
    if (mul_overflows(count, transfer->memory->one.size, &transfer->bytes) || transfer->bytes % view->etype_size != 0)
        r = MPI_ERR_IO;
    transfer->at = file->position;
    if ((how & ACCESS_AT) != 0 && mul_overflows((uint64_t) offset, view->etype_size, &transfer->at))
        r = MPI_ERR_ARG;
    if (r == MPI_SUCCESS && (add_overflows(transfer->at, transfer->bytes, &end) || end >= (uint64_t) TYPEMAP_LIMIT / 2))
        r = MPI_ERR_ARG;
    if (r == MPI_SUCCESS && transfer->bytes > 0 && has_no_memory(transfer))
        r = MPI_ERR_BUFFER;
    if (r == MPI_SUCCESS && transfer->bytes > 0 && !may_move(transfer, view->tile->typemap, end))
        r = MPI_ERR_TYPE;
    if (r == MPI_SUCCESS && (how & ACCESS_AT) == 0)
        file->position = end;
    __atomic_fetch_add(&view->refs, 1, __ATOMIC_RELAXED);
    transfer->view = view;
    transfer->goes_back = !typemap_ascends(view->tile->typemap, end);
    transfer->n_pieces = view->tile->n_pieces > file->max_pieces ? file->max_pieces : 0;
    transfer->view_refused = file->view_refused;
    pthread_mutex_unlock(&file->lock);
    return r;
}

static void count_call(struct file *file, const struct transfer *transfer, unsigned how, bool all)
{
    enum way way = WAY_INDEPENDENT;

    if (all)
        way = WAY_GROUP;
    else if ((how & ACCESS_LATER) != 0)
        way = WAY_NONBLOCKING;
    else if ((how & ACCESS_ALL) != 0)
        way = file->group != NULL ? WAY_HINT : WAY_ONE_RANK;
    mfile_count(file, way, transfer->valid);
}

static bool is_together(const struct file *file, unsigned how)
{
    return (how & ACCESS_ALL) != 0 && (how & ACCESS_LATER) == 0 && file->group != NULL &&
           !((how & ACCESS_WRITE) != 0 ? file->alone_write : file->alone_read);
}

/* A view that all ranks have come to together is theirs, whatever was refused before. */
static void settle_view(struct file *file, const struct transfer *transfer)
{
    pthread_mutex_lock(&file->lock);
    if (file->view == transfer->view)
        file->view_refused = false;
    pthread_mutex_unlock(&file->lock);
}

/* One that has nothing to move, as the call was wrong for this rank alone, still comes, as others wait for it, and
 * makes it an error of all. */
static int run(struct transfer *transfer, unsigned how, MPI_Offset offset, MPI_Count count, int wrong)
{
    struct file *file = transfer->file;
    const bool all = is_together(file, how);
    int r = check_mode(file, how);

    if (r != MPI_SUCCESS)
        return r;
    if (wrong == MPI_SUCCESS)
        wrong = check(how, offset, count);
    if (wrong == MPI_SUCCESS)
        wrong = begin(transfer, how, offset, (uint64_t) count);
    if (wrong != MPI_SUCCESS)
        transfer->bytes = 0;
    if (all)
        r = move_together(transfer, wrong != MPI_SUCCESS ? -EINVAL : 0);
    else if (wrong == MPI_SUCCESS)
        r = run_alone(transfer);
    if (all && r == 0 && transfer->view_refused)
        settle_view(file, transfer);
    count_call(file, transfer, how, all);
    return wrong != MPI_SUCCESS ? wrong : error_class(r);
}

static void tell_status(MPI_Status *status, uint64_t bytes)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    (void) PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count) bytes);
    (void) PMPI_Status_set_cancelled(status, 0);
}

/* -- nonblocking: done at once; the request tells of it -- */

static int later_query(void *state, MPI_Status *status)
{
    const uint64_t *bytes = state;

    tell_status(status, *bytes);
    return MPI_SUCCESS;
}

static int later_free(void *state)
{
    free(state);
    return MPI_SUCCESS;
}

static int later_cancel(void *state, int complete)
{
    (void) state;
    (void) complete;
    return MPI_SUCCESS;
}

static int tell_later(int r, uint64_t bytes, MPI_Request *request)
{
    uint64_t *state;

    *request = MPI_REQUEST_NULL;
    if (r != MPI_SUCCESS)
        return r;
    state = malloc(sizeof *state);
    if (state == NULL)
        return MPI_ERR_NO_MEM;
    *state = bytes;
    r = PMPI_Grequest_start(later_query, later_free, later_cancel, state, request);
    if (r != MPI_SUCCESS) {
        free(state);
        return r;
    }
    return PMPI_Grequest_complete(*request);
}

/* -- all of it -- */

static bool begin_split(struct file *file, bool write)
{
    bool free_;

    pthread_mutex_lock(&file->lock);
    free_ = !file->split;
    if (free_) {
        file->split = true;
        file->split_write = write;
        file->split_bytes = 0;
    }
    pthread_mutex_unlock(&file->lock);
    return free_;
}

/* One that has failed has no end. */
static void end_begin(struct file *file, int r, uint64_t bytes)
{
    pthread_mutex_lock(&file->lock);
    file->split = r == MPI_SUCCESS;
    file->split_bytes = bytes;
    pthread_mutex_unlock(&file->lock);
}

/* What was refused before it began is no access. */
static void trace(const struct transfer *transfer, unsigned how, uint64_t began, bool failed)
{
    struct mtrace_call call = { .began = began, .at = transfer->at };

    if (began == 0 || transfer->view == NULL || transfer->bytes == 0)
        return;
    call.view = transfer->view;
    __atomic_fetch_add(&call.view->refs, 1, __ATOMIC_RELAXED);
    mtrace_end(transfer->file, &call, how, failed ? transfer->bytes : transfer->valid, failed);
}

int mfile_access(struct file *file, unsigned how, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype type,
                 MPI_Status *status, MPI_Request *request)
{
    struct transfer transfer = { .file = file, .buf = buf, .write = (how & ACCESS_WRITE) != 0 };
    const bool split = (how & ACCESS_SPLIT) != 0;
    const uint64_t began = mtrace_now();
    bool begun;
    int r, wrong;

    if ((how & ACCESS_SHARED) != 0)
        return mfile_shared(file, how);
    begun = split && begin_split(file, transfer.write);
    r = types_get(type, &transfer.memory);
    wrong = r == -EINVAL ? MPI_ERR_TYPE : error_class(r);
    r = run(&transfer, how, offset, count, split && !begun ? MPI_ERR_IO : wrong);
    trace(&transfer, how, began, r != MPI_SUCCESS);
    typemap_put(transfer.memory);
    mview_put(transfer.view);
    if (begun)
        end_begin(file, r, transfer.valid);
    else if ((how & ACCESS_LATER) != 0)
        r = tell_later(r, transfer.valid, request);
    else if (!split)
        tell_status(status, transfer.valid);
    return r;
}

int mfile_access_end(struct file *file, bool write, MPI_Status *status)
{
    uint64_t bytes;
    bool begun;

    pthread_mutex_lock(&file->lock);
    begun = file->split && file->split_write == write;
    bytes = file->split_bytes;
    if (begun)
        file->split = false;
    pthread_mutex_unlock(&file->lock);
    if (!begun)
        return MPI_ERR_IO;
    tell_status(status, bytes);
    return MPI_SUCCESS;
}

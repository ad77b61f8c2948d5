/* SPDX-License-Identifier: MIT */
#include "ioctl/mpi/file.h"
#include "ioctl/mpi/real.h"
#include "ioctl/mpi/types.h"

#include <stdio.h>
#include <strings.h>

/* -- tiles -- */

static void tile_put(struct tile *tile)
{
    if (tile == NULL || __atomic_sub_fetch(&tile->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    typemap_put(tile->typemap);
    fallsfs_free(tile->pieces);
    free(tile);
}

static struct tile *tile_ref(struct tile *tile)
{
    __atomic_fetch_add(&tile->refs, 1, __ATOMIC_RELAXED);
    return tile;
}

static int tile_new(struct typemap *typemap, uint64_t id, struct tile **ret_tile)
{
    struct tile *tile = malloc(sizeof *tile);

    if (tile == NULL)
        return -ENOMEM;
    tile->refs = 1;
    tile->typemap = typemap_ref(typemap);
    tile->id = 0;
    tile->pieces = NULL;
    tile->n_pieces = 0;
    tile->text[0] = 0;
    if (typemap->one.ascends && !typemap_text(typemap, tile->text, sizeof tile->text)) {
        uint64_t count = typemap_count(typemap), len;

        if (mul_overflows(count, sizeof *tile->pieces, &len) || (tile->pieces = fallsfs_alloc(len)) == NULL) {
            tile_put(tile);
            return -ENOMEM;
        }
        tile->id = id;
        tile->n_pieces = typemap_pieces(typemap, tile->pieces);
    }
    *ret_tile = tile;
    return 0;
}

/* One that there is, or a new one, which takes the place of the oldest. Libraries set the same few views in turn. */
static int find_tile(struct file *file, struct typemap *typemap, struct tile **ret_tile)
{
    struct tile *tile = NULL, *old;
    uint64_t id;
    int r;

    pthread_mutex_lock(&file->lock);
    for (size_t i = 0; i < FILE_TILES && tile == NULL; i++)
        if (file->tile[i] != NULL && typemap_equal(file->tile[i]->typemap, typemap))
            tile = tile_ref(file->tile[i]);
    id = tile == NULL ? ++file->n_tiles : 0;
    pthread_mutex_unlock(&file->lock);
    if (tile == NULL) {
        r = tile_new(typemap, id, &tile);
        if (r < 0)
            return r;
        pthread_mutex_lock(&file->lock);
        old = file->tile[id % FILE_TILES];
        file->tile[id % FILE_TILES] = tile_ref(tile);
        pthread_mutex_unlock(&file->lock);
        tile_put(old);
    }
    *ret_tile = tile;
    return 0;
}

void mfile_forget_tiles(struct file *file)
{
    for (size_t i = 0; i < FILE_TILES; i++) {
        tile_put(file->tile[i]);
        file->tile[i] = NULL;
    }
}

/* -- views -- */

/* A handle of our own. */
static MPI_Datatype keep_type(MPI_Datatype type)
{
    MPI_Datatype own = type;

    if (!types_is_predefined(type) && PMPI_Type_dup(type, &own) != MPI_SUCCESS)
        own = MPI_DATATYPE_NULL;
    return own;
}

static void drop_type(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL && !types_is_predefined(*type))
        (void) PMPI_Type_free(type);
}

void mview_put(struct view *view)
{
    if (view == NULL || __atomic_sub_fetch(&view->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    tile_put(view->tile);
    drop_type(&view->etype);
    drop_type(&view->filetype);
    free(view);
}

static int mview_new(struct file *file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                     struct typemap *typemap, struct view **ret_view)
{
    struct view *view = malloc(sizeof *view);
    MPI_Count size = 1;
    int r;

    if (view == NULL)
        return -ENOMEM;
    (void) PMPI_Type_size_x(etype, &size);
    *view = (struct view){ .refs = 1, .disp = disp, .etype_size = (uint64_t) size };
    view->etype = keep_type(etype);
    view->filetype = keep_type(filetype);
    r = view->etype == MPI_DATATYPE_NULL || view->filetype == MPI_DATATYPE_NULL ? -ENOMEM
                                                                                : find_tile(file, typemap, &view->tile);
    if (r < 0) {
        mview_put(view);
        return r;
    }
    *ret_view = view;
    return 0;
}

int mview_init(struct file *file)
{
    struct typemap *typemap;
    int r = types_get(MPI_BYTE, &typemap);

    if (r == 0) {
        r = mview_new(file, 0, MPI_BYTE, MPI_BYTE, typemap, &file->view);
        typemap_put(typemap);
    }
    return r;
}

/* What the standard wants of a view: MPI_SUCCESS, or a class. */
static int check(MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep)
{
    MPI_Count etype_size, size;

    if (disp < 0 || datarep == NULL)
        return MPI_ERR_ARG;
    if (etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (PMPI_Type_size_x(etype, &etype_size) != MPI_SUCCESS || PMPI_Type_size_x(filetype, &size) != MPI_SUCCESS)
        return MPI_ERR_TYPE;
    return etype_size > 0 && size % etype_size == 0 ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* Filetypes go forward, and those of files that are written do not overlap. */
static bool may_be_viewed(const struct file *file, const struct typemap *typemap)
{
    if (typemap->one.size == 0)
        return true;
    return typemap->one.off + typemap->one.lo >= 0 &&
           (typemap->one.ascends || ((file->amode & MPI_MODE_RDONLY) != 0 && typemap_is_sorted(typemap)));
}

static void take_view(struct file *file, struct view *view, bool told)
{
    struct view *old;

    pthread_mutex_lock(&file->lock);
    old = file->view;
    file->view = view;
    file->view_refused = false;
    file->position = 0;
    file->view_told = told;
    pthread_mutex_unlock(&file->lock);
    mview_put(old);
}

static int make_view(struct file *file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                     struct view **ret_view)
{
    struct typemap *typemap;
    int r = types_get(filetype, &typemap);

    if (r < 0)
        return r == -EINVAL ? MPI_ERR_TYPE : error_class(r);
    if (may_be_viewed(file, typemap))
        r = error_class(mview_new(file, disp, etype, filetype, typemap, ret_view));
    else
        r = MPI_ERR_TYPE;
    if (r == MPI_SUCCESS)
        types_share(filetype, (*ret_view)->tile->typemap);
    typemap_put(typemap);
    return r;
}

static int tell_view(struct file *file, const struct view *view, MPI_Info info)
{
    char native[] = "native";
    MPI_Info own = sieving_later(file, info);
    int r = REAL(MPI_File_set_view, file->handle, view->disp, view->etype, view->filetype, native,
                 own != MPI_INFO_NULL ? own : info);

    if (own != MPI_INFO_NULL)
        (void) PMPI_Info_free(&own);
    return r;
}

/* The view is what it was, for this rank. Others may have got a new one; those that tell the MPI wait for us there. */
static void refuse_view(struct file *file, MPI_Info info)
{
    pthread_mutex_lock(&file->lock);
    file->view_refused = true;
    pthread_mutex_unlock(&file->lock);
    if (file->shared_hint)
        (void) tell_view(file, file->view, info);
}

int mfile_set_view(struct file *file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                   MPI_Info info)
{
    struct view *view = NULL;
    int r = check(disp, etype, filetype, datarep);

    if (r == MPI_SUCCESS && (strcasecmp(datarep, "internal") == 0 || strcasecmp(datarep, "external32") == 0))
        return mfile_hand_over(file, "a view is not native");
    if (r == MPI_SUCCESS && strcasecmp(datarep, "native") != 0)
        r = MPI_ERR_UNSUPPORTED_DATAREP;
    if (r == MPI_SUCCESS)
        r = make_view(file, disp, etype, filetype, &view);
    if (r != MPI_SUCCESS) {
        refuse_view(file, info);
        return r;
    }
    r = file->shared_hint ? tell_view(file, view, info) : MPI_SUCCESS;
    if (r == MPI_SUCCESS)
        take_view(file, view, file->shared_hint);
    else
        mview_put(view);
    return r;
}

void mfile_note_view(struct file *file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep)
{
    struct view *view = NULL;
    bool is_native = strcasecmp(datarep, "native") == 0;

    if (is_native && make_view(file, disp, etype, filetype, &view) != MPI_SUCCESS)
        view = NULL;
    take_view(file, view, true);
}

static MPI_Datatype show_type(MPI_Datatype type)
{
    MPI_Datatype shown = type;

    if (!types_is_predefined(type))
        (void) PMPI_Type_dup(type, &shown);
    return shown;
}

int mfile_get_view(struct file *file, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep)
{
    if (disp == NULL || etype == NULL || filetype == NULL || datarep == NULL)
        return FILE_THEIRS;
    pthread_mutex_lock(&file->lock);
    *disp = file->view->disp;
    *etype = show_type(file->view->etype);
    *filetype = show_type(file->view->filetype);
    pthread_mutex_unlock(&file->lock);
    memcpy(datarep, "native", sizeof "native");
    return MPI_SUCCESS;
}

/* -- pointers -- */

/* Bytes of the view that the file has, in whole etypes and one more for what is left. */
static int end_of(const struct file *file, const struct view *view, uint64_t *ret_end)
{
    MPI_Offset size;
    uint64_t bytes = 0;

    if (mfile_size(file, &size) < 0)
        return MPI_ERR_IO;
    if (size > view->disp && view->tile->typemap->one.size > 0)
        bytes = typemap_below(view->tile->typemap, size - view->disp);
    *ret_end = (bytes + view->etype_size - 1) / view->etype_size;
    return MPI_SUCCESS;
}

int mfile_seek(struct file *file, MPI_Offset offset, int whence)
{
    uint64_t end = 0;
    int64_t to = 0;
    int r = MPI_SUCCESS;

    pthread_mutex_lock(&file->lock);
    if (whence == MPI_SEEK_CUR)
        to = (int64_t) (file->position / file->view->etype_size);
    else if (whence == MPI_SEEK_END)
        r = end_of(file, file->view, &end);
    else if (whence != MPI_SEEK_SET)
        r = MPI_ERR_ARG;
    to += (int64_t) end;
    if (r == MPI_SUCCESS && (__builtin_add_overflow(to, (int64_t) offset, &to) || to < 0 ||
                             __builtin_mul_overflow(to, (int64_t) file->view->etype_size, &to)))
        r = MPI_ERR_ARG;
    if (r == MPI_SUCCESS)
        file->position = (uint64_t) to;
    pthread_mutex_unlock(&file->lock);
    return r;
}

int mfile_get_position(struct file *file, MPI_Offset *offset)
{
    if (offset == NULL)
        return FILE_THEIRS;
    pthread_mutex_lock(&file->lock);
    *offset = (MPI_Offset) (file->position / file->view->etype_size);
    pthread_mutex_unlock(&file->lock);
    return MPI_SUCCESS;
}

int mfile_get_byte_offset(struct file *file, MPI_Offset offset, MPI_Offset *disp)
{
    uint64_t k = 0;
    int r = MPI_SUCCESS;

    if (offset < 0 || disp == NULL)
        return FILE_THEIRS;
    pthread_mutex_lock(&file->lock);
    if (mul_overflows((uint64_t) offset, file->view->etype_size, &k) || k >= (uint64_t) TYPEMAP_LIMIT ||
        file->view->tile->typemap->one.size == 0)
        r = MPI_ERR_ARG;
    else
        *disp = file->view->disp + typemap_offset(file->view->tile->typemap, k);
    pthread_mutex_unlock(&file->lock);
    return r;
}

/* -- to the MPI -- */

int mfile_hand_over(struct file *file, const char *why)
{
    const struct view *view = file->view;
    int r = MPI_SUCCESS;

    if (file->split)
        return MPI_ERR_IO; /* the MPI would know nothing of a split call that is to end there */
    if (!file->view_told)
        r = tell_view(file, view, MPI_INFO_NULL);
    if (r == MPI_SUCCESS)
        r = REAL(MPI_File_seek, file->handle, (MPI_Offset) (file->position / view->etype_size), MPI_SEEK_SET);
    if (r != MPI_SUCCESS)
        return r;
    pthread_mutex_lock(&file->lock);
    file->theirs = true;
    file->view_told = true;
    snprintf(file->why, sizeof file->why, "%s", why);
    pthread_mutex_unlock(&file->lock);
    return FILE_THEIRS;
}

int mfile_shared(struct file *file, unsigned how)
{
    if ((how & ACCESS_ALL) != 0)
        return mfile_hand_over(file, "the shared pointer is the MPI's");
    return file->view_told ? FILE_THEIRS : error_shared();
}

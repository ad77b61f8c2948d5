/* SPDX-License-Identifier: MIT */
#include "test/mpi/model.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool model_open(struct model *model, const char *path)
{
    *model = (struct model){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644), .etype_size = 1 };
    return model->fd >= 0;
}

void model_close(struct model *model)
{
    close(model->fd);
}

void model_view(struct model *model, int64_t disp, int etype_size, const struct made *tile, int64_t extent)
{
    model->disp = disp;
    model->etype_size = etype_size;
    model->tile = tile;
    model->extent = extent;
    model->position = 0;
}

int64_t model_offset(const struct model *model, uint64_t k)
{
    if (model->tile == NULL)
        return model->disp + (int64_t) k;
    return model->disp + (int64_t) (k / model->tile->n) * model->extent + model->tile->off[k % model->tile->n];
}

int64_t model_position(const struct model *model)
{
    return (int64_t) model->position / model->etype_size;
}

int64_t model_size(const struct model *model)
{
    struct stat st;

    return fstat(model->fd, &st) == 0 ? st.st_size : -1;
}

void model_set_size(struct model *model, int64_t size, bool shrink)
{
    if ((shrink || size > model_size(model)) && ftruncate(model->fd, size) < 0)
        abort();
}

/* Etypes of the view that begin in the file. */
static int64_t end_of(const struct model *model)
{
    const int64_t size = model_size(model);
    uint64_t k = 0;

    while (model_offset(model, k) < size)
        k++;
    return (int64_t) (k + (uint64_t) model->etype_size - 1) / model->etype_size;
}

int model_seek(struct model *model, int64_t to, int whence)
{
    if (whence == 1)
        to += model_position(model);
    if (whence == 2)
        to += end_of(model);
    if (to < 0)
        return MPI_ERR_ARG;
    model->position = (uint64_t) (to * model->etype_size);
    return MPI_SUCCESS;
}

int64_t model_move(struct model *model, bool write, int64_t at, uint8_t *buf, int count, const struct made *type)
{
    const uint64_t from = at < 0 ? model->position : (uint64_t) (at * model->etype_size);
    const uint64_t bytes = (uint64_t) count * type->n;
    int64_t moved = 0;

    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t *byte = buf + (int64_t) (i / type->n) * type->extent + type->off[i % type->n];
        const int64_t off = model_offset(model, from + i);

        if ((write ? pwrite(model->fd, byte, 1, off) : pread(model->fd, byte, 1, off)) != 1)
            break;
        moved++;
    }
    if (at < 0)
        model->position = from + bytes;
    return moved;
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/change/replicate.h"

#include "fs/core/change/room_watch.h"
#include "fs/core/disk/random.h"
#include "fs/core/file/replicas.h"
#include "fs/core/volume/room.h"

static bool lies_so(const struct placed_layout *now, const struct placed_layout *to)
{
    return file_layout_equals(now->layout, to->layout) && now->rotate == to->rotate;
}

/* Chooses on which of its disks a replica starts. */
static int choose_start(struct fs *fs, const struct placed_layout *now, bool rotates, struct placed_layout *to)
{
    uint64_t bits;
    int r = rotates ? random_bytes(&bits, sizeof bits) : 0;

    if (r < 0)
        return r;
    to->rotate = rotates ? room_draw_start(fs->volume, to->layout, bits) : 0;
    if (rotates && lies_so(now, to))
        to->rotate = (uint16_t) ((to->rotate + 1U) % to->layout->n_list);
    return lies_so(now, to) ? -EEXIST : 0;
}

/* How many bytes on disks it takes to fill a replica: no more than the file itself takes. */
static uint64_t bytes_of(struct file *file, const struct replica_asked *asked)
{
    uint64_t size = file_size(file), blocks = file_blocks(file), of_replicas;

    mutex_lock(&file->meta);
    of_replicas = replicas_blocks(file);
    mutex_unlock(&file->meta);
    if (of_replicas != SUBFILE_LEN_UNKNOWN)
        blocks -= MIN(of_replicas, blocks);
    return MIN(MIN(size, asked->hi) - MIN(size, asked->lo), blocks * 512);
}

static int find_place(struct fs *fs, struct file *file, const struct replica_asked *asked, bool rotates,
                      uint16_t *ret_rotate)
{
    struct placed_layout to = { .layout = asked->layout };
    struct record record;
    struct file_layout *layout = file_look(fs, file, &record);
    const struct placed_layout now = { layout, record.rotate };
    int r = choose_start(fs, &now, rotates, &to);

    if (r == 0)
        r = room_check(fs->room, NULL, &to, bytes_of(file, asked));
    if (r == 0)
        *ret_rotate = to.rotate;
    layouts_put(fs->layouts, layout);
    return r;
}

int replicate(struct fs *fs, struct file *file, const struct replica_asked *asked, bool rotates, uint32_t *ret_number,
              struct volume_error *ret_error)
{
    struct replica_asked placed = *asked;
    int r = find_place(fs, file, asked, rotates, &placed.rotate);

    ret_error->why[0] = 0;
    if (r == 0)
        r = volume_begin_replicas(fs->volume, ret_error);
    if (r == 0)
        r = file_add_replica(fs, file, &placed, ret_number);
    if (r == 0)
        (void) file_count_blocks(fs, file);
    return r;
}

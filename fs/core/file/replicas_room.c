/* SPDX-License-Identifier: MIT */
/* How much room replicas take. */
#include "fs/core/file/replicas.h"

#include "fs/core/file/subfiles.h"

static void count_one(struct fs *fs, struct replica *replica)
{
    struct generation *generation = replica->generation;
    uint64_t blocks;

    if (!subfiles_open(fs, generation) || !subfiles_count_blocks(fs, generation, &blocks))
        return;
    mutex_lock(generation->meta);
    replica->blocks = blocks;
    mutex_unlock(generation->meta);
}

uint64_t replicas_count_blocks(struct fs *fs, struct file *file)
{
    struct replicas *replicas = file->replicas;
    uint64_t blocks = 0;

    if (replicas == NULL)
        return 0;
    for (uint32_t i = 0; i < replicas->map.n; i++)
        if (replicas->replica[i].generation != NULL)
            count_one(fs, &replicas->replica[i]);
    mutex_lock(&file->meta);
    for (uint32_t i = 0; i < replicas->map.n; i++)
        blocks += replicas->replica[i].blocks;
    replicas->blocks = blocks;
    mutex_unlock(&file->meta);
    return blocks;
}

uint64_t replicas_blocks(const struct file *file)
{
    const struct replicas *replicas = file->replicas;

    return replicas != NULL ? replicas->blocks : 0;
}

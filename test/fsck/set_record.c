/* SPDX-License-Identifier: MIT */
/* set_record STUB FIELD=VALUE...: gives a stub a record as a crash could have left it, valid in itself. Fields: state,
 * size, gen, oldest_gen, epoch. With no field it prints the file's id. */
#include "fs/core/volume/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

static int set(struct record *record, const char *word)
{
    const char *equals = strchr(word, '=');
    uint64_t value = equals != NULL ? strtoull(equals + 1, NULL, 10) : 0;
    size_t len = equals != NULL ? (size_t) (equals - word) : 0;

    if (len == 5 && strncmp(word, "state", len) == 0)
        record->state = (uint16_t) value;
    else if (len == 4 && strncmp(word, "size", len) == 0)
        record->size = record->durable_size = value;
    else if (len == 3 && strncmp(word, "gen", len) == 0)
        record->gen = value;
    else if (len == 10 && strncmp(word, "oldest_gen", len) == 0)
        record->oldest_gen = value;
    else if (len == 5 && strncmp(word, "epoch", len) == 0)
        record->epoch = value;
    else
        return -EINVAL;
    return 0;
}

int main(int argc, char **argv)
{
    char id[2 * ID_SIZE + 1];
    uint8_t bytes[RECORD_SIZE];
    struct record record;

    if (argc < 2 || getxattr(argv[1], RECORD_XATTR, bytes, sizeof bytes) != RECORD_SIZE ||
        record_decode(bytes, sizeof bytes, &record) < 0)
        return 1;
    hex_print(record.id, ID_SIZE, id);
    if (argc == 2)
        puts(id);
    for (int i = 2; i < argc; i++)
        if (set(&record, argv[i]) < 0)
            return 2;
    record_encode(&record, bytes);
    return argc > 2 && setxattr(argv[1], RECORD_XATTR, bytes, sizeof bytes, 0) < 0;
}

/* SPDX-License-Identifier: MIT */
#include "fs/core/stub/stub.h"

static int read_record_into(const struct volume *volume, int dir, const char *path, uint8_t *bytes, size_t room,
                            struct record *ret_record)
{
    ssize_t n = disk_call(volume_home(volume), get_xattr, dir, path, RECORD_XATTR, bytes, room);

    return n < 0 ? (int) n : record_decode(bytes, (size_t) n, ret_record);
}

int stub_read_record(const struct volume *volume, int dir, const char *path, struct record *ret_record)
{
    uint8_t bytes[RECORD_SIZE], longer[RECORD_MAX];
    int r = read_record_into(volume, dir, path, bytes, sizeof bytes, ret_record);

    if (r == -ERANGE) /* a newer fallsfs may have longer records */
        r = read_record_into(volume, dir, path, longer, sizeof longer, ret_record);
    /* A stub with no record, or with one that is too long, is as good as one with a damaged record. */
    return r == -ENODATA || r == -ERANGE ? -EUCLEAN : r;
}

int stub_write_record(const struct volume *volume, int dir, const char *path, const struct record *record, int flags)
{
    uint8_t bytes[RECORD_SIZE];

    record_encode(record, bytes);
    return disk_call(volume_home(volume), set_xattr, dir, path, RECORD_XATTR, bytes, sizeof bytes, flags);
}

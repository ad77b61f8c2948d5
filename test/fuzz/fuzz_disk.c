/* SPDX-License-Identifier: MIT */
/* Any bytes as what lies on a disk: a record, the stamp of a volume, a copy of a record, the costs of a disk. What is
 * accepted is, byte for byte, what would be written for it, and is refused with any one bit the other way. The first
 * byte says what the rest is; with a capital, its checksum is made right, as somebody would who can write the disk.
 *
 *     r R   a record         s S   a stamp         c C   a copy         k K   costs */
#include "fs/core/stub/copy.h"
#include "fs/core/volume/costs.h"
#include "fs/core/volume/stamp.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/libconfig_leaks.h"

#include <ctype.h>
#include <string.h>
#include <xxhash.h>

/* Decodes; of what is accepted also the bytes that would be written, the caller's to free. */
typedef int decoder(const char *bytes, size_t len, char **ret_again, size_t *ret_len);

/* -- records -- */

static int decode_record(const char *bytes, size_t len, char **ret_again, size_t *ret_len)
{
    struct record record;
    int r = record_decode((const uint8_t *) bytes, len, &record);

    if (r < 0)
        return r;
    REQUIRE(record.state <= RECORD_DAMAGED && record.oldest_gen <= record.gen && record.durable_size <= record.size);
    *ret_len = RECORD_SIZE;
    *ret_again = malloc(RECORD_SIZE);
    REQUIRE(*ret_again != NULL);
    record_encode(&record, (uint8_t *) *ret_again);
    return 0;
}

static size_t forge_record(char *bytes, size_t len)
{
    static const char magic[] = "FALLSREC\1";
    uint64_t sum;

    if (len < RECORD_SIZE)
        return len;
    memcpy(bytes, magic, sizeof magic);
    sum = XXH3_64bits(bytes, RECORD_SIZE - 8);
    for (int i = 0; i < 8; i++)
        bytes[RECORD_SIZE - 8 + i] = (char) (sum >> 8 * i);
    return RECORD_SIZE;
}

/* -- texts with a sum at the end -- */

static int decode_stamp(const char *bytes, size_t len, char **ret_again, size_t *ret_len)
{
    cleanup(stamp_done) struct stamp stamp = { 0 };
    int r = stamp_parse(bytes, len, &stamp);

    if (r < 0)
        return r;
    REQUIRE(stamp.n_disks > 0 && stamp.index < stamp.n_disks && stamp.home < stamp.n_disks && stamp.fanout > 0);
    REQUIRE(stamp_print(&stamp, ret_again) == 0);
    *ret_len = strlen(*ret_again);
    return 0;
}

static int decode_costs(const char *bytes, size_t len, char **ret_again, size_t *ret_len)
{
    struct costs costs;
    int r = costs_parse(bytes, len, &costs);

    if (r < 0)
        return r;
    REQUIRE(costs.n_chunks <= COSTS_MAX_CHUNKS && costs.read.rate > 0 && costs.write.rate > 0);
    REQUIRE(costs_print(&costs, ret_again) == 0);
    *ret_len = strlen(*ret_again);
    return 0;
}

static size_t forge_sum(char *bytes, size_t len)
{
    return len + (size_t) sprintf(bytes + len, "checksum = \"%016" PRIx64 "\";\n", (uint64_t) XXH3_64bits(bytes, len));
}

static int decode_copy(const char *bytes, size_t len, char **ret_again, size_t *ret_len)
{
    cleanup(copy_done) struct copy copy = { 0 };
    int r = copy_decode(bytes, len, &copy);
    struct stat st;

    if (r < 0)
        return r;
    st = (struct stat){
        .st_mode = copy.mode, .st_uid = copy.uid, .st_gid = copy.gid, .st_atim = copy.atime, .st_mtim = copy.mtime
    };
    REQUIRE(S_ISREG(copy.mode) && copy.path[0] != 0);
    REQUIRE(copy_encode(&copy.record, &st, copy.path, ret_again, ret_len) == 0);
    return 0;
}

static size_t forge_copy(char *bytes, size_t len)
{
    (void) forge_record(bytes, len);
    return len + (size_t) sprintf(bytes + len, "\n%016" PRIx64 "\n", (uint64_t) XXH3_64bits(bytes, len));
}

/* -- all of them -- */

#define ROOM_FOR_SUM 64

static const struct {
    char letter;
    decoder *decode;
    size_t (*forge)(char *bytes, size_t len); /* there is room for a sum behind */
} formats[] = {
    { 'r', decode_record, forge_record },
    { 's', decode_stamp, forge_sum },
    { 'c', decode_copy, forge_copy },
    { 'k', decode_costs, forge_sum },
};

/* In memory of its own, so that a sanitizer sees a read past the end. */
static int decode(decoder *how, const char *bytes, size_t len, char **ret_again, size_t *ret_len)
{
    cleanup(freep) char *exact = malloc(len);
    int r;

    memcpy(exact, bytes, len);
    r = how(exact, len, ret_again, ret_len);
    REQUIRE(r == 0 || r == -EUCLEAN || r == -EPROTONOSUPPORT);
    return r;
}

static void try(decoder *how, char *bytes, size_t len)
{
    cleanup(freep) char *again = NULL, *flipped = NULL;
    size_t again_len;

    if (decode(how, bytes, len, &again, &again_len) < 0)
        return;
    REQUIRE(again_len == len && memcmp(again, bytes, len) == 0);
    for (size_t bit = len % 7; bit < 8 * len; bit += 8 * len / 97 + 1) {
        bytes[bit / 8] ^= (char) (1 << bit % 8);
        REQUIRE(decode(how, bytes, len, &flipped, &again_len) == -EUCLEAN);
        bytes[bit / 8] ^= (char) (1 << bit % 8);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(freep) char *bytes = malloc(size + ROOM_FOR_SUM);

    if (size < 2)
        return 0;
    memcpy(bytes, data + 1, size - 1);
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        if (tolower(data[0]) == formats[i].letter)
            try(formats[i].decode, bytes, isupper(data[0]) ? formats[i].forge(bytes, size - 1) : size - 1);
    return 0;
}

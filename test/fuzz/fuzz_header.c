/* SPDX-License-Identifier: MIT */
/* Any bytes as a file that says in its header what array it holds. What is found is an array that user.falls.array
 * takes. */
#include "fs/ctl/ask/array_header.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

static void check_text(const struct array_header *header)
{
    cleanup(freep) char *text = NULL;
    struct layout_error error;
    char type[LAYOUT_MAX_TYPE];
    struct array again;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    REQUIRE(out != NULL);
    layout_print_array(out, &header->array, header->type);
    fclose(out);
    REQUIRE(layout_parse_array(text, len, &again, type, &error) == 0);
    REQUIRE(strcmp(type, header->type) == 0 && again.elem == header->array.elem && again.ndims == header->array.ndims);
    REQUIRE(again.order == header->array.order && again.header == header->array.header);
    for (uint32_t i = 0; i < again.ndims; i++)
        REQUIRE(again.size[i] == header->array.size[i]);
}

static void check(uint8_t *data, size_t size, const char *dataset)
{
    struct array_header header;
    char why[ATTRS_WHY] = "";
    FILE *file = fmemopen(data, size, "r");
    uint64_t bytes;
    int r;

    REQUIRE(file != NULL);
    r = array_header_read(file, dataset, &header, why);
    fclose(file);
    if (r < 0) {
        REQUIRE(why[0] != 0 && strlen(why) < sizeof why && (r == -EINVAL || r == -EOPNOTSUPP));
        return;
    }
    REQUIRE(array_bytes(&header.array, &bytes) == 0);
    check_text(&header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = size > 0 ? malloc(size) : NULL;

    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    check(copy, size, NULL);
    check(copy, size, "field");
    check(copy, size, "temp");
    free(copy);
    return 0;
}

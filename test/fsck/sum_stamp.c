/* SPDX-License-Identifier: MIT */
/* sum_stamp: copies the text of a stamp from standard input to standard output, and puts a line with its sum at the
 * end, in place of the one it had. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

int main(void)
{
    static char text[1 << 20];
    size_t len = fread(text, 1, sizeof text - 1, stdin);
    char *line = strstr(text, "checksum = ");

    if (line != NULL)
        len = (size_t) (line - text);
    fwrite(text, 1, len, stdout);
    return printf("checksum = \"%016" PRIx64 "\";\n", (uint64_t) XXH3_64bits(text, len)) < 0;
}

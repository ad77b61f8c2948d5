/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over files, or over all files of directories. */
#include "test/fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>

#define INPUT_ROOM (1u << 20)

static void run_file(const char *path)
{
    static uint8_t data[INPUT_ROOM];
    FILE *in = fopen(path, "rbe");
    uint8_t *exact;
    size_t size;

    if (in == NULL) {
        perror(path);
        exit(1);
    }
    size = fread(data, 1, sizeof data, in);
    fclose(in);
    exact = malloc(size); /* so that a sanitizer sees a read past its end */
    if (size > 0)
        memcpy(exact, data, size);
    (void) LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    unsigned n = 0;

    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        struct dirent *entry;
        char path[4096];

        if (dir == NULL) {
            run_file(argv[i]);
            n++;
            continue;
        }
        while ((entry = readdir(dir)) != NULL) {
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            run_file(path);
            n++;
        }
        closedir(dir);
    }
    printf("%u inputs\n", n);
    return n > 0 ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/* Empties caches before a call is measured, for programs that do not do so themselves: cool [file=PATH | pid=PID |
 * park=MODEL | pages]...; pages: what is known of names and inodes stays. */
#include "test/bench/cold.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    bool pages_only = false;

    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "file=", 5) == 0)
            cold_file(argv[i] + 5);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "pid=", 4) == 0)
            cold_process((pid_t) strtol(argv[i] + 4, NULL, 10));
    for (int i = 1; i < argc; i++)
        pages_only = pages_only || strcmp(argv[i], "pages") == 0;
    if (pages_only)
        cold_pages();
    else
        cold_system();
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "park=", 5) == 0)
            cold_disk(argv[i] + 5);
    return 0;
}

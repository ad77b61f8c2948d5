/* SPDX-License-Identifier: MIT */
/* Gives random layouts to random files of a mount, as long as it is let, whatever else goes on there:
 *
 *     migrator MOUNTPOINT SEED [VALUE...]     ends on SIGTERM, and says how many migrations it began
 *
 * Errors are expected: files go, others are on their way already, the daemon may be killed. */
#include "test/support/rng.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void) signal;
    ended = 1;
}

/* One of the names in a directory, each as likely; false: it is empty, or gone. */
static bool pick(const char *dir, struct rng *rng, char ret_path[static 4096], unsigned char *ret_type)
{
    DIR *stream = opendir(dir);
    const struct dirent *entry;
    uint64_t n = 0;

    while (stream != NULL && (entry = readdir(stream)) != NULL)
        if (entry->d_name[0] != '.' && rng_below(rng, ++n) == 0) {
            snprintf(ret_path, 4096, "%s/%s", dir, entry->d_name);
            *ret_type = entry->d_type;
        }
    if (stream != NULL)
        closedir(stream);
    return n > 0;
}

static bool find_file(const char *top, struct rng *rng, char path[static 4096])
{
    unsigned char type = DT_DIR;
    char dir[4096];

    snprintf(path, 4096, "%s", top);
    while (type == DT_DIR) {
        memcpy(dir, path, sizeof dir);
        if (!pick(dir, rng, path, &type))
            return false;
    }
    return type == DT_REG;
}

int main(int argc, char **argv)
{
    static const char *const words[] = {
        "one",
        "stripe(7)",
        "stripe(4K,2)",
        "stripe(1M)",
        "stripe(64K)",
        "limit=100M stripe(1000) disp 100",
        "var(100,5,70000)",
        "restripe",
        "limit=30M auto",
        "pause",
        "resume",
        "cancel",
    };
    const bool has_words = argc > 3;
    struct rng rng = rng_from_seed(argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    unsigned n = 0;

    if (argc < 3)
        return 2;
    signal(SIGTERM, end);
    while (!ended) {
        const char *word =
            has_words ? argv[3 + rng_below(&rng, (uint64_t) argc - 3)] : words[rng_below(&rng, ARRAY_SIZE(words))];
        char path[4096];

        if (find_file(argv[1], &rng, path))
            n += setxattr(path, "user.falls.migrate", word, strlen(word), 0) == 0 && strchr(word, '(') != NULL;
        usleep(1000 + (useconds_t) rng_below(&rng, 20000));
    }
    printf("%u\n", n);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* However much is asked for, the daemon works with windows: 64 ranks want a large section each, all at once. The pid of
 * the daemon is in FALLSFS_DAEMON, how large in FALLSFS_MIB, in FALLSFS_WINDOW the size of a window if it was mounted
 * with one. */
#include "test/sections/ranks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define N    64
#define MIB  (UINT64_C(1) << 20)
#define MOST (64 * MIB) /* more than before */

/* Memory that is the daemon's own: not files that are mapped, not what programs have shown it. */
static uint64_t anonymous_memory(void)
{
    const char *pid = getenv("FALLSFS_DAEMON");
    char path[64], line[256];
    uint64_t kib = 0;
    FILE *file;

    EXPECT(pid != NULL);
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    file = fopen(path, "re");
    EXPECT(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssAnon: %" SCNu64, &kib) == 1)
            break;
    fclose(file);
    EXPECT(kib > 0);
    return kib * 1024;
}

/* Windows are no larger than who mounted allows. */
static void check_windows(struct fallsfs_group *group, uint64_t bytes)
{
    const char *window = getenv("FALLSFS_WINDOW");
    struct fallsfs_ioc_info info = { 0 };
    struct fallsfs_ioc_stats stats;
    uint64_t staged;

    if (window == NULL)
        return;
    EXPECT(ioctl(open_shared(O_RDONLY), FALLSFS_IOC_INFO, &info) == 0);
    EXPECT(info.max_window == strtoull(window, NULL, 10));
    EXPECT(fallsfs_stats(group, &stats, &staged) == 0 && stats.windows >= bytes / info.max_window);
}

static void large_sections(void)
{
    const char *mib = getenv("FALLSFS_MIB");
    const uint64_t each = mib != NULL ? MIB * strtoull(mib, NULL, 10) : 0;
    const struct fallsfs_array array = { 1, FALLSFS_ROW_MAJOR, 1, 0, { each + N } };
    struct stage *stage = stage_new(N, 0);
    struct fallsfs_group *group[N];
    struct fallsfs_ticket *ticket[N];
    uint8_t *buf = fallsfs_alloc(each); /* all read the same zeros: that they do so into one place is seen by nobody */
    uint64_t before, most = 0;
    bool is_done = false;

    alarm(400); /* all of it takes longer than a check usually may */
    EXPECT(each > 0 && buf != NULL && ftruncate(open_shared(O_RDWR), (off_t) (each + N)) == 0);
    memset(buf, 'x', each);
    for (uint32_t i = 0; i < N; i++)
        group[i] = join_as(stage, i);
    before = anonymous_memory();
    for (uint32_t i = 0; i < N; i++) {
        const struct fallsfs_range section[] = { { i, i + each - 1, 1 } };

        EXPECT(fallsfs_iread_all(group[i], &array, section, buf, &ticket[i]) == 0);
    }
    while (!is_done) {
        most = MAX(most, anonymous_memory());
        EXPECT(fallsfs_test(ticket[0], &is_done) == 0);
        pause_ms(2);
    }
    for (uint32_t i = 1; i < N; i++)
        EXPECT(fallsfs_wait(ticket[i]) == 0);
    for (uint64_t k = 0; k < each; k += 4097)
        EXPECT(buf[k] == 0);
    EXPECT(most > 0 && most < before + MOST);
    check_windows(group[0], each);
    fallsfs_free(buf);
}

static const struct check checks[] = {
    { "large_sections", large_sections },
    { NULL, NULL },
};

const struct check *const all_checks[] = { checks, NULL };

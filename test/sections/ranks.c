/* SPDX-License-Identifier: MIT */
#include "test/sections/ranks.h"

#include "layout/clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct fallsfs_array square = { 2, FALLSFS_ROW_MAJOR, sizeof(int), 0, { SIDE, SIDE } };

uint64_t now_ms(void)
{
    return clock_ns() / 1000000;
}

struct stage *stage_new(uint32_t n, uint32_t timeout_ms)
{
    struct stage *stage = mmap(NULL, sizeof *stage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    EXPECT(stage != MAP_FAILED);
    stage->n = n;
    stage->hints.timeout_ms = timeout_ms;
    EXPECT(fallsfs_token(stage->token) == 0);
    for (uint32_t i = 0; i < MAX_RANKS; i++)
        atomic_store(&stage->told[i].result, NOT_YET);
    return stage;
}

int open_shared(int flags)
{
    int fd = open("shared", flags | O_CREAT | O_CLOEXEC, 0666);

    EXPECT(fd >= 0);
    return fd;
}

struct fallsfs_group *join_as(struct stage *stage, uint32_t rank)
{
    struct fallsfs_group *group = NULL;
    int r = fallsfs_join(open_shared(O_RDWR), stage->token, rank, stage->n, &stage->hints, &group);

    if (r < 0) {
        errno = -r;
        missed(__FILE__, __LINE__, fallsfs_strerror_last());
    }
    atomic_fetch_add(&stage->n_joined, 1);
    return group;
}

int read_rows(struct stage *stage, struct fallsfs_group *group, uint32_t rank, int *rows)
{
    const struct fallsfs_range section[] = { { rank, SIDE - 1, stage->n }, { 0, SIDE - 1, 1 } };

    return fallsfs_read_all(group, &square, section, rows);
}

int write_rows(struct stage *stage, struct fallsfs_group *group, uint32_t rank, const int *rows)
{
    const struct fallsfs_range section[] = { { rank, SIDE - 1, stage->n }, { 0, SIDE - 1, 1 } };

    return fallsfs_write_all(group, &square, section, rows);
}

uint32_t list_bytes(const struct fallsfs_array *array, const struct fallsfs_range section[], uint32_t at[])
{
    uint64_t index[FALLSFS_MAX_DIMS] = { 0 }, off = array->header;
    uint32_t n = 0, pace = 0;

    while (pace < array->ndims) {
        bool is_in = true;

        for (uint32_t i = 0; i < array->ndims; i++)
            is_in &= index[i] >= section[i].lower && index[i] <= section[i].upper &&
                     (index[i] - section[i].lower) % section[i].stride == 0;
        for (uint64_t byte = 0; is_in && byte < array->elem; byte++)
            at[n++] = (uint32_t) (off + byte);
        off += array->elem;
        for (pace = 0; pace < array->ndims; pace++) {
            uint32_t dim = array->order == FALLSFS_COLUMN_MAJOR ? pace : array->ndims - 1 - pace;

            if (++index[dim] < array->size[dim])
                break;
            index[dim] = 0;
        }
    }
    return n;
}

void tell(struct stage *stage, uint32_t rank, int result)
{
    struct told *told = &stage->told[rank];

    snprintf(told->words, sizeof told->words, "%s", fallsfs_strerror_last());
    atomic_store(&told->when, now_ms());
    atomic_store(&told->result, result);
}

pid_t start_rank(struct stage *stage, uint32_t rank, bool waits_for_go)
{
    pid_t pid = fork();

    EXPECT(pid >= 0);
    if (pid == 0) {
        struct fallsfs_group *group = join_as(stage, rank);
        int *rows = fallsfs_alloc(SIDE * SIDE * sizeof *rows);

        EXPECT(rows != NULL);
        while (waits_for_go && !atomic_load(&stage->go))
            pause_ms(5);
        atomic_fetch_add(&stage->n_asking, 1);
        tell(stage, rank, read_rows(stage, group, rank, rows));
        _exit(0);
    }
    return pid;
}

static void until(atomic_uint *count, uint32_t n)
{
    while (atomic_load(count) < n)
        pause_ms(2);
}

void until_joined(struct stage *stage, uint32_t n)
{
    until(&stage->n_joined, n);
}

void until_asking(struct stage *stage, uint32_t n)
{
    until(&stage->n_asking, n);
    pause_ms(100);
}

void until_ended(pid_t pid)
{
    int status;

    EXPECT(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

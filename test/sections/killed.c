/* SPDX-License-Identifier: MIT */
/* The daemon is killed, again and again, while groups write sections with holes between them, and somebody else writes
 * into holes: killed FALLSFS MOUNTPOINT DISK..., as many cycles as the environment says (see rng.h). All ranks hear of
 * it within a second. Afterwards a byte that a rank asked for is as it was, or as a rank wanted it in a round that had
 * begun, and in no earlier round than the last one that was over; every other byte is as it was. */
#include "test/mount/crash.h"
#include "test/sections/ranks.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define N_TEAMS 3 /* with a file each */
#define MOST    6 /* ranks of a team */
#define DIMS    5
#define LITTLE  40000u /* bytes of an array */
#define LARGE   (1u << 20)
#define ROOM    (LARGE + 1000)
#define SOON    1000 /* ms until all know */
#define LANES   3    /* of one dimension: in the last one nobody asks for anything but who writes alone */
#define NOBODY  0x80 /* has no bit beside these */

struct team {
    uint64_t seed;
    struct fallsfs_array array;
    uint32_t n;
    struct fallsfs_range section[MOST + 1][DIMS]; /* of the ranks, and of who writes alone */
    uint8_t token[16];
    struct fallsfs_hints hints;

    atomic_uint begun, done; /* rounds, by any rank */
    atomic_uint n_alone;     /* bytes written alone */
    atomic_uint_least64_t told_at[MOST];
    atomic_int told[MOST];
};

struct shared {
    struct team team[N_TEAMS];
    atomic_uint n_asking;
    atomic_bool killed;
    uint64_t killed_at;
};

/* What a file is known to have. */
struct known {
    bool there;
    uint64_t size;
    uint8_t data[ROOM]; /* 0 from size on */
};

static struct shared *shared;
static const char *top; /* of the mount */
static struct known known[N_TEAMS], found;

static uint8_t value(const struct team *team, unsigned round, uint32_t rank, uint32_t at)
{
    uint64_t x = (team->seed + round) * UINT64_C(0x9e3779b97f4a7c15) + rank * UINT64_C(0xbf58476d1ce4e5b9) + at;

    x = (x ^ (x >> 29)) * UINT64_C(0x94d049bb133111eb);
    return (uint8_t) (x >> 56);
}

struct path {
    char s[256];
};

static const char *path_of(struct path *path, unsigned team)
{
    snprintf(path->s, sizeof path->s, "%s/of%u", top, team);
    return path->s;
}

/* -- a team -- */

struct actor {
    struct team *team;
    unsigned number; /* of the team */
    uint32_t rank;
    int fd;
    uint32_t *at;
    uint32_t n;
    pthread_t thread;
};

static void *be_rank(void *arg)
{
    struct actor *actor = arg;
    struct team *team = actor->team;
    struct fallsfs_group *group;
    uint8_t *buf = actor->rank % 2 == 0 ? fallsfs_alloc(actor->n) : malloc(actor->n + 1);
    int r =
        actor->fd < 0 ? -ENOTCONN : fallsfs_join(actor->fd, team->token, actor->rank, team->n, &team->hints, &group);

    EXPECT(buf != NULL);
    for (unsigned round = 1; r == 0; round++) {
        unsigned before = round - 1;

        for (uint32_t k = 0; k < actor->n; k++)
            buf[k] = value(team, round, actor->rank, actor->at[k]);
        atomic_compare_exchange_strong(&team->begun, &before, round);
        atomic_fetch_add(&shared->n_asking, 1);
        r = fallsfs_write_all(group, &team->array, team->section[actor->rank], buf);
        before = round - 1;
        if (r == 0)
            atomic_compare_exchange_strong(&team->done, &before, round);
    }
    if (!atomic_load(&shared->killed)) {
        printf("team %u, rank %u: %s\n", actor->number, actor->rank, fallsfs_strerror_last());
        r = -EPROTO;
    }
    atomic_store(&team->told_at[actor->rank], now_ms());
    atomic_store(&team->told[actor->rank], r);
    return NULL;
}

/* Byte by byte, over and over. */
static void *write_alone(void *arg)
{
    struct actor *actor = arg;
    bool ok = actor->n > 0;

    for (uint32_t k = 0; ok; k++) {
        uint8_t byte = value(actor->team, k / actor->n, MOST, actor->at[k % actor->n]);

        ok = pwrite(actor->fd, &byte, 1, actor->at[k % actor->n]) == 1;
        if (ok)
            atomic_store(&actor->team->n_alone, k + 1);
    }
    return NULL;
}

/* The list in at is the actor's. */
static void be_team(unsigned number)
{
    struct team *team = &shared->team[number];
    struct actor actor[MOST + 1];
    struct path path;

    for (uint32_t i = 0; i <= team->n; i++) {
        uint32_t rank = i < team->n ? i : MOST;

        actor[i] =
            (struct actor){ .team = team, .number = number, .rank = rank, .at = malloc(ROOM * sizeof(uint32_t)) };
        EXPECT(actor[i].at != NULL);
        actor[i].n = list_bytes(&team->array, team->section[rank], actor[i].at);
        actor[i].fd = open(path_of(&path, number), O_RDWR | O_CLOEXEC);
        EXPECT(actor[i].fd >= 0 || atomic_load(&shared->killed));
    }
    for (uint32_t i = 0; i <= team->n; i++)
        EXPECT(pthread_create(&actor[i].thread, NULL, i < team->n ? be_rank : write_alone, &actor[i]) == 0);
    for (uint32_t i = 0; i <= team->n; i++)
        pthread_join(actor[i].thread, NULL);
}

/* -- what they do -- */

static void random_array(struct rng *rng, struct fallsfs_array *array)
{
    static const uint64_t elems[] = { 1, 2, 4, 8, 24 };
    uint64_t left = rng_chance(rng, 30) ? LARGE : LITTLE;

    *array = (struct fallsfs_array){ .ndims = (uint32_t) rng_between(rng, 1, DIMS),
                                     .order = rng_chance(rng, 50) ? FALLSFS_ROW_MAJOR : FALLSFS_COLUMN_MAJOR,
                                     .elem = elems[rng_below(rng, ARRAY_SIZE(elems))],
                                     .header = rng_chance(rng, 50) ? 0 : rng_below(rng, 1000) };
    left /= array->elem;
    for (uint32_t i = 0; i < array->ndims; i++) {
        uint64_t most = i + 1 < array->ndims ? MIN(left / LANES, 40) : left;

        array->size[i] = MAX(rng_between(rng, most / 2, most), i == 0 ? LANES : 1);
        left = MAX(left / array->size[i], 1);
    }
}

static void random_section(struct rng *rng, const struct fallsfs_array *array, struct fallsfs_range section[])
{
    for (uint32_t i = 0; i < array->ndims; i++) {
        uint64_t lower = rng_below(rng, array->size[i] / 2 + 1);

        section[i] = (struct fallsfs_range){ lower, rng_between(rng, lower, array->size[i] - 1),
                                             rng_chance(rng, 50) ? 1 : rng_between(rng, 1, 4) };
    }
}

static void plan_team(struct rng *rng, struct team *team)
{
    memset(team, 0, sizeof *team);
    team->seed = rng_u64(rng);
    team->n = (uint32_t) rng_between(rng, 1, MOST);
    random_array(rng, &team->array);
    for (uint32_t i = 0; i <= MOST; i++) {
        random_section(rng, &team->array, team->section[i]);
        team->section[i][0] =
            (struct fallsfs_range){ i == MOST ? LANES - 1 : rng_below(rng, LANES - 1), team->array.size[0] - 1, LANES };
    }
    EXPECT(fallsfs_token(team->token) == 0);
    team->hints = (struct fallsfs_hints){ .domains = (uint32_t) rng_below(rng, 5),
                                          .sieve = (uint32_t) rng_below(rng, 3),
                                          .window = rng_chance(rng, 30) ? 0 : rng_between(rng, 1000, 20000),
                                          .workers = (uint32_t) rng_below(rng, 4) };
}

/* A new file has the layout of this mount; its background may be shorter than what is going to be written. */
static void make_anew(struct rng *rng, unsigned team)
{
    struct known *file = &known[team];
    struct path path;
    int fd;

    (void) unlink(path_of(&path, team));
    *file = (struct known){ .there = true, .size = rng_below(rng, rng_chance(rng, 30) ? ROOM : LITTLE) };
    for (uint64_t i = 0; i < file->size; i++)
        file->data[i] = (uint8_t) rng_u64(rng);
    fd = open(path.s, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT(fd >= 0 && pwrite(fd, file->data, file->size, 0) == (ssize_t) file->size && close(fd) == 0);
}

/* -- what is there afterwards -- */

static bool complain(unsigned number, const char *what, uint64_t at, unsigned is, unsigned was)
{
    const struct team *team = &shared->team[number];

    printf("team %u, %u ranks, rounds %u to %u: %s %" PRIu64 ": %u, before %u\n", number, team->n,
           atomic_load(&team->done), atomic_load(&team->begun), what, at, is, was);
    return false;
}

/* Who asks for each byte: a bit for each rank, and one more. */
static uint64_t note_who(const struct team *team, uint8_t who[ROOM])
{
    static uint32_t at[ROOM];
    uint64_t end = 0;

    memset(who, 0, ROOM);
    for (uint32_t i = 0; i <= MOST; i++) {
        uint32_t n = i < team->n || i == MOST ? list_bytes(&team->array, team->section[i], at) : 0;

        for (uint32_t k = 0; k < n; k++) {
            who[at[k]] |= (uint8_t) (1u << i);
            end = i < MOST ? MAX(end, at[k] + 1) : end;
        }
    }
    return end;
}

static uint32_t highest(uint8_t who)
{
    uint32_t rank = 0;

    while (who >> (rank + 1) != 0)
        rank++;
    return rank;
}

/* Whoever wins wrote it in the last round that was over; those after that may have been at work. */
static bool is_asked_byte_right(const struct team *team, uint32_t at, uint8_t who, uint8_t byte, uint8_t was)
{
    unsigned done = atomic_load(&team->done), begun = atomic_load(&team->begun);

    if (done == 0 ? byte == was : byte == value(team, done, highest(who), at))
        return true;
    for (unsigned round = done + 1; round <= begun; round++)
        for (uint32_t rank = 0; rank < team->n; rank++)
            if ((who >> rank & 1) != 0 && byte == value(team, round, rank, at))
                return true;
    return false;
}

static uint64_t check_alone(unsigned number, uint64_t size)
{
    const struct team *team = &shared->team[number];
    static uint32_t at[ROOM];
    uint32_t n = list_bytes(&team->array, team->section[MOST], at), done = atomic_load(&team->n_alone);
    uint64_t end = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t times = done / n + (k < done % n); /* that it was written */
        uint8_t was = times > 0 ? value(team, times - 1, MOST, at[k]) : known[number].data[at[k]];

        end = times > 0 ? MAX(end, at[k] + 1) : end;
        if (found.data[at[k]] != was && !(k == done % n && found.data[at[k]] == value(team, times, MOST, at[k])))
            return complain(number, "written alone, byte", at[k], found.data[at[k]], was), UINT64_MAX;
    }
    if (size < end)
        return complain(number, "written alone up to", end, 0, 0), UINT64_MAX;
    return n > 0 ? MAX(end, at[done % n] + 1) : end;
}

static bool check_file(unsigned number)
{
    const struct team *team = &shared->team[number];
    const struct known *was = &known[number];
    static uint8_t who[ROOM];
    uint64_t end = note_who(team, who), alone = check_alone(number, found.size), least = was->size, most;

    if (alone == UINT64_MAX)
        return false;
    most = MAX(MAX(least, end), alone);
    if (atomic_load(&team->done) > 0)
        least = MAX(least, end);
    if (found.size < least || found.size > most)
        return complain(number, "it has size", found.size, (unsigned) least, (unsigned) most);
    for (uint32_t at = 0; at < found.size; at++) {
        uint8_t byte = found.data[at], before = was->data[at];

        if (who[at] == 0 ? byte != before
                         : who[at] < 1u << MOST && !is_asked_byte_right(team, at, who[at], byte, before))
            return complain(number, who[at] == 0 ? "nobody asked for byte" : "byte", at, byte, before);
    }
    return true;
}

static void read_found(unsigned team)
{
    struct path path;
    int fd = open(path_of(&path, team), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, found.data, ROOM) : -1;

    EXPECT(n >= 0 && close(fd) == 0);
    memset(found.data + n, 0, ROOM - (size_t) n);
    found.size = (uint64_t) n;
    found.there = true;
}

/* From now on files are as they were found. */
static bool check_all(void)
{
    bool good = true;

    for (unsigned i = 0; i < N_TEAMS; i++) {
        if (!known[i].there)
            continue;
        read_found(i);
        good = check_file(i) && good;
        known[i] = found;
    }
    return good;
}

static bool check_told(unsigned number)
{
    const struct team *team = &shared->team[number];
    bool good = true;

    for (uint32_t i = 0; i < team->n; i++) {
        int r = atomic_load(&team->told[i]);
        uint64_t at = atomic_load(&team->told_at[i]);

        if ((r != -ENOTCONN && r != -ECONNABORTED) || at > shared->killed_at + SOON)
            good = complain(number, "a rank is told late, or wrong", at - shared->killed_at, (unsigned) -r, i);
    }
    return good;
}

/* -- cycles -- */

static const char *const layouts[] = {
    "layout=stripe(4K)",
    "layout=stripe(64K)",
    "layout=stripe(7,3)",
    "layout=stripe(1)",
    "layout=one",
    "layout=var(1000,9000,5000)",
    "layout=array(shape=64x128, elem=4, dist=(block,cyclic(8)), grid=2x2)",
    "layout={(0,3,8,2,{(0,0,2,2)});(1,3,8,2,{(0,0,2,2)});(4,7,8,2)}",
};

static bool begin_cycle(const struct daemon *daemon, struct rng *rng)
{
    top = daemon->top;
    if (!check_all())
        return false;
    for (unsigned i = 0; i < N_TEAMS; i++) {
        plan_team(rng, &shared->team[i]);
        if (!known[i].there || rng_chance(rng, 60))
            make_anew(rng, i);
    }
    atomic_store(&shared->n_asking, 0);
    atomic_store(&shared->killed, false);
    return true;
}

static bool is_somebody_asking(void)
{
    return atomic_load(&shared->n_asking) > 0;
}

static void allow_errors(void)
{
    atomic_store(&shared->killed, true);
    shared->killed_at = now_ms();
}

static bool are_all_told(void)
{
    bool good = true;

    for (unsigned i = 0; i < N_TEAMS; i++)
        good = check_told(i) && good;
    return good;
}

int main(int argc, char **argv)
{
    const struct crash_test test = {
        .layout = layouts,
        .n_layouts = ARRAY_SIZE(layouts),
        .n_programs = N_TEAMS,
        .begin = begin_cycle,
        .work = be_team,
        .is_at_work = is_somebody_asking,
        .doom = allow_errors,
        .over = are_all_told,
    };

    shared = crash_share(sizeof *shared);
    return crash_main(argc, argv, 400, &test);
}

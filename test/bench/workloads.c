/* SPDX-License-Identifier: MIT */
#include "test/bench/workloads.h"

#include "layout/layout.h"
#include "layout/map.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)

static int is_dealt(struct program *program, uint64_t piece)
{
    uint64_t turn = piece * program->n_procs;

    program->piece = piece;
    program->bytes = program->bytes / turn * turn;
    return program->bytes > 0 ? 0 : -EINVAL;
}

/* The pieces of a file that is dealt out in turns. */
static uint64_t count_dealt(const struct program *program, uint32_t rank, bool writes)
{
    (void) rank, (void) writes;
    return program->bytes / program->piece / program->n_procs;
}

static struct step step_dealt(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    (void) writes;
    return (struct step){ .off = (i * program->n_procs + rank) * program->piece, .len = program->piece };
}

/* -- bt: a cube in q x q x q cells, of which each process has one in each plane, each time further along -- */

#define BT_SIDE UINT64_C(102) /* class B */
#define BT_ELEM UINT64_C(40)

static uint64_t bt_parts(const struct program *program)
{
    uint64_t parts = 1;

    while (parts * parts < program->n_procs)
        parts++;
    return parts;
}

static int prepare_bt(struct program *program)
{
    const uint64_t cube = BT_SIDE * BT_SIDE * BT_SIDE * BT_ELEM;
    uint64_t times = MAX(program->bytes / cube, 1), parts = bt_parts(program);

    program->bytes = times * cube;
    program->array = (struct fallsfs_array){ 4, FALLSFS_ROW_MAJOR, BT_ELEM, 0, { times, BT_SIDE, BT_SIDE, BT_SIDE } };
    return parts * parts == program->n_procs && parts <= BT_SIDE ? 0 : -EINVAL;
}

static uint64_t count_bt(const struct program *program, uint32_t rank, bool writes)
{
    (void) rank, (void) writes;
    return program->array.size[0] * bt_parts(program);
}

static struct fallsfs_range bt_part(uint64_t part, uint64_t parts)
{
    return (struct fallsfs_range){ part * BT_SIDE / parts, (part + 1) * BT_SIDE / parts - 1, 1 };
}

static struct step step_bt(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    uint64_t parts = bt_parts(program), time = i / parts, z = i % parts;
    struct step step = { .is_section = true,
                         .section = { { time, time, 1 },
                                      bt_part(z, parts),
                                      bt_part((rank / parts + z) % parts, parts),
                                      bt_part((rank + z) % parts, parts) } };

    (void) writes;
    step.len = fallsfs_section_bytes(&program->array, step.section);
    return step;
}

/* -- seismic -- */

#define SEISMIC_CHUNK (96 * KIB)
#define SEISMIC_TRACE (2 * KIB)

static int prepare_seismic(struct program *program)
{
    return is_dealt(program, SEISMIC_CHUNK);
}

static uint64_t count_seismic(const struct program *program, uint32_t rank, bool writes)
{
    return count_dealt(program, rank, writes) * (writes ? 1 : SEISMIC_CHUNK / SEISMIC_TRACE);
}

static struct step step_seismic(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    const uint64_t traces = SEISMIC_CHUNK / SEISMIC_TRACE;
    struct step step = step_dealt(program, rank, writes, writes ? i : i / traces);

    if (!writes) {
        step.off += i % traces * SEISMIC_TRACE;
        step.len = SEISMIC_TRACE;
    }
    return step;
}

/* -- tiles -- */

#define TILE_ROW     (32 * KIB)
#define TILE_OVERLAP (2 * KIB)

static uint64_t tiles_width(const struct program *program)
{
    return (TILE_ROW - TILE_OVERLAP) * program->n_procs + TILE_OVERLAP;
}

static int prepare_tiles(struct program *program)
{
    program->bytes = program->bytes / tiles_width(program) * tiles_width(program);
    return program->bytes > 0 ? 0 : -EINVAL;
}

static uint64_t count_tiles(const struct program *program, uint32_t rank, bool writes)
{
    (void) rank, (void) writes;
    return program->bytes / tiles_width(program);
}

static struct step step_tiles(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    (void) writes;
    return (struct step){ .off = i * tiles_width(program) + rank * (TILE_ROW - TILE_OVERLAP), .len = TILE_ROW };
}

/* -- perf -- */

static int prepare_perf(struct program *program)
{
    return is_dealt(program, MIB);
}

/* -- mandelbrot: a square image of a byte for each point -- */

#define SAMPLES        64 /* of a row */
#define MAX_ITERATIONS 200
#define TURNS          16 /* pieces of a process, on average */

static unsigned iterations(double re, double im)
{
    double x = 0, y = 0, x2 = 0, y2 = 0;
    unsigned n = 0;

    for (; n < MAX_ITERATIONS && x2 + y2 <= 4; n++) {
        y = 2 * x * y + im;
        x = x2 - y2 + re;
        x2 = x * x;
        y2 = y * y;
    }
    return n;
}

/* What a row takes to be worked out, at a height of 0 to 1 in the image. */
static uint64_t row_time(double height)
{
    uint64_t time = 0;

    for (unsigned i = 0; i < SAMPLES; i++)
        time += iterations(-2 + 3.0 * i / SAMPLES, -1.5 + 3 * height);
    return time;
}

/* Hands out each piece to whoever has the least to do so far: owner gets his number. */
static int hand_out(const struct program *program, uint64_t n, uint32_t owner[])
{
    cleanup(freep) uint64_t *busy = calloc(program->n_procs, sizeof *busy);

    if (busy == NULL)
        return -ENOMEM;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t next = 0;

        for (uint32_t rank = 1; rank < program->n_procs; rank++)
            if (busy[rank] < busy[next])
                next = rank;
        busy[next] += row_time(((double) i + 0.5) / (double) n);
        owner[i] = next;
    }
    return 0;
}

/* Sorts extents by who owns them; each one's stay in order. */
static int list_extents(struct program *program, uint64_t n, const struct extent extent[], const uint32_t owner[])
{
    uint64_t at = 0;

    program->extent = calloc(MAX(n, 1), sizeof *program->extent);
    program->first = calloc((size_t) program->n_procs + 1, sizeof *program->first);
    if (program->extent == NULL || program->first == NULL)
        return -ENOMEM;
    for (uint32_t rank = 0; rank < program->n_procs; rank++) {
        program->first[rank] = at;
        for (uint64_t i = 0; i < n; i++)
            if (owner[i] == rank)
                program->extent[at++] = extent[i];
    }
    program->first[program->n_procs] = at;
    return 0;
}

static int prepare_mandelbrot(struct program *program)
{
    cleanup(freep) struct extent *extent = NULL;
    cleanup(freep) uint32_t *owner = NULL;
    uint64_t side = 1, rows, n;
    int r;

    while ((side + 1) * (side + 1) <= program->bytes)
        side++;
    rows = MAX(side / (TURNS * (uint64_t) program->n_procs), 1);
    n = side / rows;
    extent = calloc(n, sizeof *extent);
    owner = calloc(n, sizeof *owner);
    if (extent == NULL || owner == NULL)
        return -ENOMEM;
    program->bytes = n * rows * side;
    for (uint64_t i = 0; i < n; i++)
        extent[i] = (struct extent){ i * rows * side, rows * side };
    r = hand_out(program, n, owner);
    return r < 0 ? r : list_extents(program, n, extent, owner);
}

static uint64_t count_listed(const struct program *program, uint32_t rank, bool writes)
{
    (void) writes;
    return program->first[rank + 1] - program->first[rank];
}

static struct step step_listed(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    const struct extent *extent = &program->extent[program->first[rank] + i];

    (void) writes;
    return (struct step){ .off = extent->off, .len = extent->len };
}

/* -- media -- */

#define MEDIA_PIECE (256 * KIB)

static int prepare_media(struct program *program)
{
    return is_dealt(program, MEDIA_PIECE);
}

static uint64_t count_media(const struct program *program, uint32_t rank, bool writes)
{
    (void) writes;
    return rank == 0 ? program->bytes / program->piece : 0;
}

static struct step step_media(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    (void) rank, (void) writes;
    return (struct step){ .off = i * program->piece, .len = program->piece };
}

/* -- database -- */

#define RECORD         UINT64_C(100)
#define DATABASE_PIECE (RECORD * 10000)
#define BYTES_A_READ   (256 * KIB) /* of the file */

static int prepare_database(struct program *program)
{
    return is_dealt(program, DATABASE_PIECE);
}

static uint64_t count_database(const struct program *program, uint32_t rank, bool writes)
{
    return writes ? count_dealt(program, rank, writes) : program->bytes / BYTES_A_READ / program->n_procs;
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static struct step step_database(const struct program *program, uint32_t rank, bool writes, uint64_t i)
{
    uint64_t part = count_dealt(program, rank, true), n = program->bytes / RECORD;
    uint64_t x = mixed(program->seed * 1000003 + rank * UINT64_C(0x9E3779B97F4A7C15) + i + 1);

    if (writes)
        return (struct step){ .off = (rank * part + i) * DATABASE_PIECE, .len = DATABASE_PIECE };
    return (struct step){ .off = mixed(x) % n * RECORD, .len = RECORD };
}

/* -- all of them -- */

static const struct workload workloads[] = {
    { "bt", 1, prepare_bt, count_bt, step_bt },
    { "seismic", 1, prepare_seismic, count_seismic, step_seismic },
    { "tiles", 1, prepare_tiles, count_tiles, step_tiles },
    { "perf", 1, prepare_perf, count_dealt, step_dealt },
    { "mandelbrot", 1, prepare_mandelbrot, count_listed, step_listed },
    { "media", 1, prepare_media, count_media, step_media },
    { "database", 8, prepare_database, count_database, step_database },
};

const struct workload *workload_at(size_t i)
{
    return i < ARRAY_SIZE(workloads) ? &workloads[i] : NULL;
}

const struct workload *workload_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(workloads); i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}

int program_init(struct program *program, const struct workload *workload, uint32_t n_procs, uint64_t bytes,
                 uint64_t seed)
{
    int r;

    *program = (struct program){ .workload = workload, .n_procs = n_procs, .bytes = bytes, .seed = seed };
    r = n_procs == 0 || bytes < WORKLOADS_MIN_BYTES ? -EINVAL : workload->prepare(program);
    if (r < 0)
        program_done(program);
    return r;
}

/* -- any layout as a program -- */

static const struct workload elements = { "elements", 1, NULL, count_listed, step_listed };

static int list_runs(struct program *program, const struct pattern *pattern)
{
    cleanup(freep) struct extent *extent = NULL;
    cleanup(freep) uint32_t *owner = NULL;
    struct runs runs;
    struct run run;
    size_t n = 0;
    int r = runs_init(&runs, pattern, 0, program->bytes);

    while (r == 0 && runs_next(&runs, &run)) {
        if (!array_grow(extent, n) || !array_grow(owner, n))
            return -ENOMEM;
        extent[n] = (struct extent){ run.file_off, run.len };
        owner[n++] = run.element;
    }
    return r < 0 ? r : list_extents(program, n, extent, owner);
}

int program_init_elements(struct program *program, const char *layout, uint32_t n_procs, uint64_t bytes)
{
    cleanup(layout_freep) struct layout *parsed = NULL;
    struct layout_error error;
    int r = layout_parse(layout, strlen(layout), n_procs, &parsed, &error);

    *program = (struct program){ .workload = &elements, .n_procs = n_procs, .bytes = bytes };
    if (r == 0)
        r = parsed->pattern->n_elements == n_procs ? list_runs(program, parsed->pattern) : -EINVAL;
    if (r < 0)
        program_done(program);
    return r;
}

void program_done(struct program *program)
{
    free(program->extent);
    free(program->first);
    *program = (struct program){ 0 };
}

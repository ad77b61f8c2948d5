/* SPDX-License-Identifier: MIT */
#include "test/bench/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SERIES 512

static struct series all[MAX_SERIES];
static unsigned n_all;

static FILE *open_or_end(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);

    if (file == NULL) {
        perror(path);
        exit(2);
    }
    return file;
}

FILE *samples_open(const char *path)
{
    return open_or_end(path, "ae");
}

void samples_add(FILE *out, const char *row, const char *target, unsigned round, double value, double client,
                 double daemon)
{
    fprintf(out, "%s %s %u %.9g %.9g %.9g\n", row, target, round, value, client, daemon);
    fflush(out);
}

static struct series *find(const char *row, const char *target)
{
    for (unsigned i = 0; i < n_all; i++)
        if (strcmp(all[i].row, row) == 0 && strcmp(all[i].target, target) == 0)
            return &all[i];
    return NULL;
}

const struct series *samples_of(const char *row, const char *target)
{
    return find(row, target);
}

unsigned samples_count(void)
{
    return n_all;
}

const struct series *samples_at(unsigned i)
{
    return &all[i];
}

void samples_read(const char *path)
{
    FILE *in = open_or_end(path, "re");
    char row[32], target[16];
    double value, client, daemon;
    unsigned round;

    n_all = 0;
    while (fscanf(in, "%31s %15s %u %lf %lf %lf", row, target, &round, &value, &client, &daemon) == 6) {
        struct series *s = find(row, target);

        if (s == NULL && n_all < MAX_SERIES) {
            s = &all[n_all++];
            *s = (struct series){ 0 };
            snprintf(s->row, sizeof s->row, "%s", row);
            snprintf(s->target, sizeof s->target, "%s", target);
        }
        if (s == NULL || round >= TRIAL_MAX_ROUNDS)
            continue;
        s->has[round] = true;
        s->value[round] = value;
        s->client[round] = client;
        s->daemon[round] = daemon;
    }
    fclose(in);
}

static double get(const struct series *s, unsigned round, enum field field)
{
    switch (field) {
    case VALUE:
        return s->value[round];
    case CLIENT:
        return s->client[round];
    case DAEMON:
        return s->daemon[round];
    default:
        return s->client[round] + s->daemon[round];
    }
}

struct spread samples_spread(const struct series *s, enum field field)
{
    double value[TRIAL_MAX_ROUNDS];
    uint32_t n = 0;

    for (unsigned i = 0; i < TRIAL_MAX_ROUNDS; i++)
        if (s->has[i])
            value[n++] = get(s, i, field);
    return spread_of(value, n);
}

struct spread samples_ratio(const struct series *a, const struct series *b, enum field field)
{
    double value[TRIAL_MAX_ROUNDS];
    uint32_t n = 0;

    for (unsigned i = 0; i < TRIAL_MAX_ROUNDS; i++)
        if (a->has[i] && b->has[i] && get(b, i, field) > 0)
            value[n++] = get(a, i, field) / get(b, i, field);
    return spread_of(value, n);
}

void samples_print_json(FILE *json, const struct series *s, const char *unit)
{
    struct spread value = samples_spread(s, VALUE);

    fprintf(json,
            "{ \"row\": \"%s\", \"target\": \"%s\", \"unit\": \"%s\", \"median\": %.6g, \"low\": %.6g, "
            "\"high\": %.6g, \"cpu_client\": %.6g, \"cpu_daemon\": %.6g }",
            s->row, s->target, unit, value.mid, value.low, value.high, samples_spread(s, CLIENT).mid,
            samples_spread(s, DAEMON).mid);
}

/* SPDX-License-Identifier: MIT */
#include "test/bench/judge.h"

#include <stdlib.h>

void judge_begin(struct judge *judge, const char *json, const char *remark, const char *more)
{
    *judge = (struct judge){ .json = json != NULL ? fopen(json, "we") : NULL };
    if (json != NULL && judge->json == NULL) {
        perror(json);
        exit(2);
    }
    if (judge->json != NULL)
        fprintf(judge->json, "{\n  \"remark\": \"%s\",\n%s  \"bars\": [", remark, more);
}

void judge_head(void)
{
    printf("| what | value | bar | |\n|---|---|---|---|\n");
}

FILE *judge_count(struct judge *judge, bool met)
{
    if (judge->json != NULL)
        fprintf(judge->json, "%s\n    ", judge->n == 0 ? "" : ",");
    judge->n++;
    judge->n_missed += !met;
    return judge->json;
}

const char *judge_word(bool met)
{
    return met ? "ok" : "**MISSED**";
}

void judge_bar(struct judge *judge, const char *what, double value, const char *unit, bool at_most, double bar,
               bool met)
{
    FILE *json = judge_count(judge, met);

    printf("| %s | %.3g%s | %s %.3g%s | %s |\n", what, value, unit, at_most ? "≤" : "≥", bar, unit, judge_word(met));
    if (json != NULL)
        fprintf(json, "{ \"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"%s\": %.6g, \"met\": %s }", what, value,
                unit, at_most ? "at_most" : "at_least", bar, met ? "true" : "false");
}

void judge_at_most(struct judge *judge, const char *what, double value, const char *unit, double bar)
{
    judge_bar(judge, what, value, unit, true, bar, value <= bar);
}

void judge_at_least(struct judge *judge, const char *what, double value, const char *unit, double bar)
{
    judge_bar(judge, what, value, unit, false, bar, value >= bar);
}

bool judge_reaches(struct spread value, bool at_most, double bar)
{
    if (at_most)
        return value.mid <= bar || (value.mid <= bar * 1.05 && value.low <= bar);
    return value.mid >= bar || (value.mid >= bar * 0.95 && value.high >= bar);
}

void judge_total(const struct judge *judge, bool reaches)
{
    printf("\n%u bars, %u missed.%s\n", judge->n, judge->n_missed,
           reaches ? " A bar is met when the median meets it, or comes within 5 % and a quartile meets it." : "");
}

bool judge_end(struct judge *judge, unsigned n, void (*print)(FILE *json, unsigned i))
{
    if (judge->json != NULL) {
        fprintf(judge->json, "\n  ],\n  \"measured\": [");
        for (unsigned i = 0; i < n; i++) {
            fprintf(judge->json, "%s\n    ", i == 0 ? "" : ",");
            print(judge->json, i);
        }
        fprintf(judge->json, "\n  ]\n}\n");
        fclose(judge->json);
    }
    return judge->n_missed == 0;
}

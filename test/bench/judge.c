/* SPDX-License-Identifier: MIT */
#include "test/bench/judge.h"

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

void judge_bar(struct judge *judge, const char *what, double value, const char *unit, bool at_most, double bar,
               bool met)
{
    printf("| %s | %.3g%s | %s %.3g%s | %s |\n", what, value, unit, at_most ? "≤" : "≥", bar, unit,
           met ? "ok" : "**MISSED**");
    if (judge->json != NULL)
        fprintf(
            judge->json, "%s\n    { \"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"%s\": %.6g, \"met\": %s }",
            judge->n == 0 ? "" : ",", what, value, unit, at_most ? "at_most" : "at_least", bar, met ? "true" : "false");
    judge->n++;
    judge->n_missed += !met;
}

void judge_at_most(struct judge *judge, const char *what, double value, const char *unit, double bar)
{
    judge_bar(judge, what, value, unit, true, bar, value <= bar);
}

void judge_at_least(struct judge *judge, const char *what, double value, const char *unit, double bar)
{
    judge_bar(judge, what, value, unit, false, bar, value >= bar);
}

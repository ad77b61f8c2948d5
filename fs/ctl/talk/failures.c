/* SPDX-License-Identifier: MIT */
#include "fs/ctl/talk/failures.h"

#include "fs/json/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void failures_begin(struct failures *failures, bool as_json)
{
    *failures = (struct failures){ 0 };
    if (as_json)
        failures->json.out = open_memstream(&failures->text, &failures->text_len);
}

void failures_add(struct failures *failures, const char *name, const char *fmt, ...)
{
    char why[1024];
    va_list list;

    va_start(list, fmt);
    vsnprintf(why, sizeof why, fmt, list);
    va_end(list);
    utf8_complain("%s: %s", name, why);
    if (failures->json.out != NULL) {
        json_open(&failures->json, NULL, '{');
        json_string(&failures->json, "name", name);
        json_string(&failures->json, "why", why);
        json_close(&failures->json, '}');
    }
    failures->n++;
}

void failures_end(struct failures *failures, struct json *json)
{
    if (failures->json.out != NULL)
        fclose(failures->json.out);
    if (json != NULL && failures->n > 0)
        json_raw(json, "errors", '[', failures->text != NULL ? failures->text : "", ']');
    free(failures->text);
    *failures = (struct failures){ .n = failures->n };
}

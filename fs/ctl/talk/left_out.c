/* SPDX-License-Identifier: MIT */
#include "fs/ctl/talk/left_out.h"

#include "fs/json/utf8.h"

#include <stdio.h>

bool left_out_note(struct left_out *left_out, const char *target, int r)
{
    char *longer;

    if (r != -EACCES)
        return false;
    if (asprintf(&longer, "%s%s%s", left_out->targets != NULL ? left_out->targets : "",
                 left_out->targets != NULL ? ", " : "", target) >= 0) {
        free(left_out->targets);
        left_out->targets = longer;
    }
    return true;
}

void left_out_tell(struct left_out *left_out)
{
    if (left_out->targets != NULL)
        utf8_complain("left out: %s: only who mounted may ask there, unless it is mounted with -o allow_other",
                      left_out->targets);
    free(left_out->targets);
    *left_out = (struct left_out){ 0 };
}

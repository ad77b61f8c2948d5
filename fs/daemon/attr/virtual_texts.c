/* SPDX-License-Identifier: MIT */
/* user.falls.layouts, of any directory: the texts of layouts that the volume keeps.
 *
 *     getfattr -n user.falls.layouts --only-values DIRECTORY          how many there are
 *     setfattr -n user.falls.layouts -v prune DIRECTORY               those that no file has are removed
 */
#include "fs/core/change/prune.h"
#include "fs/daemon/attr/virtual_rows.h"
#include "fs/daemon/say/log.h"

#include <string.h>
#include <unistd.h>

int layouts_get_count(const struct virtual_call *call, FILE *out)
{
    uint64_t n;
    int r = texts_count(call->fs, &n);

    if (r == 0)
        fprintf(out, "%" PRIu64 "\n", n);
    return r;
}

int layouts_set_order(const struct virtual_call *call, const char *value, size_t len)
{
    struct volume_error error = { "" };
    uint64_t n;
    int r;

    (void) len;
    if (call->cred.uid != 0 && call->cred.uid != geteuid())
        return virtual_refuse(call, -EPERM, "only root and who mounted may remove texts of layouts");
    if (strcmp(value, "prune") != 0)
        return virtual_refuse(call, -EINVAL, "say 'prune': the texts of layouts that no file has are removed");
    r = texts_prune(call->fs, &n, &error);
    if (r < 0)
        return virtual_refuse(call, r, "%s", error.why);
    log_note("%" PRIu64 " texts of layouts that no file has were removed", n);
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/think/foretell.h"

#include "fs/ctl/think/source.h"

#include <stdio.h>

/* Reads a size in bytes, or a shape, 8192x8192, of the array that is known. */
static int read_size(const struct profile *profile, const char *text, struct predicting *predicting,
                     struct array *array, char why[static ATTRS_WHY])
{
    cleanup(freep) char *shape = NULL;
    struct layout_error error = { 0 };
    char type[LAYOUT_MAX_TYPE];
    struct array read;

    if (strchr(text, 'x') == NULL) {
        if (layout_parse_size(text, &predicting->new_size) < 0 || predicting->new_size == 0)
            return attrs_refuse(why, -EINVAL, "--size %s is no number of bytes, as 4G, and no shape, as 8192x8192",
                                text);
        return 0;
    }
    if (!profile->knows_array)
        return attrs_refuse(why, -EINVAL, "--size %s is a shape: say with --array what the file has now", text);
    if (asprintf(&shape, "shape=%s", text) < 0)
        return attrs_refuse(why, -ENOMEM, "out of memory");
    if (layout_parse_array(shape, strlen(shape), &read, type, &error) < 0 || read.ndims != profile->array.ndims)
        return attrs_refuse(why, -EINVAL, "--size %s is no shape of %" PRIu32 " dimensions", text,
                            profile->array.ndims);
    *array = profile->array;
    memcpy(array->size, read.size, sizeof array->size);
    predicting->new_array = array;
    return 0;
}

/* Finds the same file in a second trace: by its name, or the only one there. */
static int read_also(const struct profile *profile, const struct profile_options *options, struct touches *touches,
                     uint64_t *ret_size, char why[static ATTRS_WHY])
{
    cleanup(trace_done) struct trace trace = { 0 };
    uint32_t file;
    int r = source_load(options->also, &trace, why);

    if (r < 0)
        return r;
    if (source_find(&trace, profile->file->path, &file) < 0 &&
        (trace.n_files != 1 || source_find(&trace, NULL, &file) < 0))
        return attrs_refuse(why, -EINVAL, "%s has no access to a file of that name", options->also);
    *ret_size = trace.file[file].size;
    r = profile_touches(touches, &trace, file, options->n_disks);
    if (r < 0)
        return attrs_refuse(why, r, "out of memory");
    return touches->n == 0 ? attrs_refuse(why, -EINVAL, "%s: no access to it could be placed", options->also) : 0;
}

static int refuse(const struct profile *profile, const struct profile_options *options, const struct predict_why *cause,
                  char why[static ATTRS_WHY])
{
    static const char helps[] =
        "--also TRACE, of a short run that differs in one of them, tells; or --growth lengths, or "
        "--growth numbers, or --array";

    switch (cause->failure) {
    case PREDICT_IRREGULAR:
        return attrs_refuse(why, -EINVAL,
                            "nothing can be said of other runs: rank %" PRIu32
                            " does not walk through rows or blocks of "
                            "equal length, or shares them with others in no regular way: trace the run itself",
                            cause->rank);
    case PREDICT_FEW:
        return attrs_refuse(why, -EINVAL,
                            "nothing can be said of %" PRIu32
                            " processes: more of one kind there can be, and of the %" PRIu32
                            " that were traced no two do alike, or there are several kinds: trace such a run",
                            options->procs, profile->touches.n_ranks);
    case PREDICT_NONE:
        return attrs_refuse(
            why, -EINVAL,
            "no rule of what was traced comes to that number of processes and that size: parts of a grid "
            "must go up in them, and of cells that change from layer to layer four tell too little; trace such a run");
    case PREDICT_ALSO:
        return attrs_refuse(
            why, -EINVAL,
            "no rule that foretells what is in %s: it should be of the same program, with another number "
            "of processes or another size, and of both only if it is complete",
            options->also);
    case PREDICT_SIZE:
        return attrs_refuse(
            why, -EINVAL,
            "what was traced does not tell whether a larger file has longer accesses or more of them: %s, "
            "or --size as a shape",
            helps);
    case PREDICT_SEVERAL:
        break;
    }
    return attrs_refuse(why, -EINVAL,
                        "what was traced allows more than one answer: %" PRIu64 " accesses of %" PRIu64
                        " B on average, or %" PRIu64 " of %" PRIu64 " B: %s",
                        cause->reading[0].accesses, cause->reading[0].bytes / MAX(cause->reading[0].accesses, 1),
                        cause->reading[1].accesses, cause->reading[1].bytes / MAX(cause->reading[1].accesses, 1),
                        helps);
}

static int predict(struct profile *profile, const struct profile_options *options, const struct predicting *predicting,
                   char why[static ATTRS_WHY])
{
    struct prediction prediction;
    struct predict_why cause;
    int r = prediction_init(&prediction, predicting, &cause);

    if (r == -EDOM)
        return refuse(profile, options, &cause, why);
    if (r < 0)
        return attrs_refuse(why, r,
                            r == -E2BIG ? "those are too many accesses or processes to look at" : "out of memory");
    touches_done(&profile->touches);
    profile->touches = prediction.touches;
    profile->size = prediction.size;
    if (profile->knows_array)
        profile->array = prediction.array;
    profile->is_predicted = true;
    profile->is_rounded = prediction.is_rounded;
    profile->by_bytes = prediction.by_bytes;
    return 0;
}

int foretell(struct profile *profile, const struct profile_options *options, char ret_why[static ATTRS_WHY])
{
    cleanup(touches_done) struct touches also = { 0 };
    struct array array;
    struct predicting predicting = { .touches = &profile->touches,
                                     .size = profile->size,
                                     .array = profile->knows_array ? &profile->array : NULL,
                                     .procs = options->procs,
                                     .growth = options->growth };
    int r = 0;

    if (options->procs == 0 && options->size == NULL)
        return 0;
    if (options->size != NULL)
        r = read_size(profile, options->size, &predicting, &array, ret_why);
    if (r == 0 && options->also != NULL) {
        predicting.also = &also;
        r = read_also(profile, options, &also, &predicting.also_size, ret_why);
    }
    return r < 0 ? r : predict(profile, options, &predicting, ret_why);
}

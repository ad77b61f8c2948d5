/* SPDX-License-Identifier: MIT */
/* fsck.fallsfs: options → stamps → volume → check → exit status, as fsck(8) has it. */
#include "fs/core/volume/record.h"
#include "fs/fsck/check.h"
#include "fs/fsck/rebuild.h"
#include "fs/fsck/stamps.h"
#include "fs/json/json.h"
#include "fs/json/utf8.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define PAUSE_MS 50

static const char help[] =
    "usage: fsck.fallsfs [-n | -y | -a | -p] [-f] [--copies] [--free-orphans] [--json] DISK...\n"
    "       fsck.fallsfs --home-lost -y [--json] DISK... EMPTY-DIRECTORY\n"
    "\n"
    "Checks a volume that is not mounted, and with -y repairs what can be repaired without inventing anything. Mounting\n"
    "never needs it: what a crash leaves unfinished the next mount finishes. Nothing that a valid record names is removed;\n"
    "what nobody needs goes to .fallsfs/lost/ on its disk. Bytes that are lost are brought back from the second copy of\n"
    "'copies 2', where that has them; else they are told each time, and reading them is an error until the subfile is put\n"
    "back or the file is written anew.\n"
    "\n"
    "  -n            only look, write nothing at all; this is the default\n"
    "  -y            repair\n"
    "  -a, -p        repair, unless the last mount ended well\n"
    "  -f            with -a or -p: check also then\n"
    "  --copies      with -y: also write a copy of each record beside its subfiles, for --home-lost\n"
    "  --free-orphans  remove what a crash left in the disks and no file can need any more, also from lost/; without -y\n"
    "                tells how many bytes that would free\n"
    "  --home-lost   the home disk is lost: make EMPTY-DIRECTORY the new one, and the names anew from the copies\n"
    "  --json        machine-readable output\n"
    "  -V            version\n"
    "\n"
    "examples:\n"
    "  fsck.fallsfs /mnt/d0 /mnt/d1 /mnt/d2\n"
    "  fsck.fallsfs -y /mnt/d0 /mnt/d1 /mnt/d2\n"
    "  fsck.fallsfs --home-lost -y /mnt/new /mnt/d1 /mnt/d2\n"
    "\n"
    "exit status: 0 nothing is wrong, 1 repaired, 4 something is left, 5 both, 8 could not check, 16 wrong usage\n";

enum {
    CLEAN = 0,
    REPAIRED = 1,
    LEFT = 4,
    FAILED = 8,
    USAGE = 16,
};

struct options {
    char **disk;
    uint32_t n;
    bool looks, repair, preen, force, copies, free_orphans, home_lost, as_json;
    bool help, version;
};

struct output {
    bool as_json;
    struct json json;
};

/* -- telling -- */

static const char *fate_name(const struct finding *finding)
{
    if (finding->fate == FINDING_NOTE)
        return "noted";
    return finding->fate == FINDING_LEFT ? "left" : finding->done ? "repaired" : "can be repaired";
}

/* Prints a finding as text, since paths of users' files may hold what a terminal would obey. */
static void print_finding(const struct finding *finding)
{
    if (finding->path != NULL) {
        putchar('/');
        utf8_print_line(stdout, finding->path, false);
        fputs(": ", stdout);
    }
    if (finding->disk != UINT32_MAX)
        printf("d%" PRIu32 "%s", finding->disk, finding->object != NULL ? " " : ": ");
    if (finding->object != NULL) {
        utf8_print_line(stdout, finding->object, false);
        fputs(": ", stdout);
    }
    printf("%s: ", finding->kind);
    utf8_print_line(stdout, finding->what, false);
    printf(finding->fate == FINDING_FIXED ? " (%s)\n" : "\n", fate_name(finding));
}

static void json_finding(struct json *json, const struct finding *finding)
{
    char disk[16];

    snprintf(disk, sizeof disk, "d%" PRIu32, finding->disk);
    json_open(json, NULL, '{');
    json_string(json, "kind", finding->kind);
    json_string(json, "fate", fate_name(finding));
    json_string(json, "file", finding->path);
    json_string(json, "disk", finding->disk != UINT32_MAX ? disk : NULL);
    json_string(json, "object", finding->object);
    json_string(json, "what", finding->what);
    json_close(json, '}');
}

static void tell(void *arg, const struct finding *finding)
{
    struct output *output = arg;

    if (output->as_json)
        json_finding(&output->json, finding);
    else
        print_finding(finding);
}

static int fail(struct output *output, const char *why)
{
    utf8_complain("fsck.fallsfs: %s", why);
    if (output->as_json) {
        json_close(&output->json, ']');
        json_string(&output->json, "error", why);
        json_end(&output->json);
    }
    return FAILED;
}

static int sum_up(struct output *output, const struct check *check, uint64_t stamps_fixed, uint64_t stamps_left,
                  const char *note)
{
    uint64_t fixed = check->n_fixed + stamps_fixed, left = check->n_left + stamps_left;
    int status = CLEAN;

    if (left > 0 || (fixed > 0 && !check->repair))
        status |= LEFT;
    if (fixed > 0 && check->repair)
        status |= REPAIRED;
    if (output->as_json) {
        json_close(&output->json, ']');
        json_u64(&output->json, "files", check->n_files);
        json_u64(&output->json, "objects", check->n_objects);
        json_u64(&output->json, "copies", check->n_copies);
        json_u64(&output->json, check->repair ? "repaired" : "can_be_repaired", fixed);
        json_u64(&output->json, "left", left);
        json_u64(&output->json, check->repair ? "freed" : "can_be_freed", check->bytes_freed);
        json_u64(&output->json, "exit", (uint64_t) status);
        json_end(&output->json);
        return status;
    }
    if (check->n_freed > 0)
        printf("%" PRIu64 " orphans with %" PRIu64 " bytes %s\n", check->n_freed, check->bytes_freed,
               check->repair ? "removed" : "can be removed with --free-orphans -y");
    if (note != NULL)
        puts(note);
    else
        printf("%" PRIu64 " files, %" PRIu64 " objects: ", check->n_files, check->n_objects);
    if (note == NULL && status == CLEAN)
        puts(check->n_noted > 0 ? "nothing else was found" : "nothing is wrong");
    else if (note == NULL)
        printf("%" PRIu64 " %s, %" PRIu64 " left\n", fixed, check->repair ? "repaired" : "can be repaired with -y",
               left);
    return status;
}

/* -- doing -- */

static int open_in_time(const struct options *options, const struct member member[], enum volume_flags flags,
                        struct volume **ret_volume, struct volume_error *error)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    uint32_t waited = 0;
    int r;

    while (r = volume_open(member, options->n, flags, ret_volume, error), volume_is_free_soon(r, waited)) {
        nanosleep(&pause, NULL);
        waited += PAUSE_MS;
    }
    return r;
}

/* For -a and -p: whether the last mount ended well. The volume's locks are held while that is looked at. */
static int is_clean(const struct options *options, const struct member member[], struct volume_error *error)
{
    cleanup(volume_freep) struct volume *volume = NULL;
    int r = open_in_time(options, member, VOLUME_READ_ONLY, &volume, error);

    return r < 0 ? r : volume_last_ended_well(volume);
}

static int check_it(const struct options *options, const struct member member[], struct check *check,
                    struct volume_error *error)
{
    enum volume_flags flags = check->repair ? 0 : VOLUME_READ_ONLY;
    cleanup(volume_freep) struct volume *volume = NULL;
    uint64_t fixed = 0, left = 0;
    int r = open_in_time(options, member, flags, &volume, error);

    if (r < 0)
        return r;
    if (options->home_lost) {
        r = rebuild_names(check, volume);
        fixed = check->n_fixed;
        left = check->n_left;
    }
    if (r == 0)
        r = check_volume(check, volume);
    check->n_fixed += fixed;
    check->n_left += left;
    if (r == 0 && check->repair)
        r = volume_sync(volume);
    if (r == 0)
        r = volume_end_epoch(volume);
    return r < 0 ? volume_fail(error, r, "could not go on: %s", strerror(-r)) : 0;
}

static int run(const struct options *options, const struct member member[], struct output *output)
{
    struct check check = { .repair = options->repair,
                           .copies = options->copies,
                           .free_orphans = options->free_orphans,
                           .tell = tell,
                           .arg = output };
    struct volume_error error = { "out of memory" };
    uint64_t stamps_fixed, stamps_left;
    int r;

    if (options->home_lost && rebuild_home(member, options->n, &error) < 0)
        return fail(output, error.why);
    r = stamps_check(&check, member, options->n, &error);
    stamps_fixed = check.n_fixed;
    stamps_left = check.n_left;
    if (r < 0)
        return fail(output, error.why);
    if (stamps_left > 0 || (stamps_fixed > 0 && !check.repair)) {
        check.n_fixed = check.n_left = 0;
        return sum_up(output, &check, stamps_fixed, stamps_left, "the rest can be checked when the stamp is repaired");
    }
    if (options->preen && !options->force && !options->free_orphans && stamps_fixed == 0) {
        r = is_clean(options, member, &error);
        if (r > 0)
            return sum_up(output, &check, 0, 0, "the last mount ended well: nothing to check");
    }
    if (r == 0)
        r = check_it(options, member, &check, &error);
    return r < 0 ? fail(output, error.why) : sum_up(output, &check, stamps_fixed, stamps_left, NULL);
}

static int check_disks(const struct options *options)
{
    cleanup(freep) struct member *member = calloc(options->n, sizeof *member);
    struct output output = { .as_json = options->as_json };
    uint32_t n = 0;
    int r = member == NULL ? -ENOMEM : 0, status;

    if (output.as_json) {
        json_begin(&output.json, stdout);
        json_open(&output.json, "findings", '[');
    }
    while (r == 0 && n < options->n) {
        r = member_open(options->disk[n], &member[n]);
        n += r == 0;
    }
    if (r < 0) {
        char why[4096];

        snprintf(why, sizeof why, "cannot open the disk %s: %s", options->disk[n], strerror(-r));
        status = fail(&output, why);
    } else {
        status = run(options, member, &output);
    }
    for (uint32_t i = 0; i < n; i++)
        member_close(&member[i]);
    return status;
}

/* -- the command line -- */

static int complain(const char *why, const char *word)
{
    utf8_complain("fsck.fallsfs: %s%s%s (see fsck.fallsfs --help)", why, word != NULL ? ": " : "",
                  word != NULL ? word : "");
    return USAGE;
}

/* Takes options of one letter each; false: one of them is none. */
static bool take_letters(const char *word, struct options *options)
{
    for (word++; *word != 0; word++) {
        if (*word == 'n')
            options->looks = true;
        else if (*word == 'y')
            options->repair = true;
        else if (*word == 'a' || *word == 'p')
            options->repair = options->preen = true;
        else if (*word == 'f')
            options->force = true;
        else if (*word == 'h')
            options->help = true;
        else if (*word == 'V')
            options->version = true;
        else
            return false;
    }
    return true;
}

static bool take_option(const char *word, struct options *options)
{
    const struct {
        const char *name;
        bool *set;
    } known[] = { { "--copies", &options->copies },       { "--free-orphans", &options->free_orphans },
                  { "--home-lost", &options->home_lost }, { "--json", &options->as_json },
                  { "--help", &options->help },           { "--version", &options->version } };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(word, known[i].name) == 0)
            return *known[i].set = true;
    return word[1] != '-' && word[1] != 0 && take_letters(word, options);
}

static int parse(int argc, char **argv, struct options *options)
{
    bool more = true;

    options->disk = argv;
    for (int i = 1; i < argc; i++) {
        if (more && strcmp(argv[i], "--") == 0)
            more = false;
        else if (!more || argv[i][0] != '-')
            options->disk[options->n++] = argv[i];
        else if (!take_option(argv[i], options))
            return complain("unknown option", argv[i]);
    }
    if (options->help || options->version)
        return 0;
    if (options->n == 0)
        return complain("which disks?", NULL);
    if (options->looks && options->repair)
        return complain("-n writes nothing, and -y, -a and -p repair: which? Leave the others out", NULL);
    if ((options->copies || options->home_lost) && !options->repair)
        return complain("--copies and --home-lost write: give -y, too", NULL);
    if (options->free_orphans && options->home_lost)
        return complain("--home-lost leaves no orphans: what has no name then may get one yet", NULL);
    return 0;
}

/* Makes the disks' paths absolute: stamps know disks by their full paths. */
static void make_absolute(struct options *options)
{
    for (uint32_t i = 0; i < options->n; i++) {
        char *real = realpath(options->disk[i], NULL);

        if (real != NULL)
            options->disk[i] = real; /* until the end */
    }
}

int main(int argc, char **argv)
{
    struct options options = { 0 };
    struct rlimit limit;
    int status = parse(argc, argv, &options);

    if (status != 0)
        return status;
    if (options.help || options.version) {
        fputs(options.help ? help : "fsck.fallsfs " FALLSFS_VERSION "\n", stdout);
    } else {
        umask(0);
        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
            limit.rlim_cur = limit.rlim_max; /* a deep tree holds many */
            (void) setrlimit(RLIMIT_NOFILE, &limit);
        }
        make_absolute(&options);
        status = check_disks(&options);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        status |= FAILED;
    return status;
}

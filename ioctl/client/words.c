/* SPDX-License-Identifier: MIT */
#include "ioctl/client/client.h"
#include "ioctl/collective.h"
#include "ioctl/request.h"
#include "layout/layout.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static _Thread_local char last[640];

const char *fallsfs_strerror_last(void)
{
    return last[0] != 0 ? last : "no call has failed in this thread";
}

int words(int r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(last, sizeof last, fmt, args);
    va_end(args);
    return r;
}

int ioctl_once(int fd, unsigned long cmd, void *arg)
{
    return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int call(int fd, unsigned long cmd, void *arg)
{
    int r;

    do
        r = ioctl_once(fd, cmd, arg);
    while (r == -EINTR);
    return r;
}

/* -- the ranks a group has failed for -- */

static bool ask_why(const struct words_group *group, struct fallsfs_ioc_stats *ret_stats)
{
    *ret_stats = (struct fallsfs_ioc_stats){ .version = FALLSFS_IOCTL_VERSION, .group = group->id };
    return call(group->fd, FALLSFS_IOC_STATS, ret_stats) == 0 && ret_stats->n_culprits > 0;
}

/* "ranks 3, 7 and 12" */
static void list_ranks(const struct fallsfs_ioc_stats *stats, char *text, size_t size)
{
    uint32_t n = MIN(stats->n_culprits, FALLSFS_MAX_CULPRITS);
    size_t at = (size_t) snprintf(text, size, stats->n_culprits == 1 ? "rank" : "ranks");

    for (uint32_t i = 0; i < n && at < size; i++) {
        const char *before = i == 0 ? " " : i + 1 == stats->n_culprits ? " and " : ", ";

        at += (size_t) snprintf(text + at, size - at, "%s%u", before, stats->culprit[i]);
    }
    if (stats->n_culprits > n && at < size)
        snprintf(text + at, size - at, " and %u more", stats->n_culprits - n);
}

static int words_failed(int r, const struct words_group *group)
{
    struct fallsfs_ioc_stats stats;
    char ranks[256] = "a rank";

    if (ask_why(group, &stats))
        list_ranks(&stats, ranks, sizeof ranks);
    if (r == -ETIMEDOUT)
        return words(r,
                     "%s of %u did not ask for anything in round %llu within %u ms: see whether these processes still "
                     "run and make the same calls, or give the group a longer timeout; it has failed, make another one",
                     ranks, group->nranks, (unsigned long long) group->seq, group->timeout_ms);
    if (r == -ECANCELED)
        return words(r,
                     "%s of %u died, closed the file or left, so the group cannot go on: see why, then make another "
                     "group with a new token",
                     ranks, group->nranks);
    return words(
        r,
        "%s of %u asked for something else than the others, to read where they write or the other way round, or "
        "out of turn: all ranks of a group make the same calls in the same order",
        ranks, group->nranks);
}

/* -- by call -- */

static int words_any(int r)
{
    switch (r) {
    case -ENOTTY:
        return words(
            r, "this is not a regular file on a fallsfs mount that knows sections: see what findmnt -T says of it");
    case -ENOTCONN:
    case -ECONNABORTED:
        return words(r, "the fallsfs daemon of this file has ended: start it again and open the file anew");
    case -ENOMEM:
        return words(r, "there is not enough memory, here or in the fallsfs daemon");
    case -EBADF:
        return words(
            r, "the descriptor is not open for that: reading wants O_RDONLY or O_RDWR, writing O_WRONLY or O_RDWR");
    case -ESPIPE:
        return words(r, "this is no file that has sections, but a pipe, a socket or a terminal");
    case -EUSERS:
        return words(r, "this user has too much under way: wait for tickets, leave groups that are not needed");
    default:
        return words(r, "%s", strerror(-r));
    }
}

static int words_hints_invalid(int r, const struct fallsfs_ioc_hints *hints)
{
    if (hints->window > COLLECTIVE_MAX_WINDOW)
        return words(r, "a window of %llu bytes is more than there may be, %llu: hint at less, or at 0 for the usual",
                     (unsigned long long) hints->window, (unsigned long long) COLLECTIVE_MAX_WINDOW);
    if (hints->workers > COLLECTIVE_MAX_WORKERS)
        return words(r, "%u workers are more than there may be, %llu: hint at fewer, or at 0 for the usual",
                     hints->workers, (unsigned long long) COLLECTIVE_MAX_WORKERS);
    if (hints->timeout_ms == FALLSFS_TIMEOUT_NONE)
        return words(r, "the daemon of this file does not know groups without a deadline: see fallsfs -V of both");
    if (hints->timeout_ms != 0 && (hints->timeout_ms < REQUEST_MIN_TIMEOUT || hints->timeout_ms > REQUEST_MAX_TIMEOUT))
        return words(r, "a timeout of %u ms is not possible: it is %u to %u, or 0 for the usual", hints->timeout_ms,
                     REQUEST_MIN_TIMEOUT, REQUEST_MAX_TIMEOUT);
    return words(r, "domains %u or sieve %u is no hint that there is: see fallsfs_join(3)", hints->domains,
                 hints->sieve);
}

static int words_join_invalid(int r, const struct fallsfs_ioc_join *join)
{
    if (join->nranks == 0 || join->nranks > FALLSFS_MAX_RANKS || join->rank >= join->nranks)
        return words(r, "rank %u of %u is not possible: ranks go from 0, and there are up to %u of them", join->rank,
                     join->nranks, FALLSFS_MAX_RANKS);
    return words_hints_invalid(r, &join->hints);
}

int words_hint(int r, const struct fallsfs_ioc_hints *hints)
{
    switch (r) {
    case -EINVAL:
        return words_hints_invalid(r, hints);
    case -ENOTTY:
        return words(r, "the daemon of this file takes no hints for requests alone, as its version is older: see "
                        "fallsfs -V of both");
    default:
        return words_any(r);
    }
}

int words_join(int r, const struct words_group *group, const struct fallsfs_ioc_join *join)
{
    switch (r) {
    case -EACCES:
        return words(r,
                     "the token's group is another user's, or belongs to another file: all ranks open the same file");
    case -EEXIST:
        return words(
            r,
            "rank %u has joined already, or this open file has a rank in the group: each process has a rank of "
            "its own and opens the file for itself",
            group->rank);
    case -EPROTO:
        return words(r,
                     "the group was made with another number of ranks than %u, or with other hints: all give the same",
                     group->nranks);
    case -ECANCELED:
    case -ETIMEDOUT:
        return words(
            r,
            "the group has failed before rank %u came: a rank died, left or did not come in time; make another "
            "group with a new token",
            group->rank);
    case -EINVAL:
        return words_join_invalid(r, join);
    case -EUSERS:
        return words(r, "this user has as many groups or ranks as there may be: leave groups that are not needed");
    default:
        return words_any(r);
    }
}

static int words_notation(int r, const char *falls)
{
    struct layout_error error;
    struct nest *nest;

    if (nest_parse(falls, strlen(falls), &nest, &error) == 0) {
        nest_free(nest);
        return words(r,
                     "the set does not fit into a file from that byte on, or it is none that can be repeated so: its "
                     "extent is 0 or no less than it spans, with extent 0 there is no more to skip and to move");
    }
    return words(r, "column %zu of the set: %s", error.column, error.why);
}

static int words_list(int r, const struct fallsfs_list *list)
{
    switch (r) {
    case -E2BIG:
        return words(r, "%llu pieces are more than a request may have, %llu: ask for fewer at a time",
                     (unsigned long long) list->n, (unsigned long long) LIST_MAX_PIECES);
    case -EUSERS:
        return words(r, "lists take as much of the daemon's memory as this user may have: ask for fewer pieces at a "
                        "time, or for more, limits.description_memory in fallsfs.conf");
    case -ENOTTY:
        return words(r, "the daemon of this file knows no lists, as its version is older: see fallsfs -V of both");
    default:
        return words(r,
                     "the list is none: pieces that have bytes, ascend and do not overlap, an extent of 0 or no less "
                     "than they span, with extent 0 no more to skip and to move than they have, all within 2^62 "
                     "bytes");
    }
}

static bool is_about_list(int r)
{
    return r == -E2BIG || r == -EUSERS || r == -ENOTTY || r == -EINVAL || r == -EOVERFLOW;
}

int words_info(int r)
{
    return words_any(r);
}

int words_request(int r, const struct words_group *group, const struct wish *wish)
{
    const char *falls = wish->array != NULL ? NULL : wish->list != NULL ? wish->list->falls : wish->falls;

    if (wish_is_said(wish) && wish_list_len(wish) > 0 && is_about_list(r))
        return words_list(r, wish->list);
    switch (r) {
    case -ETIMEDOUT:
    case -ECANCELED:
    case -EPROTO:
        return words_failed(r, group);
    case -EPERM:
        return words(
            r,
            "rank %u belongs to another process, which joined: a child that was forked opens the file and joins "
            "for itself",
            group->rank);
    case -EINVAL:
    case -EOVERFLOW:
        if (!wish_is_said(wish))
            return words(r, "it is not said what is to be moved: the array and a section, a set, or a list with "
                            "pieces; one of them is NULL, or the list is empty and asks for bytes");
        if (falls != NULL)
            return words_notation(r, falls);
        return words(
            r,
            "the section is none: 1 to %u dimensions, no size, element or stride of 0, header and array within "
            "2^62 bytes",
            FALLSFS_MAX_DIMS);
    case -ERANGE:
        if (falls != NULL)
            return words_notation(-EINVAL, falls);
        return words(r, "the section reaches out of the array: bounds count from 0 and must be less than the size");
    case -E2BIG:
        if (falls != NULL && strlen(falls) >= FALLSFS_MAX_TEXT)
            return words(r,
                         "the set takes %zu bytes of notation, of %u that it may have, and is no list of %llu pieces "
                         "either: ask for it in parts, or say what is regular in it with fewer FALLS",
                         strlen(falls), FALLS_MAX_TEXT, (unsigned long long) LIST_MAX_PIECES);
        return words(r, "the set is too irregular to be put in order: ask for a part of it");
    case -EFAULT:
        if (wish->buf == NULL)
            return words(r, "there is no memory for the bytes: NULL was given");
        return words(r,
                     "memory was not there when it was used: a file that is mapped there was cut, memory is short, or "
                     "pages were given back that the daemon will not have from the system again for this user");
    case -EFBIG:
        return words(r, "the section reaches behind the size a file may have: see ulimit -f, and what the disks' file "
                        "systems can hold");
    case -ENOSPC:
    case -EDQUOT:
        return words(r, "a disk is full: see fallsctl df");
    case -EIO:
        return words(r,
                     "a disk failed or did not answer in time while a section was %s: see fallsctl status, and the "
                     "daemon's log",
                     wish->write ? "written" : "read");
    default:
        return words_any(r);
    }
}

int words_ticket(int r, const struct words_group *group, const struct wish *wish)
{
    bool is_closed = r == -EBADF && fcntl(group->fd, F_GETFD) < 0;

    switch (is_closed ? -EINVAL : r) {
    case -EINVAL:
        return words(r, "there is no such ticket any more: its group was left, or its file was closed");
    case -EPERM:
        return words(r, "the ticket belongs to another process: who asked fetches");
    default:
        return words_request(r, group, wish);
    }
}

int words_view(int r)
{
    switch (r) {
    case -EINVAL:
        return words(r, "the daemon of this mount does not know such views: see fallsfs -V of both");
    case -E2BIG:
        return words(r, "the pattern is too irregular to be put in order");
    case -EACCES:
    case -ENOENT:
        return words(r, "the view was taken by somebody else, or this process has other rights now than when it asked");
    case -EUSERS:
        return words(r, "this user has as many views open as there may be, or they take too much memory: close some");
    default:
        return words_any(r);
    }
}

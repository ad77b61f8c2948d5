/* SPDX-License-Identifier: MIT */
/* libfallsfs: sections of arrays in files on a fallsfs mount, alone or as a group of processes.
 *
 *     uint8_t token[16]; // made by one process with fallsfs_token, handed to the others: MPI_Bcast, a pipe
 *     struct fallsfs_array matrix = { 2, FALLSFS_ROW_MAJOR, sizeof(double), 0, { 8192, 8192 } };
 *     struct fallsfs_range rows[] = { { 1024 * rank, 1024 * rank + 1023, 1 }, { 0, 8191, 1 } };
 *     double *mine = fallsfs_alloc(1024 * 8192 * sizeof *mine);
 *
 *     fallsfs_join(fd, token, rank, 8, NULL, &group);
 *     fallsfs_read_all(group, &matrix, rows, mine);
 *     fallsfs_leave(group);
 *
 * Functions return 0 or -errno; fallsfs_strerror_last() says in words what went wrong. A section is dense in memory, in
 * the array's own order; it is empty when lower > upper in any dimension. Bytes past the end of the file are read as
 * zeros; a write ends the file where its last byte ends. Safe from several threads, one call for a group at a time. */
#ifndef FALLSFS_H
#define FALLSFS_H

#include <fallsfs_ioctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fallsfs_array {
    uint32_t ndims, order; /* FALLSFS_ROW_MAJOR, FALLSFS_COLUMN_MAJOR */
    uint64_t elem, header; /* bytes of an element, and of the file before the array */
    uint64_t size[FALLSFS_MAX_DIMS];
};

struct fallsfs_range {
    uint64_t lower, upper, stride; /* from 0, upper included */
};

/* All zero, or NULL: the defaults. All ranks of a group give the same. */
struct fallsfs_hints {
    uint32_t domains; /* FALLSFS_DOMAINS_... */
    uint32_t sieve;   /* FALLSFS_SIEVE_... */
    uint64_t window;  /* bytes that a worker of the daemon may use */
    uint32_t workers;
    uint32_t timeout_ms;
};

struct fallsfs_group;
struct fallsfs_ticket;

/* Memory that the daemon can reach, so that nothing is copied on the way; any other memory works, through a copy. NULL
 * without memory. */
void *fallsfs_alloc(size_t len);
void fallsfs_free(void *mem);

/* 128 random bits. */
int fallsfs_token(uint8_t token[16]);

/* Takes a rank. fd stays the caller's, each rank has its own open file. The others are not waited for. */
int fallsfs_join(int fd, const uint8_t token[16], uint32_t rank, uint32_t nranks, const struct fallsfs_hints *hints,
                 struct fallsfs_group **ret_group);

/* Returns when all ranks have asked and all are served. -ECANCELED a member has died or left, -ETIMEDOUT one has not
 * come, -EPROTO the requests do not fit together. */
int fallsfs_read_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                     const struct fallsfs_range section[], void *buf);
int fallsfs_write_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                      const struct fallsfs_range section[], const void *buf);

/* The same for a set of nested FALLS, "{(0,3,8,2,{(0,0,2,2)})}", from the byte disp of the file on. */
int fallsfs_read_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, void *buf);
int fallsfs_write_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, const void *buf);

/* The same without waiting. buf belongs to the request until wait or test has said that it is over; both free the
 * ticket then. */
int fallsfs_iread_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                      const struct fallsfs_range section[], void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_iwrite_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                       const struct fallsfs_range section[], const void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_wait(struct fallsfs_ticket *ticket);
int fallsfs_test(struct fallsfs_ticket *ticket, bool *ret_done);

/* Alone, without a group. */
int fallsfs_read_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[], void *buf);
int fallsfs_write_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[],
                          const void *buf);
int fallsfs_read_falls(int fd, uint64_t disp, const char *falls, void *buf);
int fallsfs_write_falls(int fd, uint64_t disp, const char *falls, const void *buf);

/* From here on the descriptor is a part of its file, an element of a layout, "array(shape=8192x8192, elem=8,
 * dist=(block,*), grid=4x1) element 2": its bytes one after the other, from 0 on, for read, write, lseek, pread, mmap
 * and whoever is given the descriptor; "one" is the file again. Copies made with dup before stay what they were. As
 * close, it ends this process's fcntl locks of the file. -EINVAL text that is none, -EXDEV the mount's root is not to
 * be reached from here. */
int fallsfs_view(int fd, const char *text);

/* Bytes of a section in memory; 0 for an empty one or one that is none. */
uint64_t fallsfs_section_bytes(const struct fallsfs_array *array, const struct fallsfs_range section[]);

/* What the last request did; staged: through how many bytes of copies in this process. */
int fallsfs_stats(struct fallsfs_group *group, struct fallsfs_ioc_stats *ret_stats, uint64_t *ret_staged);

/* Frees the group, whatever is returned. */
int fallsfs_leave(struct fallsfs_group *group);

/* Why this thread's last call failed, in words: what, why, what to do next. */
const char *fallsfs_strerror_last(void);

#ifdef __cplusplus
}
#endif

#endif

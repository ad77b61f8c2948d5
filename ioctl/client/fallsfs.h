/* SPDX-License-Identifier: MIT */
/* libfallsfs: sections of arrays in files, alone or as a group of processes: on a fallsfs mount, where the daemon works
 * for all of them at once, and off it, where the library does what it can by itself.
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

/* Bytes of a type as numpy writes it, "<f8", its final 0 included. */
#define FALLSFS_TYPE_SIZE 16

struct fallsfs_range {
    uint64_t lower, upper, stride; /* from 0, upper included */
};

/* All zero, or NULL: the defaults. All ranks of a group give the same; for requests alone, timeout_ms is nothing. */
struct fallsfs_hints {
    uint32_t domains; /* FALLSFS_DOMAINS_... */
    uint32_t sieve;   /* FALLSFS_SIEVE_..., or FALLSFS_SIEVE_EACH of two */
    uint64_t window;  /* bytes that a worker of the daemon may use */
    uint32_t workers;
    uint32_t timeout_ms; /* FALLSFS_TIMEOUT_NONE: as long as it takes */
};

/* A view of the file, as MPI's filetypes are: a tile, from the byte disp on and again every extent bytes, and of the
 * bytes that one sees through all tiles, so many after the first skip. The tile is a set of FALLS, or n pieces that
 * ascend and do not overlap, which struct fallsfs_ioc_list has a picture of. extent 0: a single tile. Pieces are best
 * kept in memory of fallsfs_alloc, or they are copied each time. */
struct fallsfs_list {
    uint64_t disp;
    const char *falls; /* NULL: pieces */
    const struct fallsfs_ioc_piece *pieces;
    uint64_t n;
    uint64_t id; /* not 0: all lists with this id and n that this open file is asked for are the same, which spares the
                  * daemon looking at them again */
    uint64_t extent, skip, bytes;
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

/* The same for a list. All ranks read, or all write; what each of them asks for, and in which of these forms, is its
 * own affair. -EINVAL a list that is none, -E2BIG more pieces than a request may have, -EUSERS more than this user's
 * lists may take of the daemon's memory: nothing was done then, nor is the round used up, so that less at a time may
 * be asked for. */
int fallsfs_read_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, void *buf);
int fallsfs_write_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, const void *buf);

/* The same without waiting. buf belongs to the request until wait or test has said that it is over; both free the
 * ticket then. */
int fallsfs_iread_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                      const struct fallsfs_range section[], void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_iwrite_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                       const struct fallsfs_range section[], const void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_iread_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, void *buf,
                           struct fallsfs_ticket **ret_ticket);
int fallsfs_iwrite_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, const void *buf,
                            struct fallsfs_ticket **ret_ticket);
int fallsfs_iread_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, void *buf,
                            struct fallsfs_ticket **ret_ticket);
int fallsfs_iwrite_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, const void *buf,
                             struct fallsfs_ticket **ret_ticket);
int fallsfs_wait(struct fallsfs_ticket *ticket);
int fallsfs_test(struct fallsfs_ticket *ticket, bool *ret_done);

/* What can be polled for POLLIN until the ticket may be over: on a mount the file's own descriptor, which tells of all
 * its tickets; else one of the ticket's, until wait or test has freed it. -1: it is over. */
int fallsfs_ticket_fd(const struct fallsfs_ticket *ticket);

/* An element of a layout, "array(shape=100x100, elem=8, dist=(cyclic(3),block), grid=2x2)", with all ranks: its bytes
 * one after the other, in one period of the layout, which is the whole array. -EINVAL also a layout that leaves open
 * how many elements it has, -ENOENT it has no such element. */
int fallsfs_read_element_all(struct fallsfs_group *group, const char *layout, uint32_t element, void *buf);
int fallsfs_write_element_all(struct fallsfs_group *group, const char *layout, uint32_t element, const void *buf);

/* How many bytes that is; 0 for an element without bytes, or one that there is not. */
uint64_t fallsfs_element_bytes(const char *layout, uint32_t element);

/* Alone, without a group. */
int fallsfs_read_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[], void *buf);
int fallsfs_write_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[],
                          const void *buf);
int fallsfs_read_falls(int fd, uint64_t disp, const char *falls, void *buf);
int fallsfs_write_falls(int fd, uint64_t disp, const char *falls, const void *buf);
int fallsfs_read_list(int fd, const struct fallsfs_list *list, void *buf);
int fallsfs_write_list(int fd, const struct fallsfs_list *list, const void *buf);

/* The same without waiting, in any number. What says what is wanted need not last longer than the call; buf belongs to
 * the request until wait or test has said that it is over, and the descriptor stays open. */
int fallsfs_iread_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[], void *buf,
                          struct fallsfs_ticket **ret_ticket);
int fallsfs_iwrite_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[],
                           const void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_iread_falls(int fd, uint64_t disp, const char *falls, void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_iwrite_falls(int fd, uint64_t disp, const char *falls, const void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_iread_list(int fd, const struct fallsfs_list *list, void *buf, struct fallsfs_ticket **ret_ticket);
int fallsfs_iwrite_list(int fd, const struct fallsfs_list *list, const void *buf, struct fallsfs_ticket **ret_ticket);

/* How many bytes a set of FALLS has; 0: none, or it is no set. */
uint64_t fallsfs_falls_bytes(const char *falls);

/* Between memory with the holes of a set and memory without: byte l of a FALLS is spread[l]. What lies in holes is left
 * alone. The two do not overlap. */
int fallsfs_pack(const char *falls, const void *spread, void *packed);
int fallsfs_unpack(const char *falls, const void *packed, void *spread);

/* As fallsfs_read_falls and fallsfs_write_falls, where in memory, too, it is a set of FALLS, of as many bytes, and mem
 * is its byte 0: the first byte of one is the first of the other. With the descriptor of a view, the file's set is one
 * of an element. -EINVAL also: one set has more bytes than the other. */
int fallsfs_read_falls_into(int fd, uint64_t disp, const char *falls, const char *mem_falls, void *mem);
int fallsfs_write_falls_from(int fd, uint64_t disp, const char *falls, const char *mem_falls, const void *mem);

/* An element of a layout, as a process has it in memory: of a part of the file, the element's bytes, one after the
 * other. */
struct fallsfs_held {
    const char *layout;
    uint32_t element;
    void *bytes;
};

/* In memory, from one distribution to another: the bytes that both elements have of the len bytes of the file from off
 * on, for both. len 0: one period of from's layout, from where it begins. Others of to's bytes are left alone; those of
 * from's never change. ret_bytes: how many it was; may be NULL. Errors as of fallsfs_read_element_all. */
int fallsfs_redistribute(const struct fallsfs_held *from, const struct fallsfs_held *to, uint64_t off, uint64_t len,
                         uint64_t *ret_bytes);

/* How requests alone through this open file are served from here on; NULL: as usual. -EINVAL no hints that there are.
 * Off a mount hints are checked, and not needed. -ENOTTY the daemon is too old to take them. */
int fallsfs_hint(int fd, const struct fallsfs_hints *hints);

/* What the bytes of a descriptor's file mean, as user.falls.array has it: "fallsctl array set" writes it. The type is as
 * numpy writes it, or empty; NULL: it is not asked for. -ENODATA: nobody has said. */
int fallsfs_array_of(int fd, struct fallsfs_array *ret_array, char ret_type[FALLSFS_TYPE_SIZE]);

/* What the mount of a descriptor can do and which file it is; -ENOTTY: it is not of a fallsfs mount. */
int fallsfs_info(int fd, struct fallsfs_ioc_info *ret_info);

/* How long the file was for the last request that went well in this thread, alone, in a group or as a ticket: before
 * it was read, or after it was written. What lies behind was read as zeros. All ranks of a round are told the same.
 * FALLSFS_SIZE_UNKNOWN: there was no such request, or the daemon is too old to say. */
#define FALLSFS_SIZE_UNKNOWN UINT64_MAX
uint64_t fallsfs_size_last(void);

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

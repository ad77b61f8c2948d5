/* SPDX-License-Identifier: MIT */
/* The calls that read and write: each says what is wished for, and whether it is waited for. */
#include "ioctl/client/client.h"

/* A wish without what is wished for. What is written comes as const; a wish has one pointer for both ways. */
static struct wish alone(int fd, const void *buf, bool write)
{
    return (struct wish){ .fd = fd, .write = write, .buf = drop_const(buf) };
}

static struct wish together(struct fallsfs_group *group, const void *buf, bool write)
{
    struct wish wish = alone(group_fd(group), buf, write);

    wish.group = group;
    return wish;
}

/* What is wished for. */
static struct wish section_of(struct wish wish, const struct fallsfs_array *array, const struct fallsfs_range section[])
{
    wish.array = array;
    wish.section = section;
    return wish;
}

static struct wish falls_of(struct wish wish, uint64_t disp, const char *falls)
{
    wish.disp = disp;
    wish.falls = falls;
    return wish;
}

static struct wish list_of(struct wish wish, const struct fallsfs_list *list)
{
    wish.list = list;
    return wish;
}

/* -- with a group -- */

int fallsfs_read_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                     const struct fallsfs_range section[], void *buf)
{
    struct wish wish = section_of(together(group, buf, false), array, section);

    return wish_run(&wish);
}

int fallsfs_write_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                      const struct fallsfs_range section[], const void *buf)
{
    struct wish wish = section_of(together(group, buf, true), array, section);

    return wish_run(&wish);
}

int fallsfs_iread_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                      const struct fallsfs_range section[], void *buf, struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = section_of(together(group, buf, false), array, section);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_iwrite_all(struct fallsfs_group *group, const struct fallsfs_array *array,
                       const struct fallsfs_range section[], const void *buf, struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = section_of(together(group, buf, true), array, section);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_read_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, void *buf)
{
    struct wish wish = falls_of(together(group, buf, false), disp, falls);

    return wish_run(&wish);
}

int fallsfs_write_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, const void *buf)
{
    struct wish wish = falls_of(together(group, buf, true), disp, falls);

    return wish_run(&wish);
}

int fallsfs_iread_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, void *buf,
                            struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = falls_of(together(group, buf, false), disp, falls);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_iwrite_falls_all(struct fallsfs_group *group, uint64_t disp, const char *falls, const void *buf,
                             struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = falls_of(together(group, buf, true), disp, falls);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_read_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, void *buf)
{
    struct wish wish = list_of(together(group, buf, false), list);

    return wish_run(&wish);
}

int fallsfs_write_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, const void *buf)
{
    struct wish wish = list_of(together(group, buf, true), list);

    return wish_run(&wish);
}

int fallsfs_iread_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, void *buf,
                           struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = list_of(together(group, buf, false), list);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_iwrite_list_all(struct fallsfs_group *group, const struct fallsfs_list *list, const void *buf,
                            struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = list_of(together(group, buf, true), list);

    return wish_begin(&wish, ret_ticket);
}

/* -- alone -- */

int fallsfs_read_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[], void *buf)
{
    struct wish wish = section_of(alone(fd, buf, false), array, section);

    return wish_run(&wish);
}

int fallsfs_write_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[],
                          const void *buf)
{
    struct wish wish = section_of(alone(fd, buf, true), array, section);

    return wish_run(&wish);
}

int fallsfs_iread_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[], void *buf,
                          struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = section_of(alone(fd, buf, false), array, section);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_iwrite_section(int fd, const struct fallsfs_array *array, const struct fallsfs_range section[],
                           const void *buf, struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = section_of(alone(fd, buf, true), array, section);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_read_falls(int fd, uint64_t disp, const char *falls, void *buf)
{
    struct wish wish = falls_of(alone(fd, buf, false), disp, falls);

    return wish_run(&wish);
}

int fallsfs_write_falls(int fd, uint64_t disp, const char *falls, const void *buf)
{
    struct wish wish = falls_of(alone(fd, buf, true), disp, falls);

    return wish_run(&wish);
}

int fallsfs_iread_falls(int fd, uint64_t disp, const char *falls, void *buf, struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = falls_of(alone(fd, buf, false), disp, falls);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_iwrite_falls(int fd, uint64_t disp, const char *falls, const void *buf, struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = falls_of(alone(fd, buf, true), disp, falls);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_read_list(int fd, const struct fallsfs_list *list, void *buf)
{
    struct wish wish = list_of(alone(fd, buf, false), list);

    return wish_run(&wish);
}

int fallsfs_write_list(int fd, const struct fallsfs_list *list, const void *buf)
{
    struct wish wish = list_of(alone(fd, buf, true), list);

    return wish_run(&wish);
}

int fallsfs_iread_list(int fd, const struct fallsfs_list *list, void *buf, struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = list_of(alone(fd, buf, false), list);

    return wish_begin(&wish, ret_ticket);
}

int fallsfs_iwrite_list(int fd, const struct fallsfs_list *list, const void *buf, struct fallsfs_ticket **ret_ticket)
{
    struct wish wish = list_of(alone(fd, buf, true), list);

    return wish_begin(&wish, ret_ticket);
}

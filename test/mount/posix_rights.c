/* SPDX-License-Identifier: MIT */
/* Who may do what: owners, groups, modes, ACLs, extended attributes. */
#include "test/mount/posix.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct stat stat_of(const char *name)
{
    struct stat st;

    EXPECT(lstat(name, &st) == 0);
    return st;
}

static mode_t mode_of(const char *name)
{
    return stat_of(name).st_mode & 07777;
}

static bool belongs(const char *name, uid_t uid, gid_t gid)
{
    struct stat st = stat_of(name);

    return st.st_uid == uid && st.st_gid == gid;
}

/* -- new names -- */

static void new_names_belong_to_the_caller(void)
{
    become(1000, 2000, 0);
    close(make_file("f", 0644, ""));
    EXPECT(mkdir("d", 0755) == 0 && symlink("f", "s") == 0 && mkfifo("p", 0644) == 0);
    EXPECT(belongs("f", 1000, 2000) && belongs("d", 1000, 2000) && belongs("s", 1000, 2000) &&
           belongs("p", 1000, 2000));
}

static void umask_masks(void)
{
    umask(027);
    close(make_file("f", 0666, ""));
    EXPECT(mkdir("d", 0777) == 0 && mkfifo("p", 0666) == 0);
    EXPECT(mode_of("f") == 0640 && mode_of("d") == 0750 && mode_of("p") == 0640);
    umask(0);
    close(make_file("g", 06777, ""));
    EXPECT(mode_of("g") == 06777 && mkdir("t", 01777) == 0 && mode_of("t") == 01777);
}

static void setgid_directories_hand_down(void)
{
    EXPECT(mkdir("d", 0755) == 0 && chown("d", 0, 4000) == 0 && chmod("d", 02777) == 0);
    become(1000, 1000, 0);
    close(make_file("d/f", 0644, ""));
    EXPECT(mkdir("d/e", 0755) == 0 && symlink("f", "d/s") == 0);
    EXPECT(belongs("d/f", 1000, 4000) && belongs("d/e", 1000, 4000) && belongs("d/s", 1000, 4000));
    EXPECT(mode_of("d/e") == 02755 && mode_of("d/f") == 0644);
    EXPECT(open("d/g", O_RDWR | O_CREAT, 02755) >= 0 && mode_of("d/g") == 0755); /* not in that group */
}

static void supplementary_groups_count(void)
{
    EXPECT(mkdir("d", 0755) == 0 && chown("d", 0, 3001) == 0 && chmod("d", 0770) == 0);
    close(make_file("f", 0644, "secret"));
    EXPECT(chown("f", 0, 3001) == 0 && chmod("f", 0640) == 0);
    become(1000, 1000, 2);
    close(make_file("d/x", 0644, ""));
    EXPECT(open("f", O_RDONLY) >= 0);
    EXPECT_ERROR(EACCES, open("f", O_RDWR));
    EXPECT(chown("d/x", (uid_t) -1, 3001) == 0 && belongs("d/x", 1000, 3001));
    EXPECT_ERROR(EPERM, chown("d/x", (uid_t) -1, 4000));
    EXPECT_ERROR(EPERM, chown("d/x", 2000, (gid_t) -1));
    EXPECT(chmod("d/x", 02755) == 0 && mode_of("d/x") == 02755);
}

static void sticky_directories(void)
{
    EXPECT(mkdir("t", 0755) == 0 && chmod("t", 01777) == 0);
    close(make_file("t/roots", 0666, ""));
    EXPECT(chmod("t/roots", 0666) == 0);
    become(1000, 1000, 0);
    close(make_file("t/mine", 0644, ""));
    EXPECT_ERROR(EPERM, unlink("t/roots"));
    EXPECT_ERROR(EPERM, rename("t/roots", "t/taken"));
    EXPECT_ERROR(EPERM, rename("t/mine", "t/roots"));
    EXPECT(rename("t/mine", "t/still mine") == 0 && unlink("t/still mine") == 0);
}

/* -- descriptors and modes -- */

static void descriptor_of_mode_000_works(void)
{
    char buf[8] = "";
    int fd;

    become(1000, 1000, 0);
    fd = open("f", O_RDWR | O_CREAT | O_EXCL, 0);
    EXPECT(fd >= 0 && write(fd, "still", 5) == 5 && pread(fd, buf, sizeof buf, 0) == 5);
    EXPECT_ERROR(EACCES, open("f", O_RDONLY));
    EXPECT(ftruncate(fd, 2) == 0 && fsync(fd) == 0 && stat_of("f").st_size == 2);
    fd = open("g", O_WRONLY | O_CREAT | O_EXCL, 0444);
    EXPECT(fd >= 0 && write(fd, "x", 1) == 1);
}

static void descriptor_outlives_chmod(void)
{
    char buf[8];
    int fd;

    become(1000, 1000, 0);
    fd = make_file("f", 0644, "abc");
    EXPECT(chmod("f", 0) == 0);
    EXPECT(write(fd, "d", 1) == 1 && pread(fd, buf, sizeof buf, 0) == 4);
    EXPECT_ERROR(EACCES, open("f", O_RDONLY));
    EXPECT(fchmod(fd, 0600) == 0 && open("f", O_RDONLY) >= 0);
}

static int open_as_stranger(void)
{
    become(2000, 2000, 0);
    return open("f", O_RDONLY) >= 0 ? 0 : errno;
}

/* The kernel may not remember yesterday's answer. */
static void rights_change_at_once(void)
{
    close(make_file("f", 0644, "abc"));
    EXPECT(in_child(open_as_stranger) == 0);
    EXPECT(chmod("f", 0600) == 0 && in_child(open_as_stranger) == EACCES);
    EXPECT(chown("f", 2000, 2000) == 0 && in_child(open_as_stranger) == 0);
    EXPECT(chmod("f", 0044) == 0 && in_child(open_as_stranger) == EACCES);
    EXPECT(chmod(".", 0700) == 0 && chmod("f", 0644) == 0 && in_child(open_as_stranger) == EACCES);
}

/* -- setuid -- */

#define STRANGER_CLEARS(how, mode, want)                              \
    static int how##_##mode(void)                                     \
    {                                                                 \
        become(1000, 1000, 0);                                        \
        return how() ? 0 : 1;                                         \
    }                                                                 \
    static void clears_##mode##_on_##how(void)                        \
    {                                                                 \
        close(make_file("f", 0666, "some bytes of it"));              \
        EXPECT(chown("f", 2000, 2000) == 0 && chmod("f", mode) == 0); \
        EXPECT(in_child(how##_##mode) == 0);                          \
        EXPECT(mode_of("f") == (want));                               \
    }

static bool do_write(void)
{
    return write(open("f", O_WRONLY), "x", 1) == 1;
}

static bool do_direct(void)
{
    void *buf;

    return posix_memalign(&buf, 4096, 4096) == 0 && write(open("f", O_WRONLY | O_DIRECT), buf, 4096) == 4096;
}

static bool do_truncate(void)
{
    return truncate("f", 2) == 0;
}

static bool do_open_trunc(void)
{
    return open("f", O_WRONLY | O_TRUNC) >= 0;
}

static bool do_allocate(void)
{
    return fallocate(open("f", O_WRONLY), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 5) == 0;
}

static bool do_copy(void)
{
    int from = open("mine", O_RDWR | O_CREAT, 0644), to = open("f", O_WRONLY);

    return write(from, "abc", 3) == 3 && lseek(from, 0, SEEK_SET) == 0 &&
           copy_file_range(from, NULL, to, NULL, 3, 0) == 3;
}

STRANGER_CLEARS(do_write, 06777, 0777)
STRANGER_CLEARS(do_direct, 06777, 0777)
STRANGER_CLEARS(do_truncate, 06777, 0777)
STRANGER_CLEARS(do_open_trunc, 06777, 0777)
STRANGER_CLEARS(do_allocate, 06777, 0777)
STRANGER_CLEARS(do_copy, 06777, 0777)
STRANGER_CLEARS(do_write, 02666, 0666)
STRANGER_CLEARS(do_truncate, 02666, 0666)

static int owner_changes_group(void)
{
    become(1000, 1000, 1);
    return chown("f", (uid_t) -1, 3000) == 0 ? 0 : 1;
}

static void setuid_and_chown(void)
{
    close(make_file("f", 0755, ""));
    EXPECT(chown("f", 1000, 1000) == 0 && chmod("f", 06755) == 0);
    EXPECT(in_child(owner_changes_group) == 0 && mode_of("f") == 0755);
    EXPECT(chmod("f", 06755) == 0);
    int fd = open("f", O_WRONLY);

    EXPECT(write(fd, "x", 1) == 1 && mode_of("f") == 06755); /* root may */
    EXPECT(chown("f", 1000, 1000) == 0 && mode_of("f") == 0755);
}

static int take_away_by_write(void)
{
    become(1000, 1000, 0);
    return do_write() ? 0 : 1;
}

static void capability_goes_on_write(void)
{
    static const uint8_t capability[20] = { 1, 0, 0, 2, 0, 32 };
    char buf[32];

    close(make_file("f", 0777, "x"));
    EXPECT(chmod("f", 0777) == 0);
    EXPECT(setxattr("f", "security.capability", capability, sizeof capability, 0) == 0);
    EXPECT(getxattr("f", "security.capability", buf, sizeof buf) == sizeof capability);
    EXPECT(in_child(take_away_by_write) == 0);
    EXPECT_ERROR(ENODATA, getxattr("f", "security.capability", buf, sizeof buf));
}

/* -- extended attributes -- */

static void attributes(void)
{
    char buf[70000], name[300];
    int fd = make_file("f", 0644, "");

    EXPECT(setxattr("f", "user.a", "1", 1, XATTR_CREATE) == 0);
    EXPECT_ERROR(EEXIST, setxattr("f", "user.a", "2", 1, XATTR_CREATE));
    EXPECT_ERROR(ENODATA, setxattr("f", "user.b", "2", 1, XATTR_REPLACE));
    EXPECT(setxattr("f", "user.a", "22", 2, XATTR_REPLACE) == 0);
    EXPECT(getxattr("f", "user.a", NULL, 0) == 2);
    EXPECT_ERROR(ERANGE, getxattr("f", "user.a", buf, 1));
    EXPECT(fsetxattr(fd, "user.empty", "", 0, 0) == 0 && getxattr("f", "user.empty", buf, sizeof buf) == 0);
    EXPECT(listxattr("f", buf, sizeof buf) == 18 && listxattr("f", NULL, 0) == 18);
    EXPECT_ERROR(ERANGE, listxattr("f", buf, 5));
    EXPECT_ERROR(ENODATA, removexattr("f", "user.none"));
    EXPECT_ERROR(EOPNOTSUPP, setxattr("f", "nonsense", "", 0, 0));
    EXPECT_ERROR(EOPNOTSUPP, setxattr("f", "system.nonsense", "", 0, 0));
    memset(name, 'n', sizeof name);
    memcpy(name, "user.", 5);
    name[256] = 0;
    EXPECT_ERROR(ERANGE, setxattr("f", name, "", 0, 0));
    name[255] = 0;
    EXPECT(setxattr("f", name, "v", 1, 0) == 0 && getxattr("f", name, buf, sizeof buf) == 1);
    EXPECT(setxattr("f", "user.bytes", "\0\xff\n", 3, 0) == 0 && getxattr("f", "user.bytes", buf, sizeof buf) == 3 &&
           memcmp(buf, "\0\xff\n", 3) == 0);
    EXPECT_ERROR(E2BIG, setxattr("f", "user.big", buf, 65537, 0));
    EXPECT(removexattr("f", "user.a") == 0);
    EXPECT_ERROR(ENODATA, getxattr("f", "user.a", buf, sizeof buf));
    EXPECT(mkdir("d", 0755) == 0 && setxattr("d", "user.a", "d", 1, 0) == 0);
    EXPECT(symlink("f", "s") == 0);
    EXPECT_ERROR(EPERM, lsetxattr("s", "user.a", "s", 1, 0));
}

/* A user who fills all the room there is can still write and sync. */
static void attributes_fill_up(void)
{
    int fd = make_file("f", 0644, "abc");
    char value[500], name[32];
    int n = 0;

    memset(value, 'v', sizeof value);
    for (; n < 1000; n++) {
        snprintf(name, sizeof name, "user.n%d", n);
        if (fsetxattr(fd, name, value, sizeof value, 0) < 0)
            break;
    }
    EXPECT(n == 1000 || errno == ENOSPC || errno == E2BIG);
    while (fsetxattr(fd, "user.rest", "123456789", 9, 0) == 0 && n < 2000)
        n++;
    EXPECT(pwrite(fd, "defghi", 6, 100000) == 6 && fsync(fd) == 0 && close(fd) == 0);
    EXPECT(stat_of("f").st_size == 100006 && truncate("f", 5) == 0 && unlink("f") == 0);
}

static void attributes_of_strangers(void)
{
    char buf[64];

    close(make_file("f", 0644, ""));
    EXPECT(setxattr("f", "user.a", "1", 1, 0) == 0 && setxattr("f", "trusted.t", "1", 1, 0) == 0);
    become(1000, 1000, 0);
    EXPECT(getxattr("f", "user.a", buf, sizeof buf) == 1);
    EXPECT_ERROR(EACCES, setxattr("f", "user.b", "1", 1, 0));
    EXPECT_ERROR(EACCES, removexattr("f", "user.a"));
    EXPECT_ERROR(EPERM, setxattr("f", "trusted.b", "1", 1, 0));
    EXPECT_ERROR(ENODATA, getxattr("f", "trusted.t", buf, sizeof buf));
    EXPECT(listxattr("f", buf, sizeof buf) == 7); /* trusted names are not for everybody */
}

/* -- ACLs -- */

struct acl {
    uint32_t version;
    struct {
        uint16_t tag, rights;
        uint32_t id;
    } entry[5];
};

/* Owner, uid 1000, group, mask, others. */
static struct acl acl_of(uint16_t owner, uint16_t user, uint16_t group, uint16_t mask, uint16_t others)
{
    return (struct acl){ 2,
                         { { 0x01, owner, UINT32_MAX },
                           { 0x02, user, 1000 },
                           { 0x04, group, UINT32_MAX },
                           { 0x10, mask, UINT32_MAX },
                           { 0x20, others, UINT32_MAX } } };
}

static int read_as_1000(void)
{
    become(1000, 1000, 0);
    return open("f", O_RDONLY) >= 0 ? 0 : errno;
}

static int write_as_1000(void)
{
    become(1000, 1000, 0);
    return open("f", O_WRONLY) >= 0 ? 0 : errno;
}

static void acl_grants_and_denies(void)
{
    struct acl acl = acl_of(6, 4, 0, 4, 0);

    close(make_file("f", 0600, "abc"));
    EXPECT(in_child(read_as_1000) == EACCES);
    EXPECT(setxattr("f", "system.posix_acl_access", &acl, sizeof acl, 0) == 0);
    EXPECT(in_child(read_as_1000) == 0 && in_child(write_as_1000) == EACCES && in_child(open_as_stranger) == EACCES);
    EXPECT(mode_of("f") == 0640); /* the mask shows as the group's */
    EXPECT(chmod("f", 0600) == 0 && in_child(read_as_1000) == EACCES);
    EXPECT(chmod("f", 0660) == 0 && in_child(read_as_1000) == 0);
    acl = acl_of(6, 0, 0, 7, 4);
    EXPECT(setxattr("f", "system.posix_acl_access", &acl, sizeof acl, 0) == 0);
    EXPECT(in_child(read_as_1000) == EACCES && in_child(open_as_stranger) == 0);
    EXPECT(removexattr("f", "system.posix_acl_access") == 0);
    EXPECT(in_child(read_as_1000) == 0);
}

static void default_acl_is_handed_down(void)
{
    struct acl acl = acl_of(7, 7, 5, 7, 0), got;

    umask(077); /* does not count beside a default ACL */
    EXPECT(mkdir("d", 0755) == 0 && setxattr("d", "system.posix_acl_default", &acl, sizeof acl, 0) == 0);
    close(make_file("d/f", 0666, ""));
    EXPECT(mkdir("d/e", 0777) == 0);
    EXPECT(mode_of("d/f") == 0660 && mode_of("d/e") == 0770);
    EXPECT(getxattr("d/f", "system.posix_acl_access", &got, sizeof got) == sizeof got);
    EXPECT(got.entry[1].id == 1000 && got.entry[1].rights == 7 && got.entry[3].rights == 6);
    EXPECT(getxattr("d/e", "system.posix_acl_default", &got, sizeof got) == sizeof got);
    EXPECT(memcmp(&got, &acl, sizeof acl) == 0);
    EXPECT_ERROR(ENODATA, getxattr("d/f", "system.posix_acl_default", &got, sizeof got));
    EXPECT(symlink("f", "d/s") == 0 && mkfifo("d/p", 0666) == 0 && mode_of("d/p") == 0660);
}

static int set_acl_as_1000(void)
{
    struct acl acl = acl_of(7, 7, 7, 7, 7);

    become(1000, 1000, 0);
    return setxattr("f", "system.posix_acl_access", &acl, sizeof acl, 0) == 0 ? 0 : errno;
}

static void acl_is_the_owners(void)
{
    struct acl acl = acl_of(7, 7, 7, 7, 7);

    close(make_file("f", 0666, ""));
    EXPECT(in_child(set_acl_as_1000) == EPERM);
    acl.version = 1;
    EXPECT_ERROR(EOPNOTSUPP, setxattr("f", "system.posix_acl_access", &acl, sizeof acl, 0));
    acl = acl_of(7, 7, 7, 7, 7);
    EXPECT_ERROR(EINVAL, setxattr("f", "system.posix_acl_access", &acl, sizeof acl - 8, 0));
    EXPECT_ERROR(EACCES, setxattr("f", "system.posix_acl_default", &acl, sizeof acl, 0));
}

#define CLEARS(mode, how)                                     \
    {                                                         \
        "clears_" #mode "_on_" #how, clears_##mode##_on_##how \
    }

static int set_acl_as_owner(void)
{
    struct acl acl = acl_of(7, 4, 5, 5, 4);

    become(1000, 1000, 1);
    return setxattr("f", "system.posix_acl_access", &acl, sizeof acl, 0) == 0 ? 0 : 1;
}

static mode_t mode_after_acl_by_owner(gid_t group)
{
    struct stat st;

    EXPECT(chown("f", 1000, group) == 0 && chmod("f", 02755) == 0);
    EXPECT(in_child(set_acl_as_owner) == 0);
    EXPECT(stat("f", &st) == 0);
    return st.st_mode & 07777;
}

static void acl_by_a_stranger_to_the_group_clears_setgid(void)
{
    close(make_file("f", 0644, "data"));
    EXPECT(mode_after_acl_by_owner(1000) == 02754);
    EXPECT(mode_after_acl_by_owner(3000) == 02754);
    EXPECT(mode_after_acl_by_owner(4000) == 0754);
    EXPECT(chmod("f", 0) == 0 && mode_after_acl_by_owner(4000) == 0754);
}

const struct check checks_of_rights[] = {
    { "new_names_belong_to_the_caller", new_names_belong_to_the_caller },
    { "umask_masks", umask_masks },
    { "setgid_directories_hand_down", setgid_directories_hand_down },
    { "supplementary_groups_count", supplementary_groups_count },
    { "sticky_directories", sticky_directories },
    { "descriptor_of_mode_000_works", descriptor_of_mode_000_works },
    { "descriptor_outlives_chmod", descriptor_outlives_chmod },
    { "rights_change_at_once", rights_change_at_once },
    CLEARS(06777, do_write),
    CLEARS(06777, do_direct),
    CLEARS(06777, do_truncate),
    CLEARS(06777, do_open_trunc),
    CLEARS(06777, do_allocate),
    CLEARS(06777, do_copy),
    CLEARS(02666, do_write),
    CLEARS(02666, do_truncate),
    { "setuid_and_chown", setuid_and_chown },
    { "capability_goes_on_write", capability_goes_on_write },
    { "attributes", attributes },
    { "attributes_fill_up", attributes_fill_up },
    { "attributes_of_strangers", attributes_of_strangers },
    { "acl_grants_and_denies", acl_grants_and_denies },
    { "default_acl_is_handed_down", default_acl_is_handed_down },
    { "acl_is_the_owners", acl_is_the_owners },
    { "acl_by_a_stranger_to_the_group_clears_setgid", acl_by_a_stranger_to_the_group_clears_setgid },
    { NULL, NULL },
};

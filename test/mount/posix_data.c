/* SPDX-License-Identifier: MIT */
/* Bytes: sparse, appended, direct, mapped, asynchronous, copied, locked. */
#include "test/mount/posix.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define MIB  (1 << 20)

static uint8_t *aligned(size_t len, int byte)
{
    void *buf;

    EXPECT(posix_memalign(&buf, PAGE, len) == 0);
    memset(buf, byte, len);
    return buf;
}

static bool all(const uint8_t *buf, size_t len, int byte)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != byte)
            return false;
    return true;
}

static off_t size_of(const char *name)
{
    struct stat st;

    EXPECT(stat(name, &st) == 0);
    return st.st_size;
}

static blkcnt_t blocks_of(const char *name)
{
    struct stat st;

    EXPECT(stat(name, &st) == 0);
    return st.st_blocks;
}

/* -- append -- */

#define N_APPENDERS 4
#define N_APPENDS   200
#define LINE        100

static int append_lines(void)
{
    static int number;
    char line[LINE];
    int fd = open("a", O_WRONLY | O_APPEND);

    memset(line, 'A' + getpid() % 26, sizeof line);
    (void) number;
    for (int i = 0; i < N_APPENDS; i++)
        if (write(fd, line, sizeof line) != (ssize_t) sizeof line)
            return 1;
    return 0;
}

static void processes_append(void)
{
    static char all_lines[N_APPENDERS * N_APPENDS * LINE + 1];
    int status, fd = make_file("a", 0644, "");

    for (int i = 0; i < N_APPENDERS; i++)
        if (fork() == 0)
            _exit(append_lines());
    while (wait(&status) > 0)
        EXPECT(status == 0);
    EXPECT(size_of("a") == N_APPENDERS * N_APPENDS * LINE);
    EXPECT(read(fd, all_lines, sizeof all_lines) == N_APPENDERS * N_APPENDS * LINE);
    for (size_t i = 0; i < N_APPENDERS * N_APPENDS; i++)
        EXPECT(all((uint8_t *) all_lines + i * LINE, LINE, all_lines[i * LINE]) && all_lines[i * LINE] != 0);
}

static void append_goes_to_the_end(void)
{
    int fd = make_file("a", 0644, "12345"), append = open("a", O_RDWR | O_APPEND);
    char buf[16] = "";

    EXPECT(lseek(append, 0, SEEK_SET) == 0 && write(append, "6", 1) == 1);
    EXPECT(lseek(append, 0, SEEK_CUR) == 6);
    EXPECT(ftruncate(fd, 2) == 0 && write(append, "x", 1) == 1);
    EXPECT(pread(fd, buf, sizeof buf, 0) == 3 && strcmp(buf, "12x") == 0);
}

static void append_direct(void)
{
    int fd = open("a", O_RDWR | O_CREAT | O_APPEND | O_DIRECT, 0644);
    uint8_t *buf = aligned(PAGE, 'a');

    EXPECT(fd >= 0);
    for (int i = 0; i < 5; i++)
        EXPECT(write(fd, buf, PAGE) == PAGE);
    EXPECT(size_of("a") == (off_t) 5 * PAGE);
    EXPECT(pread(fd, buf, PAGE, (off_t) 4 * PAGE) == PAGE && all(buf, PAGE, 'a'));
}

/* -- direct, buffered, mapped: one file -- */

static void direct_and_buffered_agree(void)
{
    uint8_t *buf = aligned(MIB, 'b'), *map;
    int fd = open("a", O_RDWR | O_CREAT, 0644), direct = open("a", O_RDWR | O_DIRECT),
        reader = open("a", O_RDONLY | O_DIRECT);

    EXPECT(fd >= 0 && direct >= 0 && reader >= 0);
    EXPECT(write(fd, buf, MIB) == MIB);
    memset(buf, 0, MIB);
    EXPECT(pread(direct, buf, MIB, 0) == MIB && all(buf, MIB, 'b'));
    memset(buf, 0, MIB);
    EXPECT(pread(reader, buf, MIB, 0) == MIB && all(buf, MIB, 'b'));
    memset(buf, 'd', PAGE);
    EXPECT(pwrite(direct, buf, PAGE, (off_t) 3 * PAGE) == PAGE);
    EXPECT(pread(fd, buf, MIB, 0) == MIB && all(buf + 3 * PAGE, PAGE, 'd') && all(buf, 3 * PAGE, 'b'));
    map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(map != MAP_FAILED && all(map + 3 * PAGE, PAGE, 'd'));
    memset(buf, 'e', PAGE);
    EXPECT(pwrite(direct, buf, PAGE, (off_t) 4 * PAGE) == PAGE);
    EXPECT(all(map + 4 * PAGE, PAGE, 'e'));
    memset(map + 5 * PAGE, 'm', PAGE);
    EXPECT(pread(direct, buf, PAGE, (off_t) 5 * PAGE) == PAGE && all(buf, PAGE, 'm'));
    memset(map + 6 * PAGE, 'n', PAGE);
    EXPECT(pread(reader, buf, PAGE, (off_t) 6 * PAGE) == PAGE && all(buf, PAGE, 'n'));
    memset(buf, 'g', PAGE);
    EXPECT(pwrite(direct, buf, PAGE, MIB) == PAGE);
    EXPECT(pread(reader, buf, MIB, (off_t) MIB - PAGE) == (ssize_t) 2 * PAGE && all(buf + PAGE, PAGE, 'g'));
    EXPECT(ftruncate(fd, 100) == 0 && pread(reader, buf, PAGE, 0) == 100 && all(buf, 7, 'b'));
    EXPECT(pwrite(fd, "w", 1, 7) == 1 && map[7] == 'w');
    EXPECT(munmap(map, MIB) == 0);
}

/* Whatever is allowed is right. */
static void direct_on_any_alignment(void)
{
    uint8_t *buf = aligned(64 << 10, 'x');
    int fd = open("a", O_RDWR | O_CREAT | O_DIRECT, 0644), plain = open("a", O_RDWR);

    EXPECT(fd >= 0);
    for (int i = 0; i < 20; i++) {
        size_t len = (size_t) (1 + i * 777);
        off_t off = i * 12345;
        ssize_t n;

        memset(buf, 'A' + i, 64 << 10);
        n = pwrite(fd, buf + i, len, off);
        if (n < 0) {
            EXPECT(errno == EINVAL);
            continue;
        }
        EXPECT(n == (ssize_t) len);
        memset(buf, 0, len);
        EXPECT(pread(plain, buf, len, off) == (ssize_t) len && all(buf, len, 'A' + i));
        memset(buf, 0, 64 << 10);
        n = pread(fd, buf + i, len, off);
        EXPECT((n == (ssize_t) len && all(buf + i, len, 'A' + i)) || (n < 0 && errno == EINVAL));
    }
}

static void mapping_is_shared_by_processes(void)
{
    int fd = make_file("a", 0644, "");
    uint8_t *map;

    EXPECT(ftruncate(fd, MIB) == 0);
    map = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(map != MAP_FAILED);
    if (fork() == 0) {
        memset(map + 1000, 'c', 100000);
        _exit(0);
    }
    EXPECT(wait(NULL) > 0 && all(map + 1000, 100000, 'c'));
    EXPECT(msync(map, MIB, MS_SYNC) == 0);
    uint8_t *private = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

    EXPECT(private != MAP_FAILED);
    private[2000] = 'p';
    EXPECT(map[2000] == 'c');
    munmap(map, MIB);
    uint8_t buf[3];

    EXPECT(pread(fd, buf, 3, 999) == 3 && buf[0] == 0 && buf[1] == 'c');
}

static sigjmp_buf back;

static void on_bus_error(int sig)
{
    (void) sig;
    siglongjmp(back, 1);
}

static bool touch_fails(const volatile uint8_t *at)
{
    signal(SIGBUS, on_bus_error);
    if (sigsetjmp(back, 1) != 0)
        return true;
    (void) *at;
    return false;
}

static void mapping_ends_with_the_file(void)
{
    int fd = make_file("a", 0644, "");
    uint8_t *map;

    EXPECT(ftruncate(fd, (off_t) 2 * PAGE) == 0);
    map = mmap(NULL, (size_t) 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(map != MAP_FAILED);
    memset(map, 'x', (size_t) 2 * PAGE);
    EXPECT(touch_fails(map + 3 * PAGE));
    EXPECT(ftruncate(fd, 100) == 0);
    EXPECT(touch_fails(map + PAGE) && map[99] == 'x' && map[100] == 0);
    EXPECT(ftruncate(fd, (off_t) 4 * PAGE) == 0);
    EXPECT(!touch_fails(map + PAGE) && map[PAGE] == 0 && map[100] == 0);
}

/* -- asynchronous -- */

#define N_AIO 16

static void wait_for_all(aio_context_t ctx)
{
    struct io_event event[N_AIO];
    long n = 0;

    while (n < N_AIO) {
        long r = syscall(SYS_io_getevents, ctx, 1L, (long) (N_AIO - n), event + n, NULL);

        EXPECT(r > 0);
        n += r;
    }
    for (int i = 0; i < N_AIO; i++)
        EXPECT(event[i].res == 64 << 10);
}

static void submit(aio_context_t ctx, int fd, int what, uint8_t *const buf[])
{
    struct iocb iocb[N_AIO], *all_iocbs[N_AIO];

    for (int i = 0; i < N_AIO; i++) {
        iocb[i] = (struct iocb){ .aio_lio_opcode = (uint16_t) what,
                                 .aio_fildes = (uint32_t) fd,
                                 .aio_buf = (uintptr_t) buf[i],
                                 .aio_nbytes = 64 << 10,
                                 .aio_offset = (long long) i * (64 << 10) };
        all_iocbs[i] = &iocb[i];
    }
    EXPECT(syscall(SYS_io_submit, ctx, (long) N_AIO, all_iocbs) == N_AIO);
}

static void asynchronous(void)
{
    int fd = open("a", O_RDWR | O_CREAT | O_DIRECT, 0644);
    uint8_t *buf[N_AIO];
    aio_context_t ctx = 0;

    EXPECT(fd >= 0 && syscall(SYS_io_setup, N_AIO, &ctx) == 0);
    for (int i = 0; i < N_AIO; i++)
        buf[i] = aligned(64 << 10, 'a' + i);
    submit(ctx, fd, IOCB_CMD_PWRITE, buf);
    wait_for_all(ctx);
    EXPECT(size_of("a") == (off_t) N_AIO * (64 << 10));
    for (int i = 0; i < N_AIO; i++)
        memset(buf[i], 0, 64 << 10);
    submit(ctx, fd, IOCB_CMD_PREAD, buf);
    wait_for_all(ctx);
    for (int i = 0; i < N_AIO; i++)
        EXPECT(all(buf[i], 64 << 10, 'a' + i));
}

/* -- sparse -- */

static void sparse_files_take_no_room(void)
{
    int fd = make_file("a", 0644, "");
    uint8_t *buf = aligned(MIB, 'f');
    blkcnt_t full;

    EXPECT(ftruncate(fd, (off_t) 1 << 40) == 0 && pwrite(fd, "x", 1, (off_t) 1 << 39) == 1);
    close(fd);
    EXPECT(size_of("a") == (off_t) 1 << 40 && blocks_of("a") < 2000);
    EXPECT(truncate("a", 0) == 0);
    fd = open("a", O_RDWR);
    for (int i = 0; i < 4; i++)
        EXPECT(write(fd, buf, MIB) == MIB);
    EXPECT(fsync(fd) == 0);
    full = blocks_of("a");
    EXPECT(full >= 4 * MIB / 512);
    EXPECT(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, MIB, (off_t) 2 * MIB) == 0);
    EXPECT(fsync(fd) == 0 && blocks_of("a") <= full - MIB / 512);
}

static void punched_holes_are_zero(void)
{
    uint8_t *buf = aligned(MIB, 'f');
    int fd = make_file("a", 0644, "");

    EXPECT(write(fd, buf, MIB) == MIB);
    EXPECT(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 12345, 500000) == 0);
    EXPECT(pread(fd, buf, MIB, 0) == MIB);
    EXPECT(all(buf, 12345, 'f') && all(buf + 12345, 500000, 0) && all(buf + 512345, MIB - 512345, 'f'));
    EXPECT(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) 10 * MIB) == 0);
    EXPECT(size_of("a") == MIB && pread(fd, buf, MIB, 0) == MIB && all(buf, MIB, 0));
    EXPECT_ERROR(EOPNOTSUPP, fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 10));
}

static void fallocate_keeps_and_extends(void)
{
    int fd = make_file("a", 0644, "abc");
    char buf[8];

    EXPECT(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, MIB) == 0 && size_of("a") == 3 && blocks_of("a") >= MIB / 512);
    EXPECT(fallocate(fd, 0, 0, 2 * MIB) == 0 && size_of("a") == 2 * MIB);
    EXPECT(pread(fd, buf, 4, 0) == 4 && memcmp(buf, "abc", 4) == 0);
    EXPECT_ERROR(EINVAL, fallocate(fd, 0, 0, 0));
    EXPECT_ERROR(EINVAL, fallocate(fd, 0, -1, 10));
}

static void cut_bytes_never_return(void)
{
    uint8_t *buf = aligned(300000, 'c');
    int fd = make_file("a", 0644, "");

    for (off_t size = 1; size < 300000; size = size * 3 + 1) {
        EXPECT(pwrite(fd, buf, 300000, 0) == 300000);
        EXPECT(ftruncate(fd, size) == 0 && ftruncate(fd, 300000) == 0);
        EXPECT(pread(fd, buf, 300000, 0) == 300000);
        EXPECT(all(buf, (size_t) size, 'c') && all(buf + size, 300000 - (size_t) size, 0));
        EXPECT(ftruncate(fd, size) == 0 && pwrite(fd, "x", 1, 299999) == 1);
        EXPECT(pread(fd, buf, 300000, 0) == 300000 && all(buf + size, 299999 - (size_t) size, 0));
        memset(buf, 'c', 300000);
    }
}

static void seeking_data_and_holes(void)
{
    uint8_t *buf = aligned(MIB, 'd');
    int fd = make_file("a", 0644, "");

    EXPECT_ERROR(ENXIO, lseek(fd, 0, SEEK_DATA));
    EXPECT(pwrite(fd, buf, MIB, (off_t) 64 * MIB) == MIB && ftruncate(fd, (off_t) 128 * MIB) == 0);
    EXPECT(lseek(fd, 0, SEEK_HOLE) == 0);
    off_t data = lseek(fd, 0, SEEK_DATA);

    EXPECT(data > 0 && data <= (off_t) 64 * MIB);
    EXPECT(lseek(fd, (off_t) 64 * MIB, SEEK_DATA) == (off_t) 64 * MIB);
    EXPECT(lseek(fd, (off_t) 64 * MIB, SEEK_HOLE) >= (off_t) 65 * MIB);
    EXPECT_ERROR(ENXIO, lseek(fd, (off_t) 128 * MIB, SEEK_HOLE));
    EXPECT_ERROR(ENXIO, lseek(fd, -1, SEEK_DATA));
    EXPECT_ERROR(ENXIO, lseek(fd, -1, SEEK_HOLE));
    EXPECT_ERROR(EINVAL, lseek(fd, -1, SEEK_SET));
    EXPECT(lseek(fd, (off_t) 128 * MIB - 1, SEEK_HOLE) == (off_t) 128 * MIB - 1);
}

/* -- limits -- */

static void limits_of_size(void)
{
    struct rlimit limit = { MIB, MIB };
    int fd = make_file("a", 0644, "");

    EXPECT_ERROR(EINVAL, pwrite(fd, "x", 1, -1));
    EXPECT_ERROR(EINVAL, ftruncate(fd, -1));
    EXPECT_ERROR(EFBIG, ftruncate(fd, INT64_MAX));
    EXPECT_ERROR(EFBIG, pwrite(fd, "x", 1, INT64_MAX - 10));
    EXPECT(size_of("a") == 0);
    signal(SIGXFSZ, SIG_IGN);
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    EXPECT_ERROR(EFBIG, pwrite(fd, "x", 1, MIB));
    EXPECT(pwrite(fd, "xyz", 3, MIB - 2) == 2 && size_of("a") == MIB);
}

static void wrong_descriptors(void)
{
    int fd = make_file("a", 0644, "abc"), in, out, path, dir;
    char buf[4];

    EXPECT(mkdir("d", 0755) == 0);
    in = open("a", O_RDONLY);
    out = open("a", O_WRONLY);
    path = open("a", O_PATH);
    dir = open("d", O_RDONLY);
    EXPECT_ERROR(EBADF, write(in, "x", 1));
    EXPECT_ERROR(EINVAL, ftruncate(in, 0));
    EXPECT_ERROR(EBADF, read(out, buf, 1));
    EXPECT_ERROR(EBADF, read(path, buf, 1));
    EXPECT_ERROR(EISDIR, read(dir, buf, 1));
    EXPECT_ERROR(EBADF, fallocate(in, 0, 0, 10));
    EXPECT(read(fd, buf, sizeof buf) == 0 && pread(fd, buf, sizeof buf, 1000) == 0);
    EXPECT(fsync(in) == 0 && fsync(dir) == 0 && fdatasync(out) == 0 && syncfs(in) == 0);
}

/* -- copies -- */

static void copies_in_the_kernel(void)
{
    uint8_t *buf = aligned(3 * MIB, 'k');
    int in = make_file("a", 0644, ""), out = make_file("b", 0644, ""), third = make_file("c", 0644, "");
    loff_t from = 1000, to = 77;
    off_t at = 0;
    ssize_t n;

    EXPECT(write(in, buf, 3 * MIB) == 3 * MIB);
    while ((n = copy_file_range(in, &from, out, &to, 4 * MIB, 0)) > 0)
        ;
    EXPECT(n == 0 && from == 3 * MIB && size_of("b") == 3 * MIB - 1000 + 77);
    EXPECT(pread(out, buf, 3 * MIB, 0) == 3 * MIB - 923 && all(buf, 77, 0) && all(buf + 77, 3 * MIB - 1000, 'k'));
    while ((n = sendfile(third, in, &at, 4 * MIB)) > 0)
        ;
    EXPECT(n == 0 && size_of("c") == 3 * MIB);
    from = 0, to = 10;
    EXPECT_ERROR(EINVAL, copy_file_range(in, &from, in, &to, 100, 0));
}

static void programs_run(void)
{
    int in = open("/bin/true", O_RDONLY), out = open("true", O_RDWR | O_CREAT, 0755), status;
    ssize_t n;

    EXPECT(in >= 0 && out >= 0);
    while ((n = sendfile(out, in, NULL, MIB)) > 0)
        ;
    EXPECT(n == 0);
    close(out);
    if (fork() == 0) {
        execl("./true", "true", (char *) NULL);
        _exit(1);
    }
    EXPECT(wait(&status) > 0 && status == 0);
    pid_t pid = fork();

    if (pid == 0) {
        execl("./true", "true", (char *) NULL);
        _exit(1);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

/* -- locks -- */

static int try_flock(void)
{
    int fd = open("a", O_RDWR);

    return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
}

static int try_fcntl(void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_start = 10, .l_len = 10 };
    int fd = open("a", O_RDWR);

    return fcntl(fd, F_SETLK, &lock) == 0 ? 0 : errno;
}

static void locks_exclude(void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_start = 15, .l_len = 1 };
    int fd = make_file("a", 0644, ""), other;

    EXPECT(flock(fd, LOCK_EX) == 0 && in_child(try_flock) == EWOULDBLOCK);
    EXPECT(in_child(try_fcntl) == 0); /* another kind of lock */
    EXPECT(flock(fd, LOCK_UN) == 0 && in_child(try_flock) == 0);
    EXPECT(fcntl(fd, F_SETLK, &lock) == 0 && in_child(try_fcntl) == EAGAIN && in_child(try_flock) == 0);
    other = open("a", O_RDWR);
    close(other); /* drops this process's record locks */
    EXPECT(in_child(try_fcntl) == 0);
    EXPECT(fcntl(fd, F_OFD_SETLK, &lock) == 0 && in_child(try_fcntl) == EAGAIN);
    close(open("a", O_RDWR));
    EXPECT(in_child(try_fcntl) == EAGAIN);
    close(fd);
    EXPECT(in_child(try_fcntl) == 0);
}

static void lock_tells_its_owner(void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_start = 5, .l_len = 7 };
    int fd = make_file("a", 0644, ""), status;
    pid_t parent = getpid(), pid;

    EXPECT(fcntl(fd, F_SETLK, &lock) == 0);
    pid = fork();
    if (pid == 0) {
        struct flock asked = { .l_type = F_RDLCK };

        _exit(fcntl(fd, F_GETLK, &asked) == 0 && asked.l_type == F_WRLCK && asked.l_pid == parent &&
                      asked.l_start == 5 && asked.l_len == 7
                  ? 0
                  : 1);
    }
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
}

static void waiting_for_a_lock_can_be_interrupted(void)
{
    int fd = make_file("a", 0644, ""), status;
    pid_t pid;

    EXPECT(flock(fd, LOCK_EX) == 0);
    pid = fork();
    if (pid == 0) {
        int mine = open("a", O_RDWR);

        _exit(flock(mine, LOCK_EX) == 0);
    }
    pause_ms(50);
    EXPECT(kill(pid, SIGTERM) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void duplicates_of_descriptors(void)
{
    struct rlimit limit = { 64, 64 };
    int fd = make_file("a", 0644, "abc"), copy;

    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    EXPECT_ERROR(EINVAL, fcntl(fd, F_DUPFD, 64));
    copy = fcntl(fd, F_DUPFD, 50);
    EXPECT(copy == 50 && lseek(copy, 1, SEEK_SET) == 1 && lseek(fd, 0, SEEK_CUR) == 1);
    close(fd);
    EXPECT(write(copy, "x", 1) == 1);
    EXPECT(fcntl(copy, F_SETFL, O_APPEND) == 0 && (fcntl(copy, F_GETFL) & O_APPEND) != 0);
    EXPECT(write(copy, "y", 1) == 1 && size_of("a") == 4);
}

static void changes_are_noticed(void)
{
    _Alignas(struct inotify_event) char buf[4096];
    int watch = inotify_init1(IN_NONBLOCK), fd;

    EXPECT(watch >= 0 && inotify_add_watch(watch, ".", IN_CREATE | IN_MODIFY | IN_DELETE) >= 0);
    fd = make_file("a", 0644, "x");
    EXPECT(read(watch, buf, sizeof buf) > 0);
    close(fd);
}

/* Replies that nobody waits for any more leave nothing behind that a later one would bring. */
#define LONG_FILE (32 * MIB)
#define N_KILLED  60

static void read_for_ever(void)
{
    int fd = open("a", O_RDONLY | O_DIRECT);
    uint8_t *buf = aligned(4 * MIB, 0);

    for (off_t at = 0;; at = (at + 4 * MIB) % LONG_FILE)
        (void) !pread(fd, buf, 4 * MIB, at);
}

static void killed_readers_leave_nothing(void)
{
    uint8_t *buf = aligned(MIB, 0);
    int fd = open("a", O_RDWR | O_CREAT | O_DIRECT, 0644);
    unsigned seed = 1;

    for (int i = 0; i < LONG_FILE / MIB; i++) {
        memset(buf, i + 1, MIB);
        EXPECT(pwrite(fd, buf, MIB, (off_t) i * MIB) == MIB);
    }
    for (int i = 0; i < N_KILLED; i++) {
        int block = i * 7 % (LONG_FILE / MIB);
        pid_t pid = fork();

        if (pid == 0)
            read_for_ever();
        usleep(500 + (useconds_t) rand_r(&seed) % 4000);
        kill(pid, SIGKILL);
        EXPECT(pread(fd, buf, MIB, (off_t) block * MIB) == MIB);
        EXPECT(all(buf, MIB, block + 1));
        EXPECT(waitpid(pid, NULL, 0) == pid);
    }
    close(fd);
    free(buf);
}

const struct check checks_of_data[] = {
    { "processes_append", processes_append },
    { "append_goes_to_the_end", append_goes_to_the_end },
    { "append_direct", append_direct },
    { "direct_and_buffered_agree", direct_and_buffered_agree },
    { "direct_on_any_alignment", direct_on_any_alignment },
    { "mapping_is_shared_by_processes", mapping_is_shared_by_processes },
    { "mapping_ends_with_the_file", mapping_ends_with_the_file },
    { "asynchronous", asynchronous },
    { "sparse_files_take_no_room", sparse_files_take_no_room },
    { "punched_holes_are_zero", punched_holes_are_zero },
    { "fallocate_keeps_and_extends", fallocate_keeps_and_extends },
    { "cut_bytes_never_return", cut_bytes_never_return },
    { "seeking_data_and_holes", seeking_data_and_holes },
    { "limits_of_size", limits_of_size },
    { "wrong_descriptors", wrong_descriptors },
    { "copies_in_the_kernel", copies_in_the_kernel },
    { "programs_run", programs_run },
    { "locks_exclude", locks_exclude },
    { "lock_tells_its_owner", lock_tells_its_owner },
    { "waiting_for_a_lock_can_be_interrupted", waiting_for_a_lock_can_be_interrupted },
    { "duplicates_of_descriptors", duplicates_of_descriptors },
    { "changes_are_noticed", changes_are_noticed },
    { "killed_readers_leave_nothing", killed_readers_leave_nothing },
    { NULL, NULL },
};

/* SPDX-License-Identifier: MIT */
#include "fs/ctl/show/screen.h"

#include "layout/clock.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define ENTER "\033[?1049h\033[?25l" /* another screen, no cursor */
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t is_on, has_ended;
static sigset_t mask_before;

bool screen_is_there(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

/* -- what signals may call -- */

static void tell(const char *text, size_t len)
{
    ssize_t n = write(STDOUT_FILENO, text, len);

    (void) n; /* a terminal that takes nothing needs nothing */
}

static void enter(void)
{
    struct termios keys = before;

    keys.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    (void) tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    tell(ENTER, strlen(ENTER));
}

static void leave(void)
{
    (void) tcsetattr(STDIN_FILENO, TCSANOW, &before);
    tell(LEAVE, strlen(LEAVE));
}

static void on_end(int number)
{
    (void) number;
    has_ended = 1;
}

static void on_resize(int number)
{
    (void) number; /* it has woken who waits */
}

static void on_stop(int number)
{
    (void) number;
    leave();
    (void) raise(SIGSTOP); /* it comes back here when it goes on */
    enter();
}

static void on_mistake(int number)
{
    if (is_on)
        leave();
    (void) signal(number, SIG_DFL);
    (void) raise(number);
}

/* -- life -- */

static const struct {
    void (*act)(int number);
    int number;
    bool waits; /* it is heard only while somebody waits for a key */
} heard[] = {
    { on_end, SIGINT, true },       { on_end, SIGTERM, true },      { on_end, SIGHUP, true },
    { on_end, SIGQUIT, true },      { on_end, SIGPIPE, true },      { on_resize, SIGWINCH, true },
    { on_stop, SIGTSTP, true },     { on_mistake, SIGSEGV, false }, { on_mistake, SIGBUS, false },
    { on_mistake, SIGABRT, false }, { on_mistake, SIGILL, false },  { on_mistake, SIGFPE, false },
};

static void listen_to_signals(void)
{
    sigset_t waiting;

    sigemptyset(&waiting);
    for (size_t i = 0; i < ARRAY_SIZE(heard); i++) {
        struct sigaction action = { .sa_handler = heard[i].act };

        sigemptyset(&action.sa_mask);
        (void) sigaction(heard[i].number, &action, NULL);
        if (heard[i].waits)
            sigaddset(&waiting, heard[i].number);
    }
    (void) pthread_sigmask(SIG_BLOCK, &waiting, &mask_before);
}

int screen_begin(void)
{
    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return -errno;
    listen_to_signals();
    if (atexit(screen_end) != 0)
        return -ENOMEM;
    is_on = 1;
    enter();
    return 0;
}

void screen_end(void)
{
    if (!is_on)
        return;
    is_on = 0;
    leave();
}

void screen_size(uint32_t *ret_rows, uint32_t *ret_columns)
{
    struct winsize size = { 0 };

    (void) ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_rows = size.ws_row > 0 ? size.ws_row : 24;
    *ret_columns = size.ws_col > 0 ? size.ws_col : 80;
}

/* -- frames -- */

/* How many bytes of a line fit into so many columns. */
static size_t fitting(const char *line, size_t len, uint32_t columns)
{
    mbstate_t state = { 0 };
    uint32_t used = 0;
    size_t at = 0;

    while (at < len) {
        wchar_t c;
        size_t n = mbrtowc(&c, line + at, len - at, &state);
        int width = n == 0 || n > len - at ? 1 : MAX(wcwidth(c), 0);

        if (used + (uint32_t) width > columns)
            break;
        used += (uint32_t) width;
        at += n == 0 || n > len - at ? 1 : n;
    }
    return at;
}

static void draw_line(FILE *out, const char *line, size_t len, uint32_t columns)
{
    const char *alarm = getenv("NO_COLOR") != NULL ? "\033[1m" : "\033[1;31m"; /* bold, and red */
    const char *look = len > 0 && line[0] == SCREEN_HEADING[0] ? "\033[7m"
                       : len > 0 && line[0] == SCREEN_ALARM[0] ? alarm
                                                               : "";
    size_t from = *look != 0;

    fprintf(out, "%s%.*s\033[K%s\n", look, (int) fitting(line + from, len - from, columns), line + from,
            *look != 0 ? "\033[m" : "");
}

void screen_draw(const char *frame)
{
    cleanup(freep) char *text = NULL;
    uint32_t rows, columns;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return;
    screen_size(&rows, &columns);
    fputs("\033[H", out);
    for (uint32_t row = 0; row + 1 < rows && *frame != 0; row++) {
        size_t line = strcspn(frame, "\n");

        draw_line(out, frame, line, columns);
        frame += line + (frame[line] == '\n');
    }
    fputs("\033[J", out);
    if (fclose(out) == 0)
        tell(text, len);
}

void screen_print(const char *frame, FILE *out)
{
    while (*frame != 0) {
        size_t len = strcspn(frame, "\n");
        bool has_look = *frame == SCREEN_HEADING[0] || *frame == SCREEN_ALARM[0];

        fprintf(out, "%.*s\n", (int) (len - has_look), frame + has_look);
        frame += len + (frame[len] == '\n');
    }
}

int screen_wait(uint64_t until)
{
    uint64_t now = clock_ns(), left = until > now ? until - now : 0;
    struct timespec rest = { (time_t) (left / 1000000000), (long) (left % 1000000000) };
    struct pollfd key = { .fd = STDIN_FILENO, .events = POLLIN };
    unsigned char byte;
    int r = ppoll(&key, 1, &rest, &mask_before);

    if (has_ended)
        return SCREEN_END;
    if (r <= 0)
        return SCREEN_NO_KEY;
    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : SCREEN_END;
}

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fallsctl top on a terminal: keys do what they say, and the terminal is as it was however it ends.

top.py FALLSCTL MOUNTPOINT, which has many1 and many2 open
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 30


class Top:
    def __init__(self, rows=40, columns=200):
        self.seen, self.status = b"", None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.environ["ASAN_OPTIONS"] = "detect_leaks=0"  # a look for leaks hangs when its process is stopped meanwhile
            # What was there before is noted by the shell, which the program leaves the terminal to.
            os.execvp("sh", ["sh", "-c", 'stty rows "$3" cols "$4"; stty -g; "$1" top 0.2 "$2"; echo "ended $?"; stty -g; read -r _',
                             "-", sys.argv[1], sys.argv[2], str(rows), str(columns)])

    def read(self, seconds=0.1):
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            self.seen += os.read(self.fd, 65536)
        except OSError:
            return False
        return True

    def frame(self):
        """The last whole frame, without what moves and colours."""
        frames = self.seen.split(b"\033[?1049l")[0].split(b"\033[H")
        whole = [frame for frame in frames[1:] if b"\033[J" in frame]
        return re.sub(rb"\033\[[0-9;?]*[a-zA-Z]", b"", whole[-1]).decode() if whole else ""

    def until(self, what, holds):
        end = time.monotonic() + PATIENCE
        while not holds():
            self.read()
            if time.monotonic() > end:
                sys.exit(f"{what}: not in {PATIENCE} s\n{self.frame()}\n{self.seen[-300:]}")

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def child(self):
        """The process of fallsctl."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def end(self, status):
        self.until(f"an end with {status}", lambda: re.search(rb"ended \d+\r?\n[0-9a-f:]+\r?\n", self.seen))
        before = re.search(rb"([0-9a-f:]{20,})\r?\n", self.seen)[1]
        found, after = re.search(rb"ended (\d+)\r?\n([0-9a-f:]+)\r?\n", self.seen).groups()
        if int(found) != status:
            sys.exit(f"it ended with {int(found)}, not {status}")
        if before != after:
            sys.exit(f"the terminal is not as it was: {before} {after}")
        if self.seen.count(b"\033[?1049h") != self.seen.count(b"\033[?1049l"):
            sys.exit("the screen of before is not back")
        self.press("\n")
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def keys():
    top = Top()
    top.until("open files", lambda: "many1" in top.frame() and "many2" in top.frame())
    top.until("disks", lambda: "DISK" in top.frame())
    top.press("d")
    top.until("no disks", lambda: "DISK" not in top.frame())
    top.press("d")
    top.until("disks again", lambda: "DISK" in top.frame())
    for order in ("calls", "time", "name"):
        top.press("s")
        top.until(f"by {order}", lambda order=order: f"by {order} " in top.frame())
    frame = top.frame()
    if frame.index("many1") > frame.index("many2"):
        sys.exit(f"not by name:\n{frame}")
    top.press("/")
    top.until("a question", lambda: "look for: _" in top.frame())
    top.press("any2q\x7f")
    top.until("what is typed, q too", lambda: "look for: any2_" in top.frame())
    top.press("\r")
    top.until("one file", lambda: "many2" in top.frame() and "many1" not in top.frame() and ", with any2" in top.frame())
    top.press("\033")
    top.until("all files", lambda: "many1" in top.frame())
    top.press("r")
    top.until("no requests", lambda: "OPERATION" not in top.frame())
    fcntl.ioctl(top.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 40, 0, 0))
    top.until("a small window", lambda: len(top.frame().rstrip("\r\n").split("\n")) <= 5)
    if max(len(line.rstrip("\r")) for line in top.frame().split("\n")) > 40:
        sys.exit(f"too wide:\n{top.frame()}")
    top.press("q")
    top.end(0)


def signals():
    for number, status in ((signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGSEGV, 128 + 11), (signal.SIGABRT, 128 + 6)):
        top = Top()
        top.until("a frame", lambda top=top: "DISK" in top.frame())
        os.kill(top.child(), number)
        top.end(status)
    top = Top()
    top.until("a frame", lambda: "DISK" in top.frame())
    top.press("\x03")  # the shell ends with it, too, once fallsctl has
    end = time.monotonic() + PATIENCE
    while top.seen.count(b"\033[?1049l") == 0 and time.monotonic() < end:
        top.read()
    if top.seen.count(b"\033[?1049l") != 1:
        sys.exit("^C: the screen of before is not back")
    os.close(top.fd)
    os.waitpid(top.pid, 0)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def stopped():
    top = Top()
    top.until("a frame", lambda: "DISK" in top.frame())
    child = top.child()
    os.kill(child, signal.SIGTSTP)
    top.until("the screen of before", lambda: b"\033[?1049l" in top.seen)
    if termios.tcgetattr(top.fd)[3] & termios.ICANON == 0:
        sys.exit("stopped: the terminal is not as it was")
    top.until("it stands still", lambda: state(child) == "T")  # before that it would not hear that it may go on
    os.kill(child, signal.SIGCONT)
    top.until("another screen", lambda: top.seen.count(b"\033[?1049h") == 2)
    top.press("q")
    top.end(0)


keys()
signals()
stopped()

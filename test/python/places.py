# SPDX-License-Identifier: MIT
"""Where tests of Python make their files: python.sh sets FALLSFS_TEST_MOUNT, on a mount, and FALLSFS_TEST_PLAIN."""
import os
import shutil
import tempfile
import unittest

MOUNT = os.environ["FALLSFS_TEST_MOUNT"]
PLAIN = os.environ["FALLSFS_TEST_PLAIN"]
FULL = bool(os.environ.get("FALLSFS_FULL"))


def cases(default):
    """How many random cases: ten times as many with FALLSFS_FULL, else as FALLSFS_CASES says."""
    return default * 10 if FULL else int(os.environ.get("FALLSFS_CASES") or default)


class Case(unittest.TestCase):
    """A test with a directory of its own, on the mount unless told, which it works in."""

    top = MOUNT

    def setUp(self):
        self.dir = tempfile.mkdtemp(dir=self.top)
        self.addCleanup(shutil.rmtree, self.dir)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)

    def open_files(self, memory=False):
        """How many descriptors this process has; memory is what it shares with the daemon, also for copies."""
        n = 0
        for fd in os.listdir("/proc/self/fd"):
            path = f"/proc/self/fd/{fd}"
            n += os.path.islink(path) and (os.readlink(path).startswith("/memfd:fallsfs") == memory)
        return n

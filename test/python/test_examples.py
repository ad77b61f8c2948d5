# SPDX-License-Identifier: MIT
"""The examples, run as a user would, beside what numpy has; the transpose with less memory than the matrix takes."""
import os
import resource
import subprocess
import sys
import unittest

import fallsfs
import numpy as np
import places

EXAMPLES = os.path.join(os.path.dirname(__file__), "../../ioctl/client/python/examples")
MIB = 1 << 20


def address_space():
    """Bytes that this program's libraries and arrays take without any of ours."""
    words = "import numpy, fallsfs; print(open('/proc/self/status').read())"
    done = subprocess.run([sys.executable, "-c", words], check=True, capture_output=True, text=True, env=one_thread())
    return int(done.stdout.split("VmPeak:")[1].split()[0]) * 1024


def one_thread():
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


class Limit:
    """Has a program run with so much memory: in a cgroup of its own, v2 or v1, or else with so much more address space
    than Python alone takes."""

    def __init__(self, limit):
        self.limit = limit
        self.folder = None

    def _make(self):
        for top, name in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]:
            folder = os.path.join(top, f"fallsfs-{os.getpid()}")
            try:
                os.mkdir(folder)
            except OSError:
                continue
            try:
                with open(os.path.join(folder, name), "r+", encoding="ascii") as file:
                    file.write(str(self.limit))
                return folder
            except OSError:
                os.rmdir(folder)
        return None

    def __enter__(self):
        self.folder = self._make()
        self.space = None if self.folder else address_space() + self.limit
        return self

    def enter(self):
        if self.folder:
            with open(os.path.join(self.folder, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
        else:
            resource.setrlimit(resource.RLIMIT_AS, (self.space, self.space))

    def __exit__(self, *_error):
        if self.folder:
            os.rmdir(self.folder)


class Examples(places.Case):
    def example(self, name, *words, before=None):
        done = subprocess.run(
            [sys.executable, "-W", "error", os.path.join(EXAMPLES, name), *words],
            capture_output=True,
            text=True,
            env=one_thread(),
            preexec_fn=before,
            timeout=600,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_transpose(self):
        for order in "CF":
            a = fallsfs.create("a", (300, 1000), "i4", order, overwrite=True)
            a[...] = np.arange(a.size).reshape(a.shape)
            said = self.example("transpose.py", "--memory", "300K", "a", "b")
            self.assertIn("1000 x 300", said)
            self.assertTrue((fallsfs.open("b")[...] == a[...].T).all())
            os.unlink("b")

    def test_transpose_of_more_than_memory(self):
        """96 MiB of it, with 72 in all, of which the program itself takes some 30."""
        n = 3548
        a = fallsfs.create("a", (n, n), "f8")
        for slab in a.slabs(write=True):
            slab.data[...] = np.arange(slab.index[0].start, slab.index[0].stop)[:, None] * n + np.arange(n)
        with Limit(72 * MIB) as limit:
            self.assertGreater(a.nbytes, limit.limit)
            with self.subTest("all of it at once does not fit"):
                self.assertNotEqual(self.whole("a", limit), 0)
            self.example("transpose.py", "--memory", "24M", "a", "b", before=limit.enter)
        b = fallsfs.open("b")
        for slab in b.slabs():
            self.assertTrue((slab.data[:, ::7] == a[::7, slab.index[0]].T).all())

    @staticmethod
    def whole(path, limit):
        words = f"import fallsfs; a = fallsfs.open({path!r})[...]; a += 1"
        return subprocess.run([sys.executable, "-c", words], capture_output=True, env=one_thread(), check=False,
                              preexec_fn=limit.enter).returncode

    def test_stencil(self):
        for processes, shape, memory in [(1, (9, 5, 6), "64M"), (3, (20, 7, 8), "64K"), (4, (5, 3, 3), "1M")]:
            a = fallsfs.create("field", shape, "f8", overwrite=True)
            field = np.random.default_rng(1).random(shape)
            a[...] = field
            a.close()
            steps = 2 + processes % 2
            self.example("stencil.py", "--steps", str(steps), "--processes", str(processes), "--memory", memory, "field")
            for _ in range(steps):
                after = field.copy()
                after[1:-1, 1:-1, 1:-1] = (
                    field[:-2, 1:-1, 1:-1] + field[2:, 1:-1, 1:-1] + field[1:-1, :-2, 1:-1]
                    + field[1:-1, 2:, 1:-1] + field[1:-1, 1:-1, :-2] + field[1:-1, 1:-1, 2:]
                ) / 6
                field = after
            self.assertTrue(np.allclose(fallsfs.open("field")[...], field, rtol=1e-13))
            self.assertEqual(os.listdir("."), ["field"])

    def test_statistics(self):
        a = fallsfs.create("a", (50, 60, 70), "f4")
        a[...] = np.random.default_rng(1).random(a.shape) + 5
        for section, index in [("", np.s_[:]), ("::10, 10:40, ::3", np.s_[::10, 10:40, ::3]), ("3, ::7", np.s_[3, ::7]),
                               ("-1", np.s_[-1:]), ("5:5", np.s_[5:5])]:
            lines = self.example("section_statistics.py", "--memory", "40K", "a", section).splitlines()
            said = dict(line.split() for line in lines)
            want = a[index].astype("f8")
            self.assertEqual(int(said["n"]), want.size)
            if want.size > 0:
                got = [float(said[name]) for name in ["mean", "deviation", "least", "most"]]
                self.assertTrue(np.allclose(got, [want.mean(), want.std(), want.min(), want.max()], rtol=1e-6), said)


class ExamplesOffTheMount(Examples):
    top = places.PLAIN
    test_transpose_of_more_than_memory = None  # what the file system keeps of the files would be limited, too


if __name__ == "__main__":
    unittest.main()

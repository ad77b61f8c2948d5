# SPDX-License-Identifier: MIT
"""Arrays walked slab by slab are the arrays: random walks beside numpy, on a mount and off it."""
import gc
import os
import random
import unittest

import fallsfs
import numpy as np
import places


def random_array(rng, path, shape):
    a = fallsfs.create(path, shape, rng.choice(["u1", "i4", "f8"]), rng.choice("CF"), rng.choice([0, 24]))
    a[...] = np.arange(a.size).reshape(shape) % 251
    return a, a[...]


class Slabs(places.Case):
    def walk(self, seed):
        """Reads with a halo what it then writes, in place or into another array."""
        rng = random.Random(seed)
        shape = tuple(rng.randint(1, 9) for _ in range(rng.randint(1, 4)))
        axis = rng.randrange(len(shape))
        a, content = random_array(rng, f"a{seed}", shape)
        below, above = rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1, 3])
        row = a.nbytes // shape[axis]
        how = dict(axis=axis, memory=rng.choice(["64M", 8 * a.nbytes + 16 * row + 4096]), prefetch=rng.randint(0, 3))
        halo = [(0, 0)] * len(shape)
        halo[axis] = (below, above)
        if rng.random() < 0.3:
            how["tile"] = [rng.randint(1, n) if rng.random() < 0.5 else 0 for n in shape]
            how["memory"] = 1 << 20
            halo = [rng.choice([(0, 0), (1, 2)]) for _ in shape]
        seen = np.zeros(shape, int)
        in_place = rng.random() < 0.5
        b = None if in_place else fallsfs.create(f"b{seed}", shape, "i8", rng.choice("CF"))
        if in_place:
            walk = a.slabs(halo=halo, write=True, **how)
            pairs = ((slab, slab) for slab in walk)
        else:
            walk = fallsfs.slabs(a, b, access=("r", "w"), halo=halo, **how)
            pairs = walk
        for old, new in pairs:
            around = tuple(slice(max(part.start - low, 0), part.stop + high)
                           for part, (low, high) in zip(old.index, halo))
            self.assertEqual(old.data.tolist(), content[around].tolist())
            self.assertEqual(old.inner.tolist(), content[old.index].tolist())
            self.assertEqual(new.index, old.index)
            seen[old.index] += 1
            new.inner[...] = old.inner + 1
            if in_place and old.data.size > old.inner.size:
                old.data[...] = old.inner.flat[0]
                new.inner[...] = content[old.index] + 1
        self.assertEqual((seen.min(), seen.max()), (1, 1))
        self.assertEqual(walk.stats["bytes_read"], a.nbytes)
        self.assertEqual(walk.stats["bytes_written"], a.nbytes if in_place else b.nbytes)
        want = content + 1 if in_place else content.astype("i8") + 1
        self.assertEqual((a if in_place else b)[...].tolist(), want.tolist())
        walk.close()

    def test_random_walks(self):
        seeds = [int(os.environ["FALLSFS_SEED"])] if "FALLSFS_SEED" in os.environ else range(places.cases(150))
        for seed in seeds:
            with self.subTest(seed=seed):
                self.walk(seed)

    def test_what_is_looked_at_stays(self):
        a = fallsfs.create("a", (64, 8), "i8")
        gc.collect()
        n = self.open_files(memory=True)
        walk = a.slabs(memory="4K")
        kept = next(walk).data[1:]
        walk.close()
        walk.close()
        del walk
        gc.collect()
        self.assertGreater(self.open_files(memory=True), n)
        kept += 1
        with self.assertRaises(StopIteration):
            walk = a.slabs()
            walk.close()
            next(walk)
        del kept, walk
        gc.collect()
        self.assertEqual(self.open_files(memory=True), n)

    def test_left_early(self):
        a = fallsfs.create("a", (64, 8), "i8")
        with a.slabs(memory="4K", write=True) as walk:
            for slab in walk:
                slab.data[...] = 1
                if slab.index[0].start > 20:
                    break
            del slab
        self.assertEqual(a[:20].tolist(), [[1] * 8] * 20)
        self.assertFalse(a[40:].any())

    def test_errors_of_writing_are_told(self):
        fallsfs.create("a", (64, 8), "i8")
        a = fallsfs.open("a", mode="r")
        with self.assertRaisesRegex(OSError, "O_RDWR"):
            for slab in a.slabs(memory="4K", write=True):
                slab.data[...] = 1

    def test_what_makes_no_sense(self):
        a = fallsfs.create("a", (64, 8), "i8")
        b = fallsfs.create("b", (64, 9), "i8")
        for call in [
            lambda: fallsfs.slabs(a, b),
            lambda: fallsfs.slabs(),
            lambda: fallsfs.slabs(a, access="x"),
            lambda: a.slabs(axis=2),
            lambda: a.slabs(halo=-1),
            lambda: a.slabs(halo=[1, 2, 3]),
            lambda: a.slabs(memory="1X"),
        ]:
            with self.assertRaises(ValueError):
                call()
        with self.assertRaisesRegex(OSError, "walk takes"):
            a.slabs(memory=1)
        self.assertEqual(list(fallsfs.create("c", (0, 3), "i4").slabs()), [])

    def test_a_number_of_a_halo_is_that_of_each_axis_that_is_cut(self):
        a = fallsfs.create("a", (20, 30, 5), "i4")
        a[...] = np.arange(a.size).reshape(a.shape)
        content = a[...]
        for halo, how, want in [
            (1, dict(tile=(10, 10, 5)), [(1, 1), (1, 1), (0, 0)]),
            ((0, 2), dict(tile=(0, 10, 0)), [(0, 2), (0, 2), (0, 0)]),
            (1, dict(tile=(0, 10, 0), axis=1), [(0, 0), (1, 1), (0, 0)]),
            (1, dict(axis=1, memory="8K"), [(0, 0), (1, 1), (0, 0)]),
            ([0, (1, 0), 0], dict(tile=(10, 10, 5)), [(0, 0), (1, 0), (0, 0)]),
        ]:
            with self.subTest(halo=halo, how=how):
                for slab in a.slabs(halo=halo, **how):
                    around = tuple(slice(max(part.start - low, 0), part.stop + high)
                                   for part, (low, high) in zip(slab.index, want))
                    self.assertEqual(slab.data.tolist(), content[around].tolist())

        def work(team):
            with team.group(a) as g:
                slab = next(g.slabs(halo=1, grid=(1, 2, 1), tile=(20, 15, 5)))
                return slab.data.shape

        self.assertEqual(fallsfs.run(work, 2), [(20, 16, 5)] * 2)

    def test_numbers_are_whole_and_have_room(self):
        a = fallsfs.create("a", (64, 8), "i8")
        for error, wrong in [
            (ValueError, dict(halo=2**70)),
            (ValueError, dict(halo=(1,))),
            (ValueError, dict(halo=(1, 2, 3))),
            (ValueError, dict(halo=((1, 2), (3, 4)))),
            (ValueError, dict(halo=[1])),
            (ValueError, dict(halo=[(1, -2), 0])),
            (TypeError, dict(halo="x")),
            (TypeError, dict(halo=1.0)),
            (ValueError, dict(tile=(5, 2**70))),
            (ValueError, dict(tile=(5, -1))),
            (ValueError, dict(tile=(5,))),
            (ValueError, dict(tile=(5, 5, 5))),
            (TypeError, dict(tile=5)),
            (TypeError, dict(tile=(5, 1.5))),
            (ValueError, dict(memory=-1)),
            (ValueError, dict(memory=2**64)),
            (ValueError, dict(memory="-5")),
            (ValueError, dict(memory="")),
            (TypeError, dict(memory=None)),
            (ValueError, dict(prefetch=-1)),
            (ValueError, dict(prefetch=2**40)),
            (TypeError, dict(axis=1.0)),
        ]:
            with self.subTest(wrong=wrong), self.assertRaises(error) as caught:
                a.slabs(**wrong)
            self.assertNotIn("ctypes", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "no ndarray"):
            fallsfs.slabs(np.zeros((64, 8)))
        for size in ["-5", "x", "1.5M", -1, 2**64, "99999999T"]:
            with self.assertRaises(ValueError):
                fallsfs.parse_size(size)

    def test_a_childs_copy_is_no_walk(self):
        a = fallsfs.create("a", (64, 8), "i8")
        a[...] = np.arange(512).reshape(64, 8)
        walk = a.slabs(memory="4K")
        rows = next(walk).data.tolist()
        if (pid := os.fork()) == 0:
            status = 1
            try:
                next(walk)
            except PermissionError as error:
                walk.close()
                status = 0 if "belongs to" in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        for slab in walk:
            rows += slab.data.tolist()
        self.assertEqual(rows, a[...].tolist())

    def test_in_a_group(self):
        a = fallsfs.create("a", (10, 7), "i4")
        a[...] = np.arange(70).reshape(10, 7)
        b = fallsfs.create("b", (10, 7), "i4")

        def work(team):
            n = 0
            with team.group(a) as old, team.group(b) as new:
                for x, y in fallsfs.slabs(old, new, access=("r", "w"), halo=1, memory=1024):
                    above = np.vstack([np.zeros((int(x.index[0].start == 0), 7), "i4"), x.data])[: len(x.inner)]
                    y.data[...] = above
                    n += 1
                return n

        rounds = fallsfs.run(work, 3)
        self.assertEqual(len(set(rounds)), 1)
        self.assertEqual(b[...].tolist(), [[0] * 7] + np.arange(63).reshape(9, 7).tolist())


class SlabsOffTheMount(Slabs):
    top = places.PLAIN


if __name__ == "__main__":
    unittest.main()

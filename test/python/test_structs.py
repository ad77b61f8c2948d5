# SPDX-License-Identifier: MIT
"""Structures and numbers that Python knows are those of the headers: structs.c, compiled, says what these are."""
import ctypes
import os
import subprocess
import unittest

from fallsfs import _c, _group, _slabs


class Range(ctypes.Structure):
    """What pack_section writes for each axis."""

    _fields_ = [("lower", ctypes.c_uint64), ("upper", ctypes.c_uint64), ("stride", ctypes.c_uint64)]


class Structs(unittest.TestCase):
    said = subprocess.run([os.environ["FALLSFS_TEST_STRUCTS"]], check=True, capture_output=True, text=True).stdout

    def test_every_field_lies_where_the_compiler_has_it(self):
        wanted = {tuple(line.split()) for line in self.said.splitlines() if " = " not in line}
        known = {"Array": _c.Array, "Range": Range, "Hints": _c.Hints, "Piece": _c.Piece, "List": _c.List,
                 "Stats": _c.Stats, "SlabsArray": _c.SlabsArray, "SlabsWalk": _c.SlabsWalk, "Slab": _c.Slab,
                 "SlabsStats": _c.SlabsStats}
        here = set()
        for name, struct in known.items():
            here.add((name, "-", "0", str(ctypes.sizeof(struct))))
            for field, *_ in struct._fields_:
                at = getattr(struct, field)
                here.add((name, field, str(at.offset), str(at.size)))
        self.assertEqual(here ^ wanted, set())
        self.assertGreater(len(here), 40)

    def test_sections_are_packed_as_the_ranges_are(self):
        packed = _c.pack_section([(2, 3, 4), (5, 1, 0)])
        ranges = (Range * 2).from_buffer_copy(packed)
        self.assertEqual([(r.lower, r.upper, r.stride) for r in ranges], [(2, 11, 3), (1, 0, 1)])

    def test_numbers(self):
        here = {"ROW": _c.ROW, "COLUMN": _c.COLUMN, "MAX_DIMS": _c.MAX_DIMS,
                "TYPE_SIZE": _c.TYPE_SIZE, "SIZE_UNKNOWN": _c.SIZE_UNKNOWN,
                "NO_TIMEOUT": _group._NO_TIMEOUT, "NO_PREFETCH": _slabs._NO_PREFETCH}
        here.update({f"ACCESS.{word}": n for word, n in _slabs._ACCESS.items()})
        here.update({f"DOMAINS.{word}": n for word, n in _group._DOMAINS.items() if n > 0})
        here.update({f"SIEVE.{word}": n for word, n in _group._SIEVE.items()})
        wanted = dict(line.split(" = ") for line in self.said.splitlines() if " = " in line)
        self.assertEqual({name: str(n) for name, n in here.items()}, wanted)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: MIT
# Several processes read and write a file and views of it: views.py MOUNT SEED STEPS
#
# One process after the other does what a random sequence says, through descriptors of its own; the oracle is a bytearray
# and, for each view, the list of its bytes. Then all write their own view at the same time, again and again.
import mmap
import multiprocessing
import os
import random
import sys

mount, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
path = os.path.join(mount, f'random-{seed}')
LIMIT = 1 << 17


def stripes(unit, n, element, disp=0):
    text = f'stripe({unit},{n}) disp {disp} element {element}'
    return text, lambda x: x >= disp and (x - disp) // unit % n == element


def columns(rows, width, n, element):
    each = width // n
    return (f'array(shape={rows}x{width}, dist=(*,block), grid=1x{n}) element {element}',
            lambda x: x % width // each == element)


VIEWS = [
    stripes(1, 2, 0), stripes(1, 2, 1), stripes(7, 3, 1, 11), stripes(4096, 4, 2), stripes(65536, 2, 1),
    columns(64, 1024, 4, 3), columns(100, 60, 3, 0), stripes(65536, 3, 0), stripes(30000, 2, 0, 5),
]


class Part:
    def __init__(self, name, has):
        self.name = name
        self.path = path if has is None else os.path.join(mount, '.falls/views', os.path.basename(path), name)
        self.bytes = [x for x in range(2 * LIMIT) if has is None or has(x)]
        self.is_file = has is None


def fail(what):
    print(f'seed {seed}: {what}')
    sys.exit(1)


def check(part, model, what):
    want = bytes(model[x] for x in part.bytes if x < len(model))
    with open(part.path, 'rb') as f:
        got = f.read()
    if got != want:
        at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        fail(f'{what}: {part.name} differs at {at}, {len(got)} bytes of {len(want)}')
    if os.stat(part.path).st_size != len(want):
        fail(f'{what}: {part.name} has size {os.stat(part.path).st_size}, not {len(want)}')


def write(part, model, fd):
    room = sum(1 for x in part.bytes if x < LIMIT)
    off = rng.randrange(room)
    data = rng.randbytes(min(rng.choice([1, 10, 1000, 20000, 150000]), room - off))
    if os.pwrite(fd, data, off) != len(data):
        fail(f'a short write to {part.name}')
    last = part.bytes[off + len(data) - 1]
    if last >= len(model):
        model.extend(bytes(last + 1 - len(model)))
    for i, b in enumerate(data):
        model[part.bytes[off + i]] = b
    return f'{len(data)} bytes at {off} of {part.name}'


def read(part, model, fd):
    size = sum(1 for x in part.bytes if x < len(model))
    off = rng.randrange(size + 10)
    n = rng.choice([1, 100, 5000, 200000])
    want = bytes(model[x] for x in part.bytes[off:off + n] if x < len(model))
    if os.pread(fd, n, off) != want:
        fail(f'read of {n} bytes at {off} of {part.name}')
    if os.lseek(fd, 0, os.SEEK_END) != size:
        fail(f'{part.name} ends at {os.lseek(fd, 0, os.SEEK_END)}, not {size}')
    return None


def resize(part, model, fd):
    now = sum(1 for x in part.bytes if x < len(model))
    size = rng.randrange(now, now + 5000)
    if not part.is_file and size > now:
        os.ftruncate(fd, size)
        model.extend(bytes(part.bytes[size - 1] + 1 - len(model)))
    elif part.is_file:
        size = rng.randrange(LIMIT)
        os.ftruncate(fd, size)
        del model[size:]
        model.extend(bytes(size - len(model)))
    return f'{part.name} resized to {size}'


def mapped(part, model, fd):
    size = sum(1 for x in part.bytes if x < len(model))
    if size == 0:
        return None
    try:
        memory = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError:
        return None  # an old kernel
    off = rng.randrange(size)
    data = rng.randbytes(min(300, size - off))
    if memory[:] != bytes(model[x] for x in part.bytes if x < len(model)):
        fail(f'{part.name} is mapped otherwise')
    memory[off:off + len(data)] = data
    memory.flush()
    memory.close()
    for i, b in enumerate(data):
        model[part.bytes[off + i]] = b
    return f'{len(data)} bytes at {off} of {part.name}, mapped'


def one_after_the_other():
    model = bytearray(rng.randbytes(rng.randrange(LIMIT)))
    with open(path, 'wb') as f:
        f.write(model)
    parts = [Part('the file', None)]
    for i in rng.sample(range(len(VIEWS)), 4):
        text, has = VIEWS[i]
        os.setxattr(path, f'user.falls.view.v{i}', text.encode())
        parts.append(Part(f'v{i}', has))
    fds = {part.name: os.open(part.path, os.O_RDWR) for part in parts}
    for _ in range(steps):
        part = rng.choice(parts)
        what = rng.choices([write, read, resize, mapped], [10, 10, 1, 2])[0](part, model, fds[part.name])
        if what is not None:
            for other in parts:
                check(other, model, what)
    for fd in fds.values():
        os.close(fd)
    for part in parts:
        check(part, model, 'after all')


def write_own(element, n, rounds):
    view = os.path.join(mount, '.falls/views', os.path.basename(path), f'part{element}')
    fd = os.open(view, os.O_RDWR)
    mine = random.Random(seed + element)
    model = bytearray(50000)
    for _ in range(rounds):
        off = mine.randrange(len(model))
        data = mine.randbytes(min(mine.choice([1, 100, 20000]), len(model) - off))
        os.pwrite(fd, data, off)
        model[off:off + len(data)] = data
        off = mine.randrange(len(model))
        if os.pread(fd, 1000, off) != model[off:off + 1000]:
            fail(f'process {element} does not read what it has written at {off}')
    if os.pread(fd, len(model), 0) != model:
        fail(f'process {element} does not read what it has written')


def all_at_once():
    n = 4
    os.truncate(path, n * 50000)
    for unit in (5, 5000):
        for element in range(n):
            os.setxattr(path, f'user.falls.view.part{element}', f'stripe({unit},{n}) element {element}'.encode())
        with open(path, 'r+b') as f:
            f.write(bytes(n * 50000))
        members = [multiprocessing.Process(target=write_own, args=(i, n, 100)) for i in range(n)]
        for member in members:
            member.start()
        for member in members:
            member.join()
            if member.exitcode != 0:
                fail('a process has failed')


one_after_the_other()
all_at_once()
os.unlink(path)

# SPDX-License-Identifier: MIT
# Files that lose their names: gone.py MOUNT PLAIN SECONDS
#
# What somebody holds by an O_PATH descriptor is what he has looked up and not opened yet. On a plain directory first,
# which shows that the checks are right.
import errno
import multiprocessing
import os
import sys
import time

mount, plain, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])


def put(name, data):
    with open(name, 'wb') as f:
        f.write(data)


def content(fd):
    with open(f'/proc/self/fd/{fd}', 'rb') as f:
        return f.read()


# The name goes between the look-up and the open.
def open_late(data, replaces):
    put('f', data)
    held = os.open('f', os.O_PATH)
    if replaces:
        put('new', b'another')
        os.rename('new', 'f')
    else:
        os.unlink('f')
    assert content(held) == data, 'what was looked up is another file now'
    assert os.fstat(held).st_nlink == 0
    with open(f'/proc/self/fd/{held}', 'r+b') as f:
        f.seek(len(data))
        f.write(b' and more')
        f.flush()
        os.fsync(f.fileno())
    assert content(held) == data + b' and more', 'what was written is gone'
    os.truncate(f'/proc/self/fd/{held}', 3)
    assert content(held) == (data + b' and more')[:3]
    os.close(held)
    if replaces:
        with open('f', 'rb') as f:
            assert f.read() == b'another'
        os.unlink('f')


def read_busily(stop, n_opened, errors):
    while not stop.value:
        try:
            with open('busy', 'rb') as f:
                data = f.read()
            assert data == bytes(len(data)), 'half a file'
        except OSError as e:
            errors.put(errno.errorcode[e.errno])
        n_opened.value += 1


# Replaced in quick succession beside readers, who always find one or the other.
def replace_busily():
    stop, errors = multiprocessing.Value('b', 0), multiprocessing.Queue()
    opened = [multiprocessing.Value('l', 0) for _ in range(3)]
    put('busy', b'')
    readers = [multiprocessing.Process(target=read_busily, args=(stop, n, errors)) for n in opened]
    for reader in readers:
        reader.start()
    end, n_replaced = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        put('new', bytes(n_replaced % 3 * 40000))
        os.rename('new', 'busy')
        n_replaced += 1
    stop.value = 1
    for reader in readers:
        reader.join()
        assert reader.exitcode == 0
    print(f'{n_replaced} times replaced, {sum(n.value for n in opened)} times opened')
    assert errors.empty(), f'open fails: {errors.get()}'
    os.unlink('busy')


for where in plain, mount:
    os.chdir(where)
    for data in b'', b'bytes that are somewhere', bytes(300000):
        for replaces in False, True:
            open_late(data, replaces)
os.chdir(mount)
replace_busily()

# SPDX-License-Identifier: MIT
# File handles: handles.py save LIST PATH..., handles.py open LIST MOUNT
#
# save writes down the handle of each path and what that is; open tells what each handle leads to now: "same", "stale",
# or "OTHER", which must never be.
import ctypes
import errno
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)


class Handle(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint), ('type', ctypes.c_int), ('bytes', ctypes.c_ubyte * 128)]


def handle_of(path):
    handle, mount = Handle(size=128), ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount), 0) != 0:
        raise OSError(ctypes.get_errno(), 'name_to_handle_at', path)
    return f'{handle.type} {bytes(handle.bytes[:handle.size]).hex()}'


def open_handle(mount, text):
    type_, data = text.split()
    data = bytes.fromhex(data)
    handle = Handle(size=len(data), type=int(type_))
    ctypes.memmove(handle.bytes, data, len(data))
    fd = libc.open_by_handle_at(mount, ctypes.byref(handle), os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'open_by_handle_at')
    return fd


def is_dir(st):
    return st.st_mode & 0o170000 == 0o040000


# What nothing else is: a file's bytes, which name it here, and the number of what has none.
def identity(fd):
    st = os.fstat(fd)
    return f'{st.st_mode:o} ' + (str(st.st_ino) if is_dir(st) else os.pread(fd, 100, 0).hex() or str(st.st_ino))


def save(list_, paths):
    with open(list_, 'w') as out:
        for path in paths:
            fd = os.open(path, os.O_RDONLY)
            print(handle_of(path), identity(fd), path, sep='\t', file=out)
            os.close(fd)


def look(mount, line):
    handle, was, _ = line.rstrip('\n').split('\t')
    try:
        fd = open_handle(mount, handle)
    except OSError as e:
        return 'stale' if e.errno == errno.ESTALE else errno.errorcode[e.errno]
    found = identity(fd)
    os.close(fd)
    return 'same' if found == was else f'OTHER: {found}, not {was}'


if sys.argv[1] == 'save':
    save(sys.argv[2], sys.argv[3:])
else:
    mount = os.open(sys.argv[3], os.O_RDONLY)
    with open(sys.argv[2]) as lines:
        for line in lines:
            print(line.rstrip('\n').split('\t')[2].removeprefix(sys.argv[3] + '/'), look(mount, line))

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Disks that are full, of the volume's files or of somebody else's, and disks that become read-only under a mount: what
# was there stays, what needs them fails, all else goes on. room.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"

blocks=$(dirname "$0")/blocks.py
head -c 49152 /dev/urandom >"$work/src"
head -c 49152 /dev/urandom >"$work/other"

# A letter for each 4 KiB of $work/src as $mnt/f has them.
look() {
    timeout 30 python3 "$blocks" "$mnt/${1:-f}" "${2:-$work/src}"
}

# -- full disks --

# full_volume SIZE...: disks on file systems of so many MiB
full_volume() {
    local i=0 size
    for path in "$work"/d[0-9]*; do
        umount "$path" 2>/dev/null
    done
    rm -rf "$work"/d[0-9]*
    disks=()
    for size in "$@"; do
        rm -f "$work/image$i"
        truncate -s "${size}M" "$work/image$i"
        mkfs.ext4 -q -m 0 "$work/image$i"
        mkdir "$work/d$i"
        mount -o loop,errors=remount-ro "$work/image$i" "$work/d$i" || die 'cannot mount a file system of its own'
        disks+=("$work/d$i")
        i=$((i + 1))
    done
    "$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
}

cat >"$work/fill.py" <<'EOT'
"""Fills the mount, then checks that exactly what was written is there; removes; does it again."""
import errno, os, random, sys, time
os.chdir(sys.argv[1])
rng = random.Random(int(sys.argv[2]))

def fill(name, sync):
    model = bytearray()
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    while True:
        data = rng.randbytes(rng.choice([100, 5000, 70000, 1 << 20]))
        try:
            n = os.write(fd, data)
        except OSError as e:
            assert e.errno == errno.ENOSPC, e
            break
        model += data[:n]
        if sync:
            try:
                os.fsync(fd)
            except OSError as e:
                assert e.errno == errno.ENOSPC, e
    return fd, model

def check(fd, model, what):
    size = os.fstat(fd).st_size
    assert size == len(model), f"{what}: size {size}, written {len(model)}"
    got = os.pread(fd, size + 1, 0)
    while len(got) < size:
        more = os.pread(fd, size, len(got))
        assert more, f"{what}: ends at {len(got)}"
        got += more
    if got != model:
        at = next(i for i in range(size) if got[i] != model[i])
        raise AssertionError(f"{what}: differs at {at}")

least = int(sys.argv[3])
for turn in range(2):
    free = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
    fd, model = fill("big", turn == 1)
    assert len(model) > least, f"full with {len(model)} bytes"
    assert len(model) > free * 0.8, f"df promised {free}, there was room for {len(model)}"
    left = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize if least > 8000000 else 0
    assert left < 2 << 20, f"full, and df says {left} are free"
    check(fd, model, "full")
    try:
        os.pwrite(fd, b"x" * 2000000, len(model) + 5000)
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
    else:
        model = bytearray(os.pread(fd, 1 << 30, 0)) if os.fstat(fd).st_size < 1 << 30 else model
    size = os.fstat(fd).st_size
    os.ftruncate(fd, size + 3000000)
    tail = os.pread(fd, 3000000, size)
    assert not any(tail), f"old bytes behind the end, at {size + next(i for i in range(len(tail)) if tail[i])}"
    os.ftruncate(fd, len(model) - 12345)
    del model[-12345:]
    check(fd, model, "cut")
    os.pwrite(fd, b"over", 1000)
    model[1000:1004] = b"over"
    check(fd, model, "written over")
    os.close(fd)
    names = 0
    try:
        while names < 5000:
            os.close(os.open(f"n{names}", os.O_CREAT | os.O_WRONLY))
            names += 1
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
    for i in range(names):
        os.unlink(f"n{i}")
    fd = os.open("big", os.O_RDWR)
    check(fd, model, "later")
    os.close(fd)
    os.unlink("big")
    for _ in range(200): # the last close may reach the daemon after the unlink
        got = os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
        if got > free * 0.95:
            break
        time.sleep(0.05)
    assert got > free * 0.95, f"free before {free}, after removing {got}"
EOT
for layout in 'stripe(64K)' 'stripe(1000,3)' one 'stripe(1M)'; do
    full_volume 16 16 16
    start -o "layout=$layout"
    least=$([ "$layout" = one ] && echo 8000000 || echo 20000000)
    ok "full, $layout" timeout 120 python3 "$work/fill.py" "$mnt" 1 "$least"
    stop
done
full_volume 32 16 32
start -o 'layout=stripe(64K)'
avail() {
    stat -f -c '%a * %S / 1048576' "$1" | bc
}
mkdir "$mnt/small"
setfattr -n user.falls.layout -v 'one on d1' "$mnt/small" || fail 'a directory takes a layout'
ok 'what a file there can take is what its disk has' [ "$(avail "$mnt/small")" -lt 16 ]
ok 'elsewhere it is what all have' [ "$(avail "$mnt")" -gt 30 ]
rmdir "$mnt/small"
ok 'one of three is full' timeout 120 python3 "$work/fill.py" "$mnt" 2 20000000
dd if=/dev/zero of="$mnt/rest" bs=1M 2>/dev/null
ok 'what is there can be read when all is full' cmp -n "$(stat -c %s "$mnt/rest")" "$mnt/rest" /dev/zero
stop
start
ok 'a full volume mounts, and files can be removed' rm "$mnt/rest"
ok 'and written' cp "$work/src" "$mnt/f"
same 'the file' "$(look)" oooooooooooo
stop

# A full disk is nothing to files on others, also with a layout that nobody had before.
full_volume 32 16 32
dd if=/dev/zero of="$work/d1/theirs" bs=64K 2>/dev/null
start
ok 'a new layout beside a full disk' "$fallsctl" create -L 'stripe(12K) on d0,d2' "$mnt/beside"
ok 'holds bytes' cp "$work/src" "$mnt/beside"
stop

# Files start on any disk: what is promised must hold wherever this one does.
full_volume 32 16 48
for layout in one 'stripe(64K,2)' 'var(1M,2M,3M)'; do
    start -o "layout=$layout"
    for ((i = 0; i < 6; i++)); do
        promised=$(stat -f -c '%a * %S' "$mnt" | bc)
        dd if=/dev/zero of="$mnt/f" bs=64K 2>/dev/null
        ok "one file of $layout takes what df says" [ "$(stat -c %s "$mnt/f")" -ge $((promised * 9 / 10)) ]
        rm "$mnt/f"
    done
    stop
done

# -- the home disk is full of what is not ours --

# Leaves no block of disk $1 free.
stuff() {
    dd if=/dev/zero of="$work/d$1/theirs" bs=1M 2>/dev/null
    while printf x >"$work/d$1/theirs$RANDOM$RANDOM"; do :; done 2>/dev/null
    sync -f "$work/d$1"
}

cat >"$work/crammed.py" <<'EOT'
"""What must work on files that are there, however full the home disk is."""
import errno, os, sys
os.chdir(sys.argv[1])

def read(name):
    with open(name, "rb") as f:
        return f.read()

for i in range(1000): # what a directory has room for
    try:
        os.mkdir(f"dir{i}")
    except OSError as e:
        assert e.errno == errno.ENOSPC, e
        break
else:
    raise AssertionError("the disk is not full")
fd = os.open("a", os.O_RDWR)
os.pwrite(fd, b"A" * 100000, 0)
os.fsync(fd)
os.ftruncate(fd, 50000)
os.fsync(fd)
os.close(fd)
assert read("a") == b"A" * 50000
os.rename("a", "b")
assert not os.path.exists("a") and read("b") == b"A" * 50000
os.rename("b", "a")
os.unlink("c")
os.chmod("d", 0o600)
os.utime("d", (1, 1))
os.truncate("d", 0)
assert os.stat("d").st_size == 0
os.unlink("d")
for i in range(1500):
    os.unlink(f"many/{i}")
os.rmdir("many")
EOT
full_volume 16 32
start -o 'layout=one on d1'
for name in a b c d; do
    head -c 100000 "$work/src" >"$mnt/$name"
done
mkdir "$mnt/many"
for ((i = 0; i < 1500; i++)); do
    echo "$i" >"$mnt/many/$i"
done
restart -o 'layout=one on d1'
stuff 0
ok 'a full home disk' timeout 60 python3 "$work/crammed.py" "$mnt"
stuff 0
ok 'status says so' sh -c "'$fallsctl' status '$mnt' | grep -q 'action: disk d0 is full'"
restart -o 'layout=one on d1'
same 'a volume mounts with a full home disk' "$(stat -c %s "$mnt/a")" 50000
crash
stuff 0
start -o 'layout=one on d1'
same 'and after a crash' "$(stat -c %s "$mnt/a")" 50000
rm -f "$work"/d0/theirs*
ok 'with room all works again' sh -c "mkdir '$mnt/dir' && cp '$work/src' '$mnt/dir/f'"
same 'what was written then' "$(look dir/f)" oooooooooooo
stop

# -- a disk becomes read-only --

# Its file system finds an error, as it would when the disk fails.
break_disk() {
    echo 'a test' >"/sys/fs/ext4/$(basename "$(findmnt -no SOURCE "$work/d$1")")/trigger_fs_error"
}

full_volume 16 16
start -o 'layout=one on d0'
cp "$work/src" "$mnt/f0"
restart -o 'layout=one on d1'
cp "$work/src" "$mnt/f1"
cp "$work/src" "$mnt/cut"
sync "$mnt"/* "$mnt"
not 'a disk in use cannot be made read-only by hand' mount -o remount,ro "$work/d1"
if ! break_disk 1 2>/dev/null; then
    echo 'skipped: this kernel lets nobody break a file system'
    finish
fi
same 'what is on a read-only disk can be read' "$(look f1)" oooooooooooo
exec 3<>"$mnt/f1"
not 'but not written' dd if="$work/other" of="$mnt/f1" bs=4096 count=1 conv=notrunc
not 'nor synced' dd if="$work/other" of="$mnt/f1" bs=4096 count=1 conv=notrunc,fsync
not 'nor anything new be made there' sh -c "echo x >'$mnt/new'"
not 'nor cut' truncate -s 4096 "$mnt/cut"
exec 3>&-
same 'and it stays as it was' "$(look f1) $(stat -c %s "$mnt/f1")" 'oooooooooooo 49152'
ok 'what is to be cut can be read' cmp -n 4096 "$mnt/cut" "$work/src"
ok 'files on other disks are written' dd if="$work/other" of="$mnt/f0" bs=49152 count=1 conv=notrunc,fsync
same 'and read' "$(look f0 "$work/other")" oooooooooooo
ok 'names change' sh -c "mkdir '$mnt/dir' && mv '$mnt/f0' '$mnt/dir/f0'"
same 'status says so' "$("$fallsctl" status --json "$mnt" | jq -c '[.volumes[0].disks[].state]')" '["online","read-only"]'
ok 'and what to do' sh -c "'$fallsctl' status '$mnt' | grep -q 'action: disk d1 is read-only: dmesg'"
rm "$mnt/new"
umount "$mnt"
reap "$daemon"
daemon=
umount "$work/d1"
e2fsck -fy "$work/image1" >/dev/null 2>&1
mount -o loop,errors=remount-ro "$work/image1" "$work/d1"
start -o 'layout=one on d1'
same 'once it is mounted again, all is there' "$(look f1) $(look dir/f0 "$work/other")" 'oooooooooooo oooooooooooo'
ok 'and cut or not' cmp -n 4096 "$mnt/cut" "$work/src"
ok 'what was cut does not come back' sh -c "[ \$(stat -c %s '$mnt/cut') = 49152 ] || { truncate -s 20000 '$mnt/cut' && cmp -n 15904 -i 4096:0 '$mnt/cut' /dev/zero; }"
ok 'and can be written' dd if="$work/other" of="$mnt/f1" bs=49152 count=1 conv=notrunc,fsync
same 'as was written' "$(look f1 "$work/other")" oooooooooooo
break_disk 0
same 'with the home disk read-only, files are read' "$(look f1 "$work/other") $(look dir/f0 "$work/other")" \
    'oooooooooooo oooooooooooo'
same 'and names' "$(cd "$mnt" && echo *)" 'cut dir f1'
not 'nothing is made' mkdir "$mnt/new"
not 'nothing is removed' rm "$mnt/f1"
same 'all is still there' "$(look f1 "$work/other")" oooooooooooo
umount "$mnt"
reap "$daemon"
daemon=
finish

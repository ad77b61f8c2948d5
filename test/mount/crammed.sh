#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Replicas and second copies on disks that become full: a replica makes room, a copy is the user's, nothing is lost.
# crammed.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/images.sh"
fsck=$3
ext4_size=32M

# fill DIRECTORY: files of 1 MiB until there is no room, each with an fsync; prints how many. Any other error is told.
fill() {
    python3 - "$1" <<'PYTHON'
import errno, os, sys
os.makedirs(sys.argv[1], exist_ok=True)
n = 0
while True:
    path = f"{sys.argv[1]}/{n}"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT)
        try:
            data, done = bytes([n % 255 + 1]) * (1 << 20), 0
            while done < len(data):
                done += os.write(fd, data[done:])
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as e:
        if e.errno != errno.ENOSPC:
            print(path, e)
        break
    n += 1
print(n)
PYTHON
}

# filled DIRECTORY N: all that fill has done is there
filled() {
    python3 - "$1" "$2" <<'PYTHON'
import sys
for n in range(int(sys.argv[2])):
    if open(f"{sys.argv[1]}/{n}", "rb").read() != bytes([n % 255 + 1]) * (1 << 20):
        sys.exit(f"{n} is not what it was")
PYTHON
}

# overwrite DIRECTORY N: takes no more room
overwrite() {
    python3 - "$1" "$2" <<'PYTHON'
import os, sys
for n in range(int(sys.argv[2])):
    fd = os.open(f"{sys.argv[1]}/{n}", os.O_WRONLY)
    assert os.pwrite(fd, bytes([n % 255 + 1]) * 100000, 300000) == 100000
    os.fsync(fd)
PYTHON
}

# -- replicas that are no copies --
for policy in drop update; do
    make_disks ext4 ext4 ext4
    start -o 'layout=stripe(64K)'
    if [ "$policy" = drop ]; then
        n_alone=$(fill "$mnt/full")
        rm -r "$mnt/full"
    fi
    head -c 12000000 /dev/urandom >"$work/src"
    cp "$work/src" "$mnt/file"
    ok "replicas, $policy" "$fallsctl" replica add --wait --on-write "$policy" -L 'stripe(4K)' "$mnt/file"
    ok 'another' "$fallsctl" replica add --wait --on-write "$policy" -L 'stripe(1000)' "$mnt/file"
    n=$(fill "$mnt/full")
    ok "replicas make room, $policy: $n files, $n_alone without them" test "$n" -ge $((n_alone - 12 - 8))
    ok 'what was written is there' filled "$mnt/full" "$n"
    ok 'and the file' cmp "$work/src" "$mnt/file"
    ok 'a replica more is no harm' sh -c '"$1" replica add -L "stripe(64)" "$2" || true' sh "$fallsctl" "$mnt/file"
    ok 'writes where there are bytes are not refused' overwrite "$mnt/full" "$n"
    stop
    start
    ok 'all is there' filled "$mnt/full" "$n"
    ok 'all of it' cmp "$work/src" "$mnt/file"
    ok 'it can be removed' rm -r "$mnt/full"
    stop
    ok "fsck, $policy" "$fsck" -n "${disks[@]}"
    remove_disks
done

# -- copies --
make_disks ext4 ext4 ext4
start -o 'layout=stripe(64K) copies 2'
n=$(fill "$mnt/full")
ok "files with copies: $n" test "$n" -gt 20
ok 'what was written is there' filled "$mnt/full" "$n"
ok 'writes where there are bytes are not refused' overwrite "$mnt/full" "$n"
not 'more is' dd if=/dev/zero of="$mnt/more" bs=1M count=30 conv=fsync
crash
umount -l "$mnt"
lose_disk 2
start -o ro,degraded
ok 'all is there without a disk' filled "$mnt/full" "$n"
stop
bring_back 2
start -o 'layout=stripe(64K) copies 2'
ok 'all is there' filled "$mnt/full" "$n"
rm -f "$mnt/more" "$mnt/full/0" "$mnt/full/1" "$mnt/full/$n"
ok 'there is room again' test "$(fill "$mnt/again")" -gt 0
stop
ok fsck "$fsck" -n "${disks[@]}"
remove_disks
finish

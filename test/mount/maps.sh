#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bits flip in the maps of replicas, on both disks: no wrong byte is ever read, and files become whole again. maps.sh
# FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/crash.sh"
fsck=$3
cycles=$(cycles 6 500)
first=${FALLSFS_SEED:-1}

# flip SEED: some bits of each map, or bytes of its end, or all of it
flip() {
    python3 - "$1" "$work"/d*/.fallsfs/obj/*/*.r <<'PYTHON'
import os, random, sys
random.seed(int(sys.argv[1]))
which = random.choice(["both", "one", "cut", "gone"])
for path in sys.argv[2:]:
    if which != "both" and random.random() < 0.5:
        continue
    data = bytearray(open(path, "rb").read())
    if which == "gone":
        os.unlink(path)
        continue
    if which == "cut":
        del data[random.randrange(len(data)):]
    else:
        for _ in range(random.choice([1, 3, 50])):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    open(path, "wb").write(data)
PYTHON
}

all_there() {
    local name
    for name in one two three; do
        cmp "$work/$name" "$mnt/$name" || return 1
    done
}

# Changes some bytes of each file, on the mount and beside it.
change() {
    python3 - "$1" "$work" "$mnt" <<'PYTHON'
import os, random, sys
random.seed(int(sys.argv[1]))
for name in "one", "two", "three":
    fds = [os.open(f"{top}/{name}", os.O_WRONLY) for top in sys.argv[2:]]
    for _ in range(5):
        data, at = os.urandom(random.choice([10, 5000, 300000])), random.randrange(3 << 20)
        for fd in fds:
            assert os.pwrite(fd, data, at) == len(data)
    os.fsync(fds[1])
PYTHON
}

# Whether each replica has all of its file.
are_whole() {
    local name
    for name in one two three; do
        "$fallsctl" replica list --json "$mnt/$name" |
            jq -e '[.. | objects | select(has("has") and has("bytes")) | .has == .bytes] | length > 0 and all' >/dev/null || return 1
    done
}

repairs() {
    "$fsck" -y "${disks[@]}" || [ $? = 1 ]
}

make_volume 4
start -o 'direct_io,layout=stripe(64K) copies 2'
for name in one two three; do
    head -c 3500000 /dev/urandom >"$work/$name"
    cp "$work/$name" "$mnt/$name"
done
ok 'a replica' "$fallsctl" replica add --wait --on-write update -L 'stripe(4K)' "$mnt/one" "$mnt/two"
ok 'another' "$fallsctl" replica add --wait -L 'one' "$mnt/one"
for ((cycle = first; cycle < first + cycles; cycle++)); do
    [ $((cycle % 2)) = 0 ] || ok 'files change' change "$cycle"
    if [ $((cycle % 3)) = 0 ]; then
        crash
        umount -l "$mnt"
    else
        stop
    fi
    flip "$cycle"
    start -o 'direct_io,layout=stripe(64K) copies 2'
    ok "all is there, FALLSFS_SEED=$cycle" all_there
    ok "files change, FALLSFS_SEED=$cycle" change "$((cycle + 1000))"
    ok "what was written is there, FALLSFS_SEED=$cycle" all_there
    [ "$n_failed" = 0 ] || break
done
ok 'they are whole again' await 60 are_whole
stop
disks=("$work/d0" "$work/d1" "$work/d3")
start -o ro,degraded
ok 'all is there without a disk' all_there
stop
disks=("$work/d0" "$work/d1" "$work/d2" "$work/d3")
# Where no map has a whole head any more nobody knows which replicas there were, but for the second copy.
same 'fsck' "$("$fsck" -n "${disks[@]}" | grep -vE 'orphan: its file has no such replica|can be repaired with')" ''
ok 'it takes them away' repairs
ok 'all is well then' "$fsck" -n "${disks[@]}"
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that lose their names while somebody looks them up: they can be opened all the same, and go when the kernel has
# forgotten them. Nobody waits for their space, nor for the kernel. gone.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"

gone=$(dirname "$0")/gone.py

leftovers() {
    find "$work/d0/.fallsfs/todo" -mindepth 1
    find "$work"/d*/.fallsfs/obj -type f
}

# hold FILE: by an O_PATH descriptor, until $holder is killed
hold() {
    rm -f "$work/held"
    python3 -c 'import os, sys, time
fd = os.open(sys.argv[1], os.O_PATH)
open(sys.argv[2], "w").close()
time.sleep(60)' "$1" "$work/held" &
    holder=$!
    await 10 test -e "$work/held" || die 'nobody holds the file'
}

let_go() {
    kill -9 "$holder"
    wait "$holder" 2>/dev/null
}

mkdir "$work/plain"
for options in layout='stripe(4K)' layout='stripe(4K)',direct_io; do
    make_volume 2
    start -o "$options"
    ok "looked up, then without a name, $options" timeout 60 python3 "$gone" "$mnt" "$work/plain" 2
    same 'nothing of them stays' "$(left_soon)" ''
    stop
done

# -- space --

rm -rf "$work"/d[0-9]*
disks=("$work/d0" "$work/d1")
for i in 0 1; do
    truncate -s 32M "$work/image$i"
    mkfs.ext4 -q -m 0 "$work/image$i"
    mkdir "$work/d$i"
    mount -o loop "$work/image$i" "$work/d$i" || die 'cannot mount a file system of its own'
done
"$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
start
# Whoever makes a file finds it on both disks, full or not.
setfattr -n user.falls.layout -v 'stripe(64K) on d0,d1' "$mnt" || fail 'the mount takes a layout'
dd if=/dev/zero of="$mnt/f" bs=1M 2>/dev/null
full=$(stat -c %s "$mnt/f")
fits=$((full * 95 / 100 / 1048576))
for how in 'rm "$1/f"' ': >"$1/f"; rm "$1/f"' 'exec 3<"$1/f"; rm "$1/f"; exec 3<&-' ': >"$1/new"; mv "$1/new" "$1/f"' 'sync "$1/f"; rm "$1/f"'; do
    for i in 1 2 3; do
        [ "$i" != 2 ] || sync "$mnt/f"
        ok "removed, and written at once: $how" sh -c "$how; dd if=/dev/zero of=\"\$1/f\" bs=1M count=$fits" sh "$mnt"
    done
done
hold "$mnt/f"
rm "$mnt/f"
begun=$(date +%s%N)
not 'what somebody holds takes room' dd if=/dev/zero of="$mnt/g" bs=1M count="$fits"
for i in 1 2 3 4 5; do
    not 'still' dd if=/dev/zero of="$mnt/g" bs=1M count="$fits"
done
took=$((($(date +%s%N) - begun) / 1000000))
ok "and who finds no room waits a moment for it, once ($took ms)" [ "$took" -lt 5000 ]
rm "$mnt/g"
let_go
ok 'then there is room' dd if=/dev/zero of="$mnt/g" bs=1M count="$fits"
rm "$mnt/g"
same 'which comes back' "$(left_soon)" ''

# -- the end --
# needs: space

for how in 'umount -l' kill; do
    for name in f synced; do
        head -c 300000 /dev/urandom >"$mnt/$name"
    done
    sync "$mnt/synced"
    hold "$mnt/f"
    first=$holder
    hold "$mnt/synced"
    rm "$mnt/f" "$mnt/synced"
    same 'what is held is there' "$(find "$work/d0/.fallsfs/todo" -mindepth 1 | wc -l)" 2
    if [ "$how" = kill ]; then
        kill "$daemon"
    else
        umount -l "$mnt"
        ok 'whose daemon is known to be there' sh -c "'$fallsctl' status ${disks[*]} | grep -q ' in use, by a daemon '"
        kill -9 "$first"
        let_go
    fi
    begun=$(date +%s%N)
    reap "$daemon"
    same "it ends well, by $how" $? 0
    ok 'at once' [ $((($(date +%s%N) - begun) / 1000000)) -lt 3000 ]
    [ "$how" != kill ] || { kill -9 "$first" && let_go; }
    same 'and leaves nothing' "$(leftovers)" ''
    start
done

# -- a crash --

head -c 300000 /dev/urandom >"$mnt/f"
sync "$mnt/f"
hold "$mnt/f"
rm "$mnt/f"
crash
umount -l "$mnt"
let_go
start
same 'after a crash the next mount removes it' "$(left_soon)" ''
finish

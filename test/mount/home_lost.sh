#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemon is killed and the home disk lost at once: fsck.fallsfs --home-lost brings back every file with copies 2 whole.
# home_lost.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/crash.sh"
fsck=$3

# write NAME BYTES: random bytes beside the mount and on it, where an fsync confirms them
write() {
    head -c "$2" /dev/urandom >"$work/kept/$1"
    dd if="$work/kept/$1" of="$mnt/dir/$1" bs=64K conv=fsync status=none
}

# On the home disk lie elements of most files, their headers, and all that the last one has.
make_volume 3
start
mkdir "$mnt/dir" "$work/kept"
for layout in 'stripe(64K)' 'stripe(64K) disp 100' 'var(1000,70000)' 'one on d0,d1'; do
    ok "files get $layout" "$fallsctl" layout set -L "$layout copies 2" "$mnt/dir"
    ok 'a file' write "${layout%% *}-$RANDOM" 900000
    ok 'a short one' write "${layout%% *}-short-$RANDOM" 10
done
ok 'a link' ln "$(find "$mnt/dir" -name '*short*' | head -n 1)" "$mnt/link"
crash
umount -l "$mnt"
rm -rf "$work/d0"
mkdir "$work/d0"
not 'without its home disk it does not mount' "$fallsfs" "${disks[@]}" "$mnt"
"$fsck" --home-lost -y "${disks[@]}" >"$work/said" || true
ok 'nothing is left to repair' "$fsck" -n "${disks[@]}"
start
ok 'all is there' diff -r "$work/kept" "$mnt/dir"
# Layouts of directories are lost with the home disk: files that are new now have one copy.
ok 'files are written' write "$(basename "$(find "$mnt/dir" -name 'stripe*' -not -name '*short*' | head -n 1)")" 200000
# What was on the new home disk is on two disks again.
whole() {
    local file
    for file in "$mnt"/dir/*; do
        "$fallsctl" replica list --json "$file" |
            jq -e '[.. | objects | select(has("has") and has("bytes")) | .has == .bytes] | length > 0 and all' >/dev/null || return 1
    done
}
ok 'second copies are whole' await 60 whole
stop
disks=("$work/d0" "$work/d2")
start -o ro,degraded
ok 'all is there without another disk' diff -r "$work/kept" "$mnt/dir"
finish

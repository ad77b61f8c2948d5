#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Copies of records go with their files, however quickly those come and go: copies.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

objects() {
    find "$work"/d*/.fallsfs/obj -type f
}

# Nothing is left, once what goes on in the background is over.
nothing_left() {
    has_none() {
        [ -z "$(objects)" ]
    }
    await 5 has_none && return
    objects
    return 1
}

# The first bytes of a file often go with the home disk, and then the second ones tell where its copy is.
rewrite_and_remove() {
    local i
    for ((i = 0; i < 40; i++)); do
        head -c 150000 /dev/zero >"$mnt/f$i"
        head -c $((i % 2 * 90000 + 10)) /dev/zero >"$mnt/f$i"
        rm "$mnt/f$i"
    done
}

overwrite_and_remove() {
    local end=$((SECONDS + 3)) i
    while ((SECONDS < end)); do
        for i in 1 2 3; do
            head -c $((i * 50000)) /dev/zero >"$mnt/new"
            mv "$mnt/new" "$mnt/f"
            truncate -s 20 "$mnt/f"
            printf x | dd of="$mnt/f" bs=1 seek=200000 conv=notrunc status=none
        done
        rm "$mnt/f"
    done
}

make_volume 4
start -o 'layout=stripe(64K)'
ok 'files are written, written anew and removed' rewrite_and_remove
ok 'nothing is left of them' nothing_left
for job in 1 2 3; do
    mkdir "$mnt/$job"
    (mnt=$mnt/$job overwrite_and_remove) &
    pids[job]=$!
done
wait "${pids[@]}"
ok 'nothing is left of files that were overwritten, cut and removed' nothing_left
head -c 150000 /dev/zero >"$mnt/kept"
stop
same 'at the end there is what is needed' "$(find "$work"/d*/.fallsfs/obj -type f -name '*.m' | wc -l)" 1
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemon is killed under writers, and a disk is lost at the same moment: with copies 2 all that an fsync had confirmed
# is there. survive.sh FALLSFS FALLSCTL FSCK CLIENT
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/crash.sh"
source "$(dirname "$0")/images.sh"
fsck=$3
client=$4
cycles=$(cycles 10 100)
layouts=('stripe(64K) copies 2' 'one copies 2' 'stripe(7,3) copies 2' 'stripe(4K) disp 100 copies 2')
first=${FALLSFS_SEED:-1}

# What no fsync had confirmed may be lost: that is told by 3, and there are zeros in its place.
extract() {
    "$fallsctl" extract -r --partial -o "$work/rescued" "${disks[@]}" "$1" || [ $? = 3 ]
}

# one_life CYCLE LAYOUT: each second one writes on where the one before was killed
one_life() {
    local cycle=$1 layout=$2 lost busy
    local dir=c$((cycle / 2)) record=$work/record$((cycle / 2))
    RANDOM=$cycle
    start -o "layout=$layout"
    mkdir -p "$mnt/$dir"
    sync -f "$mnt/$dir"
    rm -f "$record.busy"
    "$client" write "$mnt/$dir" "$record" "$cycle" &
    busy=$!
    await 60 test -e "$record.busy" || die 'the writers do not write'
    sleep "0.$((RANDOM % 400 + 100))"
    crash
    wait "$busy"
    umount -l "$mnt"
    lost=$((1 + RANDOM % (${#types[@]} - 1)))
    lose_disk "$lost"
    start -o ro,degraded
    ok "without d$lost, $layout, FALLSFS_SEED=$cycle" "$client" check "$mnt/$dir" "$record"
    stop
    ok "extracted without d$lost" extract "$dir"
    ok "what was extracted, $layout, FALLSFS_SEED=$cycle" "$client" check "$work/rescued" "$record"
    rm -rf "$work/rescued"
    bring_back "$lost"
    start
    ok "with all disks, $layout, FALLSFS_SEED=$cycle" "$client" check "$mnt/$dir" "$record"
    if [ $((cycle % 2)) = 1 ]; then
        ok 'it can be removed' rm -r "${mnt:?}/$dir"
    fi
    stop
    ok "fsck, FALLSFS_SEED=$cycle" "$fsck" -n "${disks[@]}"
}

make_disks ext4 ext4 xfs ext4
for ((cycle = first; cycle < first + cycles; cycle++)); do
    one_life "$cycle" "${layouts[cycle / 2 % ${#layouts[@]}]}"
    [ "$n_failed" = 0 ] || break
done
remove_disks
finish

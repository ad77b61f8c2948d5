#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What programs expect of a POSIX file system: the same checks on a plain directory, which shows that they are right,
# and on the mount; a matrix of rights, compared between both. posix.sh FALLSFS FALLSCTL CHECKS RIGHTS
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
checks=$3
rights=$4

leftovers() {
    find "$work/d0/.fallsfs/ns" "$work/d0/.fallsfs/todo" "$work/d0/.fallsfs/tmp" -mindepth 1
    find "$work"/d*/.fallsfs/obj -type f
}

mkdir -m 755 "$work/plain" "$work/plain/rights"
ok 'the checks themselves, on a plain directory' "$checks" "$work/plain"
ok 'rights on a plain directory' sh -c "'$rights' '$work/plain/rights' >'$work/rights.plain'"

for options in 'layout=stripe(4K)' 'layout=stripe(7,2) disp 1000' 'layout=stripe(4K),direct_io'; do
    make_volume 3
    start -o "$options"
    ok "checks, $options" "$checks" "$mnt"
    same "subfiles and names that belong to nothing, $options" "$(leftovers | head)" ''
    stop
done

start
mkdir -m 755 "$mnt/rights"
ok 'rights on the mount' sh -c "'$rights' '$mnt/rights' >'$work/rights.mount'"
same 'who may do what' "$(diff "$work/rights.mount" "$work/rights.plain" | head -20)" ''
finish

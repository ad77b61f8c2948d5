#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 of the daemon while processes write, many times; then everything is removed, and nothing may be left on the
# disks: kill.sh FALLSFS FALLSCTL CLIENT
source "$(dirname "$0")/common.sh"
client=$3

cycles=500
[ -z "${FALLSFS_FULL:-}" ] || cycles=20000

make_volume 3
ok "kill -9 $cycles times" "$client" "$cycles" "$fallsfs" "$mnt" "${disks[@]}"
cp "$work/out" "$log"
check_log
start
ok 'everything can be removed' find "$mnt" -mindepth 1 -delete
stop
same 'subfiles that belong to nothing' "$(find "$work"/d*/.fallsfs/obj -type f | head)" ''
same 'names that belong to nothing' "$(find "$work"/d*/.fallsfs/{tmp,todo,ns} -mindepth 1 2>/dev/null | head)" ''
finish

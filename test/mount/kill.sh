#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 of the daemon while processes write, many times; then everything is removed, and nothing may be left on the
# disks: kill.sh FALLSFS FALLSCTL CLIENT
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
client=$3

# FALLSFS_CASES counts cases that cost microseconds.
cycles=${FALLSFS_MOUNT_CASES:-$([ -n "${FALLSFS_FULL:-}" ] && echo 20000 || echo 500)}

make_volume 3
ok "kill -9 $cycles times" env FALLSFS_CASES="$cycles" "$client" "$fallsfs" "$mnt" "${disks[@]}"
cp "$work/out" "$log"
check_log
start
ok 'everything can be removed' find "$mnt" -mindepth 1 -delete
stop
# A copy of a record may outlive its file when the daemon dies while it is written: it names no bytes, and fsck takes it.
same 'subfiles that belong to nothing' "$(find "$work"/d*/.fallsfs/obj -type f ! -name '*.m' ! -name '*.m.new' | head)" ''
same 'names that belong to nothing' "$(find "$work"/d*/.fallsfs/{tmp,todo,ns} -mindepth 1 2>/dev/null | head)" ''
finish

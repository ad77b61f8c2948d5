#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Disks lose what their file systems had not made durable, many times, while processes write; then everything is removed,
# and nothing may be left: shutdown.sh FALLSFS FALLSCTL FSCK CLIENT. The disks are ext4 and XFS in files, made to stop at
# once by an ioctl both have for such tests.
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/crash.sh"
source "$(dirname "$0")/images.sh"
fsck=$3
client=$4
cycles=$(cycles 150 2000)

run() {
    make_disks "$@"
    crash_often "$cycles times, $*" "$cycles" "$client" "${arguments[@]}"
    remove_all "$*"
    # a disk may have kept subfiles and layouts of a file of which the home disk has lost the name
    "$fsck" -y --json "${disks[@]}" >"$work/findings"
    [ $? -le 1 ] || fail "fsck could not repair all: $(cat "$work/findings")"
    same "what fsck found, $*" "$(jq -r '.findings[].kind' "$work/findings" | sort -u | grep -vxE 'orphan|unused')" ''
    ok "it has, $*" "$fsck" "${disks[@]}"
    same "subfiles that belong to nothing, $*" "$(find "$work"/d*/.fallsfs/obj -type f | head)" ''
    remove_disks
}

run ext4 ext4 ext4
run xfs ext4 xfs
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 of the daemon while groups write, many times: killed.sh FALLSFS FALLSCTL CLIENT
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
client=$3

# FALLSFS_CASES counts cases that cost microseconds.
cycles=${FALLSFS_MOUNT_CASES:-$([ -n "${FALLSFS_FULL:-}" ] && echo 20000 || echo 400)}

make_volume 3
ok "kill -9 $cycles times" env FALLSFS_CASES="$cycles" "$client" "$fallsfs" "$mnt" "${disks[@]}"
cp "$work/out" "$log"
check_log
finish

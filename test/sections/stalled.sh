#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Groups without a deadline, and a disk that is slow, or does not answer: stalled.sh FALLSFS FALLSCTL CLIENT
# The third disk is a directory in another fallsfs, whose daemon the client stops.
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
client=$3
timeout=3

make_volume_with_inner
start -o "timeout=$timeout,layout=stripe(64K)"
ok 'work goes on as long as disks do' timeout 300 "$client" "$mnt" "$inner" $((timeout * 1000))
cat "$work/out"
kill -CONT "$inner"
stop
umount "$work/inner/mnt"
reap "$inner" || fail 'the inner daemon did not end well'
finish

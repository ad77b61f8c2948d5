#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemon is asked to end while groups are at work and mapped files are written back: ended.sh FALLSFS FALLSCTL CLIENT
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
client=$3
times=${FALLSFS_MOUNT_CASES:-$([ -n "${FALLSFS_FULL:-}" ] && echo 1000 || echo 15)}

make_volume 3
for ((n = 0; n < times && n_failed == 0; n++)); do
    case $((n % 3)) in
    0) start -o 'layout=stripe(64K)' ;;
    1) start -o 'layout=stripe(64K),threads=4' ;;
    2) start -s -o 'layout=stripe(64K)' ;;
    esac
    : >"$work/said"
    timeout 60 "$client" "$mnt" >"$work/said" 2>&1 &
    pid=$!
    await 10 grep -q ready "$work/said"
    sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
    kill "-$([ $((n % 2)) = 0 ] && echo TERM || echo HUP)" "$daemon"
    reap "$daemon"
    same 'it ends well' "$?" 0
    check_log
    daemon=
    wait "$pid"
    same 'they are told' "$? $(cat "$work/said")" '0 ready'
    umount "$mnt" 2>/dev/null
done
finish

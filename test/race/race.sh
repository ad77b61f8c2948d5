#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything at once under ThreadSanitizer: race.sh FALLSFS FALLSCTL CLIENT, the first two built with it. FALLSFS_SECONDS
# is how long, in each of some layouts.
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/../mount/common.sh"
client=$3
seconds=${FALLSFS_SECONDS:-$([ -n "${FALLSFS_FULL:-}" ] && echo 600 || echo 6)}
export TSAN_OPTIONS="second_deadlock_stack=1 halt_on_error=0 exitcode=66" # no report of libfuse, so far, is false

if ! grep -q __tsan_init "$fallsfs"; then
    echo 'not built with -DFALLSFS_SANITIZE=thread'
    exit 2
fi
for options in 'layout=stripe(4K)' 'layout=stripe(7,2),direct_io' 'layout=stripe(64K),timeout=2'; do
    make_volume 3
    start -o "$options"
    ok "everything at once, $options" timeout $((seconds + 120)) "$client" "$mnt" 8 "$seconds"
    ok "all can be removed, $options" find "$mnt" -mindepth 1 -delete
    same "as it should be, $options" "$(ls -A "$mnt")" ''
    stop
    [ "$n_failed" = 0 ] || break
done
finish

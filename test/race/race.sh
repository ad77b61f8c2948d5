#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything at once under ThreadSanitizer: race.sh FALLSFS FALLSCTL CLIENT SECTIONS CHECKS MIGRATOR, the first two built
# with it.
# FALLSFS_SECONDS is how long, in each of some layouts, and with groups.
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/../mount/common.sh"
client=$3
sections=$4
checks=$5
migrator=$6
seconds=${FALLSFS_SECONDS:-$([ -n "${FALLSFS_FULL:-}" ] && echo 600 || echo 6)}
here=$(cd "$(dirname "$0")" && pwd)
# No report of libfuse, so far, is false.
export TSAN_OPTIONS="second_deadlock_stack=1 halt_on_error=0 exitcode=66 suppressions=$here/suppressions print_suppressions=0"

if ! grep -q __tsan_init "$fallsfs"; then
    echo 'not built with -DFALLSFS_SANITIZE=thread'
    exit 2
fi
for options in 'layout=stripe(4K)' 'layout=stripe(7,2),direct_io' 'layout=stripe(64K),timeout=2'; do
    make_volume 3
    start -o "$options"
    "$migrator" "$mnt" 1 >/dev/null 2>&1 & # files get other layouts meanwhile
    migrating=$!
    rm -rf "$work/joins" "$work/enough"
    mkdir "$work/joins"
    while [ ! -e "$work/enough" ]; do # and a disk comes and goes
        "$fallsctl" disk add "$mnt" "$work/joins"
        "$fallsctl" disk drain "$mnt" "$work/joins"
    done >"$work/changes" 2>&1 &
    changing=$!
    while [ ! -e "$work/enough" ]; do # and accesses are traced, and are not
        setfattr -n user.falls.trace -v 'start every' "$mnt"
        cat "$mnt/.falls/trace" >/dev/null
        setfattr -n user.falls.trace -v stop "$mnt"
    done >/dev/null 2>&1 &
    tracing=$!
    ok "everything at once, $options" timeout $((seconds + 120)) "$client" "$mnt" 8 "$seconds"
    : >"$work/enough"
    kill "$migrating"
    wait "$migrating" "$changing" "$tracing"
    ok "a disk came, $options" grep -q 'has joined' "$work/changes"
    "$fallsctl" disk drain "$mnt" "$work/joins" >>"$work/changes" 2>&1 # where it was too busy to go
    ok "and went, $options" grep -q 'has left the volume' "$work/changes"
    ok "all can be removed, $options" find "$mnt" -mindepth 1 -delete
    same "as it should be, $options" "$(ls -A "$mnt")" ''
    stop
    [ "$n_failed" = 0 ] || break
done

# Groups, what reads and writes beside them, and deaths in every state.
make_volume 3
printf 'limits = { groups = 64; };' >"$work/conf" # which the checks reach
start -c "$work/conf" -o 'layout=stripe(4K)'
# Of short runs: bytes of long ones are moved for so long that those of two programs meet.
"$migrator" "$mnt" 2 'stripe(4K,2)' 'stripe(7)' 'stripe(1000) disp 100' pause resume cancel >/dev/null 2>&1 &
migrating=$!
setfattr -n user.falls.trace -v start "$mnt"
ok 'groups and others' timeout $((seconds + 120)) "$sections" "$mnt" "$seconds"
kill "$migrating"
wait "$migrating"
ok 'which are traced' sh -c "cat '$mnt/.falls/trace' | grep -c TRC"
ok 'checks of groups' timeout 300 env FALLSFS_CASES=20 "$checks" "$mnt"
stop
finish

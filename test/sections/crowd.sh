#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several groups of one file at once, and others beside them, in several layouts: crowd.sh FALLSFS FALLSCTL CLIENT
# MIGRATOR
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
client=$3
migrator=$4

# FALLSFS_CASES counts cases that cost microseconds.
cases=1200
! grep -q __asan_init "$fallsfs" || cases=200
[ -z "${FALLSFS_FULL:-}" ] || cases=$((cases * 50))
cases=${FALLSFS_MOUNT_CASES:-$cases}

first=1
for options in 'layout=stripe(4K)' 'layout=stripe(7) disp 100,direct_io' 'layout=var(1000,9000,5000)' \
    'layout=array(shape=64x128\, elem=4\, dist=(block\,cyclic(8))\, grid=2x2)'; do
    make_volume 3
    start -o "$options"
    ok "a crowd, $options" env FALLSFS_FIRST=$first FALLSFS_CASES=$((cases / 4)) timeout 3600 "$client" "$mnt"
    first=$((first + cases / 4))
    stop
done

make_volume 3
start -o 'layout=stripe(4K)'
"$migrator" "$mnt" 1 >"$work/migrated" &
migrating=$!
ok 'a crowd, while the file gets other layouts' \
    env FALLSFS_FIRST=$first FALLSFS_CASES=$((cases / 4)) timeout 3600 "$client" "$mnt"
kill "$migrating"
wait "$migrating"
ok 'it got some' test "$(cat "$work/migrated")" -ge 10
stop
finish

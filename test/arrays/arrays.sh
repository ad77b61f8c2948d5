#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Slabs and PASSION's calls on a mount: arrays.sh FALLSFS FALLSCTL SLABS PASSION GROUPS CHECKS
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
slabs=$3
passion=$4
groups=$5
checks=$6
# Of the cases that --full has elsewhere a mount would have to serve each several hundred times.
unset FALLSFS_CASES
cases=${FALLSFS_MOUNT_CASES:-${FALLSFS_FULL:+3000}}
[ -z "$cases" ] || export FALLSFS_CASES="$cases"

# -- beside a model --
for options in 'layout=stripe(4K)' 'layout=stripe(7) disp 100,direct_io'; do
    make_volume 3
    start -o "$options"
    ok "slabs, $options" timeout 3000 "$slabs" "$mnt"
    ok "passion, $options" timeout 3000 "$passion" "$mnt"
    ok "groups, $options" timeout 3000 "$groups" "$mnt"
    ok "checks, $options" timeout 3000 "$checks" "$mnt"
    stop
done

# -- on a disk, without a mount --
mkdir "$work/plain"
ok 'checks on a disk' timeout 3000 "$checks" "$work/plain"
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Random operations on the mount and on a plain directory, in many layouts: ops_equal.sh FALLSFS FALLSCTL CLIENT
# FALLSFS_LAYOUT, FALLSFS_DISKS, FALLSFS_CHURN: one of them alone.
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/churn.sh"
client=$3

# FALLSFS_CASES counts cases that cost microseconds.
cases=${FALLSFS_MOUNT_CASES:-$([ -n "${FALLSFS_FULL:-}" ] && echo 1000 || echo 20)}

# tree_of DIR [FOLLOWED]: what stat tells of everything below. What is counted of replicas later moves ctime.
tree_of() {
    find "$1" -mindepth 1 -printf "%P %y %m %n %U %G %T@ $([ -n "${2:-}" ] || echo %C@) %l\n" | sort
    find "$1" -type f -printf '%P %s\n' | sort
}

n_tried=0

# try N-DISKS PROCESSES LAYOUT [CHURNED]: other cases for each, unless they are asked for; replicas come and go meanwhile
try() {
    local n=$1 processes=$2 layout=$3 churned=${4:-} before first followed
    n_tried=$((n_tried + 1))
    followed=$churned$([[ $layout != *copies* ]] || echo copies)
    first=${FALLSFS_FIRST:-$((n_tried * 100000))}
    make_volume "$n"
    rm -rf "$work/plain"
    mkdir -m 755 "$work/plain"
    start -o "layout=$layout"
    [ -z "$churned" ] || churn_start
    ok "operations, $layout on $n disks" env ${followed:+OPS_MIGRATE=1} FALLSFS_CASES="$cases" FALLSFS_FIRST="$first" "$client" run "$mnt" "$work/plain" "$processes"
    ok "shared file, $layout on $n disks" "$client" share "$mnt" "$work/plain" 3
    [ -z "$churned" ] || churn_stop
    before=$(tree_of "$mnt" "$followed")
    restart -o "layout=$layout"
    same "stat after a remount, $layout on $n disks" "$(diff <(echo "$before") <(tree_of "$mnt" "$followed") | head -20)" ''
    ok "everything after a remount, $layout on $n disks" "$client" check "$mnt" "$work/plain"
    stop
}

if [ -n "${FALLSFS_LAYOUT:-}" ]; then
    try "${FALLSFS_DISKS:-3}" 1 "$FALLSFS_LAYOUT" "${FALLSFS_CHURN:-}"
    finish
fi
try 1 1 'stripe(1M)'
try 2 1 'stripe(1)'
try 4 1 'stripe(7,3)'
try 2 3 'stripe(4K,2)'
try 3 1 'stripe(64K)'
try 4 3 'stripe(1M)'
try 8 1 'stripe(4M)'
try 3 1 one
try 4 1 'array(shape=100x100, elem=8, dist=(block,cyclic(3)), grid=2x2)'
try 8 1 'array(shape=31x17x5, elem=3, order=col, dist=(cyclic,*,block), grid=4x1x2)'
try 3 1 'var(1000,5,70000)'
try 8 3 'twod(1000,2,3)'
try 3 1 '{(0,1,6,1);(2,3,6,1);(4,5,6,1)} disp 2'
try 2 1 '{(0,4095,8192,1),(4096,5000,8192,1);(5001,8191,8192,1)} disp 100000'
try 3 3 'stripe(64K) copies 2'
try 4 1 'stripe(7,3) copies 2' churned
try 3 3 'stripe(4K)' churned
finish

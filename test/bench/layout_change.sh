#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that get another layout, against cp in a plain directory beside the disks; readers meanwhile; and what a layout that
# matches is worth: layout_change.sh BUILD [--quick] [--json FILE] [--dir DIR] [GROUP...]
# Groups are memory and disk, which say where the directories are; cached and seeking, for readers; bands and blocks.
# shellcheck disable=SC2317  # groups are called by their names
source "$(dirname "$0")/../../scripts/common.sh"

groups=(memory disk cached seeking bands blocks)
usage="usage: scripts/bench layout-change [--quick] [--json FILE] [--dir DIR] [GROUP...]; groups: ${groups[*]}"
source test/bench/mounting.sh
option() {
    [[ $1 != -* ]] || return 1
    [[ " ${groups[*]} " == *" $1 "* ]] || die "there is no group $1; $usage"
    words+=("$1")
}
read_words layout_change "$@"
[ ${#words[@]} -gt 0 ] || words=("${groups[@]}")

measure() {
    local verb=$1
    shift
    "$bench" "$verb" "$size" "$samples" "$@" || failed="$failed $group"
}

# target NAME DIR DISK...: how bench_layout_change knows it.
target() {
    local name=$1 dir=$2 IFS=:
    shift 2
    printf '%s' "$name,$dir,${pid_of[falls]},$*,o_direct"
}

# changes DIR: cp in DIR/plain, changes of layout on four disks beside it.
changes() {
    mkdir -p "$1/plain"
    volume falls 'stripe(1M)' '' "$1"/disk{0,1,2,3}
    measure change "$group" "$base/falls" "${pid_of[falls]}" "$1/plain"
}

bench_memory() {
    mkdir -p "$images"
    changes "$images/memory"
    rm -rf "$images/memory"
}

bench_disk() {
    changes "$base/disk"
}

bench_cached() {
    volume falls 'stripe(1M)' '' "$base"/cached/{0,1,2,3}
    measure readers "$group" "$(target falls "$base/falls" "$base"/cached/{0,1,2,3})"
}

# $base/seeking/0 to 3 need 12 ms to get anywhere and then give 100 MB/s, from slow_down on.
seeking_disks() {
    local i loop
    for i in 0 1 2 3; do
        seeking "seek$i" 1800M "$base/seeking/$i"
    done
    later quicken
}

bench_seeking() {
    seeking_disks
    volume falls 'stripe(1M)' '' "$base"/seeking/{0,1,2,3}/falls
    slow_down 100 12000
    measure readers "$group" "$(target falls "$base/falls" "$base"/seeking/{0,1,2,3}/falls)"
}

# matching SHAPE DISK...: directories for files that lie on these disks in different ways; they are left in $targets.
matching() {
    local name shape=$1 dist
    shift
    volume falls 'stripe(1M)' '' "$@"
    targets=()
    for name in rows squares columns; do
        case $name in
        rows) dist='dist=(block,*), grid=4x1' ;;
        squares) dist='dist=(block,block), grid=2x2' ;;
        columns) dist='dist=(*,block), grid=1x4' ;;
        esac
        mkdir "$base/falls/$name"
        "$fallsctl" layout set -L "array(shape=$shape, $dist)" "$base/falls/$name" >>"$log"
        targets+=("$(target "$name" "$base/falls/$name" "$@")")
    done
}

bench_bands() {
    local i loop targets
    can_throttle bands || return 0
    for i in 0 1 2 3; do
        throttled "disk$i" 500M "$base/slow/$i" 20000000
    done
    matching 8192x8192 "$base"/slow/{0,1,2,3}/falls
    measure bands "${targets[@]}"
}

bench_blocks() {
    local targets
    seeking_disks
    matching 7168x65536 "$base"/seeking/{0,1,2,3}/falls
    for i in rows squares columns; do # while the disks are quick
        dd if=/dev/zero of="$base/falls/$i/one.0" bs=1M count=448 conv=fsync status=none
    done
    slow_down 100 12000
    measure blocks "${targets[@]}"
}

begin
for group in "${words[@]}"; do
    "bench_$group"
    undo_to 0
done
report

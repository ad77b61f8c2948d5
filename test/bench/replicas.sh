#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What replicas and second copies are worth, and what they take: replicas.sh BUILD [--quick] [--dir DIR] [GROUP...]
# Groups: throttled and seeking, a matrix that is read by rows and by columns in turn; readers, two files on two disks; writes.
# shellcheck disable=SC2317  # groups are called by their names
source "$(dirname "$0")/../../scripts/common.sh"

groups=(throttled seeking readers writes)
usage="usage: scripts/bench replicas [--quick] [--dir DIR] [GROUP...]; groups: ${groups[*]}"
source test/bench/mounting.sh
option() {
    [[ $1 != -* ]] || return 1
    [[ " ${groups[*]} " == *" $1 "* ]] || die "there is no group $1; $usage"
    words+=("$1")
}
read_words replicas "$@"
[ ${#words[@]} -gt 0 ] || words=("${groups[@]}")
side=5120 rounds=3 bytes=512
[ "$size" = full ] || side=3072 rounds=2 bytes=256

measure() {
    PYTHONPATH=$PWD/ioctl/client/python FALLSFS_LIBRARY=$build/ioctl/client/libfallsfs.so.0 PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 test/bench/replicas.py "$@" || failed="$failed $group"
}

# matrices: by rows, by columns, and by rows with a replica by columns, of the same numbers, while the disks are quick.
matrices() {
    local name
    for name in rows columns both; do
        mkdir "$base/falls/$name"
        case $name in
        columns) "$fallsctl" layout set -L "array(shape=${side}x$side, elem=8, dist=(*,block), grid=1x4)" "$base/falls/$name" ;;
        *) "$fallsctl" layout set -L "array(shape=${side}x$side, elem=8, dist=(block,*), grid=4x1)" "$base/falls/$name" ;;
        esac >>"$log"
        head -c $((side * side * 8)) /dev/zero | tr '\0' x >"$base/falls/$name/matrix"
    done
    "$fallsctl" replica add --wait -L "array(shape=${side}x$side, elem=8, dist=(*,block), grid=1x4)" \
        "$base/falls/both/matrix" >>"$log"
    sync
}

bench_throttled() {
    local i
    can_throttle throttled || return 0
    for i in 0 1 2 3; do
        throttled "disk$i" 900M "$base/slow/$i" 0
    done
    volume falls 'stripe(1M)' '' "$base"/slow/{0,1,2,3}/falls
    matrices
    for i in 0 1 2 3; do
        throttle "$(findmnt -n -o MAJ:MIN "$base/slow/$i" | tr -d ' ')" 40000000
    done
    measure matrix throttled "$base/falls" "$side" "$rounds"
}

bench_seeking() {
    local i loop
    for i in 0 1 2 3; do
        seeking "seek$i" 1800M "$base/seeking/$i"
    done
    later quicken
    volume falls 'stripe(1M)' '' "$base"/seeking/{0,1,2,3}/falls
    matrices
    slow_down 100 12000
    measure matrix seeking "$base/falls" "$side" "$rounds"
}

bench_readers() {
    local i
    can_throttle readers || return 0
    for i in 0 1; do
        throttled "disk$i" 900M "$base/slow/$i" 0
    done
    volume falls 'one on d0,d1 copies 2' '' "$base"/slow/{0,1}/falls
    for i in a b; do
        "$fallsctl" create -L 'one on d0,d1 copies 2' "$base/falls/$i" >>"$log" 2>&1
        head -c 128M /dev/zero | tr '\0' y >"$base/falls/$i"
    done
    measure settle "$base/falls/a" "$base/falls/b"
    sync
    for i in 0 1; do
        throttle "$(findmnt -n -o MAJ:MIN "$base/slow/$i" | tr -d ' ')" 40000000
    done
    measure readers "$base/falls/a" "$base/falls/b" "$rounds" 40000000
}

bench_writes() {
    local i
    can_throttle writes || return 0
    for i in 0 1 2 3; do
        throttled "disk$i" 900M "$base/slow/$i" 40000000
    done
    volume falls 'stripe(1M)' '' "$base"/slow/{0,1,2,3}/falls
    measure writes "$base/falls" "$bytes" "$rounds" "${pid_of[falls]}" "$fallsctl"
}

begin
for group in "${words[@]}"; do
    "bench_$group"
    undo_to 0
done
printf '\n%s%s\n' "$(remark "$size")" "${failed:+, bars missed: $failed}"
[ -z "$failed" ]

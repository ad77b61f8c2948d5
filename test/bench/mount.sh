#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mounts fallsfs and its peers side by side and lets bench_mount measure them: mount.sh BUILD [--quick] [--json FILE]
# [--dir DIR] [--before BUILD] [ROW...]. --before also measures the daemon of another build. Everything that was mounted or attached is undone at the end, however it comes.
# shellcheck disable=SC2317  # functions are called by later and its undoing
source "$(dirname "$0")/../../scripts/common.sh"
source test/bench/mount_peers.sh

usage='usage: scripts/bench mount [--quick] [--json FILE] [--dir DIR] [--keep] [--before BUILD] [ROW...]'
source test/bench/mounting.sh
option() {
    case $1 in
    --keep) keep=1 ;;
    -*) return 1 ;;
    *) words+=("$1") ;;
    esac
}
read_words mount "$@"
peer=$build/peer

groups=$("$bench" groups "${words[@]}") || die "$usage; rows: $("$bench" groups | tr '\n' ' ')"
wants() {
    local group
    for group in "$@"; do
        ! grep -qx "$group" <<<"$groups" || return 0
    done
    return 1
}

# target NAME DISK...: how bench_mount knows it.
target() {
    local name=$1 IFS=:
    shift
    printf '%s' "$name,$base/$name,${pid_of[$name]},$*"
}

run() {
    local group=$1
    shift
    "$bench" run "$group" "$size" "$samples" "$@" -- "${words[@]}" || failed="$failed $group"
}

# -- beside the peers --

# bench_io DIR GROUP...: everybody's disks are directories below DIR.
bench_io() {
    local d=$1 mark=${#undo[@]} group targets=()
    shift
    mkdir -p "$d"/{plain,pass,passnc,passd,merger{0,1,2,3}}
    serve pass "$base/pass" "$peer/passthrough_hp" --foreground "$d/pass" "$base/pass"
    serve passnc "$base/passnc" "$peer/passthrough_hp" --foreground --nocache "$d/passnc" "$base/passnc"
    serve passd "$base/passd" "$peer/passthrough_hp_direct" --foreground --nocache --nosplice "$d/passd" "$base/passd"
    serve merger "$base/merger" mergerfs -f \
        -o cache.files=partial,category.create=rand,cache.attr=3600,cache.entry=3600,minfreespace=0 \
        "$d/merger0:$d/merger1:$d/merger2:$d/merger3" "$base/merger"
    volume falls 'stripe(1M)' '' "$d"/falls{0,1,2,3}
    volume fallsd 'stripe(1M)' ,direct_io "$d"/fallsd{0,1,2,3}
    mkdir "$base/falls/direct"
    targets=("plain,$d/plain,0,"
        "$(target pass "$d/pass")" "$(target passnc "$d/passnc")" "$(target passd "$d/passd")"
        "$(target merger "$d"/merger{0,1,2,3})"
        "$(target falls "$d"/falls{0,1,2,3})" "$(target fallsd "$d"/fallsd{0,1,2,3})"
        "fallso,$base/falls/direct,${pid_of[falls]},$d/falls0:$d/falls1:$d/falls2:$d/falls3,o_direct")
    if [ -n "$before" ]; then
        by_before volume before 'stripe(1M)' '' "$d"/before{0,1,2,3}
        by_before volume befored 'stripe(1M)' ,direct_io "$d"/befored{0,1,2,3}
        targets+=("$(target before "$d"/before{0,1,2,3})" "$(target befored "$d"/befored{0,1,2,3})")
    fi
    for group in "$@"; do
        ! wants "$group" || run "$group" "${targets[@]}"
    done
    undo_to "$mark"
}

bench_many() {
    local mark=${#undo[@]} disks=("$base"/disks/many{0,1,2,3})
    volume many 'stripe(1M)' '' "${disks[@]}"
    "$bench" many "$size" "$samples" "$base/many" "${pid_of[many]}" || failed="$failed many"
    undo_to "$mark"
    later end_mount "$base/many"
    "$bench" start "$size" "$samples" "$fallsfs" "$base/many" "${disks[@]}" || failed="$failed start"
    undo_to "$mark"
}

# -- on disks of our own --

# N disks that each give and take 20 MB/s.
bench_disks() {
    local mark=${#undo[@]} n i loop disks targets=()
    can_throttle disks || return 0
    for i in {0..7}; do
        throttled "disk$i" 500M "$base/slow/$i" 20000000
    done
    for n in 1 2 4 8; do
        disks=()
        for ((i = 0; i < n; i++)); do
            disks+=("$base/slow/$i/n$n")
        done
        volume "n$n" 'stripe(1M)' '' "${disks[@]}"
        targets+=("$(target "n$n" "${disks[@]}"),scale=$n")
    done
    run disks "${targets[@]}"
    undo_to "$mark"
}

# Four disks that need 12 ms to get anywhere and then give 100 MB/s.
bench_seeks() {
    local mark=${#undo[@]} i loop targets=() name s=$base/seeking
    for i in 0 1 2 3; do
        seeking "seek$i" 1800M "$s/$i"
    done
    volume four 'stripe(256K)' '' "$s"/{0,1,2,3}/four
    volume units 'stripe(1M)' '' "$s"/{0,1,2,3}/units
    volume quarters 'stripe(256K,4)' '' "$s/0/quarters"
    volume one 'stripe(1M)' '' "$s/0/one"
    targets=("$(target four "$s"/{0,1,2,3}/four),o_direct" "$(target units "$s"/{0,1,2,3}/units),o_direct"
        "$(target quarters "$s/0/quarters"),o_direct" "$(target one "$s/0/one"),o_direct")
    for name in four units quarters one; do # while the disks are quick
        dd if=/dev/zero of="$base/$name/one.0" bs=1M count=448 conv=fsync status=none
    done
    later quicken
    slow_down 100 12000
    run seeks "${targets[@]}"
    undo_to "$mark"
}

# -- all of it --

begin
ulimit -n "$(ulimit -Hn)" # the pass-through keeps every file open that the kernel knows

byte_groups=(seq direct shared cold random) name_groups=(names small unlink)
! wants "${byte_groups[@]}" "${name_groups[@]}" || passthrough "$peer"
! wants "${byte_groups[@]}" || bench_io "$base/disks" "${byte_groups[@]}"
if wants "${name_groups[@]}"; then
    disk "$(image names 6G)" "$base/fresh" # for minutes, ext4 looks at the inodes of deleted files when it makes new ones
    bench_io "$base/fresh" "${name_groups[@]}"
fi
! wants many || bench_many
! wants disks || bench_disks
! wants seeks || bench_seeks

report

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sections of arrays by groups of processes: a plain directory beside volumes of four directories, and MPI-IO on both:
# sections.sh BUILD [--quick] [--large] [--cold] [--slow] [--ranks N] [--no-mpi] [--json FILE] [--dir DIR] [CASE...]
# CASE is a table, 5, or a line of it, 5/III. --large adds Table 8; --cold lets nothing be cached; --slow does that, too,
# on disks that need 12 ms to get anywhere and then give 100 MB/s: four, and a fifth for the plain directory.
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench sections [--quick] [--large] [--cold] [--slow] [--ranks N] [--no-mpi] [--json FILE] [--dir DIR] [CASE...]'
build=$PWD/$1
shift
size=full
json=
base=$build/sections.d
# shellcheck disable=SC2034  # for mounting.sh
keep=
ranks=(16 4)
large=
cold=()
slow=
mpi=1
words=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick) size=quick ;;
    --large) large=1 ;;
    --cold) cold=(cold) ;;
    --slow) cold=(cold) slow=1 ;;
    --ranks) ranks=("${2:?$usage}") && shift ;;
    --no-mpi) mpi= ;;
    --json) json=${2:?$usage} && shift ;;
    --dir) base=$(realpath -m "${2:?$usage}")/fallsfs-bench && shift ;;
    -*) die "unknown option $1; $usage" ;;
    *) words+=("$1") ;;
    esac
    shift
done
[ "$(id -u)" -eq 0 ] || die "it mounts: run it as root"
[[ ${ranks[0]} =~ ^[1-9][0-9]*$ ]] || die "--ranks wants a number; $usage"

bench=$build/test/bench/bench_sections
romio=$build/test/bench/romio_sections
shim=$build/test/bench/libyield.so
# shellcheck disable=SC2034  # for mounting.sh
fallsfs=$build/fs/daemon/fallsfs fallsctl=$build/fs/ctl/fallsctl
log=$build/sections.log
source test/bench/mounting.sh

list=$("$bench" cases "${words[@]}") || die "$usage"
[ -z "$large" ] || list+=$'\n'$("$bench" cases 8)

# $base/disk0 to disk3 are for volumes, disk4 is for plain files. Slow ones need 12 ms to get anywhere.
make_disks() {
    local i loop
    mkdir -p "$base"/disk{0,1,2,3,4}
    [ -n "$slow" ] || return 0
    for i in {0..4}; do
        seeking "slow$i" 1800M "$base/disk$i"
    done
}

# Layouts that follow the array: each disk a block of columns, or a block of rows, across the way in which it is stored.
mount_all() {
    local side=$1 shape
    shape="shape=${side}x${side}, elem=4, order=col"
    volume falls 'stripe(1M)' '' "$base"/disk{0,1,2,3}/falls
    volume columns "array($shape, dist=(*,block), grid=1x4)" '' "$base"/disk{0,1,2,3}/columns
    volume rows "array($shape, dist=(block,*), grid=4x1)" '' "$base"/disk{0,1,2,3}/rows
}

# measure SIDE N CASE...: what N processes do with an array of that size; a table of its own.
measure() {
    local side=$1 n=$2 samples=$build/sections.samples.$1.$2 words=() remark barrier='' name targets=()
    shift 2
    rm -f "$samples"
    touch "$samples"
    targets=("plain,$base/disk4,0")
    for name in falls columns rows; do
        targets+=("$name,$base/$name,${pid_of[$name]}")
    done
    if [ -n "$mpi" ]; then
        words=("mpi=mpiexec.mpich -n $n -genv LD_PRELOAD $shim $romio")
        barrier="; a barrier of MPICH takes $(mpiexec.mpich -n "$n" -genv LD_PRELOAD "$shim" "$romio" barrier) µs, \
$(mpiexec.mpich -n "$n" "$romio" barrier) without the shim that makes it sleep"
    fi
    "$bench" run "$size" "$samples" "$n" "${targets[@]}" "${cold[@]}" "${words[@]}" -- "$@" ||
        die "with $n processes it did not come to its end; $log has the daemons' words"
    remark="$(remark "$size${slow:+, disks of 100 MB/s that seek for 12 ms}")$barrier"
    "$bench" report "$samples" "$remark" ${json:+"${json%.json}.$side.$n.json"} >>"$build/sections.md" || status=1
}

begin
: >"$build/sections.md"
status=0
for side in 4096 16384; do
    mapfile -t cases < <(grep -E "^$([ $side = 16384 ] && echo 8 || echo '[1-7]')/" <<<"$list" | sort -u)
    [ ${#cases[@]} -gt 0 ] || continue
    make_disks
    mount_all "$side"
    if [ -n "$slow" ]; then
        later quicken
        slow_down 100 12000
    fi
    for n in "${ranks[@]}"; do
        measure "$side" "$n" "${cases[@]}"
    done
    undo_to 0
    rm -rf --one-file-system "${base:?}"/*
done
cat "$build/sections.md"
exit "$status"

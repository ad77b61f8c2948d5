#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sections of arrays by groups of processes: a plain directory beside volumes of four directories, and MPI-IO on both:
# sections.sh BUILD [--quick] [--large] [--cold] [--slow] [--ranks N[,N...]] [--no-mpi] [--json FILE] [--dir DIR] [--before BUILD] [CASE...]
# --before also measures the daemon of another build. CASE is a table, 5, or a line of it, 5/III, or domains: those by which the paper shows what dynamic domains are good for.
# --large adds Table 8; --cold lets nothing be cached; --slow does that, too, on disks that need 12 ms to get anywhere and
# then give 100 MB/s: four, and a fifth for the plain directory. Tables 7 and 8 by 4 to 128 processes are scaling.sh's.
source "$(dirname "$0")/../../scripts/common.sh"

# --front LIBRARY preloads that into MPI's programs, from ordinary memory, and measures only them and what they are compared
# with: scripts/bench mpi. --ompio PROGRAM is Open MPI's, beside them; --spin: MPICH waits as it comes, without sleeping.
usage='usage: scripts/bench sections [--quick] [--large] [--cold] [--slow] [--ranks N[,N...]] [--no-mpi] [--json FILE] [--dir DIR] [--before BUILD] [CASE...]'
source test/bench/mounting.sh
ranks=(16 4)
large=
cold=()
slow=
mpi=1
front=
ompio=
spin=
option() {
    case $1 in
    --large) large=1 ;;
    --cold) cold=(cold) ;;
    --slow) cold=(cold) slow=1 ;;
    --ranks) IFS=, read -ra ranks <<<"${2:?$usage}" && n_taken=2 ;;
    --no-mpi) mpi= ;;
    --front) front=${2:?$usage} n_taken=2 ;;
    --ompio) ompio=${2:?$usage} n_taken=2 ;;
    --spin) spin=1 ;;
    -*) return 1 ;;
    domains) words+=(1/I 1/II 1/III 1/IV 2/VI 3/II 3/III) ;;
    *) words+=("$1") ;;
    esac
}
read_words sections "$@"
[[ ${ranks[*]} =~ ^[1-9][0-9]*(\ [1-9][0-9]*)*$ ]] || die "--ranks wants a number; $usage"
romio=$build/test/bench/romio_sections
shim=$build/test/bench/libyield.so
[ -z "$spin" ] || shim=
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

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
    [ -z "$front" ] || return 0
    volume columns "array($shape, dist=(*,block), grid=1x4)" '' "$base"/disk{0,1,2,3}/columns
    volume rows "array($shape, dist=(block,*), grid=4x1)" '' "$base"/disk{0,1,2,3}/rows
    [ -z "$before" ] || by_before volume before 'stripe(1M)' '' "$base"/disk{0,1,2,3}/before
}

# measure SIDE N CASE...: what N processes do with an array of that size; a table of its own.
measure() {
    local side=$1 n=$2 samples=$samples.$1.$2 words=() remark barrier='' target targets=()
    shift 2
    : >"$samples"
    targets=("plain,$base/disk4,0")
    for target in falls columns rows ${before:+before}; do
        [ -n "${pid_of[$target]:-}" ] || continue
        targets+=("$target,$base/$target,${pid_of[$target]}")
    done
    if [ -n "$mpi" ]; then
        words=("mpi=mpiexec.mpich -n $n -genv LD_PRELOAD $front${front:+${shim:+:}}$shim $romio")
        [ -z "$front" ] || words+=(programs)
        [ -z "$ompio" ] || words+=("ompi=mpiexec.openmpi -n $n $ompio")
        barrier="; a barrier of MPICH takes $(mpiexec.mpich -n "$n" -genv LD_PRELOAD "$build/test/bench/libyield.so" "$romio" barrier) µs, \
$(mpiexec.mpich -n "$n" "$romio" barrier) without the shim that makes it sleep${spin:+, as here}"
    fi
    "$bench" run "$size" "$samples" "$n" "${targets[@]}" "${cold[@]}" "${words[@]}" -- "$@" ||
        die "with $n processes it did not come to its end; $log has the daemons' words"
    remark="$(remark "$size${slow:+, disks of 100 MB/s that seek for 12 ms}")$barrier"
    if [ -n "$front" ]; then
        python3 test/bench/mpi_report.py "$samples" "$remark" >>"$build/sections.md" || status=1
        return 0
    fi
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
        cold=(cold)
        for model in "$base"/slowdisk/*/model; do
            cold+=("park=$model")
        done
    fi
    for n in "${ranks[@]}"; do
        measure "$side" "$n" "${cases[@]}"
    done
    undo_to 0
    rm -rf --one-file-system "${base:?}"/*
done
cat "$build/sections.md"
exit "$status"

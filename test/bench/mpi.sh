#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of MPI with the library, on a volume of four directories, beside ROMIO and OMPIO on a plain one: what mpi_cases
# does, then the sections of sections.sh, whose words the others are: mpi.sh BUILD [--quick] [--only-cases] [WORD...]
# A quick run has one turn of each, of mpi_cases without OMPIO, and measures nothing without the shim that lets MPICH sleep.
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench mpi [--quick] [--only-cases] [--ranks N[,N...]] [CASE...]'
source test/bench/mounting.sh
others=()
only_cases=
option() {
    case $1 in
    --only-cases) only_cases=1 ;;
    --ranks) others+=("$1" "${2:?$usage}") n_taken=2 ;;
    -*) return 1 ;;
    *) others+=("$1") ;;
    esac
}
read_words mpi "$@"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
shim=$build/test/bench/libyield.so
front=$build/ioctl/mpi/libfallsfs
cases=$build/test/bench/mpi_cases

# say N WHO CASE: puts a run of mpi_cases into $run; what is served has the mount, what is not a plain directory.
say() {
    local sleeps=$shim plain=$base/disk4/cases served=("$base/falls/cases" default "${pid_of[falls]}")
    local mpich=(mpiexec.mpich -n "$1" -genv LD_PRELOAD) openmpi=(mpirun.openmpi -n "$1")
    [[ $2 != *-spin ]] || sleeps=
    case $2 in
    mpich*) run=("${mpich[@]}" "$front-mpich.so${sleeps:+:$sleeps}" "$cases" "$3" "${served[@]}") ;;
    openmpi) run=("${openmpi[@]}" -x LD_PRELOAD="$front-openmpi.so" "${cases}_openmpi" "$3" "${served[@]}") ;;
    ompio) run=("${openmpi[@]}" "${cases}_openmpi" "$3" "$plain" default) ;;
    *) run=("${mpich[@]}" "$sleeps" "$cases" "$3" "$plain" "${2%-spin}") ;;
    esac
}

# turns TIMES N CASE WHO...: all of them in turns. Who takes longer than a minute is left out, and named.
turns() {
    local times=$1 n=$2 case=$3 i who name value out
    shift 3
    for ((i = 0; i < times; i++)); do
        for who in "$@"; do
            say "$n" "$who" "$case"
            if ! out=$(timeout 60 "${run[@]}" 2>>"$log"); then
                printf '%s by %s, %s: failed, or took longer than a minute; %s may say why\n' "$case" "$n" "$who" "$log" >&2
                continue
            fi
            while read -r name value; do
                printf '%s %s %s %s %s\n' "$case" "$n" "$who" "$name" "$value"
            done <<<"$out" >>"$samples"
        done
        rm -f "$base/falls/cases" "$base/disk4/cases"
    done
}

begin
mkdir -p "$base"/disk{0,1,2,3,4}
volume falls 'stripe(1M)' '' "$base"/disk{0,1,2,3}/falls
times=3
[ "$size" = full ] || times=1
for case in pieces:180000,8,16 pieces:21000,8,80 block; do
    turns "$times" 16 "$case" mpich sieve all
done
for n in 16 4; do
    for case in rows:4096 rows:32768 rows:1048576; do
        turns "$times" "$n" "$case" mpich
    done
done
turns "$times" 1 views mpich openmpi
if [ "$size" = full ]; then
    for case in pieces:21000,8,80 block; do
        turns 1 16 "$case" one default openmpi ompio
        turns 1 16 "$case" mpich-spin sieve-spin all-spin
    done
    turns 1 16 pieces:180000,8,16 one openmpi
fi
status=0
python3 test/bench/mpi_cases_report.py "$samples" "$(remark "$size")" || status=1
undo_to 0
[ -z "$only_cases" ] || exit "$status"

exec 9>&- # the next script takes it
quick=()
ompio=(--ompio "$build/test/bench/ompio_sections") # seconds for each strided section
[ "$size" = full ] || quick=(--quick) ompio=()
test/bench/sections.sh "$1" --front "$front-mpich.so" "${ompio[@]}" "${quick[@]}" "${others[@]}" || status=1
if [ "$size" = full ]; then
    printf 'Without the shim:\n\n'
    test/bench/sections.sh "$1" --front "$front-mpich.so" --quick --spin --ranks 16 1/I 3/IV 5/I 6/IV || true # it has no bar
fi
exit "$status"

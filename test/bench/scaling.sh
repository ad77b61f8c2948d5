#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tables 7 and 8 of the extended two-phase paper: 4 to 128 processes read and write sections of 4096 x 4096 and of
# 16384 x 16384 elements. One run of sections.sh, then all of it in one table and a curve:
# scaling.sh BUILD [--quick] [--cold] [--slow] [--mpi] [--ranks N,N...] [--svg FILE] [--dir DIR]
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench scaling [--quick] [--cold] [--slow] [--mpi] [--ranks N,N...] [--svg FILE] [--dir DIR]'
build=$1
shift
words=()
ranks=4,8,16,32,64,128
svg=$PWD/$build/scaling.svg
mpi=--no-mpi
while [ $# -gt 0 ]; do
    case $1 in
    --quick | --cold | --slow) words+=("$1") ;;
    --mpi) mpi= ;;
    --ranks) ranks=${2:?$usage} && shift ;;
    --svg)
        : "${2:?$usage}" # in $() it would end that alone
        svg=$(realpath -m "$2") && shift
        ;;
    --dir) words+=("$1" "${2:?$usage}") && shift ;;
    *) die "unknown option $1; $usage" ;;
    esac
    shift
done

results=$PWD/$build/scaling.d
rm -rf "$results"
mkdir "$results"
status=0
test/bench/sections.sh "$build" ${mpi:+"$mpi"} "${words[@]}" --ranks "$ranks" --json "$results/all.json" 7 8 \
    >"$results/all.md" || status=$?
[ "$status" -le 1 ] || exit "$status"
python3 test/bench/scaling.py "$svg" "$results"/all.*.json
printf '\nThe curve is in %s, each number of processes in full in %s; bars are judged there.\n' "$svg" "$results/all.md"
exit "$status"

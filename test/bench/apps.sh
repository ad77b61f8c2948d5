#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The examples that are whole programs, together on a volume of four directories, beside a plain directory where each process
# moves its own pieces: apps.sh BUILD [--quick] [--slow] [--side N[,N...]] [--ranks N[,N...]] [--dir DIR] [PROGRAM]...
# PROGRAM is gaxpy, laplace, checkpoint, sort, transpose, stencil or statistics. Sides, ranks and --slow are for the first two:
# on disks of 100 MB/s that need 12 ms to get anywhere, four, and a fifth for the plain directory; before each call memory has
# nothing of what is on them.
source "$(dirname "$0")/../../scripts/common.sh"

# shellcheck disable=SC2034  # mounting.sh's
usage='usage: scripts/bench apps [--quick] [--slow] [--side N[,N...]] [--ranks N[,N...]] [--dir DIR]
       [gaxpy | laplace | checkpoint | sort | transpose | stencil | statistics]...'
source test/bench/mounting.sh
solvers=()
others=()
sides=
ranks=
slow=
option() {
    case $1 in
    --slow) slow=1 ;;
    --side) sides=${2:?$usage} n_taken=2 ;;
    --ranks) ranks=${2:?$usage} n_taken=2 ;;
    gaxpy | laplace) solvers+=("$1") ;;
    checkpoint | sort | transpose | stencil | statistics) others+=("$1") ;;
    *) return 1 ;;
    esac
}
read_words apps "$@"
if [ $((${#solvers[@]} + ${#others[@]})) = 0 ]; then
    solvers=(gaxpy laplace)
    [ -n "$slow" ] || others=(checkpoint sort transpose stencil statistics)
fi
[ -z "$slow" ] || [ ${#others[@]} = 0 ] || die "--slow is for gaxpy and laplace: the others have no moment to empty caches at"
if [ -n "$slow" ]; then
    sides=${sides:-1024,2048} ranks=${ranks:-8,16}
elif [ "$size" = quick ]; then
    sides=${sides:-1024} ranks=${ranks:-8,32,128}
else
    sides=${sides:-1024,2048,4096} ranks=${ranks:-8,16,32,64,128}
fi

begin
mkdir -p "$base"/disk{0,1,2,3,4}
[ -z "$slow" ] || for i in {0..4}; do
    seeking "slow$i" 1800M "$base/disk$i"
done
volume falls 'stripe(256K)' '' "$base"/disk{0,1,2,3}/falls
mkdir -p "$base/disk4/plain"
cool=()
if [ -n "$slow" ]; then
    later quicken
    cool=(--cool "$build/test/bench/cool pid=${pid_of[falls]} $(printf 'park=%s ' "$base"/slowdisk/*/model)")
    cool+=(--model "$base/slowdisk")
fi
status=0
[ ${#solvers[@]} = 0 ] || python3 test/bench/apps.py --size "$size" --sides "$sides" --ranks "$ranks" --remark \
    "$(remark "$size${slow:+, disks of 100 MB/s that seek for 12 ms, cold}")" "${cool[@]}" "$build/test" \
    "$base/disk4/plain" "$base/falls" "${solvers[@]}" || status=$?
[ ${#solvers[@]} = 0 ] || [ ${#others[@]} = 0 ] || printf '\n'
[ ${#others[@]} = 0 ] || PYTHONPATH=$PWD/ioctl/client/python FALLSFS_LIBRARY=$build/ioctl/client/libfallsfs.so.0 \
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 test/bench/programs.py --size "$size" --remark "$(remark "$size")" \
    "$build/test" "$base/disk4/plain" "$base/falls" "${others[@]}" || status=$?
exit "$status"

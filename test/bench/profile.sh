#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs in the default stripe, and in the layout that their traces lead to, on as many slow disks as processes:
# profile.sh BUILD [--quick] [--candidates] [--cached] [--procs N[,N...]] [--disks seeking|throttled] [--json FILE] [--dir DIR]
#     [WORKLOAD...]
# profile.sh BUILD degree [--quick] [--json FILE] [--dir DIR]
# Programs ask the daemon for every access, as while they are traced with --every; --cached: through the kernel's page cache.
# --candidates really runs every layout that recommend tries; degree asks how well the match degree foretells time.
source "$(dirname "$0")/../../scripts/common.sh"

usage='usage: scripts/bench profile [--quick] [--candidates] [--cached] [--procs N[,N...]] [--disks seeking|throttled]
       [--json FILE] [--dir DIR] [WORKLOAD... | degree]'
source test/bench/mounting.sh
verb=layouts
procs=()
mounts=(direct)
kinds=(seeking throttled)
option() {
    case $1 in
    --candidates) verb=candidates ;;
    --procs) IFS=, read -ra procs <<<"${2:?$usage}" && n_taken=2 ;;
    --disks)
        [[ ${2-} =~ ^(seeking|throttled)$ ]] || die "--disks wants seeking or throttled; $usage"
        kinds=("$2") n_taken=2
        ;;
    --cached) mounts=(cached) ;;
    degree) verb=degree mounts=(direct cached) ;;
    -*) return 1 ;;
    *) words+=("$1") ;;
    esac
}
read_words profile "$@"
if [ ${#procs[@]} = 0 ]; then
    procs=(4 9 16 25)
    [ "$size$verb" = fulllayouts ] || procs=(4)
fi
[[ ${procs[*]} =~ ^[1-9][0-9]*(\ [1-9][0-9]*)*$ ]] || die "--procs wants numbers; $usage"
mapfile -t known < <("$bench" list)
for word in "${words[@]}"; do
    [[ " ${known[*]} " == *" $word "* ]] || die "there is no workload $word, but ${known[*]}; $usage"
done
[ ${#words[@]} -gt 0 ] || words=("${known[@]}")

# measure N MOUNT: on N disks, through a mount that the kernel caches, or one that it does not.
measure() {
    local n=$1 how=$2 i disks=()
    for ((i = 0; i < n; i++)); do
        seeking "disk$i" 640M "$base/disk/$i"
        disks+=("$base/disk/$i/falls")
    done
    volume falls 'stripe(1M)' "$([ "$how" = cached ] || echo ,direct_io)" "${disks[@]}"
    python3 test/bench/profile.py "$verb" --size "$size" --procs "$n" --build "$build" --base "$base" --mount "$how" --kinds "${kinds[*]}" \
        --daemon "${pid_of[falls]}" --samples "$samples" "${words[@]}" 2>>"$log" || failed="$failed $n"
    undo_to 0
    rm -rf --one-file-system "${base:?}"/* "$images"
}

begin
for n in "${procs[@]}"; do
    for how in "${mounts[@]}"; do
        measure "$n" "$how"
    done
done
status=0
python3 test/bench/profile_report.py "$verb" "$samples" "$(remark "$size")${failed:+, failed:$failed}" \
    ${json:+"$json"} >"$build/$subject.md" || status=$?
cat "$build/$subject.md"
[ -z "$failed" ] || die "with these numbers of processes it did not come to its end:$failed; see $log"
exit "$status"

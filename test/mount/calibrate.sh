#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What requests cost disks is measured and kept with them, whatever becomes of the disks or of who measures, and layouts are
# recommended by it: calibrate.sh FALLSFS FALLSCTL FSCK SLOWDISK PROFILED
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

fsck=$3
slowdisk=$4
profiled=$5

calibrate() {
    "$fallsctl" calibrate --seconds 1 --size 32M "$@"
}

# told FILTER [options]: of what is kept
told() {
    local filter=$1
    shift
    "$fallsctl" calibrate --show --json "$@" "$mnt" | jq -c "$filter"
}

# Nothing but what a volume has, and the costs.
leftovers() {
    local disk
    for disk in "${disks[@]}"; do
        find "$disk/.fallsfs" -maxdepth 1 -mindepth 1 -printf '%f\n' |
            grep -vxE 'costs|layout|lock|lost|ns|obj|spare|tmp|todo|volume'
    done
}

# check_disks [options]: fsck's words about costs
check_disks() {
    "$fsck" "$@" "${disks[@]}" >"$work/found" 2>&1 || fail "fsck finds something wrong: $(cat "$work/found")"
    grep -c costs "$work/found"
}

# -- measured and kept --
make_volume 2
start
refused 'nothing was measured' "'fallsctl calibrate $mnt' measures disks" "$fallsctl" calibrate --show "$mnt"
same 'which is told of each' "$(told '[.disks[] | [.disk, .calibrated, .why]]')" \
    '[["d0",false,"it has not been calibrated"],["d1",false,"it has not been calibrated"]]'
calibrate "$mnt" >"$work/said" || fail 'all disks are measured'
ok 'which lie on one device' grep -q '^d1 lies on the same device as d0' "$work/said"
for word in DISK READ-SEEK 'read apart' 'write apart' 1.0M; do
    ok "the tables have $word" grep -qF -- "$word" "$work/said"
done
same 'what is kept of them' "$(told '[.disks[] | .calibrated, .read.bytes_per_second > 0, .write.call_ns >= 0]')" \
    '[true,true,true,true,true,true]'
same 'bandwidths by chunk size' "$(told '[.disks[].chunks | map(.bytes) | index(4096) != null, index(1048576) != null]')" \
    '[true,true,true,true]'
same 'of each there is one' "$(told '[.disks[].chunks[] | .read, .read_apart, .write, .write_apart] | min > 0')" true
same 'larger chunks are quicker' "$(told '[.disks[].chunks | map(select(.bytes == 4096))[0].read < last.read] | all')" true
same 'nothing else is there' "$(leftovers)" ''
cp "$work/d1/.fallsfs/costs" "$work/costs"
ok 'one by its name' calibrate "$mnt" d0
ok 'from anywhere in the mount' "$fallsctl" calibrate --show "$mnt/."
cmp -s "$work/d1/.fallsfs/costs" "$work/costs" || fail 'the other one was not asked for'
ok 'one by its path' calibrate --json "$mnt" "$work/d1"
same 'and told as JSON' "$(jq -c '[.disks[] | [.disk, .calibrated, .device_of]]' "$work/out")" '[["d1",true,"d0"]]'
not 'a disk that is none' calibrate "$mnt" d7
refused 'what is no time' 'seconds takes whole seconds, from 1 to 3600: 0' "$fallsctl" calibrate --seconds 0 "$mnt"
refused 'what is no size' 'size takes bytes, 16M at least: 1K' "$fallsctl" calibrate --size 1K "$mnt"
not 'what is no mount' calibrate "$work"
stop
same 'for fsck nothing is wrong' "$(check_disks -n)" 0
start
same 'the next mount tells, too' "$(told '[.disks[].calibrated]')" '[true,true]'

# -- who may --
# needs: measured and kept
ok 'everybody may look' as 1000 "$fallsctl" calibrate --show "$mnt"
refused 'but not measure' 'measuring is for root and who owns the disk' as 1000 "$fallsctl" calibrate --seconds 1 "$mnt"
exec 8<"$work/d0/.fallsfs"
flock 8
refused 'while somebody else does' "$work/d0 is being measured by somebody else" calibrate "$mnt" d0
exec 8<&-

# -- ended in the middle --
# needs: measured and kept
# grown: the file that has no name is being written
grown() {
    [ "$(stat -L -c %b "/proc/$measurer/fd/"* 2>/dev/null | sort -n | tail -n 1)" -gt 8192 ]
}
is_gone() {
    ! kill -0 "$measurer" 2>/dev/null
}
cp "$work/d0/.fallsfs/costs" "$work/costs"
for signal in TERM KILL; do
    "$fallsctl" calibrate --seconds 600 --size 64M "$mnt" >"$work/said" 2>&1 &
    measurer=$!
    await 60 grown || fail "it does not begin to measure: $(cat "$work/said")"
    kill -"$signal" "$measurer"
    await 60 is_gone || fail 'it does not end'
    { wait "$measurer"; } 2>/dev/null
    same "SIG$signal leaves nothing behind" "$(leftovers)" ''
done
ok 'what was kept before stays' cmp "$work/d0/.fallsfs/costs" "$work/costs"
stop

# -- damaged, foreign, left over --
make_volume 2
start
ok 'measured' calibrate "$mnt"
stop
printf x | dd of="$work/d0/.fallsfs/costs" bs=1 seek=100 conv=notrunc 2>/dev/null
cp "$work/d0/.fallsfs/costs" "$work/d0/.fallsfs/costs.new"
: >"$work/d1/.fallsfs/scratch"
start
same 'a damaged one does not count' "$(told '[.disks[] | .calibrated]')" '[false,true]'
ok 'which is told' sh -c "'$fallsctl' calibrate --show '$mnt' 2>&1 | grep 'd0: what was measured is damaged'"
stop
same 'fsck notes all three' "$(check_disks -n)" 3
same 'and changes nothing' "$(leftovers | tr '\n' ' ')" 'costs.new scratch '
same 'or removes them' "$(check_disks -y)" 3
same 'all of them' "$(leftovers)$(ls "$work/d0/.fallsfs/costs" 2>/dev/null)" ''
same 'once' "$(check_disks -y)" 0
cp "$work/d1/.fallsfs/costs" "$work/d0/.fallsfs/costs"
start
same 'one of another disk does not count' "$(told '.disks[0].why')" '"what was measured is of another disk"'
ok 'until it is measured itself' calibrate "$mnt" d0
same 'then it does' "$(told '[.disks[] | .calibrated]')" '[true,true]'
ok 'a disk that leaves' "$fallsctl" disk drain "$mnt" d1
not 'takes its costs along' test -e "$work/d1/.fallsfs"
same 'and is not asked any more' "$(told '[.disks[].disk]')" '["d0"]'
stop

# -- disks that cannot be measured --
make_volume 5
rm -rf "$work"/d[0-4]/.fallsfs
truncate -s 64M "$work/small"
mkfs.ext4 -q "$work/small"
mount -o loop "$work/small" "$work/d1" || die 'a small disk'
mkdir "$work/gone"
"$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
start
mount --bind "$work/d2" "$work/d2"
mount -o remount,ro,bind "$work/d2" || die 'a read-only disk'
mv "$work/d3" "$work/gone/d3"
mv "$work/d4" "$work/gone/d4"
mkdir "$work/other" && "$fallsctl" format "$work/other" >"$work/out" && mv "$work/other" "$work/d4"
calibrate --json "$mnt" >"$work/said" 2>"$work/err"
same 'some could not be measured' $? 3
same 'the others were' "$(jq -c '[.disks[].calibrated]' "$work/said")" '[true,false,false,false,false]'
jq -r '.disks[] | .why' "$work/said" >"$work/why"
ok 'one is small' grep -q '/d1 has too little room: 128 MiB must be free' "$work/why"
ok 'one is read-only' grep -q '/d2 is read-only' "$work/why"
ok 'one is missing' grep -q '/d3 cannot be looked into (missing)' "$work/why"
ok 'one is none of the volume' grep -q '/d4 is not d4 of this volume any more' "$work/why"
umount "$work/d2"
rm -rf "$work/d4" && mv "$work/gone/d3" "$work/gone/d4" "$work/"
stop
start -o ro
refused 'nor any of a mount that is read-only' 'is mounted read-only: measuring writes' calibrate "$mnt"
same 'what was kept is told' "$(told '[.disks[].calibrated]')" '[true,false,false,false,false]'
stop
umount "$work/d1"

# -- a disk that does not answer --
make_volume_with_inner
start -o timeout=0
kill -STOP "$inner"
calibrate --json "$mnt" >"$work/said" 2>"$work/err"
same 'two of three' $? 3
same 'were measured' "$(jq -c '[.disks[] | .calibrated]' "$work/said")" '[true,true,false]'
ok 'the third does not answer' grep -q '/disk does not answer' "$work/err"
kill -CONT "$inner"
# Until what hung there has returned, it may count as one that does not answer.
does_answer() {
    calibrate "$mnt" d2 >"$work/said" 2>&1
}
await 60 does_answer || fail "then it does: $(cat "$work/said")"
same 'and nothing is left there' "$(leftovers)" ''
stop
umount "$work/inner/mnt"
reap "$inner"
inner=

# -- disks that seek, and what is recommended --
# slow NAME: a file system at $work/NAME on a disk that is as quick as memory, until its model says otherwise
slow() {
    local loop
    mkdir "$work/$1" "$work/$1.slow"
    truncate -s 192M "$work/$1.image"
    "$slowdisk" "$work/$1.image" "$work/$1.slow" &
    await 30 mountpoint -q "$work/$1.slow" || die 'no slow disk'
    loop=$(losetup -f --show --direct-io=on "$work/$1.slow/disk") || die 'no loop device'
    loops+=("$loop")
    mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$loop"
    mount "$loop" "$work/$1"
}
rm -rf "$work"/d[0-9]*
slow d0
slow d1
disks=("$work/d0" "$work/d1")
"$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
start
echo '20 30000' >"$work/d1.slow/model" # 20 MB/s, and 30 ms to get anywhere
ok 'both are measured' "$fallsctl" calibrate --seconds 4 "$mnt"
echo '0 0' >"$work/d1.slow/model"
for how in read write; do
    same "the one that seeks needs longer to ${how}" "$(told "[.disks[].$how.seek_ns] | .[0] < .[1]")" true
    same "and gives less: ${how}" "$(told "[.disks[].$how.bytes_per_second] | .[0] > .[1]")" true
done

# recommended FILTER [options] FILE
recommended() {
    local filter=$1
    shift
    "$fallsctl" recommend --json "$@" | jq -c "$filter"
}
"$fallsctl" create -L 'stripe(4K) on d1,d0' "$mnt/matrix" || die 'a file'
"$fallsctl" trace start --every "$mnt/matrix" >"$work/out" || die 'not traced'
"$profiled" "$mnt/matrix" 256 4 1.5 || die 'no program'
"$fallsctl" recommend "$mnt/matrix" >"$work/said" || fail 'nothing is recommended'
ok 'its first line says by what' grep -qE '^matrix: .* calibrated [0-9-]{10}: .* to .* ms a seek' <(head -n 1 "$work/said")
same 'the first element is on the one that seeks' \
    "$(recommended '[.costs.calibrated, (.costs.disks | .[0].read.seek_ns > .[1].read.seek_ns)]' "$mnt/matrix")" '[true,true]'
same 'costs are as measured' "$(recommended '[.costs.disks[].write]' "$mnt/matrix")" "$(told '[.disks[1,0].write]')"
same 'unless somebody says otherwise' "$(recommended '.costs.disks[] | [.read, .write | .seek_ns, .bytes_per_second]' \
    --seek 1 --rate 1M "$mnt/matrix" | sort -u)" '[1000000,1048576,1000000,1048576]'
ok 'which is said, too' sh -c "'$fallsctl' recommend --seek 2 --rate 1M '$mnt/matrix' | grep 'as said, 2 ms a seek, 1.0M a'"
same 'or half of it' "$(recommended '[.costs.calibrated, .costs.said] + [.costs.disks[].read.seek_ns]' --seek 1 "$mnt/matrix")" \
    '[true,true,1000000,1000000]'
"$fallsctl" trace export -o "$work/trace" "$mnt/matrix" >"$work/out" || die 'no trace'
ok 'of a trace alone nobody knows the disks' sh -c "'$fallsctl' recommend '$work/trace' | grep 'assumed 8 ms a seek, 100M'"
same 'but with the file' "$(recommended '.costs.calibrated' "$work/trace" "$mnt/matrix")" true
rm "$work/d0/.fallsfs/costs"
same 'without those of one disk all are assumed' "$(recommended '[.costs.calibrated, .costs.why]' "$mnt/matrix")" \
    "[false,\"d0: it has not been calibrated; 'fallsctl calibrate $mnt' measures disks\"]"
stop
same 'for fsck nothing is wrong with those disks' "$(check_disks -n)" 0
for i in 0 1; do
    umount "$work/d$i" && losetup -d "${loops[i]}" && umount "$work/d$i.slow"
done
loops=()
finish

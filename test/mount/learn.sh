#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a mount has recorded of a program becomes a layout that serves it: learn.sh FALLSFS FALLSCTL PROFILED
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

profiled=$3

layout_of() {
    getfattr --absolute-names --only-values -n user.falls.layout "$1"
}

# seen FILTER [options] FILE: by profile
seen() {
    local filter=$1
    shift
    "$fallsctl" profile --json "$@" | jq -c "$filter"
}

make_volume 4
start

# -- from the mount --
"$fallsctl" create -L 'stripe(4K)' "$mnt/matrix" || die 'a file'
refused 'nothing is known of it' "has recorded no access to it: 'fallsctl trace start'" "$fallsctl" profile "$mnt/matrix"
ok 'it is traced' "$fallsctl" trace start --every "$mnt/matrix"
refused 'nothing was done to it yet, and a look is nothing' 'no access to it was recorded so far' "$fallsctl" profile "$mnt/matrix"
# 256 rows of 2 KiB, written one after the other; four processes read a quarter of each.
ok 'a program works on it' "$profiled" "$mnt/matrix" 256 4 1.5
same 'who does what' "$(seen '.profile | [.bytes_written, .processes, .now.layout]' "$mnt/matrix")" \
    '[524288,5,"stripe(4K) on d0-d3"]'
same 'what it reads was written by another one' "$(seen '[.profile.classes[] | .bytes]' "$mnt/matrix")" '[0,0,524288,0]'
"$fallsctl" trace stop "$mnt/matrix" >"$work/said"
cp "$mnt/matrix" "$work/copy"
ok 'a trace' "$fallsctl" trace export -o "$work/trace" "$mnt/matrix"
same 'says the same' "$(seen '.profile | del(.ranks)' "$work/trace" matrix)" "$(seen '.profile | del(.ranks)' "$mnt/matrix")"
refused 'a file and a trace' 'is no trace: of a file on a mount' "$fallsctl" profile "$mnt/matrix" matrix

# -- to a layout --
# needs: from the mount
refused 'which file gets it has to be said' 'wants FILE behind it' "$fallsctl" recommend --apply "$work/trace"
"$fallsctl" recommend --for read --json "$mnt/matrix" >"$work/advice" || fail 'it is recommended'
same 'the best one is much better' "$(jq -c '[.gain, (.candidates[] | select(.is_now) | .elapsed) > 2 * .candidates[0].elapsed]' "$work/advice")" '[true,true]'
same 'nothing has changed' "$(layout_of "$mnt/matrix")" 'stripe(4K) on d0-d3'
as 1000 "$fallsctl" recommend --for read --apply --trace "$work/trace" "$mnt/matrix" >"$work/said" 2>"$work/why" &&
    fail 'it is not for others'
ok 'which is said' grep -qE 'Permission denied|only the owner' "$work/why"
ok 'and that it is still to be done' grep -q "^to do: fallsctl migrate -L '.*' $mnt/matrix$" "$work/said"
not 'nor is it on its way' grep -q '^on its way' "$work/said"
"$fallsctl" recommend --for read --apply "$mnt/matrix" >"$work/said" || fail 'it is done'
ok 'and said' grep -q "^on its way: $mnt/matrix to .*: 'fallsctl jobs' shows how far$" "$work/said"
not 'but not that it is to be done' grep -q '^to do' "$work/said"
ok 'soon' "$fallsctl" jobs wait "$mnt"
same 'the file has that layout' "$(layout_of "$mnt/matrix" | sed 's/ on .*//')" \
    "$(jq -r '.candidates[0].layout' "$work/advice" | sed 's/ on .*//')"
ok 'and the same bytes' cmp "$mnt/matrix" "$work/copy"
ok 'traced again' "$fallsctl" trace start --every "$mnt/matrix"
ok 'by the same program' "$profiled" "$mnt/matrix" 256 4 2.5
"$fallsctl" recommend --for read --apply "$mnt/matrix" >"$work/said" || fail 'there is nothing to gain'
ok 'which it says' grep -q '^no gain' "$work/said"
same 'nothing moves' "$("$fallsctl" jobs --json "$mnt" | jq '[.jobs[] | select(.state != "done")] | length')" 0
"$fallsctl" trace stop "$mnt/matrix" >"$work/said"

# -- to what nobody has done yet --
# needs: from the mount
# advised FILTER [options] FILE...: by recommend
advised() {
    local filter=$1
    shift
    "$fallsctl" recommend --json "$@" | jq -c "$filter"
}
ok 'what the file is' setfattr -n user.falls.array -v 'shape=256x256 elem=8' "$mnt/matrix"
array=(--array 'shape=256x256 elem=8')
same 'more readers' "$(advised '[.processes, .predicted, .size]' "${array[@]}" --procs 9 "$mnt/matrix")" '[9,true,524288]'
same 'a larger matrix' "$(advised '[.processes, .predicted, .size]' "${array[@]}" --size 512x512 "$mnt/matrix")" '[5,true,2097152]'
same 'sections of it' "$(advised '[.processes, .n_disks, (.candidates[] | select(.is_now) | .layout != null)]' \
    --section '0:255,0:63*3' --section 0:255,64:127 "$mnt/matrix")" '[2,4,true]'
refused 'of an array that it is' 'reaches outside the array: shape=256x256' "$fallsctl" recommend --section 0:256,0:0 "$mnt/matrix"

# -- to several files at a time --
# Both are written and read from one end to the other, and lie on one disk. Where seeks cost most, each is to have one.
for name in a b; do
    "$fallsctl" create -L 'one on d1' "$mnt/$name" || die 'a file'
done
ok 'they are traced' "$fallsctl" trace start --every "$mnt/a" "$mnt/b"
for name in a b; do
    ok 'a program' "$profiled" "$mnt/$name" 64 1 1.5
done
same 'where they are' "$(advised '[.files[].chosen.first_disk] | length' "$mnt/a" "$mnt/b")" 2
refused 'files that are elsewhere' 'others there that are traced' "$fallsctl" recommend "$mnt/a" "$work/copy"
"$fallsctl" recommend --seek 1000 --disks 4 -L 'one on d0-d3' --apply "$mnt/a" "$mnt/b" >"$work/said" || fail 'it is done'
"$fallsctl" trace stop "$mnt/a" "$mnt/b" >"$work/stopped"
ok 'soon' "$fallsctl" jobs wait "$mnt"
not 'nothing is left to be done' grep -q '^to do' "$work/said"
same 'one of them moves' "$(grep -c '^on its way:' "$work/said")" 1
moved=$(sed -n "s|^on its way: $mnt/\([ab]\) to .*|\1|p" "$work/said")
same 'as was said' "$(layout_of "$mnt/$moved")" "$(sed -n "s|^on its way: [^ ]* to \(.*\): 'fallsctl jobs' .*|\1|p" "$work/said")"
same 'to another disk' "$(layout_of "$mnt/$moved" | grep -c '^one on d[023]$')" 1
stop
finish

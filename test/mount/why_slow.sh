#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What makes a file slow is named: each cause is made, and must come first. why_slow.sh FALLSFS FALLSCTL SLOWDISK CLIENT
#
# Disks seek for as long as they are told (test/bench/slowdisk.c), and what they have given is forgotten at once, so that
# a cause costs many times what a busy machine adds.
# shellcheck disable=SC2317,SC2154,SC2016  # functions are called by ok and not; what common.sh sets; words for other shells
source "$(dirname "$0")/common.sh"
slowdisk=$3
client=$4
busy=() # what works on files, and keeps disks cold

# slow_disks N: $work/k0 .., each a file system on a disk that seeks; quick until set_model
slow_disks() {
    local i device
    for ((i = 0; i < $1; i++)); do
        mkdir "$work/s$i" "$work/k$i"
        truncate -s 512M "$work/image$i"
        "$slowdisk" "$work/image$i" "$work/s$i" &
        await 10 test -e "$work/s$i/model" || die 'a disk that seeks'
        device=$(losetup --find --show --direct-io=on "$work/s$i/disk") || die 'losetup'
        loops+=("$device")
        blockdev --setra 512 "$device" # a request of 256K is one of the disk, too
        mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$device" || die 'mkfs.ext4'
        mount -o noatime "$device" "$work/k$i" || die 'mount'
        mkdir "$work/k$i/disk"
        disks+=("$work/k$i/disk")
    done
}

# seeks MICROSECONDS...: of each disk in turn
seeks() {
    local i=0 us
    for us; do
        echo "0 $us" >"$work/s$i/model"
        i=$((i + 1))
    done
}

# always_cold: the machine below has no page for long of any subfile that there is by now
always_cold() {
    at_work nice -n -10 "$client" forget "$work"/k*/disk/.fallsfs/obj/*/*
}

# at_work COMMAND...: goes on until rest; the last of busy is its process
at_work() {
    "$@" </dev/null >/dev/null 2>&1 &
    busy+=($!)
}

# All that is at work ends, and disks are quick again.
rest() {
    local pid
    for pid in "${busy[@]}"; do
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    busy=()
    seeks 0 0 0
}

# make FILE LAYOUT BYTES
make() {
    "$fallsctl" create -L "$2" "$mnt/$1" && head -c "$3" /dev/zero >"$mnt/$1" && sync "$mnt/$1"
}

# ask FILE|PID: what is said is in $work/said
ask() {
    "$fallsctl" why-slow --seconds 2 --json "$1" >"$work/said" || {
        cat "$work/said"
        return 1
    }
}

said() {
    jq -r "$1" "$work/said"
}

# first NAME CAUSE FILE: it is the first cause. What others do on this machine in the seconds of a look may hide it, so
# it is looked for three times.
first() {
    local i
    for i in 1 2 3; do
        ok "$1: asking" ask "$mnt/$3"
        [ "$(said '.files[0].causes[0].cause')" != "$2" ] || break
    done
    same "$1" "$(said '.files[0].causes[0].cause')" "$2" || jq -c '.files[0]' "$work/said"
}

# has_open PID FILE
has_open() {
    [ -n "$(find "/proc/$1/fd" -lname "$2")" ]
}

is_traced() {
    getfattr --absolute-names --only-values -n user.falls.trace "$1" | grep -q state=on
}

slow_disks 3
"$fallsctl" format "${disks[@]}" >/dev/null || die 'format'
start -o direct_io

# -- one disk has all to do --
make hot 'one on d1' 33554432
make beside 'stripe(256K)' 33554432
seeks 20000 20000 20000
always_cold
at_work "$client" anywhere "$mnt/hot" 4 262144
first 'one disk has all to do' hot_disk hot
same 'which one' "$(said '.files[0].causes[0].disk')" d1
ok 'a layout on all disks helps' grep -qE "^fallsctl migrate -L 'stripe\([0-9]+[KM],3\)' $mnt/hot$" \
    <(said '.files[0].causes[0].command')
at_work "$client" anywhere "$mnt/beside" 1 262144
first 'another file has it busy' hot_disk beside
same 'which is to be found' "$(said '.files[0].causes[0].command')" "fallsctl top $mnt"
rest

# -- another layout would do better --
make layout 'stripe(64K)' 50331648
seeks 20000 20000 20000
always_cold
at_work "$client" parts "$mnt/layout" 3 65536
first 'another layout would do better' layout layout
ok 'larger units let each process have a disk for longer' grep -qE "^fallsctl migrate -L 'stripe\([0-9]+M,3\)' $mnt/layout$" \
    <(said '.files[0].causes[0].command')
rest

# -- small requests --
make small 'stripe(1M)' 33554432
seeks 20000 20000 20000
always_cold
at_work "$client" anywhere "$mnt/small" 4 4096
first 'requests are small' small_requests small
rest

# -- requests cross borders --
make unaligned 'stripe(256K)' 33554432
seeks 20000 20000 20000
always_cold
at_work "$client" anywhere "$mnt/unaligned" 8 262144 131072
first 'requests cross borders' unaligned unaligned
same 'all of them' "$(said '.files[0] | .crossing == .accesses')" true
same 'larger units have fewer borders' "$(said '.files[0].causes[0].command')" \
    "fallsctl migrate -L 'stripe(4M,3)' $mnt/unaligned"
rest

# -- a slow disk --
make slow 'stripe(256K)' 33554432
seeks 2000 100000 2000
always_cold
at_work "$client" anywhere "$mnt/slow" 8 262144
first 'a disk is slow' slow_disk slow
same 'which one' "$(said '.files[0].causes[0].disk')" d1
same 'it can be emptied' "$(said '.files[0].causes[0].command')" "fallsctl disk drain $mnt d1"
rest

# -- beside a migration --
make moving 'stripe(256K)' 67108864
seeks 20000 20000 20000
always_cold
at_work "$client" anywhere "$mnt/moving" 2 131072
ok 'a job' "$fallsctl" migrate --limit 8M -L 'stripe(128K)' "$mnt/moving"
first 'a migration is under way' migration moving
ok 'it can be paused' grep -qE "^fallsctl jobs pause [0-9]+ $mnt$" <(said '.files[0].causes[0].command')
rest
ok 'the job ends' "$fallsctl" jobs cancel "$(said '.files[0].causes[0].command' | grep -oE '[0-9]+' | head -1)" "$mnt"

# -- holes --
make holes 'stripe(256K)' 16777216
ok 'a view' setfattr -n user.falls.view.v -v 'stripe(1K,16) element 3' "$mnt/holes"
at_work "$client" again "$mnt/.falls/views/holes/v" 1 65536
first 'holes are read before writing' holes holes
same 'how much' "$(said '.files[0] | .reread > 10 * .written')" true
ok 'it has begun' await 20 has_open "${busy[-1]}" "$mnt/.falls/views/holes/v"
ok 'asking about the process' ask "${busy[-1]}"
same 'which has a view of the file open' "$(said '.files[] | .file, .causes[0].cause' | tr '\n' ' ')" "$mnt/holes holes "
rest

# -- programs wait for each other --
make locks 'stripe(256K)' 16777216
for i in 0 1 2 3 4 5 6 7; do
    ok 'a view' setfattr -n "user.falls.view.v$i" -v "stripe(1K,8) element $i" "$mnt/locks"
    at_work "$client" again "$mnt/.falls/views/locks/v$i" 1 131072
done
first 'programs wait for each other' lock_waits locks
ok 'often' test "$(said '.files[0].range_waits')" -gt 10
rest

# -- of a process --
make mine 'one on d0' 33554432
make others 'one on d1' 33554432
seeks 20000 20000 20000
always_cold
at_work "$client" anywhere "$mnt/mine" 4 262144
mine=${busy[-1]}
at_work "$client" anywhere "$mnt/others" 4 262144
ok 'it has begun' await 20 has_open "$mine" "$mnt/mine"
ok 'asking about a process' ask "$mine"
same 'it has one file open' "$(said '.files[].file')" "$mnt/mine"
same 'which is slow for the same reason' "$(said '.files[0].causes[0] | .cause, .disk' | tr '\n' ' ')" 'hot_disk d0 '
exec 8<"$mnt/others"
ok 'asking about one that has a file open, and does nothing' ask $$
same 'it did nothing with it' "$(said '.files[] | .limit, .accesses' | tr '\n' ' ')" 'idle 0 '
exec 8<&-
ok 'for people' "$fallsctl" why-slow --seconds 1 "$mnt/mine"
same 'a line of figures, the cause, what helps, and why' "$(sed -E 's/[0-9.]+/N/g' "$work/out" | grep -cE \
    "^(.*: in N s N requests, N?[KMG], waited for N % of the time|N hot_disk, N %: dN was busy N % .*|     fallsctl migrate -L 'stripe.*|     spreads the work)$")" 4
rest

# -- nothing to tell, and what cannot be asked --
make idle 'stripe(64K)' 65536
ok 'a file that nobody uses' ask "$mnt/idle"
same 'is idle' "$(said '.files[0] | .limit, (.causes | length)' | tr '\n' ' ')" 'idle 0 '
ok 'in words' "$fallsctl" why-slow --seconds 0.1 "$mnt/idle"
same 'too' "$(grep -c '^nothing was done with it' "$work/out")" 1
read_seldom() {
    while :; do
        dd if="$mnt/idle" of=/dev/null bs=65536 status=none
        sleep 0.5
    done
}
at_work read_seldom
ok 'a file that is used seldom' ask "$mnt/idle"
same 'is not why anything is slow' "$(said '.files[0] | .limit, (.causes | length)' | tr '\n' ' ')" 'not_the_file 0 '
rest
refused 'a file elsewhere' 'lies in no mounted fallsfs' "$fallsctl" why-slow "$work/log"
refused 'no file' 'No such file' "$fallsctl" why-slow "$mnt/none"
refused 'a directory' 'is no regular file' "$fallsctl" why-slow "$mnt"
refused 'a process without files here' 'has no file open on a mounted fallsfs' "$fallsctl" why-slow $$
refused 'no process' 'there is none, and no file of this name' "$fallsctl" why-slow 2147483646
not 'no time' "$fallsctl" why-slow --seconds 0 "$mnt/idle"
not 'two' "$fallsctl" why-slow "$mnt/idle" "$mnt/mine"
refused "others' file" 'its owner and root alone' as 1000 "$fallsctl" why-slow "$mnt/idle"
refused "others' process" 'its user and root alone' as 1000 "$fallsctl" why-slow $$
chown 1000:1000 "$mnt/idle"
ok 'his own' as 1000 "$fallsctl" why-slow --seconds 0.1 "$mnt/idle"
same 'refused as JSON' "$("$fallsctl" why-slow --json "$mnt/none" 2>/dev/null | jq 'has("error")')" true

# -- traces --
# needs: nothing to tell
not 'nothing stays traced' is_traced "$mnt/idle"
interrupted() {
    "$fallsctl" why-slow --seconds 3000 "$mnt/idle" >"$work/said" &
    local asking=$!
    await 20 is_traced "$mnt/idle" || return 1
    kill -"$1" "$asking"
    wait "$asking"
}
for signal in INT TERM HUP; do
    # What runs in the background of a script ignores Ctrl-C, unless it says otherwise, as fallsctl does.
    ok "it ends by $signal" interrupted "$signal"
    not 'then nothing is traced either' is_traced "$mnt/idle"
    ok 'and what was seen is told' grep -q 'nothing was done with it' "$work/said"
done
ok 'a trace of the user' "$fallsctl" trace start "$mnt/idle"
dd if="$mnt/idle" of=/dev/null bs=65536 status=none
ok 'asking meanwhile' ask "$mnt/idle"
same 'what was before does not count' "$(said '.files[0].accesses')" 0
ok 'it goes on' is_traced "$mnt/idle"
ok 'and has all' "$fallsctl" trace status --json "$mnt/idle"
same 'that came' "$(jq '.files[0].records > 0' "$work/out")" true
"$fallsctl" why-slow --seconds 3000 "$mnt/idle" >"$work/said" &
asking=$!
ok 'it listens' await 20 has_open "$asking" "$mnt/.falls/trace"
ok 'until it is stopped' "$fallsctl" trace stop "$mnt/idle"
kill "$asking"
wait "$asking"
ok 'which is told' grep -q 'somebody has stopped a trace' "$work/said"

# -- a disk that does not answer, one that fails --
stop
make_volume_with_inner
start -o 'direct_io,timeout=60'
make failing 'stripe(64K)' 1048576
at_work "$client" anywhere "$mnt/failing" 4 65536
kill -STOP "$inner"
does_not_answer() {
    [ "$(jq '.disks[2].up' "$mnt/.falls/stats.json")" = false ]
}
ok 'a disk does not answer' await 40 does_not_answer
first 'it is named' failing_disk failing
same 'by its name' "$(said '.files[0].causes[0] | .disk, .command' | tr '\n' ' ')" "d2 fallsctl status $mnt "
kill -9 "$inner"
wait "$inner" 2>/dev/null
inner=
first 'a disk fails' failing_disk failing
rest
crash
umount -l "$mnt"
finish

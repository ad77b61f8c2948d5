#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A disk that does not answer costs its own files only, and nothing once it answers again: hang.sh FALLSFS FALLSCTL CLIENT
# The third disk is a directory in another fallsfs, whose daemon is stopped for a while.
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
client=$3
timeout=8
soon=$((timeout * 500)) # ms: who does not wait for the disk, however busy the machine is
late=$((timeout * 2000)) # who does, until the timeout

# within MS NAME COMMAND...: it must succeed in so many milliseconds
within() {
    local ms=$1 name=$2 begin took
    shift 2
    begin=${EPOCHREALTIME/[.,]/}
    ok "$name" timeout 30 "$@"
    took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
    [ "$took" -le "$ms" ] || fail "$name: took $took ms"
}

# The disk of an element of a file: d0, d1, d2
disk_of() {
    "$fallsctl" map --json "$mnt/$1" | jq -r ".files[0].subfiles[$2].disk"
}

# A thread that is at something ends that first.
hang_it() {
    has_stopped() {
        ! grep -qs '^State:[[:space:]]*[^T[:space:]]' "/proc/$inner"/task/*/status
    }
    kill -STOP "$inner"
    await 10 has_stopped || die 'the inner daemon does not stop'
}

let_go() {
    kill -CONT "$inner"
}
trap '' PIPE # who does not listen any more has said why

# Everything that does not need the disk, one after another
use_the_rest() {
    local when=$1 name
    within "$soon" "$when: ls" ls -l "$mnt"
    within "$soon" "$when: stat" stat "$mnt/big"
    within "$soon" "$when: mkdir" mkdir "$mnt/dir.$when"
    within "$soon" "$when: df" df "$mnt"
    within "$soon" "$when: touch" touch "$mnt/new.$when"
    within "$soon" "$when: rename" mv "$mnt/new.$when" "$mnt/dir.$when/new"
    within "$soon" "$when: chmod" chmod 600 "$mnt/dir.$when/new"
    for name in "${good[@]}"; do
        within "$soon" "$when: reading $name" "$client" read 1 0 "$soon" ok "$mnt/$name" 0
    done
    within "$soon" "$when: writing" "$client" write 1 0 "$soon" ok "$mnt/scratch0" 0
    within "$soon" "$when: fsync" dd if=/dev/zero of="$mnt/scratch1" bs=4096 count=2 conv=notrunc,fsync
    within "$soon" "$when: where the file has bytes on other disks" "$client" read 4 0 "$soon" ok "$mnt/big" "$there"
}

# Layouts that no disk has heard of, and that leave the third one out: their texts go to all disks, but who wants one
# does not wait for that. Not right after the disk began to hang: somebody must have waited before others know.
n_laid=0
lay_out_elsewhere() {
    local when=$1
    n_laid=$((n_laid + 1))
    mkdir "$mnt/laid$n_laid"
    within "$soon" "$when: a layout on another disk" setfattr -n user.falls.layout -v "stripe($((4096 + n_laid))) on d0" "$mnt/laid$n_laid"
    within "$soon" "$when: a file with it" dd if=/dev/zero of="$mnt/laid$n_laid/f" bs=4096 count=2 conv=fsync
}

has_all_layouts() {
    local i
    for ((i = 1; i <= n_laid; i++)); do
        grep -qF "stripe($((4096 + i))) on d0" "$work/inner/mnt/disk/.fallsfs/layout"/* || return
    done
}

pids=()

in_background() {
    "$client" "$@" >"$work/said.${#pids[@]}" 2>&1 </dev/null &
    pids+=($!)
}

# join NAME: what runs in the background, and all of it well
join() {
    local i
    for i in "${!pids[@]}"; do
        wait "${pids[i]}" || fail "$1: $(head "$work/said.$i")"
    done
    n_checks=$((n_checks + 1))
    pids=()
}

# Threads of the daemon that wait for the inner one's answer; idle ones come and go.
n_waiting() {
    cat "/proc/$daemon"/task/*/wchan 2>/dev/null | grep -o request_wait_answer | wc -l
}

n_threads() {
    find "/proc/$daemon/task" -mindepth 1 -maxdepth 1 | wc -l
}

resident() {
    awk '/VmRSS/ { print $2 }' "/proc/$daemon/status"
}

# Of the files that nobody writes to, but this one; as the disks have them
sums() {
    local file
    for file in "$mnt"/s[0-9]* "$mnt/big" "$mnt/other"; do
        case ${file##*/} in
        "$1" | "${bad[0]}") ;;
        *) printf '%s %s\n' "${file##*/}" "$(dd if="$file" iflag=direct bs=1M status=none | md5sum)" ;;
        esac
    done
}

# -- the volume --

make_volume_with_inner
start -o "timeout=$timeout,layout=stripe(64K)"

# files that are all on one disk: the third, or another
good=() bad=()
for ((i = 0; i < 40; i++)); do
    head -c 20000 /dev/urandom >"$mnt/s$i"
    if [ "$(disk_of "s$i" 0)" = d2 ]; then
        bad+=("s$i")
    else
        good+=("s$i")
    fi
done
mv "$mnt/${good[0]}" "$mnt/scratch0"
mv "$mnt/${good[1]}" "$mnt/scratch1"
good=("${good[@]:2:6}")
head -c 1000000 /dev/urandom >"$mnt/big"
head -c 1000000 /dev/urandom >"$mnt/other"
declare -A here
for ((i = 0; i < 3; i++)); do
    [ "$(disk_of big "$i")" != d2 ] || here[big]=$((i * 65536))
    [ "$(disk_of big "$i")" != d0 ] || there=$((i * 65536))
    [ "$(disk_of other "$i")" != d2 ] || here[other]=$((i * 65536))
done
sync -f "$mnt"

# -- a short while: nobody notices --
# needs: the volume

all_ops=(cut open allocate dig seek copy layout migrate)

# make_others DIR: for each thing that is not reading and writing some files there, with bytes on the third disk alone
make_others() {
    local op i
    mkdir "$1"
    setfattr -n user.falls.layout -v 'one on d2' "$1"
    for op in "${all_ops[@]}"; do
        for i in 0 1 2 3; do
            : >"$1/$op$i"
            [ "$op" = layout ] || head -c 100000 /dev/urandom >"$1/$op$i"
        done
    done
    sync -f "$mnt"
}

# use_others DIR MIN MAX ERRORS: all of that, in the background
use_others() {
    local op
    for op in "${all_ops[@]}"; do
        in_background "$op" 4 "$2" "$3" "$4" "$1/$op%u" 4096
    done
}

mkdir "$mnt/short"
make_others "$mnt/short/others"
hang_it
in_background write 100 0 $((timeout * 1000)) ok "$mnt/short/%u" 0
in_background write 16 0 $((timeout * 1000)) ok "$mnt/scratch0" 0
sleep 2.5
use_others "$mnt/short/others" 0 $((timeout * 1000)) ok
within "$soon" 'a short while: ls of other files' ls -l "$mnt"
sleep 1.5
let_go
join 'a short while: all get on'
ok 'a short while: all of it is written' "$client" check 100 0 10000 ok "$mnt/short/%u" 0
for op in cut open; do
    same "a short while: $op has done it" "$(stat -c %s "$mnt/short/others/$op"[0-3] | sort -u | wc -l)" "$([ $op = open ] && echo 1 || echo 4)"
done
rm -r "$mnt/short"

# -- a long while --
# needs: a short while

# come_behind DIR WHEN: who comes to a file where others are stuck is told so at once, and no thread waits with them
come_behind() {
    local op i before
    before=$(n_threads)
    for i in 1 2 3; do
        for op in cut allocate dig seek sync write; do
            in_background "$op" 12 0 "$late" EIO,ENXIO "$1/%u" 0
        done
        join "$2: who comes behind stuck writers gets an error"
    done
    ok "$2: and leaves no threads behind" test "$(n_threads)" -le $((before + 16))
}

# long WHEN: a disk hangs for longer than the timeout
long() {
    local when=$1 victim object begin
    victim=${bad[$2]}
    object=$("$fallsctl" map --json "$mnt/$victim" | jq -r '.files[0].subfiles[] | select(.state == "present").object')
    before=$(sums "$victim")
    make_others "$mnt/others.$when"
    mkdir "$mnt/stuck.$when"
    setfattr -n user.falls.layout -v 'one on d2' "$mnt/stuck.$when"
    for ((i = 0; i < 12; i++)); do
        head -c 100000 /dev/urandom >"$mnt/stuck.$when/$i"
    done
    sync -f "$mnt"
    coproc syncer { "$client" fsync 1 0 "$late" EIO "$mnt/${bad[0]}" 0 2>&1; }
    # shellcheck disable=SC2154  # coproc sets it
    pid_syncer=$syncer_PID
    exec 7<&"${syncer[0]}" 8>&"${syncer[1]}" # bash forgets its own when the process ends
    read -r line <&7
    same "$when: something to sync is there" "$line" ready
    exec 9<"$mnt/big" # one that is open, one that is not
    head -c 1000000 <&9 >/dev/null
    hang_it
    echo go >&8
    in_background read 32 0 "$late" EIO "$mnt/big" "${here[big]}"
    in_background read 32 0 "$late" EIO "$mnt/other" "${here[other]}"
    in_background write 12 0 "$late" EIO "$mnt/stuck.$when/%u" 0
    in_background write 16 0 $((timeout * 3000)) EIO "$mnt/others.$when/seek%u" 8192 # behind seeks in the same files
    for op in cut allocate dig copy; do
        in_background "$op" 4 0 "$late" EIO "$mnt/others.$when/$op%u" 4096
    done
    for op in open layout migrate seek; do # which need not meet the disk
        in_background "$op" 4 0 $((timeout * 3000)) ok,EIO,ENXIO "$mnt/others.$when/$op%u" 4096 # and closes it
    done
    use_the_rest "$when-0"
    sleep 2.5
    use_the_rest "$when-1"
    lay_out_elsewhere "$when-1"
    ok "$when: some threads wait for it" test "$(n_waiting)" -gt 0
    sleep 2.5
    use_the_rest "$when-2"
    join "$when: readers get an error in time"
    read -r line <&7
    same "$when: so does fsync" "$line" 'first EIO'
    ok "$when: who comes later gets it at once" "$client" read 16 0 "$soon" EIO "$mnt/big" "${here[big]}"
    come_behind "$mnt/stuck.$when" "$when"
    use_the_rest "$when-3"
    lay_out_elsewhere "$when-3"
    within "$soon" "$when: unlink of a file there" rm "$mnt/$victim"
    not "$when: it is gone" stat "$mnt/$victim"

    let_go
    sleep 0.1
    kill -0 "$daemon" || die "$when: the daemon died"
    begin=$SECONDS
    until "$client" read 16 0 "$soon" ok "$mnt/big" "${here[big]}" >/dev/null; do
        [ $((SECONDS - begin)) -le 20 ] || break
    done
    ok "$when: it answers, and all is well again" "$client" read 16 0 "$soon" ok "$mnt/big" "${here[big]}"
    ok "$when: it gets the layouts that others have got meanwhile" await 10 has_all_layouts
    same "$when: every byte is right" "$(sums "$victim")" "$before"
    echo go >&8
    read -r line <&7
    same "$when: fsync has told its error once" "$line" 'second ok'
    wait "$pid_syncer"
    exec 7<&- 8>&-
    await 5 test ! -e "$object"
    same "$when: the bytes of the removed file are gone" "$(ls "$object" 2>/dev/null)" ''
    exec 9<&-
}

# -- nobody waits but who asks for room now and then --
# needs: a long while

hang_it
sleep 2
lay_out_elsewhere 'few wait'
let_go

# -- who asks all mounts --
# needs: the volume

hang_it
ok 'status: the disk is not known' sh -c 'timeout 20 "$1" status --json "$2" | jq -e ".volumes[0].disks[2].state == \"unknown\""' \
    - "$fallsctl" "$mnt"
timeout 20 "$fallsctl" groups "$mnt" "$work/inner/mnt" >"$work/groups" 2>"$work/why"
same 'groups: one mount answers, the other does not' "$? $(wc -l <"$work/groups")" '3 1'
ok 'groups: says which' grep "^$work/inner/mnt: does not answer" "$work/why"
let_go
ok 'status: it is there again' sh -c '"$1" status --json "$2" | jq -e ".volumes[0].disks[2].state == \"online\""' - "$fallsctl" "$mnt"
await 10 "$client" read 1 0 "$soon" ok "$mnt/big" "${here[big]}" >/dev/null # the daemon may learn of it later

long first 1
sleep 1
memory=$(resident)
long second 2
sleep 1
printf 'memory %s KiB, then %s\n' "$memory" "$(resident)"
same 'no thread is left waiting' "$(n_waiting)" 0
if ! grep -qE '__(asan|tsan)_init' "$fallsfs"; then # they keep what was freed
    ok 'nor memory' test "$(resident)" -le $((memory + 8192))
fi
same 'no daemon died of it' "$(kill -0 "$daemon" && echo alive)" alive
stop
umount "$work/inner/mnt"
reap "$inner" || fail 'the inner daemon did not end well'
same 'nothing is left to be removed' "$(find "$work"/d[01]/.fallsfs/{tmp,todo} -mindepth 1 2>/dev/null)" ''
finish

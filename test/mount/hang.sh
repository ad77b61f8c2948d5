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
    local i
    kill -STOP "$inner"
    for ((i = 0; i < 1000; i++)); do
        grep -qs '^State:[[:space:]]*[^T[:space:]]' "/proc/$inner"/task/*/status || return
        sleep 0.01
    done
    die 'the inner daemon does not stop'
}

let_go() {
    kill -CONT "$inner"
}
trap '' PIPE # who does not listen any more has said why
trap 'status=$?; kill -CONT "$inner" 2>/dev/null; (exit "$status"); clean_up' EXIT

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

mkdir "$work/inner" "$work/inner/d" "$work/inner/mnt"
"$fallsctl" format "$work/inner/d" >/dev/null || die 'format of the inner volume'
"$fallsfs" -f -o direct_io "$work/inner/d" "$work/inner/mnt" >"$work/inner/log" 2>&1 &
inner=$!
for ((i = 0; i < 500; i++)); do
    is_served "$work/inner/mnt" && break
    sleep 0.02
done
make_volume 2
mkdir "$work/inner/mnt/disk"
rm -rf "$work"/d[01]
mkdir "$work/d0" "$work/d1"
disks=("$work/d0" "$work/d1" "$work/inner/mnt/disk")
"$fallsctl" format "${disks[@]}" >/dev/null || die 'format'
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

mkdir "$mnt/short"
hang_it
in_background write 100 0 $((timeout * 1000)) ok "$mnt/short/%u" 0
in_background write 16 0 $((timeout * 1000)) ok "$mnt/scratch0" 0
sleep 4
let_go
join 'a short while: all get on'
ok 'a short while: all of it is written' "$client" check 100 0 10000 ok "$mnt/short/%u" 0
rm -r "$mnt/short"

# -- a long while --

# long WHEN: a disk hangs for longer than the timeout
long() {
    local when=$1 victim object begin
    victim=${bad[$2]}
    object=$("$fallsctl" map --json "$mnt/$victim" | jq -r '.files[0].subfiles[] | select(.state == "present").object')
    before=$(sums "$victim")
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
    use_the_rest "$when-0"
    sleep 2.5
    use_the_rest "$when-1"
    ok "$when: some threads wait for it" test "$(n_waiting)" -gt 0
    sleep 2.5
    use_the_rest "$when-2"
    join "$when: readers get an error in time"
    read -r line <&7
    same "$when: so does fsync" "$line" 'first EIO'
    ok "$when: who comes later gets it at once" "$client" read 16 0 "$soon" EIO "$mnt/big" "${here[big]}"
    use_the_rest "$when-3"
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
    same "$when: every byte is right" "$(sums "$victim")" "$before"
    echo go >&8
    read -r line <&7
    same "$when: fsync has told its error once" "$line" 'second ok'
    wait "$pid_syncer"
    exec 7<&- 8>&-
    for ((i = 0; i < 100; i++)); do
        [ -e "$object" ] || break
        sleep 0.05
    done
    same "$when: the bytes of the removed file are gone" "$(ls "$object" 2>/dev/null)" ''
    exec 9<&-
}

# -- who asks all mounts --

hang_it
ok 'status: the disk is not known' sh -c 'timeout 20 "$1" status --json "$2" | jq -e ".volumes[0].disks[2].state == \"unknown\""' \
    - "$fallsctl" "$mnt"
timeout 20 "$fallsctl" groups "$mnt" "$work/inner/mnt" >"$work/groups" 2>"$work/why"
same 'groups: one mount answers, the other does not' "$? $(wc -l <"$work/groups")" '3 1'
ok 'groups: says which' grep "^$work/inner/mnt: does not answer" "$work/why"
let_go
ok 'status: it is there again' sh -c '"$1" status --json "$2" | jq -e ".volumes[0].disks[2].state == \"online\""' - "$fallsctl" "$mnt"

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

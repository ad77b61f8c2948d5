#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files are moved in bulk between disks of uneven sizes, by the mount: mover.sh FALLSFS FALLSCTL FSCK
# shellcheck disable=SC2317,SC2119  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "$0")/common.sh"
fsck=$3

if [ "$(id -u)" != 0 ]; then
    echo 'disks of uneven sizes take root'
    exit 77
fi

orders() {
    getfattr --only-values -n user.falls.jobs.json "$mnt" 2>/dev/null
}

# make_disk I MIB: a file system of its own.
make_disk() {
    truncate -s "$2M" "$work/image$1"
    mkfs.ext4 -q -m 0 -I 512 "$work/image$1"
    mkdir "$work/d$1"
    mount -o loop "$work/image$1" "$work/d$1" || die 'cannot mount a file system of its own'
}

# make_disks MIB...: a volume of such disks; those of before go.
make_disks() {
    local i path mib
    for path in "${disks[@]}"; do
        umount "$path" 2>/dev/null
    done
    rm -rf "$work"/d[0-9]* "$work"/image*
    disks=()
    i=0
    for mib; do
        make_disk "$i" "$mib"
        disks+=("$work/d$i")
        i=$((i + 1))
    done
    "$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
}

# How full each disk is, in percent, by what it says itself.
fill() {
    df --output=pcent "${disks[@]}" | tail -n +2 | tr -dc '0-9\n' | tr '\n' ' ' | sed 's/ $//'
}

# spread: of these, the most minus the least.
spread() {
    fill | tr ' ' '\n' | sort -n | awk 'NR == 1 { least = $1 } { most = $1 } END { print most - least }'
}

# fill_with N KIB LAYOUT: files that are looked at again.
fill_with() {
    local i
    for ((i = 0; i < $1; i++)); do
        "$fallsctl" create -L "$3" "$mnt/f$i" || break
        head -c "$2K" /dev/urandom >>"$mnt/f$i" || break
    done
    (cd "$mnt" && find . -type f -exec sha256sum {} +) >"$work/sums"
}

same_bytes() {
    (cd "$mnt" && sha256sum --quiet -c "$work/sums")
}

# What each disk has after an order, as --json tells.
after() {
    jq -c '[.disks[].after]' "$1"
}

# comes JQ-FILTER: of all orders, within a while.
comes() {
    has_come() {
        orders | jq -e "$1" >/dev/null
    }
    await 30 has_come "$1" && return
    orders
    return 1
}

has_gone() {
    is_gone() {
        getfattr --only-values -n user.falls.disks "$mnt" 2>/dev/null | grep -q "^d$1 gone"
    }
    await 30 is_gone "$1" && return
    orders
    return 1
}

# -- one full disk, and one that joins --

make_disks 128
start -o 'layout=stripe(64K)'
fill_with 24 4096 'stripe(64K)'
make_disk 1 160
ok 'an empty disk joins' disk add "$mnt" "$work/d1"
disks+=("$work/d1")
ok "they are uneven: $(fill)" [ "$(spread)" -gt 50 ]
disk balance -n --json "$mnt" >"$work/plan"
ok 'a look moves nothing' [ "$(spread)" -gt 50 ]
disk balance --json "$mnt" >"$work/real"
sync -f "$work/d0"
ok "then they are not: $(fill)" [ "$(spread)" -le 8 ]
same 'as was said' "$(after "$work/real") $(jq .files_moved "$work/real") $(jq .bytes "$work/real")" \
    "$(after "$work/plan") $(jq .files_to_move "$work/plan") $(jq .bytes "$work/plan")"
ok 'what was moved is what has to be' [ "$(jq .bytes "$work/real")" -lt $((70 << 20)) ]
ok 'with the same bytes' same_bytes
same 'nothing is left to be moved' "$(disk balance --json "$mnt" | jq .files_moved)" 0
restart
ok 'also after the next mount' same_bytes
stop

# -- files that use all disks, one of which is large --

make_disks 96 96 256
start -o 'layout=stripe(64K)'
fill_with 60 3072 'stripe(64K)'
ok "small disks are full: $(fill)" [ "$(spread)" -gt 30 ]
disk balance -n --json "$mnt" >"$work/plan"
disk balance --json "$mnt" >"$work/real"
sync -f "$work/d0"
ok "and are not any more: $(fill)" [ "$(spread)" -le 12 ]
same 'as was said' "$(after "$work/real")" "$(after "$work/plan")"
ok 'with the same bytes' same_bytes
ok 'files have as many elements as before' sh -c "! getfattr -R --only-values -n user.falls.layout '$mnt' 2>/dev/null | grep -q '{'"

# -- a disk leaves: the room of the others is used as it shrinks --

make_disk 3 96
ok 'another disk joins' disk add "$mnt" "$work/d3"
disks+=("$work/d3")
disk drain -n --json "$mnt" d2 >"$work/plan"
same 'there is room for all' "$(jq '.files | length' "$work/plan")" 0
disk drain --json "$mnt" d2 >"$work/real" || fail "a disk leaves: $(cat "$work/real")"
same 'it has left' "$(jq -c '[.has_left, .files_moved]' "$work/real")" "[true,$(jq .files_to_move "$work/plan")]"
same 'all went where was said' "$(orders | jq -c '[.orders[0].disks[].after]')" "$(after "$work/plan")"
ok 'with the same bytes' same_bytes
disks=("$work/d0" "$work/d1" "$work/d3")
umount "$work/d2"
disk drain -n --json "$mnt" d1 >"$work/plan" 2>"$work/said"
ok 'where there is no room, a look says so' [ "$(jq '.files | length' "$work/plan")" -gt 0 ]
same 'for the files that stay' "$(jq -r '.files[0].error' "$work/plan" | cut -d: -f2 | sed 's/[0-9]* bytes/N bytes/')" \
    ' no other disk has room for N bytes of it, which lie together'
not 'and so it is' disk drain --json "$mnt" d1
same 'the errors can be read afterwards' "$(orders | jq -c '.orders | map(select(.order == "leave" and (.is_plan | not))) | .[0] | [.state, (.failed > 0), (.failures | length > 0)]')" \
    '["failed",true,true]'
same 'but by nobody else' "$(as 1000 getfattr --absolute-names --only-values -n user.falls.jobs.json "$mnt" | jq -c '[.orders[] | has("failures")] | any')" false
ok 'what did not find room is as it was' same_bytes
ok 'it is let be' disk drain --stop "$mnt" d1
stop
ok 'fsck finds nothing' "$fsck" -n "${disks[@]}"

# -- disks that somebody typed are kept to the letter, others are not --

layout_of() {
    getfattr --absolute-names --only-values -n user.falls.layout "$1"
}
make_disks 128 128
start
for i in 1 2 3 4 5 6; do
    "$fallsctl" create -L 'one on d0' "$mnt/typed$i"
    head -c 8M /dev/urandom >>"$mnt/typed$i"
done
(cd "$mnt" && find . -type f -exec sha256sum {} +) >"$work/sums"
same 'a list is shown as it was typed' "$(layout_of "$mnt/typed1")" 'one on d0'
same 'likewise with --json' "$("$fallsctl" layout get --json "$mnt/typed1" | jq -r '.files[0].layout.layout')" 'one on d0'
disk balance --json "$mnt" >"$work/real"
same 'balance leaves it as it is' "$(jq -c '[.files_moved, (.why | endswith("is of files whose disks somebody has named"))]' "$work/real")" '[0,true]'
restart
same 'also after the next mount' "$(disk balance --json "$mnt" | jq .files_moved) $(layout_of "$mnt/typed1")" '0 one on d0'
make_disk 2 128
ok 'another disk joins' disk add "$mnt" "$work/d2"
disks+=("$work/d2")
"$fallsctl" create -L 'stripe(64K) on d0,d1' "$mnt/both"
head -c 4M /dev/urandom >>"$mnt/both"
(cd "$mnt" && find . -type f -exec sha256sum {} +) >"$work/sums"
ok 'one of its disks leaves' disk drain "$mnt" d1
disks=("$work/d0" "$work/d2")
umount "$work/d1"
same 'another one is there instead' "$(layout_of "$mnt/both")" 'stripe(64K) on d0,d2'
same 'which is kept as well' "$(disk balance --json "$mnt" | jq .files_moved)" 0
ok 'spread anew, nobody has named its disks' "$fallsctl" migrate --wait --restripe "$mnt"
same 'it lies on those there are' "$(layout_of "$mnt/typed1") $(layout_of "$mnt/both")" 'one on d0,d2 stripe(64K) on d0,d2'
disk balance --json "$mnt" >"$work/real"
sync -f "$work/d0"
ok "so the disks become even: $(fill)" [ "$(spread)" -le 12 ]
subfiles() {
    getfattr --absolute-names --only-values -n user.falls.map "$mnt/both" | sed -n 's/^element=.* object=//p' | xargs stat -c %i | tr '\n' ' '
}
list=$("$fallsctl" map --json "$mnt/both" | jq -r '[.files[0].subfiles[].disk] | join(",")')
inodes=$(subfiles)
ok 'a list that is typed' "$fallsctl" migrate --wait -L "stripe(64K) on $list" "$mnt/both"
same 'where the file lies copies nothing' "$(subfiles)" "$inodes"
same 'is shown' "$(layout_of "$mnt/both")" "stripe(64K) on $list"
ok 'a list that is typed' "$fallsctl" migrate --wait -L 'stripe(64K) on d0,d2' "$mnt/both"
same 'is kept again' "$(layout_of "$mnt/both")" 'stripe(64K) on d0,d2'
ok 'with the same bytes' same_bytes
stop
ok 'fsck finds nothing' "$fsck" -n "${disks[@]}"

# -- whoever asked may go --

make_disks 96 96 96 96
start -o 'layout=stripe(64K,2) on d0-d2'
fill_with 20 3072 'stripe(64K)'
"$fallsctl" disk drain --limit 300K "$mnt" d1 >"$work/said" 2>&1 &
tool=$!
ok 'a disk leaves, slowly' comes '.orders[0] | .order == "leave" and .disk == "d1" and .moved > 0'
kill -9 "$tool"
wait "$tool" 2>/dev/null
same 'the order goes on without who gave it' "$(orders | jq -r '.orders[0].state')" running
refused 'another one' 'Device or resource busy' disk_order balance
ok 'is refused with words' grep -q 'files are being moved already (a disk is to leave, for user 0)' \
    <(getfattr --only-values --absolute-names -n user.falls.lasterror "$mnt")
refused 'a disk more' 'files are being moved already' disk_order 'leave d2'
same 'stays where it is' "$(getfattr --only-values -n user.falls.disks "$mnt" 2>/dev/null | sed -n 3p | cut -d' ' -f2)" in
ok 'a look is allowed' disk balance -n "$mnt"
mkdir "$mnt/dir"
ok 'and a tour' setfattr -n user.falls.migrate -v restripe "$mnt/dir"
ok 'the same again is the same, without a limit' disk_order 'leave d1'
same 'there is one such order' "$(orders | jq '[.orders[] | select(.order == "leave")] | length')" 1
same 'with another limit' "$(orders | jq '.orders[] | select(.order == "leave") | .limit')" 0
crash
umount -l "$mnt"
start
ok 'the next mount goes on by itself, after a crash' has_gone 1
ok 'with the same bytes' same_bytes
ok 'which it says' grep -q 'd1 has left the volume' "$log"
stop
disks=("$work/d0" "$work/d2" "$work/d3")
umount "$work/d1"
start -o 'layout=stripe(64K)'
ok 'another disk leaves, slowly' disk_order 'limit=300K leave d3'
ok 'some of it' comes '.orders[0].moved > 0'
restart
ok 'it goes on after an orderly end, too' has_gone 3
ok 'with the same bytes' same_bytes
disks=("$work/d0" "$work/d2")
stop
umount "$work/d3"
start

# -- balance is stopped, and forgotten --
# needs: whoever asked may go

make_disk 4 96
ok 'an empty disk joins' disk add "$mnt" "$work/d4"
disks+=("$work/d4")
ok 'balance' disk_order 'limit=1 balance'
ok 'begins' comes '.orders[0] | .order == "balance" and .moved > 0'
ok 'is stopped' disk balance --stop "$mnt"
same 'and says so' "$(orders | jq -r '.orders[0].state')" cancelled
refused 'nothing is left to be stopped' 'no balance goes on' disk balance --stop "$mnt"
ok 'balance once more' disk_order 'limit=1 balance'
ok 'has begun' comes '.orders[0].moved > 0'
restart
same 'it is forgotten with the mount' "$(orders | jq -c .orders)" '[]'
ok 'its jobs go on, as all jobs do' [ "$("$fallsctl" jobs --json "$mnt" | jq '.jobs | length')" -gt 0 ]
# At a byte a second: until somebody cancels them.
while read -r number; do
    "$fallsctl" jobs cancel "$number" "$mnt" >>"$work/said" 2>&1 # it may be over by now
done < <("$fallsctl" jobs --json "$mnt" | jq '.jobs[] | select(.state != "done") | .job')
"$fallsctl" jobs wait "$mnt" >>"$work/said" 2>&1
same 'then none is left' "$("$fallsctl" jobs --json "$mnt" | jq -c '[.jobs[].state | select(. != "done" and . != "cancelled")]')" '[]'

# -- the rights of who asked --
# needs: balance is stopped

mkdir -p "$mnt/theirs" "$mnt/theirs/closed"
for i in 1 2 3; do
    head -c 100000 /dev/urandom >"$mnt/theirs/$i"
    head -c 100000 /dev/urandom >"$mnt/theirs/closed/secret$i"
done
chown 1000 "$mnt/theirs" "$mnt/theirs/1" "$mnt/theirs/2"
chmod 700 "$mnt/theirs/closed"
refused 'others may not balance' 'Operation not permitted' as 1000 setfattr -n user.falls.disks -v balance "$mnt/theirs"
refused 'nor empty disks' 'Operation not permitted' as 1000 setfattr -n user.falls.disks -v 'leave d2' "$mnt/theirs"
ok 'but spread what is theirs' as 1000 setfattr -n user.falls.migrate -v 'stripe(32K)' "$mnt/theirs"
ok 'only that' comes '.orders[0] | .order == "below" and .state == "failed" and .files == 6 and .failed == 4'
same 'which is done' "$(getfattr --absolute-names --only-values -n user.falls.layout "$mnt/theirs/1")" 'stripe(32K) on d0,d2,d4'
same 'what is not stays' "$(getfattr --absolute-names --only-values -n user.falls.layout "$mnt/theirs/3")" 'stripe(1M) on d0,d2,d4'
as 1000 getfattr --absolute-names --only-values -n user.falls.jobs.json "$mnt/theirs" >"$work/orders"
same 'and has no names that they may not see' "$(jq -c '[.orders[0].failures[].file] | unique' "$work/orders")" '[null]'

# -- what an earlier version wrote out is like any other --
# needs: the rights of who asked

"$fallsctl" create -L '{d0:(0,65535,65536,1);d2:(65536,131071,65536,1;65536,2)} on d0,d2' "$mnt/written" ||
    fail 'such a file'
head -c 3000000 /dev/urandom >>"$mnt/written"
sum=$(sha256sum <"$mnt/written")
ok 'it is spread anew' "$fallsctl" migrate --restripe --wait "$mnt/written"
same 'over all disks' "$("$fallsctl" map --json "$mnt/written" | jq -r '[.files[0].subfiles[].disk] | unique | join(" ")')" 'd0 d2 d4'
same 'the bytes are the same' "$(sha256sum <"$mnt/written")" "$sum"
stop

# -- users and root move files beside each other --

make_disks 96 96 96
start -o 'layout=stripe(64K)'
# order_of DIR FIELD: of the newest order for this directory.
order_of() {
    orders | jq -r "[.orders[] | select(.directory == \"$1\")][0] | .$2"
}
is_so() {
    order_is() {
        [ "$(order_of "$1" "$2")" = "$3" ]
    }
    await 60 order_is "$@" || {
        orders
        return 1
    }
}
for user in 1000 1001; do
    mkdir -m 777 "$mnt/of$user" "$mnt/more$user"
    chown "$user" "$mnt/of$user" "$mnt/more$user"
    as "$user" sh -c "for i in \$(seq 40); do head -c 500000 /dev/urandom >'$mnt/of$user/'\$i; done"
done
(cd "$mnt" && find . -type f -exec sha256sum {} +) >"$work/sums"
ok 'one user, at a byte a second' as 1000 setfattr -n user.falls.migrate -v 'limit=1 stripe(32K)' "$mnt/of1000"
ok 'has begun' is_so of1000 moved 32
refused 'he has one order at a time' 'Device or resource busy' as 1000 setfattr -n user.falls.migrate -v one "$mnt/more1000"
number=$(order_of of1000 number)
ok 'which the reason names' grep -q "'fallsctl jobs' shows it as $number" \
    <(as 1000 getfattr --only-values --absolute-names -n user.falls.lasterror "$mnt/more1000")
ok 'another user' as 1001 timeout 120 "$fallsctl" migrate --wait -L 'stripe(32K)' "$mnt/of1001"
same 'has his files moved meanwhile' "$(layout_of "$mnt/of1001/40")" 'stripe(32K) on d0-d2'
ok 'so has he with a limit' as 1001 timeout 120 "$fallsctl" migrate --wait --limit 100M -L 'stripe(64K)' "$mnt/of1001"
ok 'root looks' disk balance -n "$mnt"
ok 'root balances' timeout 120 "$fallsctl" disk balance "$mnt"
shown() {
    as "$1" "$fallsctl" jobs --json "$mnt" | jq -c '[.orders[] | [.job, .order, .directory, .state]]'
}
same 'the order is shown to who gave it' "$(shown 1000)" "[[$number,\"below\",\"$mnt/of1000\",\"running\"]]"
same 'and to root' "$(shown 0)" "[[$number,\"below\",\"$mnt/of1000\",\"running\"]]"
same 'and to nobody else' "$(shown 1001)" '[]'
ok 'as a line, too' sh -c "'$fallsctl' jobs '$mnt' | grep -q '^ *$number  *running .*/of1000: files below'"
ok 'root empties a disk' timeout 240 "$fallsctl" disk drain "$mnt" d2
ok 'which has left' has_gone 2
disks=("$work/d0" "$work/d1")
umount "$work/d2"
ok 'the order goes on' is_so of1000 state running
not 'nobody else can stop it' as 1001 "$fallsctl" jobs cancel "$number" "$mnt"
ok 'it is paused by its number' "$fallsctl" jobs pause "$number" "$mnt"
ok 'as it says' is_so of1000 state paused
ok 'goes on' "$fallsctl" jobs resume "$number" "$mnt"
ok 'who gave it stops it' as 1000 "$fallsctl" jobs cancel "$number" "$mnt"
ok 'it can be waited for' timeout 60 "$fallsctl" jobs wait "$number" "$mnt"
same 'it has ended' "$(order_of of1000 state)" cancelled
not 'and takes no orders' "$fallsctl" jobs cancel "$number" "$mnt"
for i in 1 2 3 4 5 6 7 8 9 10; do
    as 1001 timeout 60 "$fallsctl" migrate --wait -L "stripe(${i}K)" "$mnt/more1001"
done
same "many orders of one user make nobody else's forgotten" "$(order_of of1000 state)" cancelled
ok 'with the same bytes' same_bytes

# Root's orders about disks go before those of users, which wait with their next file.
ok 'root moves files slowly' disk_order 'limit=1 leave d1'
ok 'some' comes '.orders[] | select(.order == "leave") | .moved > 0'
ok 'a user' as 1001 setfattr -n user.falls.migrate -v 'stripe(16K)' "$mnt/of1001"
ok 'waits' is_so of1001 state waiting
same 'with all of his files' "$(order_of of1001 moved)" 0
same 'nor is he in the way' "$(as 1000 setfattr -n user.falls.migrate -v 'stripe(16K)' "$mnt/more1000" 2>&1)" ''
one=$("$fallsctl" jobs --json "$mnt" | jq -r '[.jobs[] | select(.state == "running" and (.file | contains("of1001")))][0].file')
[ "$one" = null ] || refused 'what root waits for he cannot stop' 'Operation not permitted' \
    as 1001 setfattr -n user.falls.migrate -v cancel "$one"
ok 'root lets it be' disk drain --stop "$mnt" d1
ok 'then it is his turn' is_so of1001 state 'done'
ok 'all bytes are there' same_bytes
stop
ok 'fsck finds nothing' "$fsck" -n "${disks[@]}"
for path in "${disks[@]}"; do
    umount "$path"
done
finish

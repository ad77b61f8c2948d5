#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files get other layouts while programs use them: migrate.sh FALLSFS FALLSCTL FSCK MIGRATE MIGRATOR OPS_EQUAL KILL
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/crash.sh"
fsck=$3
client=$4
migrator=$5
ops_equal=$6
kill_daemon=$7
duration=$([ -n "${FALLSFS_FULL:-}" ] && echo 60 || echo 2)

value() {
    getfattr -n "user.falls.$1" --only-values "$2" 2>/dev/null
}

# has_value NAME FILE TEXT: TEXT is in it
has_value() {
    [[ $(value "$1" "$2") == *"$3"* ]]
}

migrate() {
    setfattr -n user.falls.migrate -v "$1" "$2"
}

# finished FILE: its migration is over, well
finished() {
    local i state
    for ((i = 0; i < 1000; i++)); do
        state=$(value migrate "$1")
        case $state in
        *'state=done '*) return 0 ;;
        *'state=failed '* | *'state=cancelled '*) break ;;
        esac
        sleep 0.02
    done
    printf '%s\n' "$state"
    return 1
}

# Everything is given layouts from here to stop_migrator.
start_migrator() {
    "$migrator" "$mnt" "$1" >"$work/migrated" 2>&1 &
    migrating=$!
}

stop_migrator() {
    kill "$migrating"
    wait "$migrating"
    ok 'files were migrated' test "$(cat "$work/migrated")" -ge "$1"
}

# Nothing is left of what is over.
clean() {
    same "$1: files listed" "$(ls "${disks[0]}/.fallsfs/todo")" ''
    ok "$1: fsck" "$fsck" -n "${disks[@]}"
}

head -c 40000001 /dev/urandom >"$work/random"

# -- one layout after the other --
make_volume 4
start -o 'layout=stripe(1M)'
cp "$work/random" "$mnt/f"
links=$(stat -c %h "$mnt/f")
for layout in 'stripe(64K)' one 'stripe(1000) disp 100' 'array(shape=1000x1000, elem=8, dist=(*,block), grid=1x4)' 'stripe(7,2) on d1,d3'; do
    ok "to $layout" migrate "$layout" "$mnt/f"
    same "$layout: links while it goes on" "$(stat -c %h "$mnt/f")" "$links"
    ok "$layout: is reached" finished "$mnt/f"
    ok "$layout: content" cmp "$work/random" "$mnt/f"
    case $(value layout "$mnt/f") in
    "$layout"*) ;;
    *) fail "$layout: the file has $(value layout "$mnt/f")" ;;
    esac
done
same 'on the disks that were named' "$(find "$work"/d[02]/.fallsfs/obj -type f ! -name '*.m' | wc -l)" 0
ok 'the same again is nothing' migrate 'stripe(7,2) on d1,d3' "$mnt/f"
ok 'all disks again' migrate restripe "$mnt/f"
ok 'all disks again: reached' finished "$mnt/f"
same 'all disks again' "$(value layout "$mnt/f")" 'stripe(7,2) on d0-d3'
ok 'what new files have' migrate auto "$mnt/f"
ok 'what new files have: reached' finished "$mnt/f"
same 'what new files have' "$(value layout "$mnt/f")" 'stripe(1M) on d0-d3'
not 'no layout' migrate 'stripes(1M)' "$mnt/f"
same 'and why' "$(value lasterror "$mnt/f")" "$(value lasterror "$mnt/f" | grep '^column 1')"
not 'no such order' migrate 'pause' "$mnt/empty"
not 'a job that is over' migrate cancel "$mnt/f"
mkdir "$mnt/dir"

# -- holes stay holes, however long --
# needs: one layout
truncate -s 1T "$mnt/sparse"
printf x | dd of="$mnt/sparse" bs=1 seek=$((1 << 39)) conv=notrunc status=none
ok 'a sparse file' migrate 'stripe(64K)' "$mnt/sparse"
ok 'a sparse file: reached' finished "$mnt/sparse"
ok 'it takes no room' test "$(du -sk "$work"/d[0-9] | awk '{ n += $1 } END { print n }')" -lt 200000
same 'its byte' "$(dd if="$mnt/sparse" bs=1 skip=$((1 << 39)) count=1 status=none)" x
rm "$mnt/sparse"

# -- what lies right already is not moved, not even for a moment --
# needs: one layout
subfile() {
    value map "$mnt/kept" | sed -n "s/^element=$1 .*object=//p" | xargs stat -c %i
}
ok 'two disks' "$fallsctl" create -L '{d0:(0,4095,8192,1);d1:(4096,8191,8192,1)}' "$mnt/kept"
head -c 1000000 "$work/random" >"$mnt/kept"
sync "$mnt/kept"
before=$(subfile 0)
ok 'another disk for one of them' "$fallsctl" migrate --wait -L '{d0:(0,4095,8192,1);d3:(4096,8191,8192,1)}' "$mnt/kept"
same 'the other stays' "$(subfile 0)" "$before"
ok 'another disk: content' cmp -n 1000000 "$work/random" "$mnt/kept"
restart -o 'layout=stripe(1M)'
ok 'another disk: content after a remount' cmp -n 1000000 "$work/random" "$mnt/kept"
rm "$mnt/kept"

# -- orders, and who may give them --
# needs: one layout
ok 'slowly' migrate 'limit=1M stripe(64K)' "$mnt/f"
not 'twice' migrate 'one' "$mnt/f"
ok 'pause' migrate pause "$mnt/f"
await 10 has_value migrate "$mnt/f" state=paused
printf 'in the middle' | dd of="$mnt/f" bs=1 seek=1000 conv=notrunc status=none
printf 'in the middle' | dd of="$work/random" bs=1 seek=1000 conv=notrunc status=none
chmod 755 "$mnt"
not 'not by others' as 1000 setfattr -n user.falls.migrate -v cancel "$mnt/f"
restart -o 'layout=stripe(1M)'
await 10 has_value jobs.0 "$mnt" state=paused
case $(value jobs.0 "$mnt") in
*' state=paused '*' f') ;;
*) fail "a remount: $(value jobs.0 "$mnt")" ;;
esac
ok 'resume' setfattr -n user.falls.jobs -v 'resume 1' "$mnt"
same 'a remount: its limit' "$(value migrate "$mnt/f" | grep -o 'limit=[0-9]*')" limit=1048576
ok 'no limit any more' migrate 'stripe(64K)' "$mnt/f"
ok 'resumed: reached' finished "$mnt/f"
ok 'resumed: content' cmp "$work/random" "$mnt/f"
ok 'slowly again' migrate 'limit=1M one' "$mnt/f"
ok 'cancel' migrate cancel "$mnt/f"
await 10 has_value migrate "$mnt/f" state=cancelled
same 'cancelled' "$(value layout "$mnt/f")" 'stripe(64K) on d0-d3'
ok 'cancelled: content' cmp "$work/random" "$mnt/f"
mkdir -m 777 "$mnt/theirs"
ok 'of their own' as 1000 sh -c "head -c 1000000 /dev/zero >'$mnt/theirs/f' &&
    setfattr -n user.falls.migrate -v 'limit=10K one' '$mnt/theirs/f'"
number=$(value jobs.0 "$mnt" | sed -n 's,^job=\([0-9]*\) .* theirs/f$,\1,p')
not 'by number: who may not write to the root' as 1000 setfattr -n user.falls.jobs -v "cancel $number" "$mnt"
ok 'fallsctl knows another way' as 1000 "$fallsctl" jobs cancel "$number" "$mnt"
not 'for who owns the file alone' as 2000 "$fallsctl" jobs cancel "$number" "$mnt"
for order in pause resume cancel; do
    refused "$order of no job" 'there is no job 999999' as 1000 "$fallsctl" jobs "$order" 999999 "$mnt"
done
refused 'of somebody else' "there is no job $number that is yours" as 2000 "$fallsctl" jobs cancel "$number" "$mnt"
await 10 has_value migrate "$mnt/theirs/f" state=cancelled
has_value migrate "$mnt/theirs/f" state=cancelled || fail "cancelled by its owner: $(value migrate "$mnt/theirs/f")"
rm -r "$mnt/theirs"
ok 'one that is removed' migrate 'limit=1M one' "$mnt/f"
rm "$mnt/f"
stop
clean 'at the end'
same 'nothing is left' "$(find "$work"/d*/.fallsfs/obj -type f | wc -l)" 0

# -- bytes that are lost do not become zeros --
make_volume 3
start -o 'layout=stripe(64K)'
head -c 1000000 "$work/random" >"$mnt/f"
sync "$mnt/f"
lost=$(value map "$mnt/f" | sed -n 's/^element=1 .*object=//p')
stop
mv "$lost" "$work/kept"
start
ok 'a file with lost bytes' migrate one "$mnt/f"
not 'is not migrated' finished "$mnt/f"
case $(cat "$work/out") in
*'state=failed '*'Input/output error'*) ;;
*) fail "lost bytes: $(cat "$work/out")" ;;
esac
not 'they are lost still' cmp -n 1000000 "$work/random" "$mnt/f"
stop
mv "$work/kept" "$lost"
start
ok 'and when they are back, so is the file' cmp -n 1000000 "$work/random" "$mnt/f"
stop

# -- a full disk ends the migration, not the user's write --
rm -rf "$work"/d[0-9]*
mkdir "$work/d0" "$work/d1"
mount -t tmpfs -o size=30m,mode=700 tmpfs "$work/d1" || die 'tmpfs'
disks=("$work/d0" "$work/d1")
"$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
start -o 'layout=one on d1'
ok 'a file on the other disk' "$fallsctl" create -L 'one on d0' "$mnt/f"
head -c 20000000 "$work/random" >"$mnt/f"
ok 'to the small disk' migrate 'limit=20M one on d1' "$mnt/f"
has_done_some() {
    [ "$(value migrate "$mnt/f" | sed 's/.* done=\([0-9]*\).*/\1/')" -ge 8000000 ]
}
await 10 has_done_some
ok 'a user needs the room' dd if="$work/random" of="$mnt/user" bs=1M count=25 status=none
not 'so the migration fails' finished "$mnt/f"
case $(cat "$work/out") in
*'state=failed '*'No space left'*) ;;
*) fail "full disk: $(cat "$work/out")" ;;
esac
ok 'full disk: the file' cmp -n 20000000 "$work/random" "$mnt/f"
ok 'full disk: what was written' cmp -n 26214400 "$work/random" "$mnt/user"
not 'there is no room from the beginning' migrate 'one on d1' "$mnt/f"
case $(value lasterror "$mnt/f") in
*'room'*) ;;
*) fail "no room: $(value lasterror "$mnt/f")" ;;
esac
stop
clean 'full disk'
umount "$work/d1"

# -- programs at work --
make_volume 3
start -o 'layout=stripe(64K)'
head -c 5000001 /dev/urandom >"$mnt/read"
start_migrator 1
pids=()
for words in "append $mnt/append 3 $duration" "read $mnt/read $duration" "write $mnt/write1 $duration 1" "write $mnt/write2 $duration 2"; do
    # shellcheck disable=SC2086  # a list of words
    "$client" $words >"$work/said${#pids[@]}" 2>&1 &
    pids+=($!)
done
for i in "${!pids[@]}"; do
    wait "${pids[i]}" || fail "programs at work: $(cat "$work/said$i")"
done
stop_migrator 5
stop
ok 'after programs: fsck' "$fsck" -n "${disks[@]}"

for layout in 'stripe(64K)' 'stripe(7,3)'; do
    make_volume 3
    rm -rf "$work/plain"
    mkdir -m 755 "$work/plain"
    start -o "layout=$layout"
    start_migrator 2
    ok "random operations, $layout" env OPS_MIGRATE=1 FALLSFS_CASES=$((duration * 3)) "$ops_equal" run "$mnt" "$work/plain" 1
    stop_migrator 1
    restart
    ok "random operations after a remount, $layout" "$ops_equal" check "$mnt" "$work/plain"
    stop
    ok "after random operations, $layout: fsck" "$fsck" -n "${disks[@]}"
done

# -- the daemon is killed, again and again --
make_volume 3
start_migrator 3
crash_often 'kill -9 while files are migrated' $((duration * 70)) "$kill_daemon" "${disks[@]}"
stop_migrator 50
remove_all "at the end"
no_subfile_is_left
finish

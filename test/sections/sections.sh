#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sections and groups through the mount: sections.sh FALLSFS FALLSCTL CHECKS PARKED EXAMPLE RACE MEMORY
# shellcheck disable=SC2317  # functions are called by ok and not
# shellcheck source-path=SCRIPTDIR source=../mount/common.sh
source "$(dirname "$0")/../mount/common.sh"
# shellcheck source=../mount/churn.sh
source "$(dirname "$0")/../mount/churn.sh"
unset FALLSFS_CASES # a check has half a minute, whatever the others do
checks=$3
parked=$4
example=$5
race=$6
memory=$7
pids=()

# -- checks --
printf 'limits = { groups = 64; };' >"$work/conf"
for options in 'layout=stripe(4K)' 'layout=stripe(7) disp 100,direct_io'; do
    make_volume 3
    start -c "$work/conf" -o "$options"
    ok "sections, $options" timeout 500 "$checks" "$mnt"
    stop
done

# -- while replicas come and go --
# needs: checks
some=()
[ -n "${FALLSFS_FULL:-}" ] || some=(random_sections_alone random_groups sizes several_threads)
for layout in 'stripe(4K)' 'stripe(100,5) copies 2'; do
    make_volume 3
    start -c "$work/conf" -o "layout=$layout"
    churn_start
    for check in "${some[@]-}"; do
        ok "$check, $layout, beside replicas" timeout 500 "$checks" "$mnt" ${check:+"$check"}
    done
    churn_stop
    stop
done

# -- beside who truncates and syncs --
make_volume 3
start -o 'layout=stripe(4K)'
ok 'groups beside who truncates and syncs' timeout 60 "$race" "$mnt" 10
stop

# -- memory --
make_volume 3
start
mib=1024
! grep -q __asan_init "$memory" || mib=16
ok 'a window of memory, whatever is asked for' env FALLSFS_DAEMON="$daemon" FALLSFS_MIB=$mib timeout 500 "$memory" "$mnt"
stop
make_volume 3
start -o window=64K
ok 'a small one' env FALLSFS_DAEMON="$daemon" FALLSFS_MIB=16 FALLSFS_WINDOW=65536 timeout 500 "$memory" "$mnt"
stop

# -- the example --
make_volume 3
start
ok 'the example' "$example" "$mnt/matrix" 4
same 'what it says' "$(sort "$work/out")" 'rank 0: rows 0 to 255 are right
rank 1: rows 256 to 511 are right
rank 2: rows 512 to 767 are right
rank 3: rows 768 to 1023 are right'
stop

# -- off any mount the library does it by itself --
mkdir "$work/here"
ok 'the example, off the mount' "$example" "$work/here/matrix" 1
same 'what it says there' "$(cat "$work/out")" 'rank 0: rows 0 to 1023 are right'
for check in random_sections_alone alone many_at_once sizes refused_at_once several_threads left_with_tickets forked \
    elements_of_layouts files_and_memory_with_holes; do
    ok "$check, off the mount" timeout 100 "$checks" "$work/here" "$check"
done

# -- the daemon cannot see its clients: everything works, piece by piece --
make_volume 3
fallsfs_here=$fallsfs
fallsfs=$work/elsewhere
printf '#!/bin/sh\nexec unshare --pid --fork %s "$@"\n' "$fallsfs_here" >"$fallsfs"
chmod +x "$fallsfs"
start
export FALLSFS_STAGED=1
for check in random_groups random_sections_alone tickets_and_poll several_ranks_of_one_process alone in_a_group \
    forms_together many_at_once sizes; do
    ok "$check, with the daemon in a pid namespace of its own" env FALLSFS_MAX_CASES=3 timeout 100 "$checks" "$mnt" "$check"
done
unset FALLSFS_STAGED
stop
fallsfs=$fallsfs_here

# -- a disk becomes full while the workers write for a group: an error for the group, and nobody waits for ever --
rm -rf "$work"/d[0-9]
mkdir "$work/d0" "$work/d1" "$work/d2"
mount -t tmpfs -o size=2M none "$work/d2" || die 'tmpfs'
disks=("$work/d0" "$work/d1" "$work/d2")
"$fallsctl" format "${disks[@]}" >"$work/out" 2>&1 || die "format: $(cat "$work/out")"
start -o 'layout=stripe(64K)'
# Without a list it would leave out the disk that is full, which later has no room for the text of a new layout either.
ok 'a file on all disks' "$fallsctl" create -L 'stripe(64K) on d0-d2' "$mnt/plain"
not 'a disk is full' timeout 20 "$example" "$mnt/matrix" 4
cp "$work/out" "$work/why"
ok 'they are told' grep -q 'writing columns: a disk is full' "$work/why"
not 'for others, too' timeout 20 dd if=/dev/zero of="$mnt/plain" bs=1M count=16 conv=notrunc
rm "$mnt/matrix" "$mnt/plain"
ok 'there is room again' timeout 20 dd if=/dev/zero of="$mnt/plain" bs=1M count=4
stop
umount "$work/d2"

# -- one disk is in another fallsfs, whose daemon is stopped for a while --
make_volume_with_inner
start -o 'timeout=6,layout=stripe(64K)'
ok 'the example, on all disks' "$example" "$mnt/matrix" 4
for n in 1 2 3; do
    # Some wait for the disk; the others, later, find it stalled and come back to it.
    kill -STOP "$inner"
    for i in 1 2 3 4 5 6; do
        [ "$i" != 4 ] || sleep 2.5
        "$example" "$mnt/matrix$i" 2 >"$work/said$i" 2>&1 &
        pids[i]=$!
    done
    sleep 1
    kill -CONT "$inner"
    for i in 1 2 3 4 5 6; do
        wait "${pids[i]}" || fail "a disk is away for 3 s: $(cat "$work/said$i")"
    done
done
kill -STOP "$inner"
begin=$SECONDS
not 'a disk does not come back' "$example" "$mnt/matrix" 2
cp "$work/out" "$work/why"
ok 'they are told in time' test $((SECONDS - begin)) -le 9
ok 'they are told why' grep -q 'writing columns: a disk failed or did not answer in time' "$work/why"
kill -CONT "$inner"
# Until the calls that hung there have returned, the disk counts as one that does not answer: a moment.
await 60 "$example" "$mnt/matrix" 4 >"$work/out" 2>&1
ok 'it is back' "$example" "$mnt/matrix" 4
stop
umount "$work/inner/mnt"
wait "$inner"

# -- thousands of ranks wait --
make_volume 3
start
most=4096
! grep -q __asan_init "$parked" || most=1200 # each is a thread
ok "$most ranks wait, others go on" timeout 100 "$parked" "$mnt" "$most"
same 'all have written' "$(tr -d x <"$mnt/shared" | wc -c) $(stat -c %s "$mnt/shared")" "0 $most"

# -- who waits for whom: of ranks that are late, and of other users --
# needs: thousands of ranks
seen() {
    "$fallsctl" groups --json "$@" 2>"$work/err" | jq -c '[.groups[] | [.state, .file, .joined, .n_missing, .missing]]'
}
same 'no group' "$(seen "$mnt")" '[]'
"$parked" "$mnt" 20 go >"$work/parked" 2>&1 &
holder=$!
wanted='[["waits","'$mnt'/shared",19,6,[[0,3],[7,7],[19,19]]]]'
is_seen() {
    [ "$(seen "$mnt")" = "$wanted" ]
}
await 10 is_seen
same 'who is waited for' "$(seen "$mnt")" "$wanted"
same 'at any directory or file that has groups' "$(mkdir "$mnt/sub" && seen "$mnt/shared" "$mnt/sub")" \
    "${wanted%]},${wanted#[}"
same 'not at another file' "$(touch "$mnt/other" && seen "$mnt/other")" '[]'
chmod 755 "$mnt"
same 'nor by another user' "$("$fallsctl" groups "$mnt" | wc -l) $(as 1000 "$fallsctl" groups "$mnt" | wc -l)" '2 1'
ok 'a table' "$fallsctl" groups "$mnt"
same 'its row' "$(sed -n '2s/  */ /gp' "$work/out" | sed 's/ [0-9.]*s/ S/g; s/ *$//')" \
    "$mnt/shared $(id -un) 19/20 1 write waits 0-3,7,19 S S"
# in_top WORDS: rows of groups that it has
in_top() {
    "$@" -b -n 1 "$mnt" | awk '/^FILE +USER +JOINED/ { on = 1; next } !NF { on = 0 } on' | sed 's/  */ /g; s/ [0-9.]*s/ S/g; s/ *$//'
}
same 'as top has it' "$(in_top "$fallsctl" top)" "$mnt/shared $(id -un) 19/20 1 write waits 0-3,7,19 S S"
same 'by what is looked for' "$(in_top "$fallsctl" top --filter SHAR | wc -l) $(in_top "$fallsctl" top --filter other | wc -l)" '1 0'
same 'others have no such table' "$(in_top as 1000 "$fallsctl" top | wc -l)" 0
mv "$mnt/shared" "$mnt/sub/moved"
same 'a file that was renamed' "$(seen "$mnt" | jq -r '.[0][1]')" "$mnt/sub/moved"
rm "$mnt/sub/moved"
same 'and removed' "$(seen "$mnt" | jq -r '.[0][1]')" null
same 'in the table of all mounts, too' \
    "$("$fallsctl" groups 2>/dev/null | grep -c "^$mnt (removed, inode [1-9][0-9]*)")" 1 # others' may not answer
not 'of a file that is in no mount' "$fallsctl" groups "$work"
same 'what is said' "$(tail -n 1 "$work/out")" "$work: lies in no mounted fallsfs; 'fallsctl status' lists those"
mkfifo "$mnt/fifo"
not 'of a pipe' "$fallsctl" groups "$mnt/fifo"
touch "$mnt/go"
wait "$holder"
same 'all are served' "$? $(cat "$work/parked")" '0 '
same 'and gone' "$(seen "$mnt")" '[]'

# -- the daemon is killed while ranks wait --
# needs: thousands of ranks
head -c 1200 /dev/zero >"$mnt/shared"
ok 'the daemon is killed while ranks wait' timeout 100 "$parked" "$mnt" 100 "$daemon" 2>/dev/null
wait "$daemon" 2>/dev/null
daemon=
umount -l "$mnt"
start
same 'nothing was written' "$(stat -c %s "$mnt/shared")" 1200
finish

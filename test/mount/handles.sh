#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# File handles, as NFS servers and backup programs keep them: each leads to its file or is stale, never to another.
# handles.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

handles=$(dirname "$0")/handles.py
list=$work/list

# What the handles in the list lead to, each kind once.
look() {
    python3 "$handles" open "$list" "$mnt" >"$work/found" || echo 'a program that failed'
    sed 's/^[^ ]* //' "$work/found" | sort | uniq -c | sed 's/^ *//'
}

save() {
    python3 "$handles" save "$list" "$@" || fail 'handles cannot be had'
}

make_volume 2
start
mkdir "$mnt/dir" "$mnt/other"
for name in a b dir/c; do
    echo "this is $name" >"$mnt/$name"
done
chmod 600 "$mnt/a"
setfattr -n user.falls.view.v -v 'stripe(2,2) element 0' "$mnt/b"
paths=("$mnt"/{a,b,dir,other,dir/c} "$mnt/.falls" "$mnt/.falls/views" "$mnt/.falls/views/dir" "$mnt/.falls/views/b/v"
    "$mnt/.falls/disks")
save "${paths[@]}"
same 'handles of what is there' "$(look)" '10 same'

# -- another mount: its numbers are others' --

# fill A...: the files and directories of before, looked at in this order, so that they get each other's numbers
fill() {
    stat "$@" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
}

for options in '' -oro -oro ''; do
    # shellcheck disable=SC2086  # none, or one
    restart $options
    fill "$mnt/.falls/views/b/v" "$mnt/.falls/views/dir" "$mnt/dir/c" "$mnt/other" "$mnt/dir" "$mnt/b" "$mnt/a"
    same "handles of the mount before, now mounted ${options:-anew}" "$(look)" '10 stale'
    save "${paths[@]}"
    same 'new ones' "$(look)" '10 same'
done

# -- the same mount: numbers, the disk's and ours, are used again --

for ((turn = 0; turn < 3; turn++)); do
    for ((i = 0; i < 100; i++)); do
        echo "file $i of turn $turn" >"$mnt/dir/f$i"
        mkdir "$mnt/other/d$i"
    done
    [ "$turn" = 0 ] || same 'handles of what was removed' "$(look)" '200 stale'
    save "$mnt"/dir/f* "$mnt"/other/d*
    same 'of what was made then' "$(look)" '200 same'
    rm -r "$mnt"/dir/f* "$mnt"/other/d*
done
exec 3<"$mnt/b"
save "$mnt/b"
rm "$mnt/b"
echo 'this is new' >"$mnt/b"
same 'a file that was removed and is open' "$(look)" '1 same'
exec 3<&-
is_stale() {
    [ "$(look)" != '1 same' ]
}
await 2 is_stale # closing is told the daemon a moment later
same 'and is not any more' "$(look)" '1 stale'
finish

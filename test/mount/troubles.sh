#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What goes wrong with disks is said: in the log, to who asks why, by status. troubles.sh FALLSFS FALLSCTL
# shellcheck disable=SC2317,SC2016  # functions are called by ok and not; words for other shells
source "$(dirname "$0")/common.sh"

# The reason that was noted for this user and file.
reason() {
    getfattr --only-values -n user.falls.lasterror "$1" 2>/dev/null
}

# What status says of a disk, by jq: told NUMBER FILTER
told() {
    "$fallsctl" status --json "$mnt" | jq -r ".volumes[0].disks[$1] | $2"
}

# The object of a file's element: object FILE ELEMENT
object() {
    "$fallsctl" map --json "$mnt/$1" | jq -r ".files[0].subfiles[$2].object"
}

disk_of() {
    "$fallsctl" map --json "$mnt/$1" | jq -r ".files[0].subfiles[$2].disk"
}

# -- subfiles --

make_volume 3
start -o 'layout=stripe(4K) on d0-d2'
for name in missing short foreign cut good $'con\etrol\nname'; do
    head -c 24576 /dev/urandom >"$mnt/$name"
    chmod 644 "$mnt/$name"
done
mkdir "$mnt/many"
for ((i = 0; i < 60; i++)); do
    head -c 24576 "$mnt/good" >"$mnt/many/$i"
done
missing=$(object missing 1) short=$(object short 1) foreign=$(object foreign 1)
on=$(disk_of missing 1)
mapfile -t lost < <("$fallsctl" map --json "$mnt"/many/* | jq -r '.files[].subfiles[1].object')
control=$(object $'con\etrol\nname' 1)
stop
rm "$missing" "$control" "${lost[@]}"
truncate -s 100 "$short"
rm "$foreign"
mkdir "$foreign"
start
same 'all is well as far as anybody has looked' "$("$fallsctl" status "$mnt" >/dev/null; echo $?)" 0
same 'so no errors' "$(told 0 .errors) $(told 1 .errors) $(told 2 .errors)" '0 0 0'

refused 'a missing subfile' 'Input/output' cat "$mnt/missing"
ok 'the log has the file, the subfile, the disk' log_says "$mnt/missing: subfile 1 on $on \($work/d[0-2]\) is missing"
ok 'so has lasterror' grep -q "subfile 1 on $on .* is missing" <(reason "$mnt/missing")
refused 'an ordinary user cannot read it either' 'Input/output' as 1000 cat "$mnt/missing"
ok 'and is told why' grep -q "subfile 1 on $on .* is missing" <(as 1000 getfattr --only-values -n user.falls.lasterror "$mnt/missing")
refused 'a short subfile' 'Input/output' cat "$mnt/short"
ok 'the log knows' log_says "$mnt/short: subfile 1 on d[0-2] .* is too short"
ok 'lasterror, too' grep -q 'is too short' <(reason "$mnt/short")
mv "$work/d1/.fallsfs/obj" "$work/d1/.fallsfs/away"
"$fallsctl" create -L 'one on d1' "$mnt/new"
refused 'a new subfile whose directory is gone' 'Input/output' cp "$0" "$mnt/new"
ok 'and nothing is said to be lost that was never there' grep -q 'subfile 0 is to be made on d1 .* is not there' <(reason "$mnt/new")
mv "$work/d1/.fallsfs/away" "$work/d1/.fallsfs/obj"
ok 'with the directory it is made' cp "$0" "$mnt/new"
refused 'something else in its place' 'clean' cat "$mnt/foreign"
ok 'the log says so' log_says "$mnt/foreign: what is in the place of subfile 1 on d[0-2]"
not 'a name that would act on the terminal' cat "$mnt"/con*
ok 'is shown as text' log_says 'con\?trol\?name: subfile 1'
same 'no line has bytes that act' "$(tr -d '\n[:print:]' <"$log" | wc -c)" 0
same 'a good file has no reason' "$(reason "$mnt/good")" ''

# -- status --
# needs: subfiles

ok 'status counts them' test "$(told "${on#d}" .errors)" -gt 0
"$fallsctl" status "$mnt" >"$work/status"
same 'and returns 3' "$?" 3
ok 'it says what to do' grep -q "^action: disk $on has had [0-9]* errors since the volume was mounted" "$work/status"

# -- not too much --
# needs: subfiles

before=$(grep -c 'many/' "$log")
for i in "$mnt"/many/*; do
    cat "$i" >/dev/null 2>&1
done
ok 'of 60 files only some are named at once' test $(($(grep -c 'many/' "$log") - before)) -le 15
stop
ok 'how many were not is said' grep -qE 'd[0-2] .*: [0-9]+ lines like those above were left out' "$log"

# -- records --
# needs: not too much

start
home=$work/d0/.fallsfs/ns/cut
stop
setfattr -n user.fallsfs -v nonsense "$home"
start
refused 'a damaged record' 'clean' cat "$mnt/cut"
ok 'the log knows of the record' log_says "$mnt/cut: its record is damaged"
stop

# -- levels --
# needs: not too much

FALLSFS_LOG=debug start
cat "$mnt/good" >/dev/null
ok 'each request is shown: what, of whom, where, how long' \
    log_says 'read [0-9]+ /good [0-9]+ at 0: 6 runs in 3 subfiles on d0, d1, d2: 24576, [0-9]+ us'
stop
FALLSFS_LOG=error start -o timeout=5
same 'no more than was asked for' "$(cat "$log")" ''
stop
FALLSFS_LOG=loud start
ok 'a word that is no level is warned of' log_says "FALLSFS_LOG is 'loud'"
stop

# -- by another name --
# needs: not too much

start -o fsname=fast
ok 'the mount is shown so' grep -q "^fast $mnt " /proc/mounts
ok 'root is told what the disks say' test -n "$("$fallsctl" status --json "$mnt" | jq -r '.volumes[0].volume // empty')"
same 'of a disk, too' "$("$fallsctl" status --json "$work/d1" | jq -r '.volumes[0].mountpoint')" "$mnt"
ok 'all three are there' grep -q '^all ' <("$fallsctl" df "$mnt")
same 'and where a file lies' "$("$fallsctl" map --json "$mnt/good" | jq -r '.files[0].subfiles[0].state')" present
stop

# -- room --

fallocate -l 40M "$work/image"
loop=$(losetup -f --show "$work/image") || die 'no loop device'
loops+=("$loop")
mkfs.ext4 -q -m 0 "$loop"
make_volume 2
mkdir "$work/small"
mount "$loop" "$work/small"
mkdir "$work/small/d"
rm -rf "$work"/d[01]
mkdir "$work/d0"
disks=("$work/d0" "$work/small/d")
"$fallsctl" format "${disks[@]}" >/dev/null
start
"$fallsctl" create -L 'one on d1' "$mnt/large"
refused 'a full disk' 'No space' dd if=/dev/zero of="$mnt/large" bs=1M count=60 conv=notrunc,fsync
ok 'the log says which' log_says "$mnt/large: d1 \($work/small/d\) is full, and subfile 0 goes there"
ok 'so does lasterror' grep -q '^d1 .* is full' <(reason "$mnt/large")
same 'that is no error of the disk' "$(told 1 .errors)" 0
stop
umount "$work/small"
finish

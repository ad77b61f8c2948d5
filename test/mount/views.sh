#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Views of files by name: views.sh FALLSFS FALLSCTL EXAMPLE
# shellcheck disable=SC2317  # functions are called by ok and not
source "$(dirname "$0")/common.sh"

example=$3
views=$mnt/.falls/views

value() {
    getfattr --absolute-names --only-values -n "user.falls.$1" "$2" 2>/dev/null
}

set_view() {
    setfattr -n "user.falls.view.$1" -v "$2" "$3"
}

# every FILE UNIT N ELEMENT: what a view of stripes has
every() {
    python3 -c 'import sys
data, unit, n, element = open(sys.argv[1], "rb").read(), *map(int, sys.argv[2:])
sys.stdout.buffer.write(b"".join(data[i:i + unit] for i in range(unit * element, len(data), unit * n)))' "$@"
}

make_volume 3
start -o 'layout=stripe(64K)'
mkdir -p "$mnt/dir/sub"
head -c 1000000 /dev/urandom >"$work/bytes"
cp "$work/bytes" "$mnt/dir/a"
every "$work/bytes" 1000 4 2 >"$work/view"

# -- setting, reading back, looking --
ok 'a view' set_view rows 'stripe(1000,4) element 2' "$mnt/dir/a"
same 'is what was set' "$(value view.rows "$mnt/dir/a")" 'stripe(1000,4) element 2'
ok 'cmp' cmp "$work/view" "$views/dir/a/rows"
ok 'cat' sh -c "cat '$views/dir/a/rows' | cmp - '$work/view'"
dd if="$views/dir/a/rows" bs=777 skip=33 count=100 status=none >"$work/part"
ok 'dd, from somewhere' cmp -i 0:$((777 * 33)) -n 77700 "$work/part" "$work/view"
ok 'cp' sh -c "cp '$views/dir/a/rows' '$work/copy' && cmp '$work/copy' '$work/view'"
ok 'sha256sum is that of its bytes' test "$(sha256sum <"$views/dir/a/rows")" = "$(sha256sum <"$work/view")"
same 'its size' "$(stat -c %s "$views/dir/a/rows")" "$(stat -c %s "$work/view")"
same 'its mode and owner' "$(stat -c '%a %u %g %F' "$views/dir/a/rows")" "$(stat -c '%a %u %g %F' "$mnt/dir/a")"
same 'a directory for the file' "$(ls "$views/dir/a")" rows
same 'files with views, and directories' "$(ls "$views/dir")" "a
sub"
same '.falls is not listed' "$(ls -A "$mnt")" dir
ok 'but it is there' test -d "$mnt/.falls"
same 'what is in it' "$(ls -A "$mnt/.falls")" "config
costs.json
disks
jobs
kernel
metrics
open.json
stats.json
trace
views"
same 'find finds it' "$(cd "$views" && find . -type f)" ./dir/a/rows
same 'no attributes are listed' "$(getfattr --absolute-names -d -m - "$mnt/dir/a")" ''

# -- texts beside the views --
# needs: setting
ok 'what it was mounted with' grep -q 'default = "stripe(64K)"' "$mnt/.falls/config"
same 'it names the disks' "$(grep -o "$work/d[012]" "$mnt/.falls/config" | wc -l)" 3
same 'disks are those of the attribute' "$(cat "$mnt/.falls/disks")" "$(value disks "$mnt")"
same 'nothing is on its way' "$(cat "$mnt/.falls/jobs")" ''
same 'their size' "$(stat -c %s "$mnt/.falls/disks")" "$(wc -c <"$mnt/.falls/disks")"
ok 'cp' sh -c "cp '$mnt/.falls/disks' '$mnt/dir/copy' && cmp '$mnt/dir/copy' '$mnt/.falls/disks' && rm '$mnt/dir/copy'"
same 'tail' "$(tail -c 3 "$mnt/.falls/disks")" "$(value disks "$mnt" | tail -c 3)"
ok 'python seeks and polls it' python3 -c 'import os, select, sys
f = open(sys.argv[1], "rb")
f.seek(3)
rest = f.read()
f.seek(0)
p = select.poll()
p.register(f, select.POLLIN)
os.fsync(f.fileno())
assert f.read()[3:] == rest and p.poll(1000)[0][1] == select.POLLIN' "$mnt/.falls/disks"
refused 'writing one' 'Permission denied' sh -c "echo x >>'$mnt/.falls/disks'"
refused 'cutting one' 'Permission denied' truncate -s 0 "$mnt/.falls/disks"
refused 'removing one' 'Operation not permitted' rm -f "$mnt/.falls/disks"
refused 'its mode' 'Operation not permitted' chmod 600 "$mnt/.falls/disks"
same 'no attributes' "$(getfattr --absolute-names -d -m - "$mnt/.falls/disks")" ''
refused 'an attribute' 'not supported' setfattr -n user.x -v y "$mnt/.falls/disks"

refused 'a file without views' 'No such file' ls "$views/dir/b"
refused 'a view that was not set' 'No such file' cat "$views/dir/a/columns"
refused 'a view is no directory' 'Not a directory' ls "$views/dir/a/rows/"

# -- what is refused, and why --
# needs: setting
bad() {
    refused "$1" "$2" set_view bad "$1" "$mnt/dir/a"
    same "why '$1'" "$(value lasterror "$mnt/dir/a")" "$3"
}
bad 'stripe(4,2)' 'Invalid argument' 'column 12: a view is one element: say which, as in "... element 1", from 0 to 1'
bad 'stripe(4,2) element 2' 'Invalid argument' 'column 21: no such element: there are 2, numbered from 0'
bad 'nonsense element 0' 'Invalid argument' "column 1: expected one, stripe, var, twod, array or {, found 'nonsense'"
bad '{(0,3,4,1);(2,5,4,1)} element 0' 'Invalid argument' 'column 12: FALLS 1 overlaps FALLS 0 at byte 2'
refused 'a name with a slash' 'Invalid argument' set_view 'a/b' one "$mnt/dir/a"
refused 'of a directory' 'No such attribute' set_view v one "$mnt/dir"
refused 'one that is not there' 'No such attribute' setfattr -x user.falls.view.nothing "$mnt/dir/a"
refused 'a file made below' 'Operation not permitted' touch "$views/dir/a/new"
refused 'a directory made below' 'Operation not permitted' mkdir "$views/new"
refused 'a view removed by its name' 'Operation not permitted' rm -f "$views/dir/a/rows"
refused 'a view renamed' 'Operation not permitted' mv "$views/dir/a/rows" "$mnt/rows"
refused 'a view linked' 'Operation not permitted' ln "$views/dir/a/rows" "$mnt/rows"
refused 'something called .falls' 'File exists' mkdir "$mnt/.falls"
refused 'a file renamed to .falls' 'Operation not permitted' python3 -c "import os; os.rename('$mnt/dir/sub', '$mnt/.falls')"
refused 'its mode changed' 'Operation not permitted' chmod 600 "$views/dir/a/rows"

# -- writing: those bytes and no others --
# needs: setting
put() {
    python3 - "$work/bytes" "$1" <<'END'
import sys
path, new = sys.argv[1], open(sys.argv[2], 'rb').read()
data = bytearray(open(path, 'rb').read())
for i, byte in enumerate(new):
    data[i // 1000 * 4000 + 2000 + i % 1000] = byte
open(path, 'wb').write(data)
END
}
cat "$mnt/dir/a" >"$work/cached" # what the kernel has of the file is out of date soon
head -c "$(stat -c %s "$work/view")" /dev/urandom >"$work/new"
put "$work/new"
ok 'cp to a view' cp "$work/new" "$views/dir/a/rows"
ok 'is in the view' cmp "$work/new" "$views/dir/a/rows"
ok 'and in the file, and nowhere else' cmp "$work/bytes" "$mnt/dir/a"
printf 'a few bytes' >"$work/few"
put "$work/few"
ok 'what is shorter' sh -c "cat '$work/few' >'$views/dir/a/rows'"
ok 'leaves the rest' cmp "$work/bytes" "$mnt/dir/a"
printf x | dd of="$mnt/dir/a" bs=1 seek=2000 conv=notrunc status=none
same 'what is written to the file is in the view' "$(head -c 5 "$views/dir/a/rows")" 'x few'
printf 'a' | dd of="$mnt/dir/a" bs=1 seek=2000 conv=notrunc status=none
refused 'a view cut' 'Invalid argument' truncate -s 10 "$views/dir/a/rows"
ok 'a view longer' truncate -s 300000 "$views/dir/a/rows"
same 'is a file so long that it is' "$(stat -c %s "$mnt/dir/a")" $((299 * 4000 + 3000))
truncate -s $((299 * 4000 + 3000)) "$work/bytes"
ok 'with zeros' cmp "$work/bytes" "$mnt/dir/a"
ok 'with its times' touch -d '2001-02-03 04:05:06' "$views/dir/a/rows"
same 'which are those of the file' "$(stat -c %Y "$mnt/dir/a")" "$(date -d '2001-02-03 04:05:06' +%s)"
printf more >>"$views/dir/a/rows"
same 'appended to' "$(tail -c 4 "$mnt/dir/a"; stat -c %s "$mnt/dir/a")" "more$((300 * 4000 + 2004))"

# -- a sparse file --
truncate -s 16T "$mnt/sparse"
ok 'a view of what is sparse' set_view v 'stripe(1M,1024) element 5' "$mnt/sparse"
same 'is long' "$(stat -c '%s' "$views/sparse/v")" $((1 << 34))
printf tail | dd of="$views/sparse/v" bs=1 seek=$(((1 << 34) - 4)) conv=notrunc status=none
same 'has a tail' "$(tail -c 4 "$views/sparse/v")" tail
same 'and data there alone' "$(python3 -c "import os; fd = os.open('$views/sparse/v', 0); at = os.lseek(fd, 0, os.SEEK_DATA); print((1 << 34) - at <= 1 << 20, os.lseek(fd, 0, os.SEEK_HOLE), os.lseek(fd, at, os.SEEK_HOLE) == 1 << 34)")" 'True 0 True'
same 'and takes little' "$(($(stat -c %b "$mnt/sparse") < 4096))" 1

# -- a view that is a subfile is read and written as that --
cp "$work/bytes" "$mnt/b"
set_view whole "$(value layout "$mnt/b" | sed 's/ on .*//; s/)$/,3)/') element 1" "$mnt/b"
set_view fine 'stripe(100,3) element 1' "$mnt/b"
ok 'one with as many elements as there are disks' set_view all 'stripe(100) # each its own
element 1' "$mnt/b"
same 'keeps these when others join' "$(value view.all "$mnt/b")" 'stripe(100) # each its own
 on d0-d2 element 1'
ok 'and is written back as it is' set_view all "$(value view.all "$mnt/b")" "$mnt/b"
ok 'it has the same bytes' cmp "$views/b/fine" "$views/b/all"
every "$work/bytes" 65536 3 1 >"$work/view"
ok 'the subfile' cmp "$work/view" "$views/b/whole"
cat "$views/b/fine" >"$work/out"
ok 'written' sh -c "tr 'a-z' 'b-za' <'$work/view' >'$work/new' && dd if='$work/new' of='$views/b/whole' bs=100K conv=notrunc status=none"
ok 'there' cmp "$work/new" "$views/b/whole"
case $(getfattr --absolute-names --only-values -n user.falls.stats "$views/b/whole") in
*'runs=0 gathered=0') ;;
*) fail "not in one access: $(getfattr --absolute-names --only-values -n user.falls.stats "$views/b/whole")" ;;
esac
case $(getfattr --absolute-names --only-values -n user.falls.stats "$views/b/fine") in
'subfile=0 runs=0 gathered='*) ;;
*) fail 'fine stripes are gathered' ;;
esac
object=$(value at.65536 "$mnt/b")
object=${object#*object=}
ok 'it is what lies on the disk' cmp "${object%% *}" "$work/new"

# -- names go where files go --
# needs: a view that is a subfile
# needs: writing
mv "$mnt/dir/a" "$mnt/moved"
refused 'a file that has moved' 'No such file' cat "$views/dir/a/rows"
ok 'is seen where it is' cmp -i 0:2000 -n 1000 "$views/moved/rows" "$mnt/moved"
set_view rows 'stripe(10,2) element 1' "$mnt/moved"
same 'another pattern by that name' "$(head -c 10 "$views/moved/rows" | od -An -tx1)" "$(tail -c +11 "$mnt/moved" | head -c 10 | od -An -tx1)"
exec 3<"$views/moved/rows"
setfattr -x user.falls.view.rows "$mnt/moved"
refused 'a view that was removed' 'No such file' cat "$views/moved/rows"
rm "$mnt/moved"
same 'who has it open reads on' "$(head -c 10 <&3 | wc -c)" 10
exec 3<&-

restart -o 'layout=stripe(64K)'
ok 'views outlast the mount' cmp "$work/new" "$views/b/whole"

# -- rights --
as_user() {
    as 1234 "$@"
}
chmod 755 "$work"
mkdir -m 777 "$mnt/theirs"
install -m 600 "$work/bytes" "$mnt/theirs/secret"
install -m 644 "$work/bytes" "$mnt/theirs/public"
set_view v 'stripe(10,2) element 1' "$mnt/theirs/secret"
set_view v 'stripe(10,2) element 1' "$mnt/theirs/public"
refused 'what they may not read' 'Permission denied' as_user cat "$views/theirs/secret/v"
ok 'what they may' as_user cat "$views/theirs/public/v"
refused 'what they may not write' 'Permission denied' as_user sh -c "echo x >'$views/theirs/public/v'"
refused 'what they may not set' 'Permission denied' as_user setfattr -n user.falls.view.w -v one "$mnt/theirs/public"
mkdir -m 700 "$mnt/closed"
cp "$work/bytes" "$mnt/closed/f"
set_view v one "$mnt/closed/f"
refused 'a directory they may not enter' 'Permission denied' as_user cat "$views/closed/f/v"
ok 'a file of their own' as_user sh -c "head -c 5000 /dev/zero >'$mnt/theirs/own' && setfattr -n user.falls.view.v -v 'stripe(10,2) element 1' '$mnt/theirs/own'"
ok 'they write' as_user sh -c "printf hello >'$views/theirs/own/v'"
same 'as they should' "$(tail -c +11 "$mnt/theirs/own" | head -c 5)" hello
chmod 6777 "$mnt/theirs/own"
ok 'they make it longer' as_user truncate -s 9000 "$views/theirs/own/v"
same 'which ends the rights of who owns it, as writing does' "$(stat -c %a "$mnt/theirs/own")" 777
cp "$mnt/theirs/own" "$work/own"
setfattr -n user.falls.view.other -v 'stripe(10,2) element 0' "$mnt/theirs/own"
cp "$views/theirs/own/other" "$work/other"
ok 'sections, by a group, are of what a view is' "$example" "$views/theirs/own/v" 3
ok 'as of a file' "$example" "$mnt/theirs/like" 3
ok 'which has the same bytes' cmp "$views/theirs/own/v" "$mnt/theirs/like"
ok 'beside what the view has not' cmp -n "$(stat -c %s "$work/other")" "$work/other" "$views/theirs/own/other"
setfattr -x user.falls.view.other "$mnt/theirs/own"
cp "$work/own" "$mnt/theirs/own"
chmod 777 "$mnt/theirs/own"
chmod 666 "$mnt/theirs/own"
chown 4321 "$mnt/theirs/own"
refused 'what is not theirs to set' 'Operation not permitted' as_user setfattr -n user.falls.view.w -v one "$mnt/theirs/own"

# -- at random --
# needs: names go
# needs: a view that is a subfile
seed=${FALLSFS_SEED:-$RANDOM}
for i in $(seq "$([ -n "${FALLSFS_FULL:-}" ] && echo 300 || echo 3)"); do
    ok "views and the file, seed $((seed + i))" timeout 300 python3 "$(dirname "$0")/views.py" "$mnt" $((seed + i)) 25
done
restart -o 'layout=stripe(64K),direct_io'
ok 'with direct_io' timeout 300 python3 "$(dirname "$0")/views.py" "$mnt" "$seed" 25
restart -s -o 'layout=stripe(64K)'
ok 'with one thread' timeout 300 python3 "$(dirname "$0")/views.py" "$mnt" "$seed" 5
restart -o ro
refused 'a volume that is read only' 'Read-only file system' sh -c "echo x >'$views/b/whole'"
ok 'is read' cmp "$work/new" "$views/b/whole"
finish
